//! The third contract: which clock each CPU has.
//!
//! An operating system tells a [`Governor`] once a period what each CPU did since the last time, and the governor answers with a
//! clock for each, one of the CPU's [levels](Level). It has no clock of its own and does no work of its own; the same
//! periods give the same answers. All numbers are whole, so that they do so on every host.
//!
//! | file | holds |
//! | --- | --- |
//! | [`performance`] | always the fastest level: the baseline |
//! | [`powersave`] | always the slowest level |
//! | [`schedutil`] | by utilisation, as Linux's governor of that name |
//! | [`energy_delay`] | the level at which the least energy and time are predicted |
//! | [`log`] | what a governor heard and answered, which replays |
//!
//! **A new governor is one file** with a type that implements [`Governor`] and a constant of type [`GovernorInfo`], and one line in
//! `governors!` below. From then on chip files, `--set os.governor=…` and the contract suite (`tests/governors.rs`) have it.

use baton_units::{Cycles, Hertz};

pub mod log;

/// Power in millionths of a watt: whole, so that sums and comparisons are the same on every host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microwatts(pub u64);

/// A clock that a CPU can have, and what the CPU takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The clock.
    pub clock: Hertz,
    /// What the CPU takes while it computes or waits for memory; 0 where no price is known.
    pub active: Microwatts,
    /// What it takes while it spins.
    pub spinning: Microwatts,
}

/// What does not go with a clock; 0 where no price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unclocked {
    /// The platform's base, always.
    pub base: Microwatts,
    /// A CPU that stands still in an idle wait.
    pub still: Microwatts,
    /// A CPU without a thread.
    pub idle: Microwatts,
}

/// What is made as small as can be: energy times delay to a power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// Energy alone.
    Energy,
    /// Energy times delay.
    #[default]
    EnergyDelay,
    /// Energy times the square of the delay.
    EnergyDelay2,
}

impl Goal {
    /// All of them.
    pub const ALL: [Goal; 3] = [Goal::Energy, Goal::EnergyDelay, Goal::EnergyDelay2];
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["energy", "energy-delay", "energy-delay2"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        Goal::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Goal> {
        Goal::ALL.into_iter().find(|goal| goal.name() == name)
    }

    /// The power of the delay.
    pub fn power(self) -> u32 {
        self as u32
    }
}

/// What a governor is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Governed {
    /// The levels of each CPU, with rising clocks. Each has one at least.
    pub levels: Vec<Vec<Level>>,
    /// What does not go with a clock.
    pub unclocked: Unclocked,
    /// What a governor with a goal aims at.
    pub goal: Goal,
}

/// How the cycles of a CPU's period were spent. They sum to the period, but for an access that was under way at an end of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Computing, in its own caches, in the kernel: what a slower clock makes longer.
    pub computing: Cycles,
    /// Waiting for memory, for other caches or for a device: what takes as long at any clock.
    pub memory: Cycles,
    /// Spinning.
    pub spinning: Cycles,
    /// In an idle wait: with a monitor, or halted by its thread.
    pub still: Cycles,
    /// Without a thread.
    pub idle: Cycles,
}

/// What a CPU did in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The clock that it had: the mean, if that changed.
    pub clock: Hertz,
    /// Whether it has a thread now.
    pub has_thread: bool,
    /// Where its cycles went, in reference cycles.
    pub spent: Spent,
}

/// A period that is over.
#[derive(Clone, Copy, Debug)]
pub struct Period<'a> {
    /// How long it was, in reference cycles.
    pub length: Cycles,
    /// CPUs that run threads now.
    pub running: u32,
    /// What each CPU did, by its number.
    pub samples: &'a [Sample],
}

/// Decides which clock each CPU has.
pub trait Governor {
    /// A period is over: the clock of each CPU from now on, by its number, each one of the CPU's levels. Where CPUs share a
    /// core, it has the fastest of what they get.
    fn decide(&mut self, period: &Period<'_>) -> Vec<Hertz>;
}

/// A governor and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct GovernorInfo {
    /// Its name in chip files and on the command line.
    pub name: &'static str,
    /// One line: what it does.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// It goes by what CPUs take, and is of no use without prices.
    pub needs_prices: bool,
    /// Makes one.
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

/// The governor of that name.
pub fn find(name: &str) -> Option<&'static GovernorInfo> {
    GOVERNORS.iter().find(|governor| governor.name == name)
}
