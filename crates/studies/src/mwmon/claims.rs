//! M1 to M11 with their rules. Gains are percent more; every part names the reading whose prices it has.

use super::helper::Name;
use super::jobs::{IDEAL, WORK};
use super::results::{Of, Results, Treated, call, wake_up};
use super::run::Work;
use super::waits::By;
use super::why;
use crate::kit::{Judge, Ratio};
use crate::{Basis, Claim, Effect, Interval, Rule, Verdict};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
const NEEDS: &str = "50 repetitions, every degree of asymmetry";
/// The oracle arm of the claim that a spinner costs more than a helper brings.
const SPINS: &str = "a helper that only spins";

/// All of them. Without the full run none is judged.
pub(super) fn all(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    tables(&mut judge, results);
    figure_4(&mut judge, results);
    figure_5(&mut judge, results);
    judge.claims
}

/// Judges a gain of mwmon, in percent: with mwmon as it is, and at its ideal.
pub(super) fn gains(
    judge: &mut Judge,
    claim: Claim,
    (paper, rule, needs): (f64, Rule, &str),
    of: impl Fn(Treated) -> Option<Ratio>,
    why: String,
) {
    let of = |treated: Treated| of(treated).map(|ratio| ratio.percent());
    judge.push(claim, paper, of(Of::chosen), rule, needs, why);
    judge.ideal(IDEAL, of(Of::ideal), rule, Effect::Raises);
}

fn tables(judge: &mut Judge, results: &Results<'_>) {
    let slowdown = |reading, barrier, treated: Treated, others: &[By]| {
        let rest = others.iter().map(|&by| Of::chosen(reading, Work::row(by, barrier)));
        let rest: Vec<Of> = rest.chain([treated(reading, Work::row(By::Mwmon, barrier))]).collect();
        results.slowdown(Of::chosen(reading, Work::row(By::Pause, barrier)), &rest)
    };
    let claim = Claim::new("M1", "", "work beside a spinner takes longer than beside the other three", "%");
    let others = [By::Halt, By::Futex];
    let of = |treated: Treated| slowdown(1, false, treated, &others);
    gains(judge, claim, (19.0, QUARTER, NEEDS), of, why::slowdown(results));
    let of = |barrier: bool, [above, below]: [By; 2], reading: u32, calls: bool| -> Option<Interval> {
        let works = [above, below].map(|by| Of::chosen(reading, Work::row(by, barrier)));
        Some(results.ratio(works, if calls { call } else { wake_up })?.interval())
    };
    for (part, paper, calls) in [("wake-up", 1.476, false), ("call", 5.08, true)] {
        let ours = of(false, [By::Halt, By::Mwmon], 1, calls);
        let claim = Claim::new("M2", part, "HALT's over mwmon's", "times");
        judge.claims.push(claim.calibrated(paper, ours, QUARTER, "both rows of table 1 set prices of the chip"));
    }
    for reading in [1, 2] {
        let what = "work beside a spinner in a barrier takes longer than beside mwmon";
        let claim = Claim::new("M3", why::reading(reading), what, "%");
        let of = |treated: Treated| slowdown(reading, true, treated, &[]);
        gains(judge, claim, (24.5, QUARTER, NEEDS), of, why::slowdown(results));
    }
    for (what, paper, calls) in [("wake-up", 3.98, false), ("call", 3.47, true)] {
        for reading in [1, 2] {
            let part = format!("{what}, {}", why::reading(reading));
            let claim = Claim::new("M4", part, "the pthreads barrier's over mwmon's", "times");
            let ours = of(true, [By::Futex, By::Mwmon], reading, calls);
            let (basis, why) = match reading {
                1 => (Basis::Derived, why::barrier_of_table_1(results, calls)),
                _ => (Basis::Calibrated, "both rows of table 2 set prices of this reading".to_owned()),
            };
            judge.claims.push(Claim { basis, ..claim.calibrated(paper, ours, QUARTER, why) });
        }
    }
}

fn figure_4(judge: &mut Judge, results: &Results<'_>) {
    for (over, name, mean, ends) in
        [(By::Futex, "pthreads", 12.0, [22.0, 9.0]), (By::Pause, "spin-loops", 26.0, [62.0, 2.0])]
    {
        for reading in [1, 2] {
            let part = format!("over {name}, {}", why::reading(reading));
            let claim = |id, what| Claim::new(id, part.clone(), what, "%");
            let why = || why::throughput(results, reading, over);
            let mean_gain = |treated: Treated| results.mean_gain(reading, treated, over);
            let m5 = claim("M5", "throughput of mwmon, mean over asymmetry");
            gains(judge, m5, (mean, QUARTER, NEEDS), mean_gain, why());
            let at = |light: u32| move |treated: Treated| results.gain(reading, treated, over, (light, WORK));
            let m6 = claim("M6", "throughput of mwmon, light thread idle");
            gains(judge, m6, (ends[0], QUARTER, NEEDS), at(0), why());
            let rule = if over == By::Pause { Rule::Points(1.0) } else { QUARTER };
            let m7 = claim("M7", "throughput of mwmon, both threads alike");
            gains(judge, m7, (ends[1], rule, NEEDS), at(10), why());
        }
    }
}

fn figure_5(judge: &mut Judge, results: &Results<'_>) {
    for reading in [1, 2] {
        let prices = why::reading(reading);
        let claim = Claim::new("M8", format!("LU, {prices}"), "speed with a helper and mwmon over serial", "%");
        let of = |treated: Treated| results.speedup(reading, treated, Name::Lu, By::Mwmon);
        gains(judge, claim, (7.0, QUARTER, NEEDS), of, why::helper(results, reading, Name::Lu));
        let claim = Claim::new("M11", format!("LU, {prices}"), "slower than serial with spin-loops", "");
        let rule = "the gain with spin-loops is below 0";
        let below = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.percent().is_below(0.0));
        let spins = results.speedup(reading, Of::chosen, Name::Lu, By::Pause);
        judge.weighed(claim, rule, below(spins), NEEDS, why::helper(results, reading, Name::Lu));
        judge.ideal_condition(SPINS, below(results.idle(reading, Name::Lu, By::Pause)));
        let claim = Claim::new("M11", format!("sparse product, {prices}"), "mwmon is best, and better than serial", "");
        let rule = "the gain with mwmon is above 0 and above that of spin-loops and of pthreads";
        let best = |treated: Treated| {
            let gain = results.speedup(reading, treated, Name::Spmv, By::Mwmon)?;
            let over = |by| results.better(reading, treated, Name::Spmv, by);
            let all = [gain, over(By::Pause)?, over(By::Futex)?];
            Some(Verdict::all(all.map(|ratio| ratio.percent().is_above(0.0))))
        };
        judge.weighed(claim, rule, best(Of::chosen), NEEDS, why::helper(results, reading, Name::Spmv));
        judge.ideal_condition(IDEAL, best(Of::ideal));
    }
}
