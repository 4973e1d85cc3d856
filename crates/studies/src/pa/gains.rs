//! Figures that claims, their reasons and falsifiers share.

use super::jobs::{self, DEFAULT};
use super::machine::{MACHINES, Machine};
use super::mixes::{SET_1, beside};
use super::results::Results;
use crate::Interval;

/// The mix of a single thread and a program that is parallel nearly throughout: no other thread
/// competes with the single one for a fast core.
pub(super) const ALONE: &str = "gobmk + EP";

/// The greatest gain over the mixes of set 1 on both machines.
pub(super) fn greatest(
    results: &Results<'_>,
    gain: impl Fn(Machine, &'static str) -> Option<Interval>,
) -> Option<(Machine, &'static str, Interval)> {
    let of = |machine| results.best(|mix| gain(machine, mix)).map(|(mix, gain)| (machine, mix, gain));
    let [one, four] = MACHINES.map(of);
    let (one, four) = (one?, four?);
    Some(if four.2.mean > one.2.mean { four } else { one })
}

/// How much longer an application takes at equal clocks where the policy swaps threads, in percent: the greatest of all. Without
/// awareness of topology, or with it.
pub(super) fn cost_of_moves(results: &Results<'_>, machine: Machine, aware: bool) -> Option<(&'static str, Interval)> {
    let mut all = Vec::new();
    for mix in beside() {
        for app in 0..mix.apps.len() {
            let without = jobs::equal(machine, mix.name, DEFAULT);
            let with = if aware { jobs::equal_aware(machine, mix.name) } else { jobs::equal(machine, mix.name, "pa") };
            all.push((mix.apps[app].0, results.gain_of(Some(app), &without, &with)?));
        }
    }
    all.into_iter().reduce(|a, b| if b.1.mean > a.1.mean { b } else { a })
}

/// PA's mean gain over set 1; on other machines than its own two, over the mixes that these were run on.
pub(super) fn mean_gain(results: &Results<'_>, machine: Machine) -> Option<Interval> {
    let gain = |mix| results.over_default(machine, mix, "pa");
    if MACHINES.contains(&machine) { results.mean(gain) } else { results.mean_beside(gain) }
}

/// How far a policy is behind the best of the paper's, in points of gain: the least and the greatest over the mixes and machines
/// that were run.
pub(super) fn behind(results: &Results<'_>, policy: &'static str) -> Option<[f64; 2]> {
    let of = |(machine, mix): (Machine, &'static str)| {
        let gain = |policy| results.over_default(machine, mix, policy).map(|gain| gain.mean);
        let all: Option<Vec<f64>> = jobs::PAPERS.iter().map(|policy| gain(policy)).collect();
        Some(all?.into_iter().fold(f64::MIN, f64::max) - gain(policy)?)
    };
    let places = MACHINES.iter().flat_map(|&machine| SET_1.iter().map(move |mix| (machine, mix.name)));
    let all: Vec<f64> = places.filter_map(of).collect();
    let least = all.iter().copied().reduce(f64::min)?;
    Some([least, all.iter().copied().reduce(f64::max)?])
}
