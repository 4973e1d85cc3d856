//! The engine's state: what is simulated, in the parts that the rooms own.

use crate::base::event::Event;
use crate::base::queue::EventQueue;
use crate::base::random::Random;
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
    /// This guest runs on.
    Resume(ThreadId),
    /// Nothing: the event has been handled.
    Handled,
    /// This application begins: its first thread is to be made.
    Arrival(App),
    /// The time limit is reached.
    Limit,
    /// Nothing will ever happen again.
    Silence,
}

/// What the engine counted.
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
    /// By hardware context.
    pub(crate) windows: Vec<Window>,
    /// What the chip file says of each core, by its kind.
    pub(crate) kinds: CoresByKind,
    /// Instructions that come with accesses.
    pub(crate) own_instructions: Instructions,
    /// Atomics are load-linked and store-conditional.
    pub(crate) links: bool,
    /// Homes do atomics.
    pub(crate) far: bool,
}

/// How far and by which shortcuts a run goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The time at which the run is cut off.
    pub(crate) limit: u64,
    /// The run ends at the first timer interrupt after this number of events.
    pub(crate) events: u64,
    /// Finish operations at once where nothing comes before them; off in tests that compare.
    pub(crate) run_ahead: bool,
    /// Leave out tries of spinning waits that cannot succeed; off in tests that compare.
    pub(crate) skip_tries: bool,
}

/// What a run keeps of what guests and locks did.
pub(crate) struct Log {
    /// Events that guests record; `None`: they are not kept.
    pub(crate) record: Option<Vec<baton_trace::Event>>,
    /// Lock words that are watched.
    pub(crate) watch: Watch,
}

/// The simulated machine.
pub(crate) struct Engine {
    pub(crate) now: u64,
    pub(crate) running: ThreadId,
    /// What the rooms below the kernel ask of it.
    pub(crate) above: Above,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) bounds: Bounds,
    pub(crate) memory: MemorySystem,
    /// Notices of the memory system that are being handled; kept for its room.
    pub(crate) notices: Vec<Notice>,
    pub(crate) cores: Cores,
    /// Phases, on a chip that plays computations as such.
    pub(crate) phases: Option<Box<PhaseMemory>>,
    pub(crate) guest: GuestMemory,
    pub(crate) os: Os,
    pub(crate) devices: Option<Box<Devices>>,
    pub(crate) meter: Meter,
    pub(crate) chip: Chip,
    pub(crate) log: Log,
    pub(crate) counts: EngineCounts,
    /// When monitors end for no reason.
    pub(crate) spurious: Random,
    /// The thread-local data of the host's own code.
    pub(crate) outside: Box<Local>,
    /// What network interfaces write into headers.
    pub(crate) mechanism: Active,
}

/// The end of an operation that is not known yet: the memory system will give notice of it.
pub(crate) const PENDING: u64 = u64::MAX;
