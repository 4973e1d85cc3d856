//! The second contract: who belongs on which kind of core.
//!
//! A [`Scheduler`](crate::Scheduler) owns the run queues. A placement does not: it hears what happens ([`Event`]) and answers with
//! moves and swaps ([`Answer`]), so it can also direct a kernel that has queues of its own. [`Adapter`] makes a `Scheduler` out of
//! any placement and plain run queues.
//!
//! | file | holds |
//! | --- | --- |
//! | [`params`] | the parameters, with the paper's defaults |
//! | `kinds` | which CPUs are fast, from their speeds |
//! | `board` | what is known of threads, CPUs and applications |
//! | `ranked` | a placement out of a rule that ranks threads: idle fast cores are filled, threads swapped periodically |
//! | `capacity`, `util` | a placement by the capacities of CPUs and the utilisation of threads |
//! | `account` | what each application had of fast and slow cores |
//! | `adapter` | run queues, and a `Scheduler` |
//! | [`log`] | a log of what a placement heard and answered, which replays |

pub mod log;
pub mod params;

mod account;
mod adapter;
mod board;
mod capacity;
mod kinds;
mod ranked;
mod util;

pub use account::AppUse;
pub use adapter::Adapter;
pub use params::{Amp, EnterSp, Master, Packing};

pub(crate) use board::Board;
pub(crate) use capacity::Capacity;
pub(crate) use ranked::{Rank, Ranked, Rule};

use crate::{Affinity, AppId, Born, LockNotice, Notice, ThreadId};
use baton_units::{CpuId, Cycles};

/// What a placement hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A thread is born. It is not runnable yet.
    Born(ThreadId, Born),
    /// A thread that was blocked or newly born can run. It is in no queue yet: a move says into which one it goes.
    Wake(ThreadId),
    /// The thread is in the CPU's queue.
    Placed(ThreadId, CpuId),
    /// The CPU is given to the thread.
    Runs(ThreadId, CpuId),
    /// The thread has lost its CPU and can run on; no move takes it elsewhere yet. It is in no queue: a move says into which one it goes.
    Yields(ThreadId),
    /// The thread, which ran, waits.
    Block(ThreadId),
    /// The thread has ended.
    Exit(ThreadId),
    /// The thread, which is about to say that it spins, says for which lock, and who holds that, as far as it knows.
    Waits(ThreadId, Option<u64>, Option<ThreadId>),
    /// The thread says something of itself.
    Notice(ThreadId, Notice),
    /// The thread says what it has to do with a lock or a barrier.
    Lock(ThreadId, LockNotice, u64),
    /// From now on the thread may run here only.
    Affinity(ThreadId, Affinity),
    /// The CPU, which is on, has nothing in its queue.
    Idle(CpuId),
    /// The CPU is switched on or off.
    Online(CpuId, bool),
    /// The CPU's core has another clock.
    Speed(CpuId, u32),
    /// The moment of the newest [`Answer::Period`] has come.
    Period,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The thread, running, queued or just woken, goes to this CPU's queue. One that runs loses its CPU for that.
    Move(ThreadId, CpuId),
    /// Each of two threads on different CPUs goes where the other is. Of threads that run, both are preempted.
    Swap(ThreadId, ThreadId),
    /// From now on the application has this class.
    Class(AppId, Class),
    /// The application's boost is over: it had the class SP for the whole of its time. Its new class follows.
    Demoted(AppId),
    /// Say [`Event::Period`] at this moment, which replaces an earlier one.
    Period(Cycles),
    /// Say it no more.
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
    /// Its name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Class::Mp => "mp",
            Class::Hp => "hp",
            Class::Sp => "sp",
        }
    }
}

/// A placement policy. Times never go back; the same events give the same answers. Every answer is carried out, or known to be
/// impossible, before the next event comes, but for running threads: they move when they have lost their CPU, which the
/// [`Event::Placed`] of the new one says.
pub trait Placement {
    /// Something happens.
    fn hears(&mut self, now: Cycles, event: &Event, answers: &mut Vec<Answer>);

    /// Whether it wants to hear [`Event::Lock`].
    fn hears_locks(&self) -> bool {
        false
    }

    /// Whether the thread, which runs, is to keep its CPU a while when its time slice is over.
    fn keeps_cpu(&self, _thread: ThreadId) -> bool {
        false
    }
}
