//! The third contract: a governor decides which clock each CPU has.
//!
//! Once per period, an operating system tells a [`Governor`] what each CPU did since the last time,
//! and the governor answers with a clock for each, which is one of the CPU's [levels](Level). A
//! governor reads no time and does no work by itself; the same periods give the same answers. All
//! numbers that a governor is told are whole, so that this holds on every host.
//!
//! | file | holds |
//! | --- | --- |
//! | [`performance`] | always the fastest level: the baseline |
//! | [`powersave`] | always the slowest level |
//! | [`schedutil`] | by utilisation, like Linux's governor of that name |
//! | [`energy_delay`] | the level with the least predicted energy and time |
//! | [`log`] | a log of what a governor was told and answered, which can be replayed |
//!
//! **To add a governor, write one file** with a type that implements [`Governor`] and a constant of
//! type [`GovernorInfo`], and add one line to `governors!` below. Chip files, `--set os.governor=…`
//! and the contract suite (`tests/governors.rs`) then know it.

use baton_units::{Cycles, Hertz};

pub mod log;

/// Power in millionths of a watt. The number is whole, so that sums and comparisons are the same on
/// every host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microwatts(pub u64);

/// A clock that a CPU can have, and the power that the CPU takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    pub clock: Hertz,
    /// Power while the CPU computes or waits for memory; 0 if no price is known.
    pub active: Microwatts,
    /// Power while the CPU spins.
    pub spinning: Microwatts,
}

/// Power that does not depend on a clock; 0 if no price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unclocked {
    /// Power of the platform, which is always taken.
    pub base: Microwatts,
    /// Power of a CPU that stands still in an idle wait.
    pub still: Microwatts,
    /// Power of a CPU without a thread.
    pub idle: Microwatts,
}

/// What a governor minimizes: energy times a power of the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Energy alone.
    Energy,
    /// Energy times delay.
    #[default]
    EnergyDelay,
    /// The energy times the square of the delay.
    EnergyDelay2,
}

impl Goal {
    pub const ALL: [Goal; 3] = [Goal::Energy, Goal::EnergyDelay, Goal::EnergyDelay2];
    /// The names of the goals in a chip file, in the order of `ALL`.
    pub const NAMES: &[&str] = &["energy", "energy-delay", "energy-delay2"];

    /// The goal's name in a chip file.
    pub fn name(self) -> &'static str {
        Goal::NAMES[self as usize]
    }

    /// Returns the goal with this name.
    pub fn named(name: &str) -> Option<Goal> {
        Goal::ALL.into_iter().find(|goal| goal.name() == name)
    }

    /// The power to which the delay is raised.
    pub fn power(self) -> u32 {
        self as u32
    }
}

/// The machine for which a governor is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governed {
    /// The levels of each CPU, in the order of rising clocks. Each CPU has at least one.
    pub levels: Vec<Vec<Level>>,
    /// Power that does not depend on a clock.
    pub unclocked: Unclocked,
    /// What a governor with a goal minimizes.
    pub goal: Goal,
}

/// How the cycles of a CPU's period were spent. They sum to the period, except for accesses that
/// were under way at its beginning or end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Cycles spent computing, in the CPU's own caches or in the kernel; a slower clock makes these
    /// longer.
    pub computing: Cycles,
    /// Cycles spent waiting for memory, other caches or a device; these take as long at any clock.
    pub memory: Cycles,
    pub spinning: Cycles,
    /// Cycles in an idle wait: with a monitor, or halted by the thread.
    pub still: Cycles,
    /// Cycles without a thread.
    pub idle: Cycles,
}

/// What a CPU did in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The clock that the CPU had; the mean if it changed.
    pub clock: Hertz,
    pub has_thread: bool,
    /// How the CPU's time was spent, in reference cycles.
    pub spent: Spent,
}

/// A period that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Period<'a> {
    /// Length in reference cycles.
    pub length: Cycles,
    /// Number of CPUs that run threads now.
    pub running: u32,
    /// What each CPU did, by its number.
    pub samples: &'a [Sample],
}

/// A policy that decides which clock each CPU has.
pub trait Governor {
    /// Takes in a period that has ended. Returns the clock of each CPU from now on, by the CPU's
    /// number, each one of the CPU's levels. If CPUs share a core, the core gets the fastest of
    /// their clocks.
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz>;
}

/// A governor's row in the registry.
#[derive(Clone, Copy, Debug)]
pub struct GovernorInfo {
    /// Name in chip files and on the command line.
    pub name: &'static str,
    /// One line for the user that says what the governor does.
    pub what: &'static str,
    /// Where the governor comes from.
    pub source: &'static str,
    /// Whether the governor uses power prices, and is useless without them.
    pub needs_prices: bool,
    /// Makes a governor for a machine.
    pub make: fn(&Governed) -> Box<dyn Governor>,
}

macro_rules! governors {
    ($($room:ident,)*) => {
        $(pub mod $room;)*

        /// All governors.
        pub const GOVERNORS: &[GovernorInfo] = &[$($room::GOVERNOR,)*];
    };
}

governors! {
    performance,
    powersave,
    schedutil,
    energy_delay,
}

/// Returns the governor with this name.
pub fn find(name: &str) -> Option<&'static GovernorInfo> {
    GOVERNORS.iter().find(|governor| governor.name == name)
}
