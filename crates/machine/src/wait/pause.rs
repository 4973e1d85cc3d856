//! Loads in a loop with a PAUSE (or YIELD) between the loads.

use super::{Between, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "pause",
    what: "load in a loop with PAUSE between",
    source: "Intel SDM vol. 2, PAUSE",
    limits: "collapses with more threads than CPUs",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::tries(Between::Pause)
}
