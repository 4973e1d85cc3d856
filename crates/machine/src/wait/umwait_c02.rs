//! UMONITOR, re-check, UMWAIT at the deeper of its two depths (Intel WAITPKG).

use super::{Idle, Monitor, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "umwait-c02",
    what: "UMONITOR and UMWAIT on the line, at C0.2: it saves more and leaves more slowly than umwait, which asks for C0.1",
    source: "Intel SDM vol. 2, WAITPKG",
    limits: "needs WAITPKG and a kernel that allows C0.2; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::UmwaitC02))
}
