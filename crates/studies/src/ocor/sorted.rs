//! Sorts finished runs by their purpose, and finds the runs that follow from their figures.

use super::experiments::Setting;
use super::figures::{Cell, Spot};
use super::jobs::{ARMS, Job, Runs, stand_in};
use super::joint::{self, Seen};
use super::map;
use super::oracle::Again;
use super::program::Program;
use super::real::{self, RealPair};
use super::refit::Refit;
use super::results::Results;
use super::run::Figures;
use super::study::Ocor;
use super::values::Pair;
use crate::Extent;
use crate::kit::Draw as _;
use crate::kit::samples::Sample;
use crate::kit::search::{Search, Set, Trial};
use baton_programs::synthetic::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// A run and its figures.
type Done = (Result<Job, String>, Figures);

/// All of a study's runs.
pub(super) struct Sorted<'a> {
    pub(super) results: Results<'a>,
    /// Crowds with meetings, where an order can change something; their main experiment has the
    /// order at the home.
    pub(super) crowd: Results<'a>,
    pub(super) real: Vec<RealPair<'a>>,
    pub(super) cells: Vec<Cell<'a>>,
    pub(super) map: Vec<Spot<'a>>,
    /// Sets of open choices, with the results of their trials.
    pub(super) trials: Vec<(Trial, Seen)>,
    /// The runs that the results ask for next; empty at the end of the study.
    pub(super) next: Runs,
}

/// The figures of finished runs, by the runs' inputs as text.
struct Known<'a>(BTreeMap<String, &'a Figures>);

impl<'a> Known<'a> {
    fn get(&self, run: &Result<Job, String>) -> Option<&'a Figures> {
        self.0.get(&address(run)).copied()
    }

    /// The figures of all these runs; `None` if one was not made.
    fn all(&self, runs: &Runs) -> Option<Vec<&'a Figures>> {
        runs.iter().map(|(_, run)| self.get(run)).collect()
    }
}

/// The inputs of a run as text: everything on which its figures depend.
fn address(run: &Result<Job, String>) -> String {
    serde_json::to_string(run).unwrap_or_default()
}

impl Ocor {
    /// Sorts what was done, in the order of [`Study::runs`] and then of [`Study::more`].
    pub(super) fn sorted<'a>(&'a self, extent: Extent, done: &'a [Done]) -> Sorted<'a> {
        let (samples, rest) = self.plan(extent).samples(done);
        let (crowd, mut rest) = self.crowd(extent).samples(rest);
        let mut results = Results::new(samples, &self.profiles);
        results.routers = self.routers;
        let mut crowd = Results::new(crowd, &self.profiles);
        crowd.routers = self.routers;
        let window = self.window().len();
        if let [off, on, home] = &rest[..window] {
            let seen = [off, on, home].map(|(_, figures)| figures.window.as_ref());
            results.window = if let [Some(off), Some(on), Some(home)] = seen { Some([off, on, home]) } else { None };
        }
        rest = &rest[window..];
        let real = real::cases(extent == Extent::Full);
        let (real_runs, rest) = rest.split_at(2 * real.len());
        let real = real.into_iter().zip(real_runs.chunks_exact(2));
        let real = real.map(|(case, arms)| RealPair { case, off: &arms[0].1, on: &arms[1].1 }).collect();
        let cells = self.cells(extent);
        let (of_cells, rest) = rest.split_at(cells.len());
        let cells = cells.into_iter().zip(of_cells).map(|((case, _), (_, figures))| (case, figures)).collect();
        let map = map::cases(extent == Extent::Full);
        let (of_map, rest) = rest.split_at(map.len());
        let map = map.into_iter().zip(of_map).map(|(case, (_, figures))| (case, figures)).collect();
        let mut sorted = Sorted { results, crowd, real, cells, map, trials: Vec::new(), next: Vec::new() };
        if extent == Extent::Full {
            let known = Known(rest.iter().map(|(run, figures)| (address(run), figures)).collect());
            self.under_oracle(&mut sorted, &known);
            self.search(&mut sorted, &known);
        }
        sorted
    }

