//! MONITOR, re-check, MWAIT, with a hint for the depth.

use super::{Argument, Idle, Monitor, Steps, WaitInfo};

/// Largest depth that `mwait(n)` can ask for.
const MWAIT_DEPTHS: u32 = 3;

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "mwait",
    what: "MONITOR and MWAIT on the line, at depth n (mwait(n), 1 if bare)",
    source: "Akkan, Lang and Ionkov, section III; Intel SDM vol. 2, MWAIT",
    limits: "simulated chips only: privileged, but in kernels that give it to users; keeps the CPU",
    argument: Some(Argument { bare: 1, least: 1, most: MWAIT_DEPTHS, shown_if_bare: false }),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Mwait(n)))
}
