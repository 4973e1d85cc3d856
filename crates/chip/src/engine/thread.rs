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

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The thread waits in a run queue.
    Ready,
    /// A core is switching to the thread.
    Starting,
    /// The thread is on a CPU whose interrupt handler runs; its coroutine resumes afterwards.
    Interrupted,
    /// The thread runs guest code, which takes no time, or an operation that cannot be interrupted.
    Running,
    /// The thread computes until this moment, and can be interrupted.
    Working(u64),
    /// The thread spins on a line that its core holds.
    Spinning,
    /// The thread's CPU stands still: in a monitor, or halted.
    IdleWait,
    /// The thread is to leave its CPU. It has called back its requests to devices and does not know
    /// their fate yet.
    Cancelling,
    /// The thread sleeps: in a futex, in a join, or for a time.
    Asleep,
    /// The thread has ended.
    Done,
}

/// How a thread continues when it gets a core again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The thread's coroutine resumes.
    Guest,
    /// The thread computes the rest of its computation.
    Work(Remaining),
}

/// Why a wait of any kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The waiter was woken, or the line was lost.
    Woken,
    /// The deadline has come.
    Expired,
    /// The core was taken away.
    Interrupted,
}

/// A guest thread: what all rooms need, and the part of each room.
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) state: State,
    /// The CPU that the thread has, or had last. It is a context of a core.
    pub(crate) cpu: u32,
    /// The core of that CPU.
    pub(crate) core: CoreId,
    pub(crate) resume: Resume,
    /// The rest of a computation that was cut short. The coroutine continues it after it has found
    /// out why.
    pub(crate) cut: Option<Remaining>,
    pub(crate) ended: Ended,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) local: Box<Local>,
    /// The operating system's part.
    pub(crate) os: Task,
    /// The operations under way in the core.
    pub(crate) pipeline: Pipeline,
    /// How the thread's computation proceeds beside its siblings.
    pub(crate) pace: Pace,
    /// The wait that the thread is in.
    pub(crate) wait: WaitState,
    /// What the thread's locks have told the network interface.
    pub(crate) mechanism: Marks,
    pub(crate) stats: Stats,
}

impl Thread {
    /// A thread for which a CPU will be chosen.
    pub(crate) fn new(name: String, number: u32, os: Task, now: u64) -> Thread {
        Thread {
            name,
            state: State::Ready,
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

    /// Whether the thread must do something before its next operation: leave its CPU, or stand
    /// still.
    #[inline(always)]
    pub(crate) fn is_called(&self) -> bool {
        self.os.preempt | (self.pace.owed != 0)
    }

    /// Charges the time since the last charge to `reason`.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64) {
        self.stats.charge(reason, now, self.cpu);
    }

    /// The last hint of a lock, with the newest progress: a section that has just ended counts.
    pub(crate) fn newest_hint(&self) -> Option<LockHint> {
        let progress = self.local.get(Use::Progress) as u32;
        self.mechanism.last_hint.map(|hint| LockHint { progress, ..hint })
    }
}
