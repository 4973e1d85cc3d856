//! Results of runs: samples, each with the same draw under the same seed in every arm, and means
//! over samples.

use super::experiment::{Draw, Id, MAIN};
use crate::Interval;
use std::collections::BTreeMap;

/// The results of one draw under one seed, in every arm.
pub struct Sample<'a, D, F> {
    draw: &'a D,
    again: u64,
    arms: Vec<&'a F>,
}

impl<'a, D, F> Sample<'a, D, F> {
    /// A sample from the runs of a draw that differ only in their arm.
    pub fn of<R>(draw: &'a D, again: u64, done: &'a [(R, F)]) -> Sample<'a, D, F> {
        Sample { draw, again, arms: done.iter().map(|(_, figures)| figures).collect() }
    }

    /// A sample from the results of its runs, in the order of arms.
    pub fn with(draw: &'a D, again: u64, arms: Vec<&'a F>) -> Sample<'a, D, F> {
        Sample { draw, again, arms }
    }

    /// Two arms of the sample as a pair; `None` if one of them is missing.
    pub fn pair(&self, [off, on]: [usize; 2]) -> Option<Pair<'a, D, F>> {
        let (off, on) = (*self.arms.get(off)?, *self.arms.get(on)?);
        Some(Pair { program: self.draw, again: self.again, off, on })
    }
}

/// The results of one draw under one seed, in two arms.
pub struct Pair<'a, D, F> {
    pub program: &'a D,
    /// The index of the draw's seed.
    pub again: u64,
    /// The figures of the arm with which the other arm is compared.
    pub off: &'a F,
    /// The figures of the arm under test.
    pub on: &'a F,
}

impl<D, F> Clone for Pair<'_, D, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D, F> Copy for Pair<'_, D, F> {}

impl<D: PartialEq, F> Pair<'_, D, F> {
    /// Whether another pair has the same draw and seed.
    pub fn same_sample(&self, other: &Pair<'_, D, F>) -> bool {
        (self.program, self.again) == (other.program, other.again)
    }
}

/// All samples, each with its experiment.
pub struct Samples<'a, D, F>(Vec<(Id, Sample<'a, D, F>)>);

impl<D, F> Default for Samples<'_, D, F> {
    fn default() -> Self {
        Samples(Vec::new())
    }
}

impl<'a, D, F> Clone for Samples<'a, D, F> {
    fn clone(&self) -> Self {
        let copy = |(id, of): &(Id, Sample<'a, D, F>)| {
            (id.clone(), Sample { draw: of.draw, again: of.again, arms: of.arms.clone() })
        };
        Samples(self.0.iter().map(copy).collect())
    }
}

impl<'a, D: Draw, F> Samples<'a, D, F> {
    /// Adds a sample of an experiment.
    pub fn push(&mut self, id: Id, sample: Sample<'a, D, F>) {
        self.0.push((id, sample));
    }

