//! The operating system: CPUs, which threads they run, and what changing that costs.
//!
//! Threads are scheduled onto CPUs. A CPU is a hardware context of a core; [`Cpu`] says of which. Which thread runs where and
//! when is decided by a policy of the crate `sched` (`os.scheduler`); here its decisions are carried out, each at the
//! chip file's price.
//!
//! | file | holds |
//! | --- | --- |
//! | [`policy`] | what the policy is told, and its decisions carried out |
//! | [`run`] | threads come onto CPUs and leave them |
//! | [`futex`] | who sleeps on which cell |

pub(crate) mod futex;
pub(crate) mod policy;
pub(crate) mod run;

use crate::engine::thread::ThreadId;
use baton_units::CoreId;

/// A CPU: a hardware context of a core.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// The core that it belongs to.
    pub(crate) core: CoreId,
    /// The thread that runs here, or that it switches to.
    pub(crate) current: Option<ThreadId>,
    /// Since when it has idled, if it does.
    idle_since: u64,
    /// The policy's timer is in the queue.
    timer: bool,
}

impl Cpu {
    /// A context of that core, which idles.
    pub(crate) fn new(core: CoreId) -> Cpu {
        Cpu { core, current: None, idle_since: 0, timer: false }
    }
}
