//! Experiments as data, and the runs that follow from them: each draw of each program under each seed, in every arm.

use super::samples::{Sample, Samples};
use crate::Extent;

/// What experiments are done on: a program, or one of several draws of it.
pub trait Draw: PartialEq {
    /// The program's name.
    fn name(&self) -> &str;

    /// Its place among the program's draws, from 0: a study takes the first ones.
    fn place(&self) -> usize {
        0
    }

    /// What it is called in the names of runs.
    fn label(&self) -> String {
        self.name().to_owned()
    }

    /// Which kind of draw it is, where a study has several. Its [`Draw::place`] is then among those of its kind.
    fn shape(&self) -> &'static str {
        ""
    }

    /// The seed of its `again`th run, from 0.
    fn seed(&self, again: u64) -> u64 {
        1 + again
    }
}

/// A program without draws.
impl Draw for &'static str {
    fn name(&self) -> &str {
        self
    }
}

/// An experiment's name: its group, and the place in it. The main one's is `("main", "")`.
pub type Id = (&'static str, String);

/// The group of the main experiment.
pub const MAIN: &str = "main";

/// The programs that an experiment is done on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// All; in a quick study these.
    All(&'static [&'static str]),
    /// These alone.
    These(&'static [&'static str]),
}

/// An experiment: what it is done on, and what the study sets in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment<S> {
    /// Its name.
    pub id: Id,
    /// What the study sets in it; what differs between its arms is the study's own.
    pub setting: S,
    /// Its programs.
    pub on: On,
    /// The kind of draw that it is done on; `None`: every one.
    pub shape: Option<&'static str>,
    /// Draws of each program and kind in a full study. A quick one has the first only.
    pub draws: usize,
    /// Seeds of each draw in a quick study, and in a full one.
    pub seeds: [u64; 2],
    /// It is part of a quick study.
    pub quick: bool,
}

impl<S> Experiment<S> {
    /// One draw of these programs under one seed, in a full study alone.
    pub fn new(id: (&'static str, impl ToString), on: On, setting: S) -> Experiment<S> {
        Experiment { id: (id.0, id.1.to_string()), setting, on, shape: None, draws: 1, seeds: [1, 1], quick: false }
    }

    /// On these programs instead.
    #[must_use]
    pub fn on(self, on: On) -> Experiment<S> {
        Experiment { on, ..self }
    }

    /// On draws of this kind alone.
    #[must_use]
    pub fn shaped(self, shape: &'static str) -> Experiment<S> {
        Experiment { shape: Some(shape), ..self }
    }

    /// With so many draws of each program and kind.
    #[must_use]
    pub fn draws(self, draws: usize) -> Experiment<S> {
        Experiment { draws, ..self }
    }

    /// With so many seeds of each draw in a quick study, and in a full one.
    #[must_use]
    pub fn seeds(self, seeds: [u64; 2]) -> Experiment<S> {
        Experiment { seeds, ..self }
    }

    /// As part of a quick study too.
    #[must_use]
    pub fn quick(self) -> Experiment<S> {
        Experiment { quick: true, ..self }
    }

    /// How many seeds it takes of a draw; 0: it is not done on it.
    fn seeds_of(&self, draw: &impl Draw, full: bool) -> u64 {
        let named = match self.on {
            On::All(quick) => full || quick.contains(&draw.name()),
            On::These(names) => names.contains(&draw.name()),
        };
        let shaped = self.shape.is_none_or(|shape| shape == draw.shape());
        let wanted = named && shaped && draw.place() < if full { self.draws } else { 1 };
        if wanted { self.seeds[usize::from(full)] } else { 0 }
    }
}

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Which experiment of the plan.
    pub experiment: usize,
    /// Which draw.
    pub draw: usize,
    /// The draw's seed is its [`Draw::seed`] of this.
    pub again: u64,
    /// Which arm.
    pub arm: usize,
}

