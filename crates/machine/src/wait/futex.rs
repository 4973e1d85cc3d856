//! Sleeps in the kernel at once (futex).

use super::{Idle, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "futex",
    what: "sleep in the kernel at once",
    source: "futex(2)",
    limits: "Linux only; a wake-up costs a system call",
    argument: None,
};

pub(super) const fn steps(_: u32) -> Steps {
    Steps::idle(Idle::Futex)
}
