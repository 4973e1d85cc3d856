//! M8 to M11 where they need all four kernels: their rules, and the falsifiers of the kernels that came later. What `claims` says of the
//! sparse product and of LU alone was frozen before and stands there.

use super::helper::Name;
use super::results::{Results, percent};
use super::run::{Figures, Work};
use super::waits::By;
use super::{helper::Assisted, why};
use crate::kit::Judge;
use crate::{Claim, Falsifier, Interval, Rule};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
/// A helper that does not prefetch gains less than this, in percent.
const NOTHING: f64 = 1.0;
const NEEDS: &str = "three repetitions of every kernel and mechanism";
/// The four kernels in the paper's sizes.
const FOUR: [Name; 4] = [Name::Lu, Name::Closure, Name::Stencil, Name::Spmv];

/// How much better mwmon's execution time is than another barrier's, both with a helper that prefetches, in percent.
fn better(results: &Results<'_>, reading: u32, kernel: Name, over: By) -> Option<Interval> {
    let of = |by| Work::Assisted(Assisted { kernel, by: Some(by), prefetches: true });
    results.ratio((reading, ""), [of(over), of(By::Mwmon)], |figures| figures.work as f64).map(percent)
}

/// The worker's misses with a helper over those without.
fn misses(results: &Results<'_>, reading: u32, kernel: Name) -> Option<f64> {
    let of = |by, prefetches| Work::Assisted(Assisted { kernel, by, prefetches });
    let works = [of(Some(By::Mwmon), true), of(None, false)];
    Some(results.ratio((reading, ""), works, |figures| figures.misses as f64)?.mean)
}

/// The mean over the four kernels; each has its own runs.
fn mean(of: impl Fn(Name) -> Option<Interval>) -> Option<Interval> {
    let all: Vec<Interval> = FOUR.into_iter().map(of).collect::<Option<_>>()?;
    let halves: Option<Vec<f64>> = all.iter().map(|one| one.half).collect();
    let half = halves.map(|halves| halves.iter().map(|half| half * half).sum::<f64>().sqrt() / 4.0);
    Some(Interval { mean: all.iter().map(|one| one.mean).sum::<f64>() / 4.0, half })
}

/// The best of the four kernels.
fn best(of: impl Fn(Name) -> Option<Interval>) -> Option<Interval> {
    let all: Vec<Interval> = FOUR.into_iter().map(of).collect::<Option<_>>()?;
    all.into_iter().max_by(|one, other| one.mean.total_cmp(&other.mean))
}

/// The claims over all four kernels, under both readings.
pub(super) fn claims(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    for reading in [1, 2] {
        let prices = why::reading(reading);
        let gain = |kernel| results.speedup(reading, kernel, By::Mwmon, true);
        let mut push = |id, part: &str, what: &str, paper, ours| {
            let claim = Claim::new(id, format!("{part}, {prices}"), what, "%");
            judge.push(claim, paper, ours, QUARTER, NEEDS, why::four(results, reading));
        };
        let faster = "speed with a helper and mwmon over serial";
        push("M8", "TC", faster, 35.0, gain(Name::Closure));
        push("M8", "mean of four", faster, 17.0, mean(gain));
        let time = "execution time of mwmon, better by";
        push(
            "M9",
            "over spin-loops, mean of four",
            time,
            15.0,
            mean(|kernel| better(results, reading, kernel, By::Pause)),
        );
        push(
            "M9",
            "over pthreads, mean of four",
            time,
            3.6,
            mean(|kernel| better(results, reading, kernel, By::Futex)),
        );
        push(
            "M10",
            "over pthreads, best of four",
            time,
            7.0,
            best(|kernel| better(results, reading, kernel, By::Futex)),
        );
        push(
            "M10",
            "over spin-loops, best of four",
            time,
            40.0,
            best(|kernel| better(results, reading, kernel, By::Pause)),
        );
        let gains: Option<Vec<f64>> = FOUR.into_iter().map(|kernel| Some(gain(kernel)?.mean)).collect();
        let left: Option<Vec<f64>> = FOUR.into_iter().map(|kernel| misses(results, reading, kernel)).collect();
        let [closure, stencil] = [1, 2];
        let both = gains.zip(left);
        let most = both.as_ref().map(|(gains, left)| {
            let others = || (0..4).filter(|&at| at != closure);
            others().all(|at| gains[at] < gains[closure] && left[at] > left[closure])
        });
        let claim = Claim::new("M11", format!("TC, {prices}"), "gains most, by misses that it saves", "");
        let rule =
            "of the four, transitive closure gains most with mwmon, and its worker keeps the least of its misses";
        judge.condition(claim, rule, most, NEEDS, why::four(results, reading));
        let little = both.as_ref().map(|(gains, left)| {
            let mean = gains.iter().sum::<f64>() / 4.0;
            let others = || (0..4).filter(|&at| at != stencil);
            gains[stencil] > 0.0 && gains[stencil] < mean && others().all(|at| left[at] < left[stencil])
        });
        let claim = Claim::new("M11", format!("BT's stencil, {prices}"), "gains little, as few misses are saved", "");
        let rule = "its gain with mwmon is above 0 and below the mean of the four, and its worker keeps the most of its misses";
        judge.condition(claim, rule, little, NEEDS, why::four(results, reading));
    }
    judge.claims
}

/// Falsifiers of the two kernels, and of the misses that are counted.
pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    let nothing = [("no prefetches, TC", Name::Closure), ("no prefetches, BT's stencil", Name::Stencil)];
    let mut all: Vec<Falsifier> = nothing.map(|(id, kernel)| gains_nothing(results, id, kernel)).into();
    all.push(saves(results));
    all
}

fn gains_nothing(results: &Results<'_>, id: &'static str, kernel: Name) -> Falsifier {
    let what = "a helper that does not prefetch gains nothing: below 1%";
    let Some(gain) = results.speedup(2, kernel, By::Mwmon, false) else {
        return Falsifier::not_run(id, what, "not run");
    };
    let figures = vec![("gain, %".to_owned(), gain.mean)];
    Falsifier::seen(id, what, gain.mean < NOTHING, figures, || format!("`{id}`: barriers alone gain"))
}

/// A helper that does not prefetch spares the worker no misses; one that does spares every kernel some.
fn saves(results: &Results<'_>) -> Falsifier {
    let (id, what) = (
        "misses",
        "in all four kernels a helper that prefetches leaves the worker fewer misses than one that does not",
    );
    let of = |kernel, prefetches| {
        let work = Work::Assisted(Assisted { kernel, by: Some(By::Mwmon), prefetches });
        results.mean(2, "", work, |figures: &Figures| figures.misses as f64).map(|of| of.mean)
    };
    let all: Option<Vec<[f64; 2]>> =
        FOUR.into_iter().map(|kernel| Some([of(kernel, true)?, of(kernel, false)?])).collect();
    let Some(all) = all else { return Falsifier::not_run(id, what, "not run") };
    let figures =
        FOUR.iter().zip(&all).map(|(kernel, of)| (format!("{kernel:?}, left of one"), of[0] / of[1])).collect();
    Falsifier::seen(id, what, all.iter().all(|of| of[0] < of[1]), figures, || "figure 5 below".to_owned())
}
