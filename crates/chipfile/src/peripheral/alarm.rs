//! A clock that rings: interrupts a CPU at a time, as a timer beside the cores does.
//!
//! An alarm is set from user level and answered at once. It rings a given number of cycles of the
//! device's clock after its request's turn. Alarms for the same moment ring in the order in which
//! they were set.

use super::settings::settings;
use super::{Cpu, DeviceKind, Port, Request, Taken, Typed, TypedDevice};
use crate::value::ValueKind;
use baton_machine::device::{Payload, Protocol, Refusal, Words};
use baton_units::Cycles;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The alarm's entry in the registry of kinds.
pub const KIND: DeviceKind = DeviceKind {
    name: Ring::KIND,
    keys: AlarmSettings::KEYS,
    make: |settings| Box::new(Typed(Alarm::new(&AlarmSettings::read(settings)))),
};

settings! {
    /// The keys of an alarm.
    AlarmSettings {
        /// Cycles of the device's clock from a request's turn to its answer.
        latency: Cycles, ValueKind::Cycles, "from a request's turn to its answer, in cycles of the device's clock";
    }
}

/// Sets an alarm: the delay in cycles of the device, and the CPU to interrupt.
pub const SET: u32 = 0;
/// The device has no such request, or the alarm would ring at once or in more than [`FARTHEST`]
/// cycles.
pub const REFUSED: u32 = 1;
/// The chip has no such CPU to interrupt.
pub const NO_CPU: u32 = 2;
/// Largest number of device cycles until an alarm rings: 18 minutes at 1 GHz.
pub const FARTHEST: u64 = 1 << 40;

/// The alarm's protocol.
#[derive(Clone, Copy, Debug)]
pub enum Ring {}

impl Protocol for Ring {
    const KIND: &'static str = "alarm";
    type Request = SetAlarm;
    type Answer = Result<u64, AlarmRefusal>;
}

/// Sets an alarm. The answer is the device cycle in which the alarm rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAlarm {
    /// Number of device cycles until the alarm rings.
    pub after: u64,
    /// The CPU that the alarm interrupts.
    pub cpu: u64,
}

impl Payload for SetAlarm {
    fn to_words(self) -> Words {
        Words::new(SET, [self.after, self.cpu])
    }

    fn from_words(Words { tag, words: [after, cpu, _] }: Words) -> Option<SetAlarm> {
        (tag == SET).then_some(SetAlarm { after, cpu })
    }
}

/// The reason for which an alarm refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmRefusal {
    /// [`REFUSED`].
    Refused,
    /// [`NO_CPU`].
    NoCpu,
}

impl Refusal for AlarmRefusal {
    fn code(self) -> u32 {
        match self {
            AlarmRefusal::Refused => REFUSED,
            AlarmRefusal::NoCpu => NO_CPU,
        }
    }

    fn of(code: u32) -> Option<AlarmRefusal> {
        [AlarmRefusal::Refused, AlarmRefusal::NoCpu].into_iter().find(|reason| reason.code() == code)
    }
}

/// The device.
pub struct Alarm {
    latency: u64,
    /// The alarms that are set: when each rings, its number in the order of setting, and the CPU to
    /// interrupt. The alarm that rings next is first.
    due: BinaryHeap<Reverse<(u64, u64, Cpu)>>,
    set: u64,
    rung: u64,
}

impl Alarm {
    /// An alarm as the chip file describes it.
    pub fn new(settings: &AlarmSettings) -> Alarm {
        Alarm { latency: settings.latency.0, due: BinaryHeap::new(), set: 0, rung: 0 }
    }

    fn set(&mut self, asked: Option<SetAlarm>, port: &mut Port<'_>) -> Result<u64, AlarmRefusal> {
        let Some(SetAlarm { after, cpu }) = asked.filter(|asked| (1..=FARTHEST).contains(&asked.after)) else {
            return Err(AlarmRefusal::Refused);
        };
        let cpu = port.cpu(cpu).ok_or(AlarmRefusal::NoCpu)?;
        let at = port.now() + after;
        self.set += 1;
        self.due.push(Reverse((at, self.set, cpu)));
        port.tick_at(at);
        Ok(at)
    }
}

impl TypedDevice for Alarm {
    type Protocol = Ring;

    fn take(&mut self, request: &Request, asked: Option<SetAlarm>, port: &mut Port<'_>) -> Taken {
        let answer = self.set(asked, port);
        port.reply(request, port.now() + self.latency, answer);
        Taken::Yes
    }

    fn tick(&mut self, port: &mut Port<'_>) {
        while let Some(&Reverse((at, _, cpu))) = self.due.peek()
            && at <= port.now()
        {
            self.due.pop();
            self.rung += 1;
            port.interrupt(cpu);
        }
        if let Some(&Reverse((next, ..))) = self.due.peek() {
            port.tick_at(next);
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("rung", self.rung)]
    }
}
