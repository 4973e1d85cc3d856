//! A clock that rings: interrupts a CPU at a time, as a timer beside the cores does.
//!
//! An alarm is set from user level and answered at once; it rings so many cycles of the device's clock after its request's turn.
//! Alarms of one moment ring in the order in which they were set.

use super::port::Answer;
use super::{Config, Cpu, Device, Port, Request, Taken};
use std::collections::BTreeMap;

/// Sets an alarm: after so many cycles of the device, for a CPU.
pub const SET: u32 = 0;
/// There is no such request, or the alarm would ring at once or in more than [`FARTHEST`] cycles.
pub const REFUSED: u32 = 1;
/// There is no such CPU to interrupt.
pub const NO_CPU: u32 = 2;
/// Cycles of the device within which an alarm rings: a quarter of an hour at 1 GHz.
pub const FARTHEST: u64 = 1 << 40;

/// The device.
pub struct Alarm {
    latency: u64,
    /// Whom to call, by the cycle.
    due: BTreeMap<u64, Vec<Cpu>>,
    rung: u64,
}

impl Alarm {
    /// As the chip file describes it.
    pub fn new(config: &Config) -> Alarm {
        Alarm { latency: config.latency.0, due: BTreeMap::new(), rung: 0 }
    }
}

impl Device for Alarm {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        let now = port.now();
        let [after, cpu] = request.words;
        let answer = match port.cpu(cpu) {
            _ if request.op != SET || !(1..=FARTHEST).contains(&after) => Answer::refused(REFUSED),
            None => Answer::refused(NO_CPU),
            Some(cpu) => {
                let at = now + after;
                self.due.entry(at).or_default().push(cpu);
                port.tick_at(at);
                Answer::done(at)
            }
        };
        port.answer(&request, now + self.latency, answer);
        Taken::Yes
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
