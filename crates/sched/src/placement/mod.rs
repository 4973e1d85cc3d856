//! The second contract: which threads belong on which kind of core.
//!
//! A [`Scheduler`](crate::Scheduler) owns the run queues. A placement does not: it is told what
//! happens ([`Event`]) and answers with moves and swaps ([`Answer`]), so it can also direct a
//! kernel that has its own queues. [`Adapter`] makes a `Scheduler` from any placement and simple
//! run queues.
//!
//! | file | holds |
//! | --- | --- |
//! | `contract` | the contract itself |
//! | `kinds` | which CPUs are fast, by what they are named or by their speeds |
//! | `board` | what is known of threads, CPUs and applications |
//! | `sorted` | a set of threads in ascending order |
//! | `holds` | how long locks are held, and the rest that is expected of a hold |
//! | `ranked` | a placement made from a rule that ranks threads: fills idle fast cores, swaps threads periodically |
//! | `capacity`, `util` | a placement by the capacities of CPUs and the utilisation of threads |
//! | `account` | each application's use of fast and slow cores |
//! | `adapter` | run queues, and a `Scheduler` |
//! | [`log`] | a log of what a placement was told and answered, which can be replayed |

pub mod log;

mod account;
mod adapter;
mod board;
mod capacity;
mod contract;
mod holds;
mod kinds;
mod ranked;
mod sorted;
mod util;

pub use crate::amp::{Amp, EnterSp, Master, Packing, Renewal};
pub use crate::scheduler::AppUse;
pub use adapter::Adapter;
pub use contract::{Answer, Class, Event, Placement};

pub(crate) use board::Board;
pub(crate) use capacity::Capacity;
pub(crate) use holds::Holds;
pub(crate) use ranked::{Rank, Ranked, Rule};
