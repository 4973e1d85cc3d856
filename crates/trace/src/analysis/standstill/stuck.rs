//! Threads that can never go on: what each waits for, and why the wait does not end.

use crate::analysis::causes::WaitKind;
use crate::analysis::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Event, SiteId, ThreadIndex};
use crate::process::ProcessIndex;

/// A wait that had not ended when its process did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenWait {
    /// The thread that waits.
    pub thread: ThreadIndex,
    /// The kind of the wait.
    pub kind: WaitKind,
    /// The object at which the thread waits; `None` for waits for threads, tasks and regions.
    pub object: Option<ObjectId>,
    /// The thread that a join waits for, if the trace knows it.
    pub target: Option<ThreadIndex>,
    /// The call site of the wait.
    pub site: SiteId,
    /// When the wait began.
    pub since: Ticks,
    /// The mutex that a wait at a condition variable gave up.
    pub mutex: Option<ObjectId>,
    /// Whether waiters of the condition variable were woken, and this thread must be one of them.
    pub signalled: bool,
    /// Whether the wait may end by itself, because it has a deadline, or because the thread acted
    /// while it waited.
    pub bounded: bool,
    /// Whether all threads have arrived at the barrier at which the thread waits.
    pub passed: bool,
}

impl OpenWait {
    pub(super) fn new(event: &Event, kind: WaitKind, object: Option<ObjectId>, site: SiteId) -> OpenWait {
        let (thread, since) = (event.thread, event.time);
        let (mutex, target, signalled, bounded, passed) = (None, None, false, false, false);
        OpenWait { thread, kind, object, target, site, since, mutex, signalled, bounded, passed }
    }
}

/// A process in which threads can never go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// The process.
    pub process: ProcessIndex,
    /// Since when threads wait in a circle, or for a lock whose holder has ended; `None` if none
    /// do.
    pub deadlock: Option<Ticks>,
    /// Since when no thread of the process has acted; `None` if some threads could still go on, or
    /// if that was too short before the process's end to tell.
    pub still: Option<Ticks>,
    /// Since when a thread has waited at a condition variable or semaphore that no thread has
    /// signalled since, while the program's first thread waits for it by joins. Other threads go
    /// on, so that the program may stand still or not. If no other threads go on, a signal's handler may
    /// (`handlers`), and this is the time since when no thread has acted.
    pub suspected: Option<Ticks>,
    /// The signals whose handlers could let a thread go on, for which reason the standstill is only
    /// suspected.
    pub handlers: Vec<u32>,
    /// When the process ended, if that is known.
    pub end: Option<Ticks>,
    /// Circles of threads, as indices into `threads`: each thread waits for the next, and the last
    /// for the first.
    pub circles: Vec<Vec<usize>>,
    /// The threads that cannot go on; those of the circles come first.
    pub threads: Vec<Stuck>,
    /// Number of living threads that could still go on.
    pub moving: u32,
}

/// A thread that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The wait that the thread is in.
    pub wait: OpenWait,
    /// Why the thread's wait does not end.
    pub why: Why,
}

/// Why a wait does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// These threads hold the lock that the thread waits for; for a waiter of a condition variable
    /// that was signalled, its mutex.
    Held(Vec<Holding>),
    /// No thread is known to hold the lock.
    Unheld,
    /// The joined thread cannot end.
    Join,
    /// No signal of the condition variable lets the thread go on.
    Condition(Signals),
    /// No post of the semaphore lets the thread go on.
    Semaphore(Posts),
    /// No wake of the futex, or of the lock of the C library, lets the thread go on.
    Futex,
    /// No thread puts an item into the queue, or takes one out of it.
    Queue,
    /// Threads are missing at the barrier where the thread waits.
    Barrier {
        /// Number of threads that have arrived at the barrier.
        arrived: u32,
        /// Number of threads that the barrier waits for, if known.
        expected: Option<u32>,
    },
    /// No thread opens the team's next region.
    Idle,
    /// The tasks do not end.
    Tasks,
}

/// A thread that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The thread.
    pub thread: ThreadIndex,
    /// The lock.
    pub lock: ObjectId,
    /// The call site that took the lock.
    pub site: SiteId,
    /// When the lock was taken.
    pub since: Ticks,
    /// Whether the holding thread has ended.
    pub ended: bool,
}

/// The signals of a condition variable, as a thread that waits there sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Number of signals and broadcasts.
    pub count: u64,
    /// The last signal or broadcast.
    pub last: Option<Signal>,
    /// How often the waiting thread has taken the mutex since the last signal. At 0 it held the
    /// mutex during the signal, or waited already; at 2 or more it saw under the mutex what the
    /// signal was about, gave the mutex up and came back.
    pub looked: u32,
}

/// A signal or broadcast of a condition variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When the signal was sent.
    pub time: Ticks,
    /// The thread that sent the signal.
    pub thread: ThreadIndex,
    /// The call site.
    pub site: SiteId,
    /// Whether the signal was a broadcast.
    pub broadcast: bool,
    /// Number of threads that waited at the condition variable when the signal was sent.
    pub waiters: u32,
    /// The first thread that woke at the condition variable after the signal.
    pub woke: Option<ThreadIndex>,
}

/// The posts of a semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posts {
    /// Number of posts.
    pub posts: u64,
    /// Number of takes.
    pub takes: u64,
    /// Value of the semaphore when it was initialised, if known.
    pub initial: Option<u32>,
    /// Time, thread and call site of the last post.
    pub last: Option<(Ticks, ThreadIndex, SiteId)>,
}
