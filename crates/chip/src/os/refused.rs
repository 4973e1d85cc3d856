//! What cannot be created, and why.

use baton_chipfile::config::Chip;
use baton_chipfile::config::limits::SLOWEST;
use baton_units::{CoreId, Hertz};
use thiserror::Error;

/// The reason why a simulation cannot be created, a thread cannot be added, or a core, clock or
/// signal cannot be changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// A simulation with more CPUs than the chip has, or a core that the chip does not have or does
    /// not use.
    #[error("{asked} CPUs asked for; chip `{chip}` has {has} (core.count times core.contexts)")]
    Cores {
        /// The chip.
        chip: String,
        /// The number of CPUs, or the number of the core plus one, that was asked for.
        asked: u32,
        /// The number of CPUs that there are.
        has: u32,
    },
    /// No CPU on which the thread may run is in use.
    #[error("thread `{thread}` may run only on cores {cores:?} and CPUs {cpus:?}; {has} CPUs are in use")]
    Affinity {
        /// The thread.
        thread: String,
        /// The cores on which the thread may run.
        cores: Vec<u32>,
        /// The further CPUs on which the thread may run.
        cpus: Vec<u32>,
        /// The number of CPUs in use.
        has: u32,
    },
    /// A clock that a core cannot have.
    #[error(
        "core {core} cannot have a clock of {clock}; expected a core from 0 to {last} and from {SLOWEST} to {most} (core.clock_hz)"
    )]
    Clock {
        /// The core.
        core: u32,
        /// The clock that was asked for.
        clock: Hertz,
        /// The number of the chip's last core.
        last: u32,
        /// The fastest clock.
        most: Hertz,
    },
    /// The chip does not let threads change clocks.
    #[error("chip `{0}` has no core.clock_change: no thread can change a core's clock")]
    ClockIsFixed(String),
    /// All CPUs on which the thread may run are switched off.
    #[error("thread `{thread}` may run only on cores {cores:?}, which are off: {place}")]
    Off {
        /// The thread.
        thread: String,
        /// The cores on which the thread may run.
        cores: Vec<u32>,
        /// The place that switched the cores off: file, line and key, if it was the chip file.
        place: String,
    },
    /// All CPUs in use are switched off.
    #[error("all of the {cpus} CPUs in use are off: {place}: key `os.off` is {off}; expected one of them to be on")]
    AllOff {
        /// The number of CPUs in use.
        cpus: u32,
        /// File and line.
        place: String,
        /// The value of `os.off`.
        off: String,
    },
    /// The arena has no room for the stack of another thread.
    #[error("no room for more than {0} guest threads (Options::threads)")]
    Threads(usize),
    /// The chip's memory system cannot be built.
    #[error("the chip's memory system cannot be built: {0}")]
    Chip(String),
    /// The host gave no address space for the guest memory.
    #[error("the host has no address space for the simulated memory: {0}")]
    Memory(String),
    /// A number that stands for no signal of the simulated system.
    #[error(
        "signal {0}: expected 1 to 31 without 19 to 22; the simulated system stops no process and queues no signals, as those from 32 on"
    )]
    Signal(u32),
    /// The signal can have no action other than to end the application.
    #[error("signal 9 (KILL) ends its application: it cannot be handled, ignored or blocked")]
    Kill,
}

/// Whether the chip has `core`, and whether that core can have `clock`.
///
/// # Errors
/// [`Refused::Clock`].
pub(crate) fn check_clock(chip: &Chip, core: CoreId, clock: Hertz) -> Result<(), Refused> {
    let most = chip.core.clock;
    if core.0 < chip.core.count && (SLOWEST..=most).contains(&clock) {
        return Ok(());
    }
    Err(Refused::Clock { core: core.0, clock, last: chip.core.count - 1, most })
}
