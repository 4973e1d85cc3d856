//! The results of the study's runs, with functions for the figures that claims need.

use super::helper::Name;
use super::jobs::{IDEAL, LIGHT, WORK};
use super::run::{Case, Figures, Run, Work};
use super::waits::By;
use crate::Interval;
use crate::kit::Ratio;

/// The cases of the runs with their figures; runs without a chip are left out.
pub(super) struct Results<'a>(Vec<(&'a Case, &'a Figures)>);

/// Selects runs, with all their repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Of {
    pub(super) reading: u32,
    /// The change of the chip; empty for no change.
    pub(super) change: &'static str,
    pub(super) work: Work,
}

/// The runs of mwmon that are compared with another mechanism under a reading: [`Of::chosen`] or
/// [`Of::ideal`].
pub(super) type Treated = fn(u32, Work) -> Of;

impl Of {
    /// The runs on the chip as it is.
    pub(super) fn chosen(reading: u32, work: Work) -> Of {
        Of { reading, change: "", work }
    }

    /// The runs of the oracle arm. Both readings share them, because nothing that a reading prices
    /// is left.
    pub(super) fn ideal(_: u32, work: Work) -> Of {
        Of { reading: 1, change: IDEAL, work }
    }
}

/// A figure of a run.
pub(super) type Value = fn(&Figures) -> f64;

pub(super) fn work(figures: &Figures) -> f64 {
    figures.work as f64
}

pub(super) fn wake_up(figures: &Figures) -> f64 {
    figures.wake_up as f64
}

pub(super) fn call(figures: &Figures) -> f64 {
    figures.call as f64
}

pub(super) fn memory(figures: &Figures) -> f64 {
    figures.memory as f64
}

pub(super) fn misses(figures: &Figures) -> f64 {
    figures.misses as f64
}

impl<'a> Results<'a> {
    pub(super) fn new(done: &'a [(Result<Run, String>, Figures)]) -> Results<'a> {
        Results(done.iter().filter_map(|(run, figures)| Some((&run.as_ref().ok()?.case, figures))).collect())
    }

    /// A figure of each repetition, in the order of repetitions.
    pub(super) fn values(&self, of: Of, what: Value) -> Vec<f64> {
        let wanted = (of.reading, of.change, of.work);
        let mine = self.0.iter().filter(|(case, _)| (case.reading, case.other, case.work) == wanted);
        mine.map(|(_, figures)| what(figures)).collect()
    }

    /// The mean of a figure over all repetitions.
    pub(super) fn mean(&self, of: Of, what: Value) -> Option<Interval> {
        Interval::of(&self.values(of, what))
    }

    /// A figure's mean and standard deviation over repetitions.
    pub(super) fn spread(&self, of: Of, what: Value) -> Option<[f64; 2]> {
        let values = self.values(of, what);
        let mean = Interval::of(&values)?.mean;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some([mean, (squares / (values.len().max(2) - 1) as f64).sqrt()])
    }

    /// The ratio of the means of a figure, over repetitions in pairs.
    pub(super) fn ratio(&self, [above, below]: [Of; 2], what: Value) -> Option<Ratio> {
        Ratio::of(&self.values(above, what), &self.values(below, what))
    }

    /// The time of the work of table 1 or 2 beside a spinner over the mean of its times beside
    /// the waiters `rest`, repetition by repetition.
    pub(super) fn slowdown(&self, spins: Of, rest: &[Of]) -> Option<Ratio> {
        let rest: Vec<Vec<f64>> = rest.iter().map(|&of| self.values(of, work)).collect();
        let repetitions = rest.iter().map(Vec::len).min()?;
        let mean = |at| rest.iter().map(|values| values[at]).sum::<f64>() / rest.len() as f64;
        let means: Vec<f64> = (0..repetitions).map(mean).collect();
        Ratio::of(&self.values(spins, work), &means)
    }

    /// The throughput of mwmon in figure 4 over that of the mechanism `over`.
    pub(super) fn gain(&self, reading: u32, treated: Treated, over: By, (light, unit): (u32, u64)) -> Option<Ratio> {
        let of = |by| Work::Pseudo { by, light, work: unit };
        self.ratio([Of::chosen(reading, of(over)), treated(reading, of(By::Mwmon))], work)
    }

    /// The mean of [`Results::gain`] over all light work; `None` if not all of it was run.
    pub(super) fn mean_gain(&self, reading: u32, treated: Treated, over: By) -> Option<Ratio> {
        let gains: Option<Vec<Ratio>> = LIGHT.map(|light| self.gain(reading, treated, over, (light, WORK))).collect();
        Ratio::mean(&gains?)
    }

    /// The speed of a kernel with a helper that prefetches over the kernel's speed alone.
    pub(super) fn speedup(&self, reading: u32, treated: Treated, kernel: Name, by: By) -> Option<Ratio> {
        self.ratio([Of::chosen(reading, Work::serial(kernel)), treated(reading, Work::helped(kernel, by))], work)
    }

    /// The speed of a kernel with a helper that only waits over the kernel's speed alone.
    pub(super) fn idle(&self, reading: u32, kernel: Name, by: By) -> Option<Ratio> {
        self.ratio([Work::serial(kernel), Work::idle(kernel, by)].map(|work| Of::chosen(reading, work)), work)
    }

    /// The time of a kernel with a helper and another mechanism over its time with mwmon.
    pub(super) fn better(&self, reading: u32, treated: Treated, kernel: Name, over: By) -> Option<Ratio> {
        self.ratio(
            [Of::chosen(reading, Work::helped(kernel, over)), treated(reading, Work::helped(kernel, By::Mwmon))],
            work,
        )
    }

    /// The worker's misses with a helper and mwmon over those without a helper.
    pub(super) fn misses_left(&self, reading: u32, treated: Treated, kernel: Name) -> Option<Ratio> {
        self.ratio(
            [treated(reading, Work::helped(kernel, By::Mwmon)), Of::chosen(reading, Work::serial(kernel))],
            misses,
        )
    }

    /// Counts the works that have several repetitions, and the works among them for which every
    /// repetition gave the same figures.
    pub(super) fn alike(&self) -> [usize; 2] {
        let mut works: Vec<(Of, Vec<&Figures>)> = Vec::new();
        for (case, figures) in &self.0 {
            let of = Of { reading: case.reading, change: case.other, work: case.work };
            match works.iter_mut().find(|(other, _)| *other == of) {
                Some((_, all)) => all.push(figures),
                None => works.push((of, vec![figures])),
            }
        }
        let several = works.iter().filter(|(_, all)| all.len() > 1);
        let same = several.clone().filter(|(_, all)| all.iter().all(|figures| figures == &all[0]));
        [several.count(), same.count()]
    }
}
