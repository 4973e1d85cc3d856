//! Loads with PAUSE. After n tries the thread tells the scheduler that it only spins; after 10 n
//! tries it sleeps.

use super::spin_notify::TRIES;
use super::{Argument, Between, Idle, Steps, WaitInfo};

pub(super) const INFO: WaitInfo = WaitInfo {
    name: "notify-park",
    what: "as spin-notify(n) for 10 n tries (notify-park(n), 1000 if bare), then futex",
    source: "PA-RTX: Saez, Fedorova, Prieto and Vegas, CF 2010, section 2.2",
    limits: "only simulated schedulers listen; as futex",
    argument: Some(Argument { bare: TRIES, least: 1, most: u32::MAX / 10 - 1, shown_if_bare: true }),
};

pub(super) const fn steps(n: u32) -> Steps {
    Steps::tries_then(10 * n, Between::Pause, Idle::Futex).tell_after(n)
}
