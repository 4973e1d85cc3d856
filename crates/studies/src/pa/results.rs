//! The results of the study's runs. Gains are percent more speed; they are added as logarithms, so
//! that twice the speed and half the speed cancel.

use super::jobs::{self, DEFAULT};
use super::machine::Machine;
use super::mixes::beside;
use super::run::{Case, Figures, Had, Run};
use crate::Interval;
use std::collections::BTreeMap;

/// Everything that was run.
pub(super) struct Results<'a>(Vec<(&'a Case, &'a Figures)>);

impl<'a> Results<'a> {
    pub(super) fn new(done: &'a [(Result<Run, String>, Figures)]) -> Results<'a> {
        Results(done.iter().filter_map(|(run, figures)| Some((&run.as_ref().ok()?.case, figures))).collect())
    }

    /// The figures of all seeds of a case, by seed.
    fn by_seed(&self, like: &Case) -> BTreeMap<u64, &'a Figures> {
        let mine = self.0.iter().filter(|(case, _)| Case { seed: like.seed, ..(*case).clone() } == *like);
        mine.map(|(case, figures)| (case.seed, *figures)).collect()
    }

    /// The figures of all seeds of a case; each seed counts once.
    pub(super) fn of(&self, like: &Case) -> Vec<&'a Figures> {
        self.by_seed(like).into_values().collect()
    }

    /// The figures of two cases, pair by pair under the same seed.
    fn pairs(&self, of: &Case, over: &Case) -> Vec<[&'a Figures; 2]> {
        let over = self.by_seed(over);
        self.by_seed(of).into_iter().filter_map(|(seed, of)| Some([of, *over.get(&seed)?])).collect()
    }

    /// Whether a case differs from another one in any figure of any seed; `None` if they have no
    /// seed in common. Without a difference the treatment did not act, and shows nothing.
    pub(super) fn acted(&self, of: &Case, over: &Case) -> Option<bool> {
        let pairs = self.pairs(of, over);
        (!pairs.is_empty()).then(|| pairs.iter().any(|[of, over]| of != over))
    }

    /// By how many percent the applications are faster in the case `of` than in the case `over`,
    /// seed by seed: all of them, or only `app`.
    pub(super) fn gain_of(&self, app: Option<usize>, of: &Case, over: &Case) -> Option<Interval> {
        let log = |figures: &Figures| match app {
            Some(app) => figures.apps[app].time.ln(),
            None => mean_log(figures),
        };
        let less: Vec<f64> = self.pairs(of, over).iter().map(|[of, over]| log(over) - log(of)).collect();
        let less = Interval::of(&less)?;
        let mean = less.mean.exp();
        Some(Interval { mean: 100.0 * (mean - 1.0), half: less.half.map(|half| 100.0 * mean * half) })
    }

    pub(super) fn gain(&self, of: &Case, over: &Case) -> Option<Interval> {
        self.gain_of(None, of, over)
    }

    /// A policy's gain over Default on a mix.
    pub(super) fn over_default(&self, machine: Machine, mix: &'static str, policy: &'static str) -> Option<Interval> {
        self.gain(&jobs::main(machine, mix, policy), &jobs::main(machine, mix, DEFAULT))
    }

    /// A policy's gain over the best seed of Default, and over the median seed.
    pub(super) fn over_seeds(&self, machine: Machine, mix: &'static str, policy: &'static str) -> Option<[f64; 2]> {
        let means =
            |policy| -> Vec<f64> { self.of(&jobs::main(machine, mix, policy)).into_iter().map(mean_log).collect() };
        let (mut default, ours) = (means(DEFAULT), Interval::of(&means(policy))?.mean);
        default.sort_by(f64::total_cmp);
        let middle = default.len() / 2;
        let median = (default.get(middle)? + default[(default.len() - 1) / 2]) / 2.0;
        Some([default[0], median].map(|over| 100.0 * ((over - ours).exp() - 1.0)))
    }

    /// The mean of a gain over the mixes on which experiments beside the main one are done.
    pub(super) fn mean_beside(&self, gain: impl Fn(&'static str) -> Option<Interval>) -> Option<Interval> {
        mean(beside().map(|mix| gain(mix.name)))
    }

    /// A figure of an application, as the mean over seeds.
    pub(super) fn had(&self, like: &Case, app: usize, what: fn(&Had) -> f64) -> Option<f64> {
        Some(self.had_within(like, app, what)?.mean)
    }

    /// Like [`Results::had`], with the interval over seeds.
    pub(super) fn had_within(&self, like: &Case, app: usize, what: fn(&Had) -> f64) -> Option<Interval> {
        let of: Vec<f64> = self.of(like).into_iter().filter_map(|figures| Some(what(figures.apps.get(app)?))).collect();
        Interval::of(&of)
    }

    /// How far the times of a case's seeds lie apart: their coefficient of variation in percent, as
    /// the mean over applications.
    pub(super) fn spread(&self, like: &Case) -> Option<f64> {
        spread(&self.of(like))
    }

    /// The logarithm of [`Results::spread`], with its interval by the jackknife: the spread is taken
    /// anew without each of the seeds in turn. `None` where a spread is 0, or with fewer than three
    /// seeds.
    pub(super) fn spread_log(&self, like: &Case) -> Option<Interval> {
        let all = self.of(like);
        let count = all.len() as f64;
        let whole = spread(&all)?.ln();
        let without = |seed: usize| {
            let rest: Vec<_> = all.iter().enumerate().filter(|(at, _)| *at != seed).map(|(_, &of)| of).collect();
            Some(count * whole - (count - 1.0) * spread(&rest)?.ln())
        };
        let pseudo: Vec<f64> = (0..all.len()).map(without).collect::<Option<_>>()?;
        let around = Interval::of(&pseudo).filter(|of| of.mean.is_finite())?;
        Some(Interval { mean: whole, ..around })
    }
}

/// The coefficient of variation of the applications' times over runs, in percent, as the mean over
/// applications; `None` with fewer than two runs.
fn spread(all: &[&Figures]) -> Option<f64> {
    let apps = all.first()?.apps.len();
    let one = |app: usize| {
        let times: Vec<f64> = all.iter().map(|figures| figures.apps[app].time).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        (times.len() > 1).then(|| 100.0 * (squares / (times.len() - 1) as f64).sqrt() / mean)
    };
    let all: Option<Vec<f64>> = (0..apps).map(one).collect();
    Some(all?.iter().sum::<f64>() / apps as f64)
}

/// The mean of the logarithms of the applications' times.
fn mean_log(figures: &Figures) -> f64 {
    figures.apps.iter().map(|app| app.time.ln()).sum::<f64>() / figures.apps.len() as f64
}

/// The mean of gains; `None` if one of them is missing. The mixes are independent, because each
/// draws its starts anew.
pub(super) fn mean(gains: impl Iterator<Item = Option<Interval>>) -> Option<Interval> {
    let gains: Vec<Interval> = gains.collect::<Option<_>>()?;
    let count = gains.len() as f64;
    let mean = gains.iter().map(|gain| gain.mean).sum::<f64>() / count;
    let halves: Option<Vec<f64>> = gains.iter().map(|gain| gain.half).collect();
    Some(Interval {
        mean,
        half: halves.map(|halves| halves.iter().map(|half| half * half).sum::<f64>().sqrt() / count),
    })
}
