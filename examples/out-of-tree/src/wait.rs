//! A wait policy, added to Baton: a waiter looks a few times with PAUSE in between, then sleeps.

use baton_cli::machine::wait::{Argument, Between, Idle, Steps, WaitInfo};

pub const INFO: WaitInfo = WaitInfo {
    name: "my-nap",
    what: "try n times with PAUSE between (my-nap(n), 8 if bare), then futex",
    source: "-",
    limits: "as futex",
    argument: Some(Argument { bare: 8, least: 1, most: 1000, shown_if_bare: true }),
};

pub fn steps(n: u32) -> Steps {
    Steps::tries_then(n, Between::Pause, Idle::Futex)
}
