//! MONITOR, re-check and MWAIT within a system call, for systems where user code may not execute
//! them.

use super::{Idle, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "mwmon",
    what: "MONITOR and MWAIT within a system call",
    source: "Anastopoulos and Koziris, section 3",
    limits: "simulated chips only: needs a kernel with that call; costs a system call; keeps the CPU",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::SystemMonitor)
}
