//! The parts of the critical path, and what happens in them.

use super::causes::WaitKind;
use super::objects::ObjectId;
use super::off_cpu::OffCpu;
use crate::clock::Ticks;
use crate::event::ThreadIndex;

/// A part of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// The thread that the path runs along; for a hand-off, the receiving thread.
    pub thread: ThreadIndex,
    /// When the part begins.
    pub begin: Ticks,
    /// When the part ends.
    pub end: Ticks,
    /// What happens in this part of the path.
    pub doing: Doing,
}

/// What happens in a part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The thread runs. If the trace tells nothing about the thread's CPU
    /// ([`Known::Nothing`](super::Known::Nothing)), the thread may have been off its CPU.
    Running,
    /// The thread is off its CPU, and waits for nothing that the trace shows.
    OffCpu(OffCpu),
    /// The thread runs, or is blocked, while others wait at an object of which the trace does not show
    /// the holder. A wake at the object let the thread go on, and the thread wakes the next waiter
    /// there. Critical sections of locks inside of this time are not counted.
    Awaited {
        /// Kind of the waits of the other threads.
        kind: WaitKind,
        /// The object that the other threads wait at.
        object: ObjectId,
        /// Why the thread is off its CPU; `None` if it runs.
        off: Option<OffCpu>,
    },
    /// The cost of threads that are awake in vain: the time of such a thread, or the time in which
    /// another thread waits for a CPU, a lock or its wake-up because of them. Critical sections
    /// inside of this time are not counted.
    Vain {
        /// The condition variable or futex whose calls wake the threads, or the lock under which they
        /// poll.
        object: ObjectId,
    },
    /// The time from a cause in one thread to the end of the wait that it ends in the next thread.
    HandOff {
        /// Kind of the wait that the cause ended.
        kind: WaitKind,
        /// The object that the thread waited at, if any.
        object: Option<ObjectId>,
    },
    /// A wait that no other thread's act explains: a time-out, a lock that was already free, a lost
    /// event.
    Waiting {
        /// Kind of the wait.
        kind: WaitKind,
        /// The object that the thread waited at, if any.
        object: Option<ObjectId>,
    },
}
