//! What came out, ready to be asked: pairs of runs without and with marks, and what marks changed.

use super::program::Program;
use super::run::Figures;
use super::window::Window;
use crate::Interval;
use baton_workloads::profile::Profile;
use std::collections::BTreeMap;

/// A program's two runs in one experiment.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) program: &'a Program,
    /// Both runs'.
    pub(super) seed: u64,
    pub(super) off: &'a Figures,
    pub(super) on: &'a Figures,
}

/// How much less, in percent; 0 where there was nothing.
fn reduction(off: f64, on: f64) -> f64 {
    if off == 0.0 { 0.0 } else { 100.0 * (off - on) / off }
}

/// Reduction of competition overhead, in percent.
pub(super) fn coh(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.account.overhead as f64, pair.on.account.overhead as f64)
}

/// Reduction of the region of interest's time, in percent.
pub(super) fn roi(pair: &Pair<'_>) -> f64 {
    reduction(pair.off.cycles as f64, pair.on.cycles as f64)
}

/// More acquisitions while spinning, in points.
pub(super) fn spinning(pair: &Pair<'_>) -> f64 {
    pair.on.entered_spinning() - pair.off.entered_spinning()
}

/// Change of the time in critical sections, in percent.
pub(super) fn sections(pair: &Pair<'_>) -> f64 {
    -reduction(pair.off.account.sections as f64, pair.on.account.sections as f64)
}

/// All pairs, by experiment.
pub(super) struct Results<'a> {
    pairs: Vec<((&'static str, String), Pair<'a>)>,
    profiles: &'a [Profile],
    window: Option<(&'a Window, &'a Window)>,
    routers: Option<u32>,
}

impl<'a> Results<'a> {
    pub(super) fn new(pairs: Vec<((&'static str, String), Pair<'a>)>, profiles: &'a [Profile]) -> Results<'a> {
        Results { pairs, profiles, window: None, routers: None }
    }

    /// With what the first threads of figure 10's program did over time, without marks and with them.
    pub(super) fn with_window(mut self, off: &'a Figures, on: &'a Figures) -> Results<'a> {
        self.window = off.window.as_ref().zip(on.window.as_ref());
        self
    }

    /// With the routers on the longest way through the network.
    pub(super) fn with_routers(mut self, routers: Option<u32>) -> Results<'a> {
        self.routers = routers;
        self
    }

    /// See [`Results::with_routers`].
    pub(super) fn routers(&self) -> Option<u32> {
        self.routers
    }

    /// The profile of a program that ran.
    pub(super) fn profile(&self, name: &str) -> &'a Profile {
        let found = self.profiles.iter().find(|profile| profile.name == name);
        found.unwrap_or_else(|| unreachable!("`{name}` ran, so it has a profile"))
    }

    /// See [`Results::with_window`].
    pub(super) fn window(&self) -> Option<(&'a Window, &'a Window)> {
        self.window
    }

    /// The pairs of an experiment.
    pub(super) fn of(&self, group: &str, place: &str) -> Vec<Pair<'a>> {
        self.pairs.iter().filter(|(id, _)| id.0 == group && id.1 == place).map(|(_, pair)| *pair).collect()
    }

    /// The pairs of the main experiment.
    pub(super) fn main(&self) -> Vec<Pair<'a>> {
        self.of("main", "")
    }

    /// Those of it with the programs and draws that an experiment has: what that is beside.
    pub(super) fn beside(&self, group: &str, place: &str) -> Vec<Pair<'a>> {
        let there = self.of(group, place);
        let same = |pair: &Pair<'_>, other: &Pair<'_>| {
            (&other.program.name, other.program.number) == (&pair.program.name, pair.program.number)
        };
        self.main().into_iter().filter(|pair| there.iter().any(|other| same(pair, other))).collect()
    }

    /// One more.
    pub(super) fn push(&mut self, id: (&'static str, String), pair: Pair<'a>) {
        self.pairs.push((id, pair));
    }

    /// Those of one program.
    pub(super) fn program(&self, name: &str) -> Vec<Pair<'a>> {
        self.main().into_iter().filter(|pair| pair.program.name == name).collect()
    }

    /// Groups in the order of the experiments, each with its places.
    pub(super) fn groups(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut groups: Vec<(&'static str, Vec<String>)> = Vec::new();
        for ((group, place), _) in &self.pairs {
            let at = groups.iter().position(|other| other.0 == *group).unwrap_or_else(|| {
                groups.push((group, Vec::new()));
                groups.len() - 1
            });
            if !groups[at].1.contains(place) {
                groups[at].1.push(place.clone());
            }
        }
        groups
    }

    /// Programs of the main experiment, in order.
    pub(super) fn programs(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.main().iter().map(|pair| pair.program.name.as_str()).collect();
        names.dedup();
        names
    }
}

/// The mean of something over a program's draws and seeds, with its interval.
pub(super) fn over_draws(pairs: &[Pair<'_>], what: impl Fn(&Pair<'_>) -> f64) -> Option<Interval> {
    Interval::of(&pairs.iter().map(what).collect::<Vec<_>>())
}

/// The mean over programs, of means over draws. Its interval is that of the means over programs, seed by seed.
pub(super) fn over_programs(pairs: &[Pair<'_>], what: impl Fn(&Pair<'_>) -> f64) -> Option<Interval> {
    let mut values: BTreeMap<(usize, u64), Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        // Draws that were taken out leave gaps in the numbers, and each program others.
        let again = pair.seed - u64::from(pair.program.number);
        values.entry((pair.program.place, again)).or_default().push(what(pair));
    }
    let means: Vec<f64> = values.values().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
    Interval::of(&means)
}
