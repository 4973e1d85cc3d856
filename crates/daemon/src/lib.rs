//! The policies of `baton-sched` on a real machine, by CPU affinity or by a scheduler in the kernel: `baton sched`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`run`](mod@run) | a run: programs are started or attached, and their threads placed until they end |
//! | [`scx`] | the scheduler in the kernel, by the program `baton-scx` |
//! | [`report`] | what a run came to |
//! | [`core`] | the pure core: what happens goes in, changes of masks come out |
//! | [`log`] | a log of inputs and decisions, which can be replayed |
//! | [`setup`] | what does not change while the core works: the head of a log |
//! | [`input`] | what the core is told and what it decides |
//! | [`policies`] | which policies can direct a kernel |
//! | [`watchdog`] | the process that gives masks back when the daemon was killed or stopped |
//! | [`restore`] | gives masks back from a journal |
//! | [`journal`] | the users' masks, written before a mask changes |
//! | `given` | the masks that threads were given, now and shortly before |
//! | `live` | the threads of a run by the kernel's numbers |
//! | `locks` | what threads tell of locks |
//! | `source` | where the daemon sees what threads do |
//! | `sys` | what the kernel says of threads, and is asked for |
//! | `signals`, `times`, `error` | signals to the daemon; percentiles; why a run cannot begin or go on |

pub mod core;
pub mod input;
pub mod journal;
pub mod log;
pub mod policies;
pub mod report;
pub mod restore;
pub mod run;
pub mod scx;
pub mod setup;
pub mod watchdog;

mod error;
mod given;
mod live;
mod locks;
mod signals;
mod source;
mod sys;
mod times;

pub use baton_sched::LockNotice;
pub use error::Error;
