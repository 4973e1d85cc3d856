//! Loads with PAUSE. After n tries the thread tells the scheduler that it only spins.

use super::{Argument, Between, Steps, WaitInfo};

/// Tries before a bare `spin-notify` tells the scheduler; the policy's paper (Saez and others, CF
/// 2010) gives no number. The tries take about ten microseconds, so that the system call is short
/// in comparison.
pub(super) const TRIES: u32 = 1000;

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "spin-notify",
    what: "as pause; after n tries tells the scheduler so (spin-notify(n), 1000 if bare)",
    source: "PA-RTX: Saez, Fedorova, Prieto and Vegas, CF 2010, section 2.2",
    limits: "only simulated schedulers listen; keeps the CPU",
    argument: Some(Argument { bare: TRIES, least: 1, most: u32::MAX, shown_if_bare: true }),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries(Between::Pause).tell_after(n)
}
