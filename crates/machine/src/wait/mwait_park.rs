//! Waits with MONITOR and MWAIT at depth 1 for n nanoseconds, then sleeps (futex).

use super::{Idle, Monitor, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "mwait-park",
    what: "MONITOR and MWAIT at depth 1 for n ns in all (mwait-park(n), 10000 if bare), then futex",
    source: "waits as long as a sleep costs, then sleeps: Karlin, Li, Manasse and Owicki, SOSP 1991",
    limits: "simulated chips only: privileged, but in kernels that give it to users; as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Mwait(1))).then_sleep(n)
}
