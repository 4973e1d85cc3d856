//! The results of the study's runs, with functions for the figures that claims need.

use super::helper::{Assisted, Name};
use super::jobs::{ENTRIES, LIGHT, WORK};
use super::run::{Case, Figures, Run, Work};
use super::waits::By;
use crate::Interval;

/// The cases of the runs with their figures; runs without a chip are left out.
pub(super) struct Results<'a>(Vec<(&'a Case, &'a Figures)>);

impl<'a> Results<'a> {
    pub(super) fn new(done: &'a [(Result<Run, String>, Figures)]) -> Results<'a> {
        Results(done.iter().filter_map(|(run, figures)| Some((&run.as_ref().ok()?.case, figures))).collect())
    }

    /// The figures of all repetitions of a case.
    fn of(&self, reading: u32, other: &str, work: Work) -> Vec<&'a Figures> {
        let mine = self.0.iter().filter(|(case, _)| (case.reading, case.other, case.work) == (reading, other, work));
        mine.map(|(_, figures)| *figures).collect()
    }

    /// The mean of a figure over all repetitions of a case.
    pub(super) fn mean(&self, reading: u32, other: &str, work: Work, what: fn(&Figures) -> f64) -> Option<Interval> {
        Interval::of(&self.of(reading, other, work).into_iter().map(what).collect::<Vec<_>>())
    }

    /// A figure's mean and standard deviation over repetitions.
    pub(super) fn spread(&self, reading: u32, work: Work, what: fn(&Figures) -> f64) -> Option<[f64; 2]> {
        let values: Vec<f64> = self.of(reading, "", work).into_iter().map(what).collect();
        let mean = Interval::of(&values)?.mean;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some([mean, (squares / (values.len().max(2) - 1) as f64).sqrt()])
    }

    /// The ratio of the means of a figure in two works. The interval is that of the ratio of means
    /// over repetitions in pairs: the mean of the pairs' own ratios would depend on a few that lie
    /// far out.
    pub(super) fn ratio(
        &self,
        (reading, other): (u32, &str),
        [above, below]: [Work; 2],
        what: fn(&Figures) -> f64,
    ) -> Option<Interval> {
        let [above, below] = [above, below].map(|work| self.of(reading, other, work).into_iter().map(what));
        let pairs: Vec<(f64, f64)> = above.zip(below).collect();
        let [above, below] = pairs.iter().fold([0.0, 0.0], |sums, pair| [sums[0] + pair.0, sums[1] + pair.1]);
        let mean = above / below;
        let scale = below / pairs.len() as f64;
        let apart: Vec<f64> = pairs.iter().map(|pair| (pair.0 - mean * pair.1) / scale).collect();
        Some(Interval { mean, ..Interval::of(&apart)? })
    }

    /// By how many percent the throughput of mwmon in figure 4 is greater than that of the
    /// mechanism `over`.
    pub(super) fn gain(&self, reading: u32, over: By, light: u32, work: u64) -> Option<Interval> {
        let of = |by| Work::Pseudo { by, light, work };
        self.ratio((reading, ""), [of(over), of(By::Mwmon)], |figures| figures.work as f64).map(percent)
    }

    /// The mean of [`Results::gain`] over all light work; `None` if not all of it was run.
    pub(super) fn mean_gain(&self, reading: u32, over: By) -> Option<Interval> {
        let gains: Option<Vec<f64>> = LIGHT.map(|light| Some(self.gain(reading, over, light, WORK)?.mean)).collect();
        let gains = gains?;
        Some(Interval { mean: gains.iter().sum::<f64>() / gains.len() as f64, half: None })
    }

    /// By how many percent a kernel with a helper is faster than the kernel alone.
    pub(super) fn speedup(&self, reading: u32, kernel: Name, by: By, prefetches: bool) -> Option<Interval> {
        let of = |by, prefetches| Work::Assisted(Assisted { kernel, by, prefetches });
        let works = [of(None, false), of(Some(by), prefetches)];
        self.ratio((reading, ""), works, |figures| figures.work as f64).map(percent)
    }
}

/// Turns a ratio into percent more than 1.
pub(super) fn percent(of: Interval) -> Interval {
    Interval { mean: 100.0 * (of.mean - 1.0), half: of.half.map(|half| 100.0 * half) }
}

/// The work of a row of table 1 or 2.
pub(super) fn row(by: By, barrier: bool) -> Work {
    Work::Table { by, barrier, entries: ENTRIES }
}
