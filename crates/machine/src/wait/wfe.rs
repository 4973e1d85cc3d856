//! Load-exclusive and WFE (Arm).

use super::{Idle, Monitor, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "wfe",
    what: "load-exclusive and WFE",
    source: "Arm ARM, WFE",
    limits: "Arm only; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Wfe))
}