    /// Adds the oracle's samples under further seeds to the results, and asks for runs that are
    /// missing.
    fn under_oracle<'a>(&'a self, sorted: &mut Sorted<'a>, known: &Known<'a>) {
        let mut samples = Vec::new();
        for Again { program, again, runs } in self.oracle_again(&sorted.results.samples) {
            match known.all(&runs) {
                Some(arms) => samples.push(Sample::with(program, again, arms)),
                None => sorted.next.extend(runs),
            }
        }
        sorted.results.oracle_again(samples);
    }

    /// Goes through the trials as far as their runs are known, and asks for those of the next round.
    fn search<'a>(&'a self, sorted: &mut Sorted<'a>, known: &Known<'a>) {
        if self.tried(1).is_empty() {
            return;
        }
        let items = joint::items();
        let singles = joint::singles(&sorted.results, &items);
        let (choices, valid) = (joint::choices(&items), |set: &Set| self.is_chip(&items, set));
        let search = Search { singles: &singles, ..joint::search(&choices, &valid) };
        let results = &mut sorted.results;
        let (trials, next) = search.go(|trial| {
            let arms = known.all(&self.trial(&items, trial, known).ok()?)?;
            let tried = self.tried(joint::draws(trial));
            let samples = || {
                let each = tried.iter().zip(arms.chunks_exact(2));
                each.map(|(program, arms)| Sample::with(*program, 0, arms.to_vec()))
            };
            let pairs: Vec<Pair<'a>> = samples().filter_map(|sample| sample.pair([0, 1])).collect();
            let seen = joint::seen(results, &pairs);
            samples().for_each(|sample| results.samples.push((joint::GROUP, trial.name.clone()), sample));
            Some(seen)
        });
        sorted.trials = trials;
        // Several sets need the same fits, so each run is asked for only once, and not at all if
        // its figures are known.
        let mut asked = BTreeSet::new();
        let runs = next.iter().flat_map(|trial| self.trial(&items, trial, known).unwrap_or_else(|fits| fits));
        sorted.next.extend(runs.filter(|(_, run)| known.get(run).is_none() && asked.insert(address(run))));
    }

    /// Whether the chip accepts the settings of a set in both arms.
    pub(super) fn is_chip(&self, items: &[joint::Choices], set: &Set) -> bool {
        self.chips(&joint::setting(items, set, false)).iter().all(Result::is_ok)
    }

    /// The runs of a trial, the arm without marks first. If the set changes that arm, the draws are
    /// those that were fitted again under the set.
    ///
    /// # Errors
    /// The fits that the trial needs, if one of them was not made yet.
    fn trial(&self, items: &[joint::Choices], trial: &Trial, known: &Known<'_>) -> Result<Runs, Runs> {
        let setting = joint::setting(items, &trial.set, joint::priced(trial));
        let (chips, tried) = (self.chips(&setting), self.tried(joint::draws(trial)));
        let fits = self.fits(&joint::setting(items, &trial.set, false), &tried);
        let Some(fitted) = known.all(&fits) else { return Err(fits) };
        let run = |(n, program): (usize, &&Program)| {
            let (name, seed) = (program.label(), program.seed(0));
            let mut program = (*program).clone();
            if let Some([section, think]) = fitted.get(n).and_then(|fit| fit.times) {
                (program.draw.section_cycles, program.draw.think_cycles) = (section, think);
            }
            let arm = |(arm, chip): (&str, &Result<String, String>)| {
                let run = chip.clone().map(|chip| Job::StandIn(stand_in(&setting, &program, seed, chip)));
                (format!("{name}, seed {seed}, joint, {}, {arm}", trial.name), run)
            };
            ARMS.into_iter().zip(&chips).map(arm).collect::<Runs>()
        };
        Ok(tried.iter().enumerate().flat_map(run).collect())
    }

    /// The fits of these draws under a setting; none if the setting does not change the runs
    /// without marks.
    fn fits(&self, setting: &Setting, tried: &[&Program]) -> Runs {
        if !joint::other_baseline(setting) {
            return Vec::new();
        }
        let [off, _] = self.chips(setting);
        let fit = |program: &&Program| {
            let profile = self.profiles.iter().find(|of| of.name == program.name);
            let seed = program.seed(0);
            let refit = off.clone().and_then(|chip| {
                let profile = Profile { draws: Vec::new(), ..profile.ok_or("a program without a profile")?.clone() };
                Ok(Job::Refit { refit: Refit { run: stand_in(setting, program, seed, chip), profile } })
            });
            (format!("{}, seed {seed}, fitted once more", program.label()), refit)
        };
        tried.iter().map(fit).collect()
    }
}
