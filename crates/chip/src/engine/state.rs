//! The engine's state: what is simulated, in the parts that the rooms own.

use crate::base::event::Event;
use crate::base::queue::EventQueue;
use crate::base::random::Random;
use crate::base::stop::Stop;
use crate::base::thread::ThreadId;
use crate::clock::domain::Clocks;
use crate::contexts::Contexts;
use crate::core::instructions::Instructions;
use crate::core::window::Window;
use crate::device::attached::Devices;
use crate::engine::above::Above;
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

/// What the run loop does after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The run loop resumes this guest.
    Resume(ThreadId),
    /// Nothing: the event has been handled.
    Handled,
    /// This application begins: its first thread must be created.
    Arrival(App),
    /// The run's limit of time or of events is reached.
    Limit,
    /// Nothing will ever happen again.
    Silence,
}

/// The counts of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineCounts {
    pub(crate) events: u64,
    pub(crate) switches: u64,
    pub(crate) wakes: u64,
    pub(crate) migrations: u64,
}

/// What the cores of the chip do besides memory accesses: contexts, clocks, windows.
pub(crate) struct Cores {
    /// Which contexts of the cores are active.
    pub(crate) contexts: Contexts,
    pub(crate) clocks: Clocks,
    /// For each hardware context, its share of its core's window.
    pub(crate) windows: Vec<Window>,
    /// What the chip file says of each core, by its kind.
    pub(crate) kinds: CoresByKind,
    /// The algorithm's own instructions, which are charged with its accesses.
    pub(crate) own_instructions: Instructions,
    /// Whether atomics are pairs of load-linked and store-conditional.
    pub(crate) links: bool,
    /// Whether homes perform atomics.
    pub(crate) far: bool,
}

/// The bounds of a run, and the shortcuts that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// The time at which the run is cut off.
    pub(crate) stop: Stop,
    /// The run ends at the first timer, alarm of the policy or decision of the governor after this
    /// number of events.
    pub(crate) events: u64,
    /// Whether an operation is finished at once if nothing happens before its end. Tests switch it
    /// off to compare results.
    pub(crate) run_ahead: bool,
    /// Whether tries of spinning waits that cannot succeed are counted instead of simulated. Tests
    /// switch it off to compare results.
    pub(crate) skip_tries: bool,
}

/// The records that a run keeps about its guests and locks.
pub(crate) struct Log {
    /// The events that guests record; `None` if they are not kept.
    pub(crate) record: Option<Vec<baton_trace::Event>>,
    /// The lock words that are watched, and their changes.
    pub(crate) watch: Watch,
}

/// The simulated machine.
pub(crate) struct Engine {
    pub(crate) now: u64,
    pub(crate) running: ThreadId,
    /// The kernel's functions for the rooms below it.
    pub(crate) above: Above,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) bounds: Bounds,
    pub(crate) memory: MemorySystem,
    /// The notices of the memory system that are being handled. The vector is kept to reuse its
    /// memory.
    pub(crate) notices: Vec<Notice>,
    pub(crate) cores: Cores,
    /// The state of phases (computations given by their figures), on a chip in the coarse mode.
    pub(crate) phases: Option<Box<PhaseMemory>>,
    pub(crate) guest: GuestMemory,
    pub(crate) os: Os,
    pub(crate) devices: Option<Box<Devices>>,
    pub(crate) meter: Meter,
    pub(crate) chip: Chip,
    pub(crate) log: Log,
    pub(crate) counts: EngineCounts,
    /// Draws the times at which monitors end for no reason (`wait.spurious`).
    pub(crate) spurious: Random,
    /// The thread-local data of the host's own code.
    pub(crate) outside: Box<Local>,
    /// What network interfaces write into headers.
    pub(crate) mechanism: Active,
}

/// The end of an operation whose end is not known yet: the memory system will give notice of it.
pub(crate) const PENDING: u64 = u64::MAX;
