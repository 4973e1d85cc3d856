//! What cannot be made, and why.

use baton_chipfile::config::Chip;
use baton_chipfile::config::limits::SLOWEST;
use baton_units::{CoreId, Hertz};
use thiserror::Error;

/// A simulation that cannot be made, or a thread that cannot be added.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// More cores asked for than there are.
    #[error("{asked} CPUs asked for; chip `{chip}` has {has} (core.count times core.contexts)")]
    Cores {
        /// The chip.
        chip: String,
        /// How many were asked for.
        asked: u32,
        /// How many it has.
        has: u32,
    },
    /// A thread that may run nowhere.
    #[error("thread `{thread}` may run only on cores {cores:?} and CPUs {cpus:?}; {has} CPUs are in use")]
    Affinity {
        /// The thread.
        thread: String,
        /// Cores that it may run on.
        cores: Vec<u32>,
        /// CPUs that it may run on beside these.
        cpus: Vec<u32>,
        /// CPUs in use.
        has: u32,
    },
    /// A clock that a core cannot have.
    #[error(
        "core {core} cannot have a clock of {clock}; expected a core from 0 to {last} and from {SLOWEST} to {most} (core.clock_hz)"
    )]
    Clock {
        /// The core.
        core: u32,
        /// What was asked for.
        clock: Hertz,
        /// The last core.
        last: u32,
        /// The fastest.
        most: Hertz,
    },
    /// A thread cannot change clocks.
    #[error("chip `{0}` has no core.clock_change: no thread can change a core's clock")]
    ClockIsFixed(String),
    /// A thread that may run only where cores are off.
    #[error("thread `{thread}` may run only on cores {cores:?}, which are off: {place}")]
    Off {
        /// The thread.
        thread: String,
        /// Cores that it may run on.
        cores: Vec<u32>,
        /// Who switched them off: file, line and key, where it was the chip file.
        place: String,
    },
    /// All CPUs in use are off.
    #[error("all of the {cpus} CPUs in use are off: {place}: key `os.off` is {off}; expected one of them to be on")]
    AllOff {
        /// How many are in use.
        cpus: u32,
        /// File and line.
        place: String,
        /// What stands there.
        off: String,
    },
    /// No room for another stack.
    #[error("no room for more than {0} guest threads (Options::threads)")]
    Threads(usize),
    /// The chip's memory system cannot be built.
    #[error("the chip's memory system cannot be built: {0}")]
    Chip(String),
    /// The host gave no address space.
    #[error("the host has no address space for the simulated memory: {0}")]
    Memory(String),
    /// A number that is no signal.
    #[error(
        "signal {0}: expected 1 to 31 without 19 to 22; the simulated system stops no process and queues no signals, as those from 32 on"
    )]
    Signal(u32),
    /// An action for the signal that has none but to end the application.
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
