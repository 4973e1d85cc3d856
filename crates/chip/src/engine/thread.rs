//! A guest thread as the engine sees it.

use super::stats::Stats;
use super::waiting::WaitState;
use crate::clock::domain::Remaining;
use crate::contexts::pace::Pace;
use crate::core::mark::Marks;
use crate::core::pipeline::Pipeline;
use crate::engine::reason::Reason;
use crate::os::task::Task;
use baton_machine::local::Use;
use baton_machine::{Local, LockHint};
use baton_units::CoreId;
use corosensei::Yielder;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// Waits in a run queue.
    Ready,
    /// Has been given a CPU, which is switching to the thread or waking up for it.
    Starting,
    /// Stands still on its CPU, on which an interrupt handler runs; then its coroutine continues.
    Interrupted,
    /// On a core: runs guest code, which takes no time, or an operation that cannot be interrupted,
    /// or stalls for its store buffer or a device.
    Running,
    /// Computes until this time; can be interrupted.
    Working(u64),
    /// Spins: its tries on a line that its core holds are counted, or it pauses before its next
    /// try.
    Spinning,
    /// Its CPU stands still: with a monitor, or halted.
    IdleWait,
    /// Is about to leave its CPU or to end: it has called its requests to devices back, and does
    /// not know yet whether each was answered.
    Cancelling,
    /// Sleeps: in a futex, in a join, for a device's interrupt, or for a time.
    Asleep,
    /// Has ended.
    Done,
}

/// How a thread goes on when it gets a core again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The thread's coroutine continues.
    Guest,
    /// The thread computes the rest of its computation.
    Work(Remaining),
}

/// Why a wait of any kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A waker woke the thread, or the line that it watched was lost or written.
    Woken,
    /// The wait ended by itself, for example at its deadline.
    Expired,
    /// An interrupt came, the thread's CPU is wanted, or the thread was killed or has a signal.
    Interrupted,
}

/// A guest thread: what all rooms need of it, and each room's own part.
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) state: ThreadState,
    /// The CPU that the thread has, or had last: a context of a core.
    pub(crate) cpu: u32,
    /// That core.
    pub(crate) core: CoreId,
    pub(crate) resume: Resume,
    /// The rest of a computation that a signal or a kill has cut short. The coroutine resumes it
    /// when the signal's handlers have run; a killed thread ends instead.
    pub(crate) cut: Option<Remaining>,
    pub(crate) ended: Ended,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) local: Box<Local>,
    /// The operating system's record of the thread.
    pub(crate) os: Task,
    /// The operations that the thread has under way in its core.
    pub(crate) pipeline: Pipeline,
    /// What the thread demands of its core, and for how long it stands still.
    pub(crate) pace: Pace,
    /// The wait that the thread is in.
    pub(crate) wait: WaitState,
    /// The hints and critical sections that the thread's locks have announced.
    pub(crate) mechanism: Marks,
    /// The thread's counters.
    pub(crate) stats: Stats,
}

impl Thread {
    /// A thread that has no CPU yet.
    pub(crate) fn new(name: String, number: u32, os: Task, now: u64) -> Thread {
        Thread {
            name,
            state: ThreadState::Ready,
            cpu: 0,
            core: CoreId(0),
            resume: Resume::Guest,
            cut: None,
            ended: Ended::Woken,
            yielder: std::ptr::null(),
            local: Box::new(Local::new(number)),
            os,
            pipeline: Pipeline::default(),
            pace: Pace::default(),
            wait: WaitState::none(),
            mechanism: Marks::default(),
            stats: Stats::new(now),
        }
    }

    /// Whether the thread must do something before its next operation: pay for interrupt handlers,
    /// give up its CPU, attend to a signal or its death, or stand still.
    #[inline(always)]
    pub(crate) fn is_called(&self) -> bool {
        self.os.preempt | (self.pace.owed != 0)
    }

    /// Charges all of the thread's time since its last charge to `reason`.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64) {
        self.stats.charge(reason, now, self.cpu);
    }

    /// The last hint that one of the thread's locks gave, if any, with the thread's current
    /// progress, so that a critical section that has just ended counts.
    pub(crate) fn newest_hint(&self) -> Option<LockHint> {
        let progress = self.local.get(Use::Progress) as u32;
        self.mechanism.last_hint.map(|hint| LockHint { progress, ..hint })
    }
}
