//! Waits with MONITORX and MWAITX for n nanoseconds, then sleeps (futex).

use super::{Idle, Monitor, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "mwaitx-park",
    what: "MONITORX and MWAITX for n ns in all (mwaitx-park(n), 10000 if bare), then futex",
    source: "waits as long as a sleep costs, then sleeps: Karlin, Li, Manasse and Owicki, SOSP 1991",
    limits: "needs MWAITX that no hypervisor intercepts; as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::idle(Idle::Monitor(Monitor::Mwaitx)).then_sleep(n)
}
