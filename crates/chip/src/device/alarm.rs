//! A clock that rings: interrupts a CPU at a time, as a timer beside the cores does.
//!
//! An alarm is set from user level and answered at once; it rings so many cycles of the device's clock after its request's turn.
//! Alarms of one moment ring in the order in which they were set.

use super::port::Answer;
use super::{Config, Device, Port, Request};
use std::collections::BTreeMap;

/// Sets an alarm: after so many cycles of the device, for a CPU.
pub const SET: u32 = 0;
/// There is no such request, or the alarm would ring at once.
pub const REFUSED: u32 = 1;

/// The device.
pub struct Alarm {
    latency: u64,
    /// Whom to call, by the cycle.
    due: BTreeMap<u64, Vec<u32>>,
    rung: u64,
}

impl Alarm {
    /// As the chip file describes it.
    pub fn new(config: &Config) -> Alarm {
        Alarm { latency: config.latency.0, due: BTreeMap::new(), rung: 0 }
    }
}

impl Device for Alarm {
    fn take(&mut self, request: Request, port: &mut Port<'_>) {
        let now = port.now();
        let [after, cpu] = request.words;
        if request.op != SET || after == 0 {
            return port.answer(&request, now + self.latency, Answer::refused(REFUSED));
        }
        let at = now.saturating_add(after);
        self.due.entry(at).or_default().push(cpu as u32);
        port.tick_at(at);
        port.answer(&request, now + self.latency, Answer::done(at));
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        while let Some(due) = self.due.first_entry().filter(|due| *due.key() <= port.now()) {
            for cpu in due.remove() {
                self.rung += 1;
                port.interrupt(cpu);
            }
        }
        if let Some((&next, _)) = self.due.first_key_value() {
            port.tick_at(next);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rung", self.rung)]
    }
}
