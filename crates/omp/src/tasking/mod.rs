//! What the threads of a team do: make, run and steal tasks, wait for them, cancel.
//!
//! | file | holds |
//! | --- | --- |
//! | `run` | a thread makes tasks, runs them, waits for them |
//! | `descendants` | tasks that a thread runs while its task waits |
//! | `events` | detached tasks |
//! | `included` | tasks whose bodies the compiler calls itself |
//! | `queueing` | tasks go into a team's lists and come out again |
//! | `steal` | threads that find no task of their own |
//! | `cancel` | a region or a work-share is cancelled |

mod cancel;
mod descendants;
mod events;
mod included;
mod queueing;
mod run;
mod steal;

pub use events::fulfil;
pub use included::Outer;
