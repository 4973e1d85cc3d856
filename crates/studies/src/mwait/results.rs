//! The results of the study's runs, with functions for the figures that claims need.

use super::jobs::{IDEAL, MOST, SPIN};
use super::run::{Arm, Case, Figures, Load, Run};
use crate::Interval;
use crate::kit::Ratio;

/// The cases of the runs with their figures; runs without a chip are left out.
pub(super) struct Results<'a>(Vec<(&'a Case, &'a Figures)>);

/// Selects runs, with all their seeds.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub(super) load: Load,
    pub(super) cores: u32,
    pub(super) change: &'static str,
    pub(super) spin: u32,
    pub(super) times: u64,
}

impl Of {
    /// The runs of the paper's setting on `cores` cores.
    pub(super) fn at(load: Load, cores: u32) -> Of {
        Of { load, cores, change: "", spin: SPIN, times: 1 }
    }

    /// The runs of the paper's setting on the greatest number of cores.
    pub(super) fn most(load: Load) -> Of {
        Of::at(load, MOST)
    }
}

/// A figure of a run.
pub(super) type Value = fn(&Figures) -> f64;

pub(super) fn time(figures: &Figures) -> f64 {
    figures.cycles
}

/// The energy at the wall, which includes the platform's base.
pub(super) fn energy(figures: &Figures) -> f64 {
    figures.joules + figures.base
}

pub(super) fn without_base(figures: &Figures) -> f64 {
    figures.joules
}

/// Mean power at the wall, in joules a cycle.
pub(super) fn power(figures: &Figures) -> f64 {
    energy(figures) / figures.cycles
}

impl<'a> Results<'a> {
    pub(super) fn new(done: &'a [(Result<Run, String>, Figures)]) -> Results<'a> {
        Results(done.iter().filter_map(|(run, figures)| Some((&run.as_ref().ok()?.case, figures))).collect())
    }

    /// The runs with the first seeds.
    pub(super) fn first(&self, seeds: u64) -> Results<'a> {
        Results(self.0.iter().copied().filter(|(case, _)| case.seed <= seeds).collect())
    }

    /// A figure of each run that `of` and `arm` select, one for each seed, in the order of seeds: runs
    /// of two experiments pair by seed, as far as both have it.
    fn all(&self, of: Of, arm: Arm, value: impl Fn(&Figures) -> f64) -> Vec<f64> {
        let key = |case: &Case| (case.load, case.cores, case.change, case.spin, case.times, case.arm);
        let mine =
            self.0.iter().filter(|(case, _)| key(case) == (of.load, of.cores, of.change, of.spin, of.times, arm));
        mine.map(|(_, figures)| value(figures)).collect()
    }

    /// The mean of a figure over all seeds.
    pub(super) fn mean(&self, of: Of, arm: Arm, value: impl Fn(&Figures) -> f64) -> Option<Interval> {
        Interval::of(&self.all(of, arm, value))
    }

    /// The ratio of the means of a figure in two arms. The interval is that of the ratio over seeds
    /// in pairs.
    pub(super) fn ratio(&self, of: Of, [above, below]: [Arm; 2], value: impl Fn(&Figures) -> f64) -> Option<Interval> {
        ratio(&self.all(of, above, &value), &self.all(of, below, &value))
    }

    /// The ratio of the means of a figure in two experiments.
    pub(super) fn across(&self, [above, below]: [(Of, Arm); 2], value: Value) -> Option<Interval> {
        ratio(&self.all(above.0, above.1, value), &self.all(below.0, below.1, value))
    }

    /// The ratio of [`Results::faster`] with its pairs, and of [`Results::under_ideal`] in time.
    pub(super) fn pairs(&self, of: Of, ideal: bool) -> Option<Ratio> {
        let new = if ideal { Of { change: IDEAL, ..of } } else { of };
        Ratio::of(&self.all(of, Arm::Original, time), &self.all(new, Arm::New, time))
    }

    /// How many times faster the new lock or barrier is than the original one.
    pub(super) fn faster(&self, of: Of) -> Option<Interval> {
        self.ratio(of, [Arm::Original, Arm::New], time)
    }

    /// The ratio of a figure under another lock or barrier to that under the new one with MWAIT at
    /// its ideal.
    pub(super) fn under_ideal(&self, of: Of, other: Arm, value: impl Fn(&Figures) -> f64) -> Option<Interval> {
        let ideal = Of { change: IDEAL, ..of };
        ratio(&self.all(of, other, &value), &self.all(ideal, Arm::New, &value))
    }

    /// How many times less energy at the wall the new lock or barrier takes than the original one.
    pub(super) fn saved(&self, of: Of) -> Option<Interval> {
        self.ratio(of, [Arm::Original, Arm::New], energy)
    }
}

fn ratio(above: &[f64], below: &[f64]) -> Option<Interval> {
    Ratio::of(above, below).map(|ratio| ratio.interval())
}

/// The interval with the greatest mean; `None` if there are none.
pub(super) fn greatest(of: impl IntoIterator<Item = Interval>) -> Option<Interval> {
    of.into_iter().reduce(|a, b| if b.mean > a.mean { b } else { a })
}
