//! MONITORX, re-check, MWAITX (AMD).

use super::{Idle, Monitor, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "mwaitx",
    what: "MONITORX and MWAITX on the line",
    source: "AMD APM vol. 3, MWAITX",
    limits: "needs MWAITX that no hypervisor intercepts; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Mwaitx))
}
