//! One stretch of one thread's time: what timelines are drawn from and what the exports hold, a row each.

use baton_trace::analysis::OffCpu;
use baton_trace::{Mode, ThreadIndex};
use baton_units::Nanos;

/// What a thread did in an [`Interval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Held a lock: a critical section.
    Hold(Mode),
    /// Waited for a lock.
    Wait(Entry),
    /// The part of a wait in which no thread held the lock: competition overhead. Lies inside a `Wait`.
    Overhead,
    /// Waited on a condition variable.
    Condition,
    /// Waited at a barrier.
    Barrier,
    /// Waited for a semaphore.
    Semaphore,
    /// Waited for a thread's end.
    Join,
    /// Waited for the next parallel region of its team.
    Idle,
    /// Waited for tasks.
    TaskWait,
    /// Was off its CPU, and waited for nothing that the trace shows.
    OffCpu(OffCpu),
}

/// How a wait for a lock went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// It spun all the time.
    Spinning,
    /// It slept in the kernel at least once.
    Sleeping,
    /// Not known.
    Unknown,
    /// It gave up: a time-out, or the trace's end.
    Abandoned,
}

/// One stretch of one thread's time. Times count from the trace's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The thread.
    pub thread: ThreadIndex,
    /// What it did.
    pub doing: Doing,
    /// The lock (a place in the report's locks) or other object (a place in its waitables); none for a join.
    pub object: Option<u32>,
    /// Call site: a place in the report's sites. None where it was not taken.
    pub site: Option<u32>,
    /// Beginning.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
    /// For a `Wait`: the thread whose release ended it, and when that was.
    pub from: Option<(ThreadIndex, Nanos)>,
    /// For a `Wait`: atomic tries, 0 if not counted.
    pub tries: u32,
    /// How many other intervals of the thread were open when this one ended. Those come later in the stream, and contain it or
    /// overlap with it; at 0 all that has begun has ended.
    pub open: u32,
}

impl Interval {
    /// Its length.
    pub fn length(&self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.start.0))
    }
}

impl Doing {
    /// One word for it, as the exports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Doing::Hold(_) => "hold",
            Doing::Wait(_) => "wait",
            Doing::Overhead => "overhead",
            Doing::Condition => "condition-wait",
            Doing::Barrier => "barrier-wait",
            Doing::Semaphore => "semaphore-wait",
            Doing::Join => "join",
            Doing::Idle => "idle",
            Doing::TaskWait => "task-wait",
            Doing::OffCpu(_) => "off-cpu",
        }
    }

    /// How a wait went, or in which mode a lock was held; empty for the rest.
    pub fn detail(self) -> &'static str {
        match self {
            Doing::Hold(Mode::Shared) => "shared",
            Doing::Hold(Mode::Exclusive) => "exclusive",
            Doing::Wait(Entry::Spinning) => "spinning",
            Doing::Wait(Entry::Sleeping) => "sleeping",
            Doing::Wait(Entry::Unknown) => "unknown",
            Doing::Wait(Entry::Abandoned) => "abandoned",
            Doing::OffCpu(OffCpu::Ready) => "ready",
            Doing::OffCpu(OffCpu::Blocked) => "blocked",
            Doing::OffCpu(OffCpu::Unknown) => "unknown",
            _ => "",
        }
    }

    /// The object is a lock, not a waitable.
    pub fn is_of_lock(self) -> bool {
        matches!(self, Doing::Hold(_) | Doing::Wait(_) | Doing::Overhead)
    }
}