    /// The pairs of an experiment in these arms.
    pub fn between(&self, group: &str, place: &str, arms: [usize; 2]) -> Vec<Pair<'a, D, F>> {
        let mine = self.0.iter().filter(|(id, _)| id.0 == group && id.1 == place);
        mine.filter_map(|(_, sample)| sample.pair(arms)).collect()
    }

    /// The pairs of an experiment in the first two arms.
    pub fn of(&self, group: &str, place: &str) -> Vec<Pair<'a, D, F>> {
        self.between(group, place, [0, 1])
    }

    /// The pairs of the main experiment.
    pub fn main(&self) -> Vec<Pair<'a, D, F>> {
        self.of(MAIN, "")
    }

    /// The pairs of the main experiment for one program.
    pub fn program(&self, name: &str) -> Vec<Pair<'a, D, F>> {
        self.main().into_iter().filter(|pair| pair.program.name() == name).collect()
    }

    /// The pairs of the main experiment with the draws that another experiment has, for comparison
    /// with it.
    pub fn beside(&self, group: &str, place: &str) -> Vec<Pair<'a, D, F>> {
        let there = self.of(group, place);
        let has = |pair: &Pair<'_, D, F>| there.iter().any(|other| other.program == pair.program);
        self.main().into_iter().filter(has).collect()
    }

    /// Counts the draws that an arm of an experiment ran under several seeds, and those among them for
    /// which every seed gave the same figures.
    pub fn alike(&self) -> [usize; 2]
    where
        F: PartialEq,
    {
        let mut counts = [0; 2];
        for (at, (id, first)) in self.0.iter().enumerate() {
            let same = |(other, sample): &&(Id, Sample<'a, D, F>)| other == id && sample.draw == first.draw;
            let seeds: Vec<&Sample<'a, D, F>> = self.0[at..].iter().filter(same).map(|(_, sample)| sample).collect();
            if seeds.len() < 2 || self.0[..at].iter().any(|other| same(&other)) {
                continue;
            }
            for (arm, figures) in first.arms.iter().enumerate() {
                let all = seeds.iter().all(|sample| sample.arms.get(arm) == Some(figures));
                counts = [counts[0] + 1, counts[1] + usize::from(all)];
            }
        }
        counts
    }

    /// The groups of experiments in order, each with its places.
    pub fn groups(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut groups: Vec<(&'static str, Vec<String>)> = Vec::new();
        for ((group, place), _) in &self.0 {
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

    /// The programs of the main experiment, in order.
    pub fn programs(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.main().iter().map(|pair| pair.program.name()).collect();
        names.dedup();
        names
    }

    /// The program of the main experiment with the best mean over draws, and that mean. `better`
    /// says whether the first mean is better than the second.
    pub fn best(
        &self,
        value: impl Fn(&Pair<'_, D, F>) -> f64,
        better: impl Fn(f64, f64) -> bool,
    ) -> Option<(Interval, &'a str)> {
        let means =
            self.programs().into_iter().filter_map(|name| Some((over_draws(&self.program(name), &value)?, name)));
        means.reduce(|a, b| if better(b.0.mean, a.0.mean) { b } else { a })
    }
}

/// The reduction from `off` to `on` in percent of `off`; 0 if `off` is 0.
pub fn reduction(off: f64, on: f64) -> f64 {
    if off == 0.0 { 0.0 } else { 100.0 * (off - on) / off }
}

/// The mean of a quantity over draws and seeds, with its interval.
pub fn over_draws<D, F>(pairs: &[Pair<'_, D, F>], what: impl Fn(&Pair<'_, D, F>) -> f64) -> Option<Interval> {
    Interval::of(&pairs.iter().map(what).collect::<Vec<_>>())
}

/// The mean over programs of means over draws. If all programs have the same draws and seeds, the
/// interval is that of the means over programs, seed by seed; otherwise it follows from the spread
/// of each program's own draws.
pub fn over_programs<D: Draw, F>(pairs: &[Pair<'_, D, F>], what: impl Fn(&Pair<'_, D, F>) -> f64) -> Option<Interval> {
    // Draws are matched by their place, because removed draws leave different gaps in the numbers
    // of each program's draws.
    let mut places: BTreeMap<(&str, usize, u64), Vec<f64>> = BTreeMap::new();
    let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        let (draw, value) = (pair.program, what(pair));
        places.entry((draw.shape(), draw.place(), pair.again)).or_default().push(value);
        programs.entry(draw.name()).or_default().push(value);
    }
    if places.values().any(|of| of.len() != programs.len()) {
        return Interval::of_groups(programs.values());
    }
    let means: Vec<f64> = places.values().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
    Interval::of(&means)
}

/// A mean with half its interval, as text.
pub fn said(of: Option<Interval>) -> String {
    let Some(Interval { mean, half }) = of else { return "not run".to_owned() };
    half.map_or_else(|| format!("{mean:.1}"), |half| format!("{mean:.1} ± {half:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq)]
    struct Drawn(&'static str, usize);

    impl Draw for Drawn {
        fn name(&self) -> &str {
            self.0
        }
        fn place(&self) -> usize {
            self.1
        }
    }

    fn mean(of: &[(Drawn, f64)]) -> Interval {
        let pairs: Vec<Pair<'_, Drawn, f64>> =
            of.iter().map(|(program, value)| Pair { program, again: 0, off: value, on: value }).collect();
        over_programs(&pairs, |pair| *pair.on).unwrap()
    }

    /// The second arm gives the same figure under both seeds, and so does nothing else; a draw under
    /// a single seed is not counted.
    #[test]
    fn arms_that_no_seed_changes_are_counted() {
        let draws = [Drawn("a", 0), Drawn("b", 0)];
        let figures = [1.0, 2.0, 3.0];
        let mut samples = Samples::default();
        for (draw, again, off) in [(0, 0, 0), (0, 1, 1), (1, 0, 0)] {
            let arms = vec![&figures[off], &figures[2]];
            samples.push((MAIN, String::new()), Sample::with(&draws[draw], again, arms));
        }
        assert_eq!(samples.alike(), [2, 1]);
    }

    #[test]
    fn every_program_weighs_the_same_however_many_draws_it_has() {
        let balanced = [(Drawn("a", 0), 1.0), (Drawn("a", 1), 3.0), (Drawn("b", 0), 10.0), (Drawn("b", 1), 12.0)];
        // The mean of both programs is 5.5 in place 0 (of 1 and 10), and 7.5 in place 1 (of 3 and
        // 12).
        assert_eq!(mean(&balanced), Interval::of(&[5.5, 7.5]).unwrap());
        let third = (Drawn("b", 2), 11.0);
        let more = balanced.into_iter().chain([third]).collect::<Vec<_>>();
        let ours = mean(&more);
        // Program `a` has the mean 2 and the variance 2 over two values, program `b` the mean 11
        // and the variance 1 over three values. The variance of the mean over programs is (2 / 2 +
        // 1 / 3) / 4, with three degrees of freedom, whose quantile is 3.182.
        assert_eq!(ours.mean, 6.5);
        assert!((ours.half.unwrap() - 3.182 * (1.0f64 / 3.0).sqrt()).abs() < 1e-9, "{ours:?}");
    }
}
