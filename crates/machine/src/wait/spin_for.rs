//! Loads with PAUSE for n nanoseconds, then sleeps (futex).

use super::{Between, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "spin-for",
    what: "try with PAUSE for n ns (spin-for(n), 10000 if bare), then futex",
    source: "waits as long as a sleep costs, then sleeps: Karlin, Li, Manasse and Owicki, SOSP 1991",
    limits: "as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries(Between::Pause).then_sleep(n)
}
