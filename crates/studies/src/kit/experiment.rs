//! Experiments as data, and the runs of each: every draw of every program under every seed, in
//! every arm.

use super::samples::{Sample, Samples};
use crate::Extent;

/// The subject of an experiment: a program, or one of several draws of it.
pub trait Draw: PartialEq {
    /// The program's name.
    fn name(&self) -> &str;

    /// The index of the draw among the program's draws. A study uses the draws with the lowest
    /// indices.
    fn place(&self) -> usize {
        0
    }

    /// The text that stands for the draw in the names of runs.
    fn label(&self) -> String {
        self.name().to_owned()
    }

    /// The kind of draw, if a study has several kinds. [`Draw::place`] then counts within the kind.
    fn shape(&self) -> &'static str {
        ""
    }

    /// The seed of the draw's run number `again`, which counts from 0.
    fn seed(&self, again: u64) -> u64 {
        1 + again
    }
}

/// A program that has no draws: its name is the subject of the experiment.
impl Draw for &'static str {
    fn name(&self) -> &str {
        self
    }
}

/// The name of an experiment: its group, and the place within the group. The main experiment is
/// `("main", "")`.
pub type Id = (&'static str, String);

/// The name of the main experiment's group.
pub const MAIN: &str = "main";

/// The programs on which an experiment is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// All programs in a full study; in a quick study only the listed ones.
    All(&'static [&'static str]),
    /// Only the listed programs.
    These(&'static [&'static str]),
}

/// An experiment: its programs, and the setting that the study applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment<S> {
    pub id: Id,
    /// The setting that the study applies. The differences between arms are defined by the study.
    pub setting: S,
    /// The programs of the experiment.
    pub on: On,
    /// The kind of draw that is used; `None` for every kind.
    pub shape: Option<&'static str>,
    /// The number of draws of each program and kind in a full study. A quick study uses the first
    /// draw.
    pub draws: usize,
    /// The number of seeds per draw in a quick study and in a full one.
    pub seeds: [u64; 2],
    /// Whether a quick study includes the experiment.
    pub quick: bool,
}

impl<S> Experiment<S> {
    /// An experiment with one draw of each program under one seed, for full studies only.
    pub fn new(id: (&'static str, impl ToString), on: On, setting: S) -> Experiment<S> {
        Experiment { id: (id.0, id.1.to_string()), setting, on, shape: None, draws: 1, seeds: [1, 1], quick: false }
    }

    /// Replaces the programs.
    #[must_use]
    pub fn on(self, on: On) -> Experiment<S> {
        Experiment { on, ..self }
    }

    /// Restricts the experiment to draws of this kind.
    #[must_use]
    pub fn shaped(self, shape: &'static str) -> Experiment<S> {
        Experiment { shape: Some(shape), ..self }
    }

    /// Sets the number of draws of each program and kind.
    #[must_use]
    pub fn draws(self, draws: usize) -> Experiment<S> {
        Experiment { draws, ..self }
    }

    /// Sets the number of seeds per draw in a quick study and in a full one.
    #[must_use]
    pub fn seeds(self, seeds: [u64; 2]) -> Experiment<S> {
        Experiment { seeds, ..self }
    }

    /// Includes the experiment in quick studies.
    #[must_use]
    pub fn quick(self) -> Experiment<S> {
        Experiment { quick: true, ..self }
    }

    /// The number of seeds for a draw; 0 if the experiment does not use the draw.
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

/// A run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The index of the experiment in the plan.
    pub experiment: usize,
    /// The index of the draw.
    pub draw: usize,
    /// The run's number for [`Draw::seed`].
    pub again: u64,
    /// The index of the arm.
    pub arm: usize,
}

/// The experiments of a study, with draws and arms. Runs are ordered by experiment, draw, seed and
/// arm.
pub struct Plan<'a, S, D> {
    /// The experiments of this extent.
    pub experiments: Vec<Experiment<S>>,
    draws: &'a [D],
    arms: &'static [&'static str],
    /// The runs.
    pub cases: Vec<Case>,
}

impl<'a, S, D: Draw> Plan<'a, S, D> {
    /// The plan of a study of this extent, from all experiments.
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

    /// The runs that `make` creates from the cases, each with its name.
    pub fn runs<R>(&self, make: impl Fn(&Case, &Experiment<S>, &D) -> R) -> Vec<(String, R)> {
        let run = |case: &Case| {
            let (experiment, draw) = (&self.experiments[case.experiment], &self.draws[case.draw]);
            let ((group, place), seed) = (&experiment.id, draw.seed(case.again));
            let name = format!("{}, seed {seed}, {group} {place}, {}", draw.label(), self.arms[case.arm]);
            (name, make(case, experiment, draw))
        };
        self.cases.iter().map(run).collect()
    }

    /// Splits `done`, which begins with the results of the plan's runs in their order. Returns the
    /// samples made from these results, and the results that follow them.
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
