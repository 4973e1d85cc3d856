//! Waits with load-exclusive and WFE for n nanoseconds, then sleeps (futex).

use super::{Idle, Monitor, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "wfe-park",
    what: "load-exclusive and WFE for n ns in all (wfe-park(n), 10000 if bare), then futex",
    source: "waits as long as a sleep costs, then sleeps: Karlin, Li, Manasse and Owicki, SOSP 1991",
    limits: "Arm only; as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Wfe)).then_sleep(n)
}
