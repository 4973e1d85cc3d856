//! The algorithms as types for Rust programs: constant `new`, any wait policy as a type, and no
//! allocation.
//!
//! | type | bytes | order | what it is |
//! | --- | --- | --- | --- |
//! | [`Mutex`] | 4 | none | [`plain`](crate::lock::plain): a lock and its unlock take 9 instructions |
//! | [`RwLock`] | 4 | no stream of readers keeps a writer out | [`phases`](crate::rwlock::phases): upgradable, downgrade, recursive reads |
//! | [`Condvar`] | 8 | the oldest waiter first | [`chain`](crate::event::chain): a broadcast wakes one waiter at a time |
//! | [`Once`] | 4 | – | [`once`](crate::once): an initialization |
//! | [`Semaphore`] | 4 | none | [`flagged`](crate::semaphore::flagged): up to 2^31 - 1 permits |
//! | [`Barrier`] | 256 | – | [`central`](crate::barrier::central): any number of threads |
//!
//! [`queue_of`] makes a bounded queue with a [`Sender`] and a [`Receiver`], [`unbounded`] one without a
//! bound. An end that has its side to itself lends places: [`Sender::reserve`], [`Receiver::peek`]. For a
//! queue of kind [`Watched`] tasks can wait, and [`wait_any`] waits for several of them.
//!
//! Mutexes and reader-writer locks are those of [`lock_api`] 0.5, with its guards. Each lock of
//! [`lock`](crate::lock) has an alias such as [`McsMutex`]; a lock with queue nodes allocates a
//! node when a thread first needs one more.
//!
//! The policy says how waiters wait. The default, [`Adaptive`], learns how long waits last and
//! sleeps when that is cheaper. All of the timed calls take a [`Duration`](core::time::Duration)
//! or a [`Deadline`].

mod barrier;
mod choice;
mod condvar;
#[cfg(any(test, feature = "deadlocks"))]
pub mod deadlocks;
mod lend;
mod mutex;
mod once;
#[cfg(any(test, feature = "poison"))]
pub mod poison;
mod policy;
mod queue;
mod raw;
mod ready;
pub mod record;
mod rwlock;
mod seen;
mod semaphore;
mod tasks;

pub use crate::event::Ended;
pub use crate::once::Poisoned;
pub use crate::queue::BadBound;
pub use crate::queue::channel::{NotReceived, NotSent};
pub use barrier::Barrier;
pub use baton_machine::units::Nanos;
pub use baton_machine::{Clock, Deadline, Wait};
pub use choice::{Choice, Choosable, choose};
pub use condvar::Condvar;
pub use lend::{Items, Room};
/// The crate whose guards the mutexes and reader-writer locks have.
pub use lock_api;
pub use mutex::*;
pub use once::Once;
pub use policy::{Adaptive, Park, Pause, SpinPark, WaitPolicy, after};
pub use queue::{
    Boundless, Ends, Kind, ManyReceivers, ManySenders, ManyToMany, ManyToOne, OneReceiver, OneSender, OneToMany,
    OneToOne, Receiver, Segmented, Sender, Watched, queue_of, queue_with, unbounded, unbounded_with,
};
pub use raw::{Held, Raw};
pub use ready::{Descriptor, Ready, wait_any};
pub use rwlock::{RawTurns, ReadRecursively, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use tasks::{News, Receiving, Sending};
