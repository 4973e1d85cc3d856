//! Waits with UMONITOR and UMWAIT for n nanoseconds, then sleeps (futex).

use super::{Idle, Monitor, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "umwait-park",
    what: "UMONITOR and UMWAIT for n ns in all (umwait-park(n), 10000 if bare), then futex",
    source: "waits as long as a sleep costs, then sleeps: Karlin, Li, Manasse and Owicki, SOSP 1991",
    limits: "needs WAITPKG; as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Umwait)).then_sleep(n)
}
