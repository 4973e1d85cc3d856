//! Replays on chips of fast and slow cores, under policies that place threads on them. The effect
//! of each policy is stated relative to the first policy, seed by seed.
//!
//! A recording does not say how much of a program's computing waits for memory, and therefore takes
//! as long on a slow core as on a fast one. So each policy is replayed twice: all computing follows
//! the core's clock, or all but the share `memory_bound`.
//!
//! Which thread begins on a fast core decides much of what a policy gains, and a recording does not
//! say that either. So each seed has the fast cores at other numbers: with the first seed the first
//! thread begins on a fast core, with the second seed the second thread, and so on.

use crate::percent::{Percent, less_overhead, less_than};
pub use crate::ran::Placed;
use crate::ran::{Ran, RunError};
use baton_chip::{Chip, ChipError};
use baton_units::Nanos;
use serde::Serialize;
use std::str::FromStr;
use thiserror::Error;

/// The numbers of fast and slow cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of fast cores, which come first in the numbering.
    pub fast: u32,
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

/// An asymmetric chip, and the policies that place threads on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asymmetric {
    pub shape: Shape,
    /// How many times as fast the clock of the fast cores is as that of the slow ones. The fast
    /// cores have the chip's clock.
    pub ratio: f64,
    /// The policies, as values of the key `os.scheduler`.
    pub policies: Vec<String>,
    /// The largest share of the program's computing that may wait for memory, 0 to 1. At 0, each
    /// policy is replayed only once.
    pub memory_bound: f64,
}

/// Why a recording cannot be replayed on an asymmetric chip.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoPolicy {
    /// The policy needs data that a recording does not have.
    #[error("policy `{0}` goes by the speed-ups of threads that were measured beforehand, and a recording has none")]
    SpeedUps(String),
    /// The settings do not fit the chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
}

impl Asymmetric {
    /// Returns the number of cores, fast and slow.
    pub fn cores(&self) -> u32 {
        self.shape.fast + self.shape.slow
    }

    /// Returns the shares of computing that wait for memory in the replays: 0 and `memory_bound`,
    /// or only one if they are equal.
    pub fn ends(&self) -> Vec<f64> {
        if self.memory_bound == 0.0 { vec![0.0] } else { vec![0.0, self.memory_bound] }
    }

    /// Returns the chip under each policy: for each policy a list with a chip for each of `starts`
    /// starts, at most as many as cores. The fast cores of start `n` begin at core `n`.
    ///
    /// # Errors
    /// If a policy needs data that a recording does not have, or if it or the cores do not fit the
    /// chip.
    pub fn chips(&self, chip: &Chip, starts: u32) -> Result<Vec<Vec<Chip>>, NoPolicy> {
        let fast = chip.core.clock.cycles(Nanos(1_000_000_000)).0;
        let slow = (fast as f64 / self.ratio).round() as u64;
        let all = self.cores();
        let of = |policy: &String, start: u32| {
            if policy == "static-ipc" {
                return Err(NoPolicy::SpeedUps(policy.clone()));
            }
            let is_slow = |core: &u32| (core + all - start) % all >= self.shape.fast;
            let clocks: Vec<String> = (0..all).filter(is_slow).map(|core| format!("{core}:{slow}")).collect();
            let settings = [format!("core.clocks={}", clocks.join(" ")), format!("os.scheduler={policy}")];
            Ok(Chip::from_toml_with(&chip.to_toml(), &chip.name, &settings)?)
        };
        let starts = 0..starts.clamp(1, all);
        self.policies.iter().map(|policy| starts.clone().map(|start| of(policy, start)).collect()).collect()
    }
}

impl Placed {
    /// Whether the run's policy distinguishes fast cores from slow ones. If it does not, all
    /// figures are 0.
    pub fn tells(&self) -> bool {
        self.fast_cycles + self.slow_cycles != 0
    }
}

/// The effect of a policy on a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnCores {
    pub policy: String,
    /// The share of computing that waits for memory, and takes as long on a slow core as on a fast
    /// one.
    pub memory_bound: f64,
    /// How the run of the first seed that did not fail used fast and slow cores.
    pub placed: Placed,
    /// Time saved relative to the first policy with the same lock, share and seed, in percent of
    /// that policy's time; `None` for the first policy.
    pub less_time: Option<Percent>,
    /// Competition overhead saved relative to the first policy, in percent; `None` for the first
    /// policy, and if with some seed the first policy's overhead is under a thousandth of its time.
    pub less_overhead: Option<Percent>,
}

impl OnCores {
    /// Compares a lock's runs under a policy with its runs under the first policy, seed by seed.
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
