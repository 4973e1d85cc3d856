//! The contract of a placement: what it is told and what it answers.

use crate::{Affinity, AppId, Born, LockNotice, Notice, ThreadId};
use baton_units::{CpuId, Cycles};

/// What a placement is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread is born. It is not runnable yet.
    Born(ThreadId, Born),
    /// A thread that was blocked or newly born can run. It is in no queue yet: a move says which
    /// one it enters.
    Wake(ThreadId),
    /// The thread is in the CPU's queue.
    Placed(ThreadId, CpuId),
    /// The CPU is given to the thread.
    Runs(ThreadId, CpuId),
    /// The thread has lost its CPU but can run on, and no move takes it elsewhere yet. It is in no
    /// queue: a move says which one it enters.
    Yields(ThreadId),
    /// The thread, which ran, waits.
    Block(ThreadId),
    /// The thread has ended.
    Exit(ThreadId),
    /// The thread, which is about to report that it spins, reports for which lock, and which thread
    /// holds it, as far as it knows.
    Waits(ThreadId, Option<u64>, Option<ThreadId>),
    /// The thread reports something about itself.
    Notice(ThreadId, Notice),
    /// The thread reports what it does with a lock or a barrier.
    Lock(ThreadId, LockNotice, u64),
    /// The thread may run only on these CPUs from now on.
    Affinity(ThreadId, Affinity),
    /// The CPU, which is on, has an empty queue.
    Idle(CpuId),
    /// The CPU is switched on (`true`) or off.
    Online(CpuId, bool),
    /// The CPU's core has a new clock, of this speed.
    Speed(CpuId, u32),
    /// The moment of the newest [`Answer::Period`] has come.
    Period,
}

/// What the run queues must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Move the thread, which runs, is queued or was just woken, to this CPU's queue. A running
    /// thread loses its CPU for that.
    Move(ThreadId, CpuId),
    /// Move each of two threads, which are on different CPUs, to where the other is. Running
    /// threads are preempted.
    Swap(ThreadId, ThreadId),
    /// The application has this class from now on.
    Class(AppId, Class),
    /// The boost of the application is over: it had the class SP for the full time. Its new class
    /// follows.
    Demoted(AppId),
    /// Send [`Event::Period`] at this moment, which replaces an earlier one.
    Period(Cycles),
    /// Send no more [`Event::Period`].
    NoPeriod,
}

/// The class of an application's threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Mildly parallel, or sequential.
    #[default]
    Mp,
    /// Highly parallel.
    Hp,
    /// A parallel application that has just entered a sequential phase.
    Sp,
}

impl Class {
    /// The name of the class in logs.
    pub fn name(self) -> &'static str {
        match self {
            Class::Mp => "mp",
            Class::Hp => "hp",
            Class::Sp => "sp",
        }
    }
}

/// A placement policy. Times never go back, and the same events give the same answers. Every answer
/// is carried out, or known to be impossible, before the next event comes. The exception is a
/// running thread: it moves when it has lost its CPU, and the [`Event::Placed`] for its new CPU
/// reports that.
pub trait Placement {
    /// Takes in an event, and appends the answers to it.
    fn hears(&mut self, now: Cycles, event: &Event, answers: &mut Vec<Answer>);

    /// Whether the placement wants to be told [`Event::Lock`].
    fn hears_locks(&self) -> bool {
        false
    }

    /// Whether the placement wants to be told [`Event::Lock`] as well, and takes from it only what a
    /// kernel sees of futexes by itself, so that the threads have no cost.
    fn sees_futexes(&self) -> bool {
        false
    }

    /// Whether the thread, which runs, should keep its CPU for a while when its time slice is over.
    fn keeps_cpu(&self, _thread: ThreadId) -> bool {
        false
    }
}
