//! Threads of the program: a record of each, from its first call to its end, and what a fork does to them.
//!
//! | file | holds |
//! | --- | --- |
//! | [`callbacks`] | the registry: what the rooms above do as threads begin and end, and as the process forks |
//! | [`fork`] | forks: generations, and what glibc calls before and after one |
//! | `pool` | who has which record |
//! | `record` | the record itself, made of the parts below |
//! | `pointer` | the calling thread's identity, and its words of thread-local storage |
//! | `counts` | counters |
//! | [`waiter`] | a place in the queue of a condition variable |
//! | `stacks`, `ring` | for recording: call stacks that were seen, the kernel's ring of context switches |
//! | `teams` | OpenMP's teams |
//! | `yields` | for recording: calls that yield the CPU |

pub mod callbacks;
mod counts;
pub mod fork;
mod pointer;
mod pool;
mod record;
mod ring;
mod stacks;
mod teams;
pub mod waiter;
mod yields;

pub use counts::{Count, Counts, Passed};
pub use pointer::pointer;
pub use pool::{adopted, all, current, existing, find, start};
pub use record::Thread;
pub use ring::Ring;
pub use stacks::{ORIGIN, Origin};
pub use teams::{Function, KEPT, Region, Teams};
pub use waiter::Waiter;
pub use yields::Yields;
