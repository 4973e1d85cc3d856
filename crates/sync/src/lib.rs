//! Locks, barriers, events, queues, reader-writer locks and semaphores, each written once over
//! [`Machine`](baton_machine::Machine): the source that is simulated is the source that ships, and
//! it has been model-checked.
//!
//! Programs begin with [`api`]: [`Mutex`], [`RwLock`], [`Condvar`], [`Once`], [`Semaphore`],
//! [`Barrier`] and [`queue_of`].
//!
//! Each folder holds one concept: `mod.rs` states the contract, each algorithm has its own file
//! beside it, and one line in the registry makes it known to every tool.
//!
//! | room | holds |
//! | --- | --- |
//! | [`lock`] | mutual exclusion, and the registry by which tools find a lock |
//! | [`barrier`] | all threads arrive before any continues |
//! | [`event`] | wait for a condition, notify one or all |
//! | [`queue`] | bounded queues |
//! | [`processes`] | bounded queues between processes, which outlive processes that are killed |
//! | [`flow`] | queues with flows: atomic, ordered, parallel, directed |
//! | [`deque`] | the work-stealing deque of Chase and Lev |
//! | [`rwlock`] | any number of readers at a time, or one writer |
//! | [`semaphore`] | permits that are taken and posted |
//! | [`once`] | an initialization that one thread runs |
//! | [`region`] | monitored regions of the paper on MONITOR and MWAIT between hyper-threads, as printed and corrected |
//! | [`api`] | the algorithms as types for Rust programs: sizes, orders, limits |
//! | `monitors` | cells that waiters of `1spinner` watch; a machine keeps them for ever |
//! | [`nodes`] | queue nodes, of which each thread keeps a free list for all locks and events |
//! | `ring` | rings of waiters' nodes, behind one word |
//! | `recorder` | functions of the profiler, found by their names |
//!
//! Rules of this crate: no `std::sync::atomic`, no simulator type, a comment that justifies every
//! ordering, and one that states the invariant of every `unsafe`. Algorithms wait by
//! [`wait_while`](baton_machine::Machine::wait_while); a loop of loads is only for a limited number
//! of tries before a thread sleeps.

#![warn(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("baton-sync runs on Linux only: its threads sleep in futexes");

pub mod api;
pub mod barrier;
pub mod deque;
pub mod event;
pub mod flow;
pub mod lock;
mod monitors;
pub mod nodes;
pub mod once;
pub mod processes;
pub mod queue;
pub mod region;
pub mod rwlock;
pub mod semaphore;
mod token;

mod recorder;
mod registry;
mod ring;

pub use api::*;
