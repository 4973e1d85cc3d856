//! M8 to M11 where they need all four kernels: their rules, and the falsifiers of the kernels that came later. What `claims` says of the
//! sparse product and of LU alone was frozen before and stands there.

use super::claims::gains;
use super::helper::Name;
use super::jobs::IDEAL;
use super::results::{Of, Results, Treated, misses};
use super::run::Work;
use super::waits::By;
use super::why;
use crate::kit::{Judge, Ratio};
use crate::{Claim, Falsifier, Rule, Verdict};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
/// A helper that does not prefetch gains less than this, in percent.
const NOTHING: f64 = 1.0;
const NEEDS: &str = "three repetitions of every kernel and mechanism";
/// The four kernels in the paper's sizes.
const FOUR: [Name; 4] = [Name::Lu, Name::Closure, Name::Stencil, Name::Spmv];

fn four(of: impl Fn(Name) -> Option<Ratio>) -> Option<Vec<Ratio>> {
    FOUR.into_iter().map(of).collect()
}

/// The mean over the four kernels, repetition by repetition.
fn mean(of: impl Fn(Name) -> Option<Ratio>) -> Option<Ratio> {
    Ratio::mean(&four(of)?)
}

/// The best of the four kernels.
fn best(of: impl Fn(Name) -> Option<Ratio>) -> Option<Ratio> {
    four(of)?.into_iter().max_by(|one, other| one.interval().mean.total_cmp(&other.interval().mean))
}

/// The claims over all four kernels, under both readings.
pub(super) fn claims(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    for reading in [1, 2] {
        let prices = why::reading(reading);
        let claim = |id, part: &str, what: &str, unit| Claim::new(id, format!("{part}, {prices}"), what, unit);
        let gain = |treated: Treated, kernel| results.speedup(reading, treated, kernel, By::Mwmon);
        let better = |treated: Treated, over: By| move |kernel| results.better(reading, treated, kernel, over);
        let mut push = |id, part: &str, what: &str, paper, of: &dyn Fn(Treated) -> Option<Ratio>| {
            gains(&mut judge, claim(id, part, what, "%"), (paper, QUARTER, NEEDS), of, why::four(results, reading));
        };
        let faster = "speed with a helper and mwmon over serial";
        push("M8", "TC", faster, 35.0, &|treated| gain(treated, Name::Closure));
        push("M8", "mean of four", faster, 17.0, &|treated| mean(|kernel| gain(treated, kernel)));
        let time = "execution time of mwmon, better by";
        push("M9", "over spin-loops, mean of four", time, 15.0, &|treated| mean(better(treated, By::Pause)));
        push("M9", "over pthreads, mean of four", time, 3.6, &|treated| mean(better(treated, By::Futex)));
        push("M10", "over pthreads, best of four", time, 7.0, &|treated| best(better(treated, By::Futex)));
        push("M10", "over spin-loops, best of four", time, 40.0, &|treated| best(better(treated, By::Pause)));
        let both = |treated: Treated| {
            let left = four(|kernel| results.misses_left(reading, treated, kernel))?;
            Some((four(|kernel| gain(treated, kernel))?, left))
        };
        let rule =
            "of the four, transitive closure gains most with mwmon, and its worker keeps the least of its misses";
        let of = claim("M11", "TC", "gains most, by misses that it saves", "");
        judge.weighed(of, rule, both(Of::chosen).and_then(gains_most), NEEDS, why::four(results, reading));
        judge.ideal_condition(IDEAL, both(Of::ideal).and_then(gains_most));
        let rule = "its gain with mwmon is above 0 and below the mean of the four, and its worker keeps the most of its misses";
        let of = claim("M11", "BT's stencil", "gains little, as few misses are saved", "");
        judge.weighed(of, rule, both(Of::chosen).and_then(gains_little), NEEDS, why::four(results, reading));
        judge.ideal_condition(IDEAL, both(Of::ideal).and_then(gains_little));
    }
    judge.claims
}

/// The indices of kernels in [`FOUR`] other than `kernel`.
fn others(kernel: usize) -> impl Iterator<Item = usize> {
    (0..FOUR.len()).filter(move |&at| at != kernel)
}

/// Whether transitive closure gains more than each other kernel, and keeps less of its misses.
fn gains_most((gains, left): (Vec<Ratio>, Vec<Ratio>)) -> Option<Verdict> {
    let closure = 1;
    let over = |at: usize| [(&gains[closure], &gains[at]), (&left[at], &left[closure])];
    let all = others(closure).flat_map(over).map(|(more, less)| Some(more.less(less)?.is_above(0.0)));
    Some(Verdict::all(all.collect::<Option<Vec<_>>>()?))
}

/// Whether BT's stencil gains, but less than the mean, and keeps more of its misses than each other
/// kernel.
fn gains_little((gains, left): (Vec<Ratio>, Vec<Ratio>)) -> Option<Verdict> {
    let stencil = 2;
    let gain = &gains[stencil];
    let keeps = others(stencil).map(|at| Some(left[stencil].less(&left[at])?.is_above(0.0)));
    let keeps = keeps.collect::<Option<Vec<_>>>()?;
    let little = [gain.percent().is_above(0.0), gain.less(&Ratio::mean(&gains)?)?.is_below(0.0)];
    Some(Verdict::all(little.into_iter().chain(keeps)))
}

/// Falsifiers of the two kernels, and of the misses that are counted.
pub(super) fn falsifiers(results: &Results<'_>) -> Vec<Falsifier> {
    let nothing = [("no prefetches, TC", Name::Closure), ("no prefetches, BT's stencil", Name::Stencil)];
    let mut all: Vec<Falsifier> = nothing.map(|(id, kernel)| gains_nothing(results, id, kernel)).into();
    all.push(saves(results));
    all
}

/// A helper that does not prefetch must gain nothing.
pub(super) fn gains_nothing(results: &Results<'_>, id: &'static str, kernel: Name) -> Falsifier {
    let what = "a helper that does not prefetch gains nothing: below 1%";
    let gain = results.idle(2, kernel, By::Mwmon).map(|ratio| ratio.percent().mean);
    let seen = gain.map(|gain| (gain < NOTHING, [("gain, %", gain)]));
    Falsifier::shown(id, what, "not run", seen, || format!("`{id}`: barriers alone gain"))
}

/// A helper that does not prefetch spares the worker no misses; one that does spares every kernel some.
fn saves(results: &Results<'_>) -> Falsifier {
    let (id, what) = (
        "misses",
        "in all four kernels a helper that prefetches leaves the worker fewer misses than one that does not",
    );
    let left = |kernel| {
        results.ratio(
            [Work::helped(kernel, By::Mwmon), Work::idle(kernel, By::Mwmon)].map(|work| Of::chosen(2, work)),
            misses,
        )
    };
    let Some(all) = four(left) else { return Falsifier::not_run(id, what, "not run") };
    let all: Vec<f64> = all.iter().map(|ratio| ratio.interval().mean).collect();
    let figures = FOUR.iter().zip(&all).map(|(kernel, left)| (format!("{kernel:?}, left of one"), *left)).collect();
    Falsifier::seen(id, what, all.iter().all(|left| *left < 1.0), figures, || "figure 5 below".to_owned())
}
