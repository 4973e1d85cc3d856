//! Tasks: in one queue behind the team's lock, as in libgomp, or in a list of each thread, from
//! which other threads steal.
//!
//! At a taskwait a thread runs children of its task, at the end of a taskgroup tasks of the group,
//! and at a barrier any task. A bit in the barrier's word tells a thread that has arrived there of
//! later tasks. A team in which too many tasks wait ([`PER_THREAD`], [`Kind`]) runs further tasks
//! at once.
//!
//! | file | holds |
//! | --- | --- |
//! | [`data`] | the memory of a task's data |
//! | `children` | the children of a task |
//! | [`group`] | what else is waited for: groups, events |
//! | [`depend`] | which task follows which |
//! | [`Shared`] | values that several threads share, with a count of references |
//! | `queue` | the tasks of a team that wait for a thread |
//! | [`Spare`] | memory of tasks that have ended |
//! | `lists` | where each thread has a list: the tallies of its tasks |
//! | `task` | a task, and the clauses with which it is made |

pub(crate) mod children;
pub mod data;
pub mod depend;
pub mod group;
pub(crate) mod lists;
pub(crate) mod queue;
mod shared;
mod spare;
pub(crate) mod task;

pub use data::Data;
pub use depend::Depend;
pub use group::{Event, Group};
pub(crate) use lists::Tally;
pub(crate) use queue::List;
pub use queue::Queue;
pub use shared::Shared;
pub use spare::Spare;
pub use task::{Clauses, Current, Function, Kind, PER_THREAD};
