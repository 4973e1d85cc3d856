//! Yields the CPU to other threads up to n times, then sleeps (futex).

use super::{Argument, Between, Idle, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "yield-park",
    what: "offer the CPU by SCHED_YIELD n times (yield-park(n), 20 if bare), then futex",
    source: "LLVM's libomp, with more threads than CPUs",
    limits: "a holder that another program keeps from the CPU is not reached by it; as futex",
    argument: Some(Argument { bare: 20, least: 1, most: u32::MAX - 1, shown_if_bare: true }),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries_then(n, Between::Yield, Idle::Futex)
}
