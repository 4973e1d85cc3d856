//! The state of the operating system: CPUs, the policy, applications, futexes, thread numbers.

use super::app::{App, AppState, Runs};
use super::cpu::Cpu;
use super::futex::{Futexes, layout::Layout};
use super::governor::Governing;
use super::locks::Locks;
use super::policy::Policy;
use super::signal::Death;
use crate::base::random::{Purpose, Random};
use crate::base::thread::ThreadId;
use crate::os::refused::Refused;
use baton_chipfile::config::{Chip, CoresByKind};
use baton_machine::LockHint;
use baton_memory::Line;
use baton_units::CoreId;
use baton_units::Cycles;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Planned switches of cores off or on, in the order of time.
#[derive(Default)]
pub(crate) struct Switches {
    pub(crate) to_come: BTreeMap<(u64, u64), (CoreId, bool)>,
    /// The number of switches planned so far. It is part of each switch's key, so that switches of
    /// one moment keep their order.
    pub(crate) given: u64,
    pub(crate) scheduled: bool,
    /// The switches that were refused when their time came.
    pub(crate) refused: Vec<(Cycles, Refused)>,
}

/// A futex wake-up that is being carried out: it says how the interrupts that it causes are marked,
/// and which way they go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeUp {
    /// The waker's newest hint, if its locks give hints.
    pub(crate) hint: Option<LockHint>,
    /// The line of the futex's bucket, if futexes live in memory.
    pub(crate) bucket: Option<Line>,
}

/// A time during which every thread waits, found by a timer and checked by the next ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// When the newest wait began, how many threads live, and how many answers devices have given.
    /// If any of these has changed, a thread has run or may run.
    pub(crate) waits: (u64, usize, u64),
    /// When a timer first noticed that every thread waits.
    pub(crate) from: u64,
}

/// The operating system.
pub(crate) struct Os {
    /// The CPUs onto which threads are scheduled: the contexts of the cores in use.
    pub(crate) cpus: Vec<Cpu>,
    /// Number of threads that wait for a CPU.
    pub(crate) ready: u32,
    pub(crate) policy: Policy,
    /// The governor, which decides clocks; `None` if clocks stay as they are.
    pub(crate) governing: Option<Governing>,
    /// What threads have written down about locks.
    pub(crate) locks: Locks,
    pub(crate) apps: Vec<AppState>,
    /// The applications that a signal has ended.
    pub(crate) deaths: Vec<Death>,
    /// Applications that have not begun, by their starting time. The first one has an event.
    pub(crate) arrivals: BTreeSet<(u64, App)>,
    /// The planned switches of cores off or on.
    pub(crate) switches: Switches,
    /// The time during which every thread waits, if the last timer found that every thread does.
    pub(crate) quiet: Option<Quiet>,
    /// The sleepers of futexes at fixed prices.
    pub(crate) futexes: Futexes,
    /// The futex wake-up that is being carried out.
    pub(crate) wake_up: Option<WakeUp>,
    /// The layout of the kernel's memory.
    pub(crate) layout: Layout,
    /// The halted threads, by the cell that they wait on, in the order in which they halted.
    pub(crate) halted: Vec<(usize, ThreadId)>,
    /// For each number ([`Local::index`](baton_machine::Local::index)), the thread that has it or
    /// had it last.
    pub(crate) numbers: Vec<ThreadId>,
    pub(crate) free_numbers: BTreeSet<u32>,
    /// The number of threads that have not ended.
    pub(crate) alive: usize,
    pub(crate) start_noise: Random,
    pub(crate) wake_noise: Random,
}

impl Os {
    /// An operating system without threads, whose CPUs are contexts of these cores.
    pub(crate) fn new(chip: &Chip, kinds: &CoresByKind, contexts: &[CoreId], layout: Layout, seed: u64) -> Os {
        Os {
            cpus: contexts.iter().map(|&core| Cpu::new(core)).collect(),
            ready: 0,
            policy: Policy::new(chip, kinds, contexts),
            governing: Governing::new(chip, kinds, contexts),
            locks: Locks::default(),
            apps: vec![AppState::new(String::new(), Runs::Times(1), Cycles(0), None)],
            deaths: Vec::new(),
            arrivals: BTreeSet::new(),
            switches: Switches::default(),
            quiet: None,
            futexes: Futexes::new(),
            wake_up: None,
            layout,
            halted: Vec::new(),
            numbers: Vec::new(),
            free_numbers: BTreeSet::new(),
            alive: 0,
            start_noise: Random::new(seed, Purpose::Start),
            wake_noise: Random::new(seed, Purpose::Wake),
        }
    }

    /// Whether threads live, or applications are still to come.
    pub(crate) fn lives_on(&self) -> bool {
        self.alive != 0 || !self.arrivals.is_empty()
    }

    /// Whether a CPU onto which threads are scheduled is a context of the core.
    pub(crate) fn is_in_use(&self, core: CoreId) -> bool {
        self.cpus.iter().any(|cpu| cpu.core == core)
    }
}
