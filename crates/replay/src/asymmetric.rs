//! Chips of fast and slow cores to replay on, and the policies that place threads on them. What a policy does to a program is compared
//! with the first one that was asked for, seed by seed.
//!
//! A recording does not say how much of a program's computing waits for memory, and so takes as long on a slow core. Each policy is
//! replayed at both ends of what may be: all computing goes by the clock, or only so much of it.

use crate::percent::{Percent, less_overhead, less_than};
use crate::run::{Ran, RunError};
use baton_chip::{Chip, ChipError};
use baton_units::Nanos;
use serde::Serialize;
use std::str::FromStr;
use thiserror::Error;

/// How many cores are fast, and how many slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The first so many.
    pub fast: u32,
    /// The others.
    pub slow: u32,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let count = |text: &str| text.trim().parse().ok().filter(|count| (1..=1024).contains(count));
        let shape =
            text.split_once('+').and_then(|(fast, slow)| Some(Shape { fast: count(fast)?, slow: count(slow)? }));
        shape.ok_or_else(|| {
            format!("`{text}` is no count of fast and slow cores; expected FAST+SLOW, 1 to 1024 each, as in 1+12")
        })
    }
}

/// An asymmetric chip, and who places threads on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asymmetric {
    /// Its cores.
    pub shape: Shape,
    /// The clock of the fast cores, which is the chip's, over that of the slow ones.
    pub ratio: f64,
    /// Names of `os.scheduler`.
    pub policies: Vec<String>,
    /// The share of the program's computing that may wait for memory at most, 0 to 1: the other end. With 0 there is but one.
    pub memory_bound: f64,
}

/// Why a chip cannot be replayed on so.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoPolicy {
    /// The policy needs what a recording does not tell.
    #[error("policy `{0}` goes by the speed-ups of threads that were measured beforehand, and a recording has none")]
    SpeedUps(String),
    /// The settings do not go with the chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
}

impl Asymmetric {
    /// Cores in all.
    pub fn cores(&self) -> u32 {
        self.shape.fast + self.shape.slow
    }

    /// The shares of computing that wait for memory: both ends, or the one.
    pub fn ends(&self) -> Vec<f64> {
        if self.memory_bound == 0.0 { vec![0.0] } else { vec![0.0, self.memory_bound] }
    }

    /// The chip under each policy.
    ///
    /// # Errors
    /// When one does not go with it.
    pub fn chips(&self, chip: &Chip) -> Result<Vec<Chip>, NoPolicy> {
        let fast = chip.core.clock.cycles(Nanos(1_000_000_000)).0;
        let slow = (fast as f64 / self.ratio).round() as u64;
        let (from, to) = (self.shape.fast, self.cores() - 1);
        let cores = if from == to { from.to_string() } else { format!("{from}-{to}") };
        let of = |policy: &String| {
            if policy == "static-ipc" {
                return Err(NoPolicy::SpeedUps(policy.clone()));
            }
            let settings = [format!("core.clocks={cores}:{slow}"), format!("os.scheduler={policy}")];
            Ok(Chip::from_toml_with(&chip.to_toml(), &chip.name, &settings)?)
        };
        self.policies.iter().map(of).collect()
    }
}

/// What a run's threads had of fast and slow cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// Cycles on fast cores.
    pub fast_cycles: u64,
    /// Cycles on slow cores.
    pub slow_cycles: u64,
    /// How often a thread came to another core.
    pub migrations: u64,
    /// How often one was swapped with another one.
    pub swaps: u64,
    /// How often a sequential phase was over for the policy before it was over.
    pub demotions: u64,
}

impl Placed {
    /// The policy tells fast cores from slow ones; else all figures are 0.
    pub fn tells(&self) -> bool {
        self.fast_cycles + self.slow_cycles != 0
    }
}

/// What a policy did to a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnCores {
    /// The policy.
    pub policy: String,
    /// The share of computing that waits for memory, and takes as long on a slow core.
    pub memory_bound: f64,
    /// Of the first seed's run.
    pub placed: Placed,
    /// Time saved against the first policy with the same lock, share and seed, as a share of that policy's; `None` of the first.
    pub less_time: Option<Percent>,
    /// The same of competition overhead; `None` also where that one has less than a thousandth of its time.
    pub less_overhead: Option<Percent>,
}

impl OnCores {
    /// Of a lock's runs, seed by seed, and those under the first policy.
    pub(crate) fn of(
        policy: &str,
        memory_bound: f64,
        ran: &[Result<Ran, RunError>],
        first: Option<&[Result<Ran, RunError>]>,
    ) -> OnCores {
        OnCores {
            policy: policy.to_owned(),
            memory_bound,
            placed: ran.iter().flatten().next().map_or_else(Placed::default, |ran| ran.placed),
            less_time: less_than(ran, first, |ran| ran.time.0),
            less_overhead: less_overhead(ran, first),
        }
    }
}
