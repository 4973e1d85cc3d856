//! The parts of the critical path, and what happens in them.

use super::causes::WaitKind;
use super::objects::ObjectId;
use super::off_cpu::OffCpu;
use crate::clock::Ticks;
use crate::event::ThreadIndex;

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// The thread that the path runs along; for a hand-off, the receiving thread.
    pub thread: ThreadIndex,
    /// When the part begins.
    pub begin: Ticks,
    /// When the part ends.
    pub end: Ticks,
    /// What happens in it.
    pub doing: Doing,
}

/// What happens in a part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// The thread runs. If nothing tells about its CPU ([`Known::Nothing`](super::Known::Nothing)),
    /// it may have been off it.
    Running,
    /// The thread is off its CPU, and waits for nothing that the trace shows.
    OffCpu(OffCpu),
    /// The thread runs while others wait at an object of which the trace does not show who holds
    /// it; it was woken there, and wakes the next thread there. Critical sections of locks inside
    /// of this time are not counted as theirs.
    Awaited {
        /// Kind of the others' waits.
        kind: WaitKind,
        /// The object that they wait at.
        object: ObjectId,
    },
    /// The cost of threads that are awake in vain: time of such a thread, or time in which another
    /// one waits for a CPU, a lock or its wake-up because of them. Critical sections inside of this
    /// time are not counted.
    Vain {
        /// The condition variable whose broadcasts wake them, or the lock under which they poll.
        object: ObjectId,
    },
    /// The time from a cause in one thread to its effect in the next.
    HandOff {
        /// Kind of the wait that the cause ended.
        kind: WaitKind,
        /// The object waited at, if any.
        object: Option<ObjectId>,
    },
    /// A wait that no other thread's act explains: a time-out, a lock that was already free, a lost
    /// event.
    Waiting {
        /// Kind of the wait.
        kind: WaitKind,
        /// The object waited at, if any.
        object: Option<ObjectId>,
    },
}
