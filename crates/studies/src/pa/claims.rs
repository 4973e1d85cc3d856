//! P1 to P7 with their rules. Gains are percent more speed than Default, seed by seed.

use super::gains::{Arm, CHOSEN, IDEAL, cost, cost_of_moves, good_and_bad, mean_gain};
use super::jobs::{self, DEFAULT};
use super::machine::Machine;
use super::mixes::THREADS;
use super::results::{Results, mean};
use super::run::Case;
use super::why;
use crate::kit::Judge;
use crate::{Basis, Claim, Effect, Interval, Rule, Verdict};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
const NEEDS: &str = "all mixes of set 1, 20 seeds";
/// What is left of the overhead of moves where it is practically eliminated, in percent.
const ELIMINATED: Rule = Rule::AtMost(2.0);
/// A policy is good on a mix where it is no further than this behind the best, in points of gain, and bad beyond the second.
pub(super) const GOOD: f64 = 2.0;
pub(super) const BAD: f64 = 5.0;
/// Of twelve mixes on two machines, how many must show what is said to be usual.
const USUAL: f64 = 0.75;

/// The oracle arm of the gains, and that of each price of moves.
const FREE_MOVES: &str = "moves at no price of the kernel, and memory equally near";
const ALWAYS: &str = "a swap in each time slice";

/// All of them. Without the full run, those are judged whose runs a quick study makes as well.
pub(super) fn all(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    let mut either = Judge::new(true);
    headline(&mut judge, results);
    moves(&mut judge, &mut either, results);
    where_most(&mut judge, results);
    across(&mut either, results, full);
    threads(&mut either, results);
    unstable(&mut judge, results);
    judge.claims.push(missing(results));
    judge.claims.extend(either.claims);
    // What stands on the missing pages comes last.
    judge.claims.sort_by_key(|claim| (claim.id == "P-", claim.id));
    judge.claims
}

fn headline(judge: &mut Judge, results: &Results<'_>) {
    for (part, policy) in [("PA", "pa"), ("MinTLP", "min-tlp")] {
        let best = |arm: Arm| arm.greatest(|place| arm.gain(results, place, [policy, DEFAULT])).map(|best| best.2);
        let claim = Claim::new("P1", part, "greatest gain over Default on a mix", "%");
        judge.push(claim, 40.0, best(CHOSEN), QUARTER, NEEDS, why::headline(results, policy));
        judge.ideal(FREE_MOVES, best(IDEAL), QUARTER, Effect::Raises);
    }
    let over = |arm: Arm| {
        let gain = |place| {
            let gain = |policy| arm.gain(results, place, ["pa", policy]);
            let all: Option<Vec<Interval>> = [DEFAULT, "busy-fcs", "rr", "static-ipc"].into_iter().map(gain).collect();
            all?.into_iter().reduce(|a, b| if b.mean > a.mean { b } else { a })
        };
        arm.greatest(gain).map(|best| best.2)
    };
    let claim = Claim::new("P1", "PA, section 5", "greatest gain over any of the other schedulers on a mix", "%");
    judge.push(claim, 40.0, over(CHOSEN), QUARTER, NEEDS, why::headline(results, "pa"));
    judge.ideal(FREE_MOVES, over(IDEAL), QUARTER, Effect::Raises);
}

/// The machines of P3: the paper's two whose fast cores share a cache with slow ones, and 1FC-12SC changed to be such a one.
pub(super) const SHARED: [(&str, Machine); 3] =
    [("1FC-3SC", Machine::Single), ("4FC-12SC", Machine::Four), ("1FC-12SC, beside slow cores", Machine::Near)];

fn moves(judge: &mut Judge, either: &mut Judge, results: &Results<'_>) {
    let far = cost_of_moves(results, Machine::One, false).map(|cost| cost.1);
    let claim = Claim::new("P2", "", "greatest overhead of moves, the fast core in a domain of its own", "%");
    judge.push(claim, 18.0, far, QUARTER, NEEDS, why::moves(results, Machine::One, false));
    let always = |mix| [jobs::equal(Machine::One, mix, DEFAULT), jobs::equal_swaps(Machine::One, mix)];
    judge.ideal(ALWAYS, cost(results, always).map(|cost| cost.1), QUARTER, Effect::Raises);
    for (part, machine) in SHARED {
        let near = cost_of_moves(results, machine, true).map(|cost| cost.1);
        let claim = Claim::new("P3", part, "the same, fast cores in domains with slow ones, and topology", "%");
        // A quick study runs the small machine as well.
        let judge = if machine == Machine::Single { &mut *either } else { &mut *judge };
        judge.push(claim, 0.0, near, ELIMINATED, NEEDS, why::moves(results, machine, true));
        let ideal = cost(results, |mix| jobs::equal_ideal(machine, mix)).map(|cost| cost.1);
        judge.ideal(FREE_MOVES, ideal, ELIMINATED, Effect::Lowers);
    }
}