/// Experiments on draws, in arms. Runs are in the order of experiments, draws, seeds and arms.
pub struct Plan<'a, S, D> {
    /// The experiments of this extent.
    pub experiments: Vec<Experiment<S>>,
    draws: &'a [D],
    arms: &'static [&'static str],
    /// The runs.
    pub cases: Vec<Case>,
}

impl<'a, S, D: Draw> Plan<'a, S, D> {
    /// What of these experiments is part of a study of this extent.
    pub fn new(
        mut experiments: Vec<Experiment<S>>,
        draws: &'a [D],
        arms: &'static [&'static str],
        extent: Extent,
    ) -> Plan<'a, S, D> {
        let full = extent == Extent::Full;
        experiments.retain(|experiment| full || experiment.quick);
        let mut cases = Vec::new();
        for (experiment, what) in experiments.iter().enumerate() {
            for (draw, of) in draws.iter().enumerate() {
                for again in 0..what.seeds_of(of, full) {
                    cases.extend((0..arms.len()).map(|arm| Case { experiment, draw, again, arm }));
                }
            }
        }
        Plan { experiments, draws, arms, cases }
    }

    /// The runs that `make` makes of the cases, each with its name.
    pub fn runs<R>(&self, make: impl Fn(&Case, &Experiment<S>, &D) -> R) -> Vec<(String, R)> {
        let run = |case: &Case| {
            let (experiment, draw) = (&self.experiments[case.experiment], &self.draws[case.draw]);
            let ((group, place), seed) = (&experiment.id, draw.seed(case.again));
            let name = format!("{}, seed {seed}, {group} {place}, {}", draw.label(), self.arms[case.arm]);
            (name, make(case, experiment, draw))
        };
        self.cases.iter().map(run).collect()
    }

    /// What came out, and what of `done` is not the plan's: `done` begins with its runs in their order.
    pub fn samples<'d, R, F>(&self, done: &'d [(R, F)]) -> (Samples<'d, D, F>, &'d [(R, F)])
    where
        'a: 'd,
    {
        let (mine, rest) = done.split_at(self.cases.len());
        let arms = self.arms.len();
        let mut samples = Samples::default();
        for (cases, done) in self.cases.chunks_exact(arms).zip(mine.chunks_exact(arms)) {
            let id = self.experiments[cases[0].experiment].id.clone();
            samples.push(id, Sample::of(&self.draws[cases[0].draw], cases[0].again, done));
        }
        (samples, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(extent: Extent) -> Plan<'static, u32, &'static str> {
        let all = vec![
            Experiment::new((MAIN, ""), On::All(&["b"]), 0).seeds([2, 3]).quick(),
            Experiment::new(("threads", 4), On::These(&["a"]), 4),
        ];
        Plan::new(all, &["a", "b"], &["without", "with"], extent)
    }

    #[test]
    fn a_quick_plan_has_fewer_programs_seeds_and_experiments() {
        let of = |extent| plan(extent).cases.len();
        assert_eq!((of(Extent::Quick), of(Extent::Full)), (2 * 2, 2 * (2 * 3 + 1)));
    }

    #[test]
    fn runs_are_named_and_what_came_out_is_found_by_its_experiment() {
        let plan = plan(Extent::Full);
        let runs = plan.runs(|case, experiment, _| (case.arm, experiment.setting, case.again));
        assert_eq!(runs[3].0, "a, seed 2, main , with");
        assert_eq!(runs[12].0, "a, seed 1, threads 4, without");
        let done: Vec<_> = runs.into_iter().map(|(_, run)| (run, run)).chain([((9, 9, 9), (9, 9, 9))]).collect();
        let (samples, rest) = plan.samples(&done);
        assert_eq!((rest.len(), samples.programs(), samples.main().len()), (1, vec!["a", "b"], 6));
        let four = samples.of("threads", "4");
        assert_eq!(four.iter().map(|pair| (*pair.off, *pair.on)).collect::<Vec<_>>(), [((0, 4, 0), (1, 4, 0))]);
        assert_eq!(samples.beside("threads", "4").len(), 3);
    }
}
