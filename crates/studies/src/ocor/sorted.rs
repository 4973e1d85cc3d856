//! Runs that were done, by what they were for; and what is to be run next, where that follows from them.

use super::experiments::DRAWS_BESIDE;
use super::figures::Cell;
use super::jobs::{Case, Job, arm};
use super::joint::{self, Search, Seen, Set, Trial};
use super::real::{self, RealPair};
use super::results::{Pair, Results};
use super::run::Figures;
use super::{Ocor, Study};
use crate::Extent;

/// A run and what came of it.
type Done = (<Ocor as Study>::Run, Figures);

/// Runs that are to be made, each named for people.
type Next = Vec<(String, <Ocor as Study>::Run)>;

/// All of a study's runs.
pub(super) struct Sorted<'a> {
    pub(super) results: Results<'a>,
    pub(super) real: Vec<RealPair<'a>>,
    pub(super) cells: Vec<Cell<'a>>,
    /// Sets of open choices, with what came of them.
    pub(super) trials: Vec<(Trial, Seen)>,
    /// What they ask for; empty in the end.
    pub(super) next: Next,
}

impl Ocor {
    /// Sorts what was done, in the order of [`Study::runs`] and then of [`Study::more`].
    pub(super) fn sorted<'a>(&'a self, extent: Extent, done: &'a [Done]) -> Sorted<'a> {
        let (experiments, cases) = self.cases(extent);
        let mut pairs = Vec::new();
        // The arm without marks comes first.
        for (cases, done) in cases.chunks_exact(2).zip(done.chunks_exact(2)) {
            let id = experiments[cases[0].experiment].id.clone();
            let (program, seed) = (&self.programs[cases[0].program], cases[0].seed);
            pairs.push((id, Pair { program, seed, off: &done[0].1, on: &done[1].1 }));
        }
        let mut results = Results::new(pairs, &self.profiles).with_routers(self.routers);
        let mut rest = &done[cases.len()..];
        if let [(Ok(Job::Window { .. }), off), (Ok(Job::Window { .. }), on), others @ ..] = rest {
            (results, rest) = (results.with_window(off, on), others);
        }
        let real = real::cases(extent == Extent::Full);
        let (real_runs, rest) = rest.split_at(2 * real.len());
        let real = real.into_iter().zip(real_runs.chunks_exact(2));
        let real = real.map(|(case, arms)| RealPair { case, off: &arms[0].1, on: &arms[1].1 }).collect();
        let cells = self.cells(extent);
        let (of_cells, rest) = rest.split_at(cells.len());
        let cells = cells.into_iter().zip(of_cells).map(|((case, _), (_, figures))| (case, figures)).collect();
        let mut sorted = Sorted { results, real, cells, trials: Vec::new(), next: Vec::new() };
        if extent == Extent::Full {
            self.search(&mut sorted, rest);
        }
        sorted
    }

    /// Goes through the trials as far as `rest` has their runs, and asks for those of the next round.
    fn search<'a>(&'a self, sorted: &mut Sorted<'a>, mut rest: &'a [Done]) {
        if self.tried(1).is_empty() {
            return;
        }
        let items = joint::items();
        let singles = joint::singles(&sorted.results, &items);
        let valid = |set: &Set| self.is_chip(&items, set);
        let search = Search { items: &items, singles: &singles, draws: DRAWS_BESIDE, valid: &valid };
        while sorted.next.is_empty() {
            let seen: Vec<Seen> = sorted.trials.iter().map(|(_, seen)| *seen).collect();
            let round = search.trials(&seen).split_off(seen.len());
            if round.is_empty() {
                break;
            }
            for trial in round {
                let tried = self.tried(trial.draws);
                if rest.len() < 2 * tried.len() {
                    rest = &[];
                    sorted.next.extend(self.trial(&items, &trial));
                    continue;
                }
                let (mine, others) = rest.split_at(2 * tried.len());
                rest = others;
                let pair = |((program, seed), arms): ((usize, u64), &'a [Done])| Pair {
                    program: &self.programs[program],
                    seed,
                    off: &arms[0].1,
                    on: &arms[1].1,
                };
                let pairs: Vec<Pair<'a>> = tried.into_iter().zip(mine.chunks_exact(2)).map(pair).collect();
                let seen = joint::seen(&sorted.results, &pairs);
                for pair in pairs {
                    sorted.results.push((joint::GROUP, trial.name.clone()), pair);
                }
                sorted.trials.push((trial, seen));
            }
        }
    }

    /// Whether a set's settings are a chip, in both arms.
    pub(super) fn is_chip(&self, items: &[joint::Item], set: &Set) -> bool {
        let trial = Trial { name: String::new(), set: set.clone(), priced: false, draws: 1 };
        let experiment = joint::experiment(items, &trial);
        [false, true].into_iter().all(|marked| self.chip(&experiment, marked).is_ok())
    }

    /// The runs of a trial, the arm without marks first.
    fn trial(&self, items: &[joint::Item], trial: &Trial) -> Next {
        let experiment = joint::experiment(items, trial);
        let chips = [false, true].map(|marked| self.chip(&experiment, marked));
        let run = |(program, seed): (usize, u64)| {
            let of = &self.programs[program];
            [false, true].map(|marked| {
                let case = Case { experiment: 0, program, seed, marked };
                let run = self.stand_in(&experiment, &case, chips[usize::from(marked)].clone());
                let name = format!("{} {}, seed {seed}, joint, {}, {}", of.name, of.number, trial.name, arm(marked));
                (name, run.map(Job::StandIn))
            })
        };
        self.tried(trial.draws).into_iter().flat_map(run).collect()
    }
}
