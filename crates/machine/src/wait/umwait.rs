//! UMONITOR, re-check, UMWAIT at C0.1 (Intel WAITPKG).

use super::{Idle, Monitor, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "umwait",
    what: "UMONITOR and UMWAIT on the line",
    source: "Intel SDM vol. 2, WAITPKG",
    limits: "needs WAITPKG; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Umwait))
}
