//! An interval: one stretch of one thread's time. Timelines draw intervals, and the exports have
//! one row for each.

use baton_trace::analysis::OffCpu;
use baton_trace::{Mode, ThreadIndex};
use baton_units::Nanos;

/// What a thread did in an [`Interval`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// The thread held a lock: a critical section.
    Hold(Mode),
    /// The thread waited for a lock.
    Wait(Entry),
    /// The part of a wait during which no thread held the lock: competition overhead. It lies
    /// inside a `Wait`.
    Overhead,
    /// The thread waited on a condition variable.
    Condition,
    /// The thread waited at a barrier.
    Barrier,
    /// The thread waited for a semaphore.
    Semaphore,
    /// The thread waited for another thread's end.
    Join,
    /// A worker waited for the next parallel region of its team.
    Idle,
    /// The thread waited for tasks.
    TaskWait,
    /// The thread waited in a futex of the program's own.
    Futex,
    /// The thread waited for a lock inside of the C library.
    LibcLock,
    /// The thread waited for room in a queue.
    Room,
    /// The thread waited for an item of a queue.
    Item,
    /// The thread was off its CPU and waited for nothing that the trace shows.
    OffCpu(OffCpu),
}

/// The way in which a thread waited for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// The thread spun all the time.
    Spinning,
    /// The thread slept in the kernel at least once.
    Sleeping,
    /// The trace does not say whether the thread slept.
    Unknown,
    /// The thread gave up, or the trace ended first.
    Abandoned,
}

/// One stretch of one thread's time. Times count from the beginning of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub thread: ThreadIndex,
    pub doing: Doing,
    /// The lock (an index into the report's locks) or the other object (an index into its
    /// waitables); `None` for a join, an idle worker, a wait for tasks, and time off the CPU.
    pub object: Option<u32>,
    /// The call site, as an index into the report's sites; `None` without an `object`, and for
    /// `Overhead`.
    pub site: Option<u32>,
    pub start: Nanos,
    pub end: Nanos,
    /// For a `Wait` that got the lock: the other thread whose release ended it, and the time of the
    /// release; `None` if no such release came during the wait.
    pub from: Option<(ThreadIndex, Nanos)>,
    /// For a `Wait`: the number of atomic tries, or 0 if tries were not counted.
    pub tries: u32,
    /// How many other intervals of the thread were still open when this one ended. Open intervals
    /// follow later in the stream, and contain this one or overlap it. At 0, every interval that has
    /// begun has ended.
    pub open: u32,
}

impl Interval {
    pub fn length(&self) -> Nanos {
        Nanos(self.end.0.saturating_sub(self.start.0))
    }
}

impl Doing {
    /// The word that the exports use for the activity.
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
            Doing::Futex => "futex-wait",
            Doing::LibcLock => "libc-lock-wait",
            Doing::Room => "queue-full-wait",
            Doing::Item => "queue-empty-wait",
            Doing::OffCpu(_) => "off-cpu",
        }
    }

    /// How a wait went, in which mode a lock was held, or why a thread was off the CPU; empty for
    /// everything else.
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
            Doing::OffCpu(OffCpu::Call) => "call",
            Doing::OffCpu(OffCpu::Recorder) => "recorder",
            Doing::OffCpu(OffCpu::Unknown) => "unknown",
            _ => "",
        }
    }

    /// Whether the object is a lock rather than a waitable.
    pub fn is_of_lock(self) -> bool {
        matches!(self, Doing::Hold(_) | Doing::Wait(_) | Doing::Overhead)
    }
}
