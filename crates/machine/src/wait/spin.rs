//! Loads in a loop, with nothing between the loads.

use super::{Between, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "spin",
    what: "load in a loop",
    source: "-",
    limits: "takes the whole core; collapses with more threads than CPUs",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::tries(Between::Nothing)
}
