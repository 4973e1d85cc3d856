//! Figures that claims, their reasons and falsifiers share.

use super::jobs::{self, DEFAULT};
use super::machine::{MACHINES, Machine};
use super::mixes::{Mix, SET_1, SINGLE, beside, is_long};
use super::results::{Results, mean};
use super::run::Case;
use crate::{Interval, Verdict};

/// The mix of a single thread and a program that is parallel nearly throughout: no other thread
/// competes with the single one for a fast core.
pub(super) const ALONE: &str = "gobmk + EP";

/// Where figures are taken: as chosen on all mixes of set 1, or in the oracle arm on those without
/// wupwise.
#[derive(Clone, Copy)]
pub(super) struct Arm {
    pub(super) case: fn(Machine, &'static str, &'static str) -> Case,
    mixes: fn(&Mix) -> bool,
}

pub(super) const CHOSEN: Arm = Arm { case: jobs::main, mixes: |_| true };
pub(super) const IDEAL: Arm = Arm { case: jobs::ideal, mixes: |mix| !is_long(mix) };

impl Arm {
    /// The places of set 1: each mix on both machines.
    pub(super) fn places(self) -> impl Iterator<Item = (Machine, &'static str)> {
        let mixes = move || SET_1.iter().filter(move |mix| (self.mixes)(mix));
        MACHINES.into_iter().flat_map(move |machine| mixes().map(move |mix| (machine, mix.name)))
    }

    /// By how many percent one policy is faster than another on a mix.
    pub(super) fn gain(
        self,
        results: &Results<'_>,
        (machine, mix): (Machine, &'static str),
        [of, over]: [&'static str; 2],
    ) -> Option<Interval> {
        results.gain(&(self.case)(machine, mix, of), &(self.case)(machine, mix, over))
    }

    /// PA's mean gain over Default on the mixes of set 1.
    pub(super) fn mean_gain(self, results: &Results<'_>, machine: Machine) -> Option<Interval> {
        mean(self.places().filter(|place| place.0 == machine).map(|place| self.gain(results, place, ["pa", DEFAULT])))
    }

    /// PA's mean gain over Default on programs alone.
    pub(super) fn mean_alone(self, results: &Results<'_>) -> Option<Interval> {
        let alone = SINGLE.iter().filter(|mix| (self.mixes)(mix));
        mean(alone.map(|mix| self.gain(results, (Machine::One, mix.name), ["pa", DEFAULT])))
    }

    /// The greatest of a gain over the mixes of set 1 on both machines.
    pub(super) fn greatest(
        self,
        gain: impl Fn((Machine, &'static str)) -> Option<Interval>,
    ) -> Option<(Machine, &'static str, Interval)> {
        let all: Option<Vec<_>> = self.places().map(|place| Some((place.0, place.1, gain(place)?))).collect();
        all?.into_iter().reduce(|a, b| if b.2.mean > a.2.mean { b } else { a })
    }
}

/// How much longer an application takes at equal clocks where the policy swaps threads, in percent: the greatest of all. Without
/// awareness of topology, or with it.
pub(super) fn cost_of_moves(results: &Results<'_>, machine: Machine, aware: bool) -> Option<(&'static str, Interval)> {
    cost(results, |mix| {
        let with = if aware { jobs::equal_aware(machine, mix) } else { jobs::equal(machine, mix, "pa") };
        [jobs::equal(machine, mix, DEFAULT), with]
    })
}

/// How much longer an application takes in the second case of a mix than in the first, in percent: the greatest of all.
pub(super) fn cost(
    results: &Results<'_>,
    cases: impl Fn(&'static str) -> [Case; 2],
) -> Option<(&'static str, Interval)> {
    let mut all = Vec::new();
    for mix in beside() {
        let [without, with] = cases(mix.name);
        for app in 0..mix.apps.len() {
            all.push((mix.apps[app].0, results.gain_of(Some(app), &without, &with)?));
        }
    }
    all.into_iter().reduce(|a, b| if b.1.mean > a.1.mean { b } else { a })
}

/// PA's mean gain over set 1; on other machines than its own two, over the mixes that these were run on.
pub(super) fn mean_gain(results: &Results<'_>, machine: Machine) -> Option<Interval> {
    if MACHINES.contains(&machine) {
        CHOSEN.mean_gain(results, machine)
    } else {
        results.mean_beside(|mix| results.over_default(machine, mix, "pa"))
    }
}

/// How far a policy is behind the best of the paper's in points of gain, at each place that was run.
/// The interval is that of the two policies' pairs by seed.
fn behind_at(results: &Results<'_>, arm: Arm, policy: &'static str) -> Vec<Interval> {
    let at = |place| {
        let over_default = |policy| Some(arm.gain(results, place, [policy, DEFAULT])?.mean);
        let all: Option<Vec<_>> = jobs::PAPERS.iter().map(|&of| Some((of, over_default(of)?))).collect();
        let best = all?.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?.0;
        // Percent more speed than the policy's own are points of gain over Default after this factor.
        let own = 1.0 + over_default(policy)? / 100.0;
        let gap = arm.gain(results, place, [best, policy])?;
        Some(Interval { mean: own * gap.mean, half: gap.half.map(|half| own * half) })
    };
    arm.places().filter_map(at).collect()
}

/// How far a policy is behind the best of the paper's, in points of gain: the least and the greatest over the mixes and machines
/// that were run.
pub(super) fn behind(results: &Results<'_>, policy: &'static str) -> Option<[f64; 2]> {
    let all = behind_at(results, CHOSEN, policy);
    let means = || all.iter().map(|gap| gap.mean);
    Some([means().reduce(f64::min)?, means().reduce(f64::max)?])
}

/// Whether a policy is at most `good` points behind the best somewhere, and `bad` points or more
/// elsewhere. A single place shows either.
pub(super) fn good_and_bad(
    results: &Results<'_>,
    arm: Arm,
    policy: &'static str,
    [good, bad]: [f64; 2],
) -> Option<Verdict> {
    let all = behind_at(results, arm, policy);
    // Somewhere is the opposite of nowhere.
    let is_good = Verdict::all(all.iter().map(|gap| gap.is_at_most(good).opposite())).opposite();
    let is_bad = Verdict::all(all.iter().map(|gap| gap.is_below(bad))).opposite();
    (!all.is_empty()).then(|| Verdict::all([is_good, is_bad]))
}