fn where_most(judge: &mut Judge, results: &Results<'_>) {
    // The sets of runs are independent: other programs, or another machine.
    let above = |more: Option<Interval>, than: Option<Interval>| {
        more.zip(than).map(|(more, than)| more.less(than).is_above(0.0))
    };
    let several = |arm: Arm| above(arm.mean_gain(results, Machine::One), arm.mean_alone(results));
    let claim =
        Claim::new("P4", "several applications", "PA's mean gain is greater on set 1 than on programs alone", "");
    let rule = "the mean gain over set 1 is greater";
    judge.weighed(claim, rule, several(CHOSEN), NEEDS, why::where_most(results));
    judge.ideal_condition(FREE_MOVES, several(IDEAL));
    let few = |arm: Arm| above(arm.mean_gain(results, Machine::One), arm.mean_gain(results, Machine::Four));
    let claim = Claim::new("P4", "few fast cores", "PA's mean gain is greater on 1FC-12SC than on 4FC-12SC", "");
    judge.weighed(claim, rule, few(CHOSEN), NEEDS, why::where_most(results));
    judge.ideal_condition(FREE_MOVES, few(IDEAL));
}

/// A mix on which a policy is good and one on which it is bad show the claim, so that some of the mixes may be enough; only all of
/// them can show that there are none.
fn across(judge: &mut Judge, results: &Results<'_>, full: bool) {
    for policy in ["rr", "busy-fcs", "static-ipc"] {
        let verdict = |arm| good_and_bad(results, arm, policy, [GOOD, BAD]);
        let claim = Claim::new("P5", policy, "good on some mixes, and not on all", "");
        let rule = "within 2 points of the best policy on a mix, and 5 points or more behind it on another";
        let shown = verdict(CHOSEN).filter(|&verdict| full || verdict == Verdict::Holds);
        judge.weighed(claim, rule, shown, NEEDS, why::across(results, policy));
        judge.ideal_condition(FREE_MOVES, verdict(IDEAL));
    }
}

fn threads(judge: &mut Judge, results: &Results<'_>) {
    for (part, policy) in [("over PA", "pa"), ("over MinTLP", "min-tlp")] {
        let gain = |arm: Arm| {
            let places = THREADS.iter().zip([Machine::One, Machine::Single]);
            mean(places.map(|(mix, machine)| arm.gain(results, (machine, mix.name), ["static-ipc", policy])))
        };
        let claim = Claim::new("P6", part, "gain of Static-IPC-Driven on single threads alone", "%");
        judge.push(claim, 0.0, gain(CHOSEN), Rule::Positive, NEEDS, why::threads(results));
        judge.ideal(FREE_MOVES, gain(IDEAL), Rule::Positive, Effect::Raises);
    }
}

/// Whether something is so on enough of all mixes on both machines, from its verdict on each.
fn usual(arm: Arm, is: impl Fn(Case) -> Option<Verdict>) -> Option<Verdict> {
    let all: Vec<Verdict> =
        arm.places().map(|(machine, mix)| is((arm.case)(machine, mix, DEFAULT))).collect::<Option<_>>()?;
    let enough = (USUAL * all.len() as f64).ceil() as usize;
    Some(Verdict::at_least(enough, all))
}

fn unstable(judge: &mut Judge, results: &Results<'_>) {
    // The runs of the two policies are independent; a ratio of spreads is a difference of logarithms.
    let less = |arm| {
        usual(arm, |default| {
            let pa = Case { policy: "pa", ..default.clone() };
            Some(results.spread_log(&default)?.less(results.spread_log(&pa)?).is_above(f64::ln(2.0)))
        })
    };
    let claim = Claim::new("P7", "spread", "Default's times vary more than twice as much as PA's over runs", "");
    let rule = "on three mixes of four";
    judge.weighed(claim, rule, less(CHOSEN), NEEDS, why::unstable(results));
    judge.ideal_condition(FREE_MOVES, less(IDEAL));
    // The part that a thread has of fast cores when all cores are one to it is fast cores over cores.
    let fails = |arm| usual(arm, |default| Some(results.had_within(&default, 0, |had| had.fast)?.is_below(0.5)));
    let claim = Claim::new(
        "P7",
        "sequential phases",
        "Default leaves the first application on slow cores for most of its time",
        "",
    );
    judge.weighed(claim, rule, fails(CHOSEN), NEEDS, why::unstable(results));
    judge.ideal_condition(FREE_MOVES, fails(IDEAL));
}

/// What stands on the missing pages.
fn missing(results: &Results<'_>) -> Claim {
    let gain = mean_gain(results, Machine::One);
    let claim =
        Claim::new("P-", "pages 5 to 9", "gains by workload, benefit of the run-time's extensions, overheads", "%");
    Claim {
        basis: Basis::NotComparable,
        ours: gain.map(|gain| gain.mean),
        interval: gain.and_then(Interval::ends),
        ..claim.open(None, QUARTER, "the pages are missing; ours is PA's mean gain over set 1 on 1FC-12SC, and the tables below are our prediction")
    }
}
