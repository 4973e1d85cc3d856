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
pub(crate) enum State {
    /// Waits in a run queue.
    Ready,
    /// A core is switching to it.
    Starting,
    /// On a CPU whose interrupt handler runs; then its coroutine runs on.
    Interrupted,
    /// On a core: runs guest code, which takes no time, or an operation that cannot be interrupted.
    Running,
    /// Computes until then; can be interrupted.
    Working(u64),
    /// Spins on a line that its core holds.
    Spinning,
    /// Its CPU stands still: with a monitor, or halted.
    IdleWait,
    /// On a CPU that it is to leave: it has called its requests to devices back, and does not know yet what came of them.
    Cancelling,
    /// Sleeps: in a futex, in a join or for a time.
    Asleep,
    /// Has ended.
    Done,
}

/// How a thread goes on when it gets a core again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Its coroutine runs on.
    Guest,
    /// It computes on, so much more.
    Work(Remaining),
}

/// Why a wait of any kind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Woken, or the line has gone.
    Woken,
    /// The time has come.
    Expired,
    /// The core was taken away.
    Interrupted,
}

/// A guest thread: what all rooms need of it, and each room's own part.
pub(crate) struct Thread {
    pub(crate) name: String,
    pub(crate) state: State,
    /// The CPU that it has, or had last: a context of a core.
    pub(crate) cpu: u32,
    /// That core.
    pub(crate) core: CoreId,
    pub(crate) resume: Resume,
    /// What is left of its computation, which its coroutine goes on with when it has looked why that was cut short.
    pub(crate) cut: Option<Remaining>,
    pub(crate) ended: Ended,
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) local: Box<Local>,
    /// The operating system's part.
    pub(crate) os: Task,
    /// What it has under way in its core.
    pub(crate) pipeline: Pipeline,
    /// How its computation goes on beside its siblings.
    pub(crate) pace: Pace,
    /// The wait that it is in.
    pub(crate) wait: WaitState,
    /// What its locks have told the network interface.
    pub(crate) mechanism: Marks,
    /// What is counted of it.
    pub(crate) stats: Stats,
}

impl Thread {
    /// A thread that a CPU will be chosen for.
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

    /// Whether something is wanted of it before its next operation: its CPU, or to stand still.
    #[inline(always)]
    pub(crate) fn is_called(&self) -> bool {
        self.os.preempt | (self.pace.owed != 0)
    }

    /// All time since the last charge had this reason.
    #[inline(always)]
    pub(crate) fn charge(&mut self, reason: Reason, now: u64) {
        self.stats.charge(reason, now, self.cpu);
    }

    /// The last hint that a lock gave, if one did, with the newest progress: the section that has just ended counts.
    pub(crate) fn newest_hint(&self) -> Option<LockHint> {
        let progress = self.local.get(Use::Progress) as u32;
        self.mechanism.last_hint.map(|hint| LockHint { progress, ..hint })
    }
}
