//! Tries, then a monitor, then sleeps. How long each stage takes depends on earlier waits for the
//! cell and on whether other threads need the CPU.

use super::{Between, REST, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "adaptive",
    what: "try with PAUSE, then a monitor where users have one, then futex, by the waits before; a sleep costs n ns \
           (adaptive(n), 10000 if bare)",
    source: "ski rental (Karlin, Li, Manasse and Owicki, SOSP 1991) by measured waits, with the kernel asked whether the CPU is wanted",
    limits: "as futex",
    argument: Some(REST),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries(Between::Pause).then_sleep(n).adapted()
}
