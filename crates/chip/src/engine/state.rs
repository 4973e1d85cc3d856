//! The engine's state, in the parts that the rooms own.

use crate::base::event::Event;
use crate::base::queue::EventQueue;
use crate::base::random::Random;
use crate::base::thread::ThreadId;
use crate::clock::domain::Clocks;
use crate::contexts::Contexts;
use crate::core::instructions::Instructions;
use crate::core::window::Window;
use crate::device::attached::Devices;
use crate::engine::locks::Watch;
use crate::engine::thread::Thread;
use crate::guest::memory::GuestMemory;
use crate::os::app::App;
use crate::os::state::Os;
use crate::power::meter::Meter;
use baton_chipfile::config::mechanism::Active;
use baton_chipfile::config::{Chip, CoresByKind};
use baton_machine::Local;
use baton_memory::phases::state::PhaseMemory;
use baton_memory::{MemorySystem, Notice};

/// What the run loop does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Resumes this guest.
    Resume(ThreadId),
    /// Continues: the event has been handled.
    Handled,
    /// Starts this application by creating its first thread.
    Arrival(App),
    /// Ends the run at its time limit.
    Limit,
    /// Ends the run, because nothing will ever happen again.
    Silence,
}

/// The engine's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineCounts {
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) migrations: u64,
}

/// The state of the cores besides memory accesses: contexts, clocks, windows.
pub(crate) struct Cores {
    pub(crate) contexts: Contexts,
    pub(crate) clocks: Clocks,
    /// The window of each hardware context.
    pub(crate) windows: Vec<Window>,
    /// The chip file's table for each kind of core.
    pub(crate) kinds: CoresByKind,
    /// The instructions that come with accesses.
    pub(crate) own_instructions: Instructions,
    /// Whether atomics are load-linked and store-conditional.
    pub(crate) links: bool,
    /// Whether homes perform atomics.
    pub(crate) far: bool,
}

/// The bounds of a run, and the shortcuts that it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Events after this moment do not happen.
    pub(crate) limit: u64,
    /// The run ends at the first timer interrupt after this many events.
    pub(crate) events: u64,
    /// Whether to finish operations at once if no event comes before their end; off in tests that
    /// compare.
    pub(crate) run_ahead: bool,
    /// Whether to count tries of spinning waits that cannot succeed instead of simulating them; off
    /// in tests that compare.
    pub(crate) skip_tries: bool,
}

/// The records that a run keeps about guests and locks.
pub(crate) struct Log {
    /// The events that guests record; `None` if they are not kept.
    pub(crate) record: Option<Vec<baton_trace::Event>>,
    pub(crate) watch: Watch,
}

/// The simulated machine.
pub(crate) struct Engine {
    pub(crate) now: u64,
    pub(crate) running: ThreadId,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) bounds: Bounds,
    pub(crate) memory: MemorySystem,
    /// The memory system's notices that are being handled, kept to reuse their memory.
    pub(crate) notices: Vec<Notice>,
    pub(crate) cores: Cores,
    /// The state of phases, on a chip in the coarse mode.
    pub(crate) phases: Option<Box<PhaseMemory>>,
    pub(crate) guest: GuestMemory,
    pub(crate) os: Os,
    pub(crate) devices: Option<Box<Devices>>,
    pub(crate) meter: Meter,
    pub(crate) chip: Chip,
    pub(crate) log: Log,
    pub(crate) counts: EngineCounts,
    /// Draws when monitors end spuriously.
    pub(crate) spurious: Random,
    /// The thread-local data of the host's own code.
    pub(crate) outside: Box<Local>,
    /// What network interfaces write into headers.
    pub(crate) mechanism: Active,
}

/// The end of an operation that the memory system will report later.
pub(crate) const PENDING: u64 = u64::MAX;
