//! Loads with PAUSE up to n times, then sleeps (futex).

use super::{Argument, Between, Idle, Steps, WaitInfo};

/// Number of tries that a bare `spin-park` stands for: MAX_SPIN_COUNT of OCOR's paper (table 2).
pub const SPIN_TRIES: u32 = 128;

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "spin-park",
    what: "try n times (spin-park(n), 128 if bare), then futex",
    source: "OCOR paper, algorithm 1",
    limits: "as futex",
    argument: Some(Argument { bare: SPIN_TRIES, least: 0, most: u32::MAX, shown_if_bare: true }),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries_then(n, Between::Pause, Idle::Futex)
}
