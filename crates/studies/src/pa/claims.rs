//! P1 to P7 with their rules. Gains are percent more speed than Default, seed by seed.

use super::gains::{behind, cost_of_moves, greatest, mean_gain};
use super::jobs::{self, DEFAULT};
use super::machine::{MACHINES, Machine};
use super::mixes::{SET_1, SINGLE, THREADS};
use super::results::{Results, mean};
use super::why;
use crate::kit::Judge;
use crate::{Basis, Claim, Interval, Rule};

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
        let best = greatest(results, |machine, mix| results.over_default(machine, mix, policy));
        let claim = Claim::new("P1", part, "greatest gain over Default on a mix", "%");
        judge.push(claim, 40.0, best.map(|best| best.2), QUARTER, NEEDS, why::headline(results, policy));
    }
    let over = |machine, mix| {
        let gain = |policy| results.gain(&jobs::main(machine, mix, "pa"), &jobs::main(machine, mix, policy));
        let all: Option<Vec<Interval>> = [DEFAULT, "busy-fcs", "rr", "static-ipc"].into_iter().map(gain).collect();
        all?.into_iter().reduce(|a, b| if b.mean > a.mean { b } else { a })
    };
    let claim = Claim::new("P1", "PA, section 5", "greatest gain over any of the other schedulers on a mix", "%");
    let best = greatest(results, over).map(|best| best.2);
    judge.push(claim, 40.0, best, QUARTER, NEEDS, why::headline(results, "pa"));
}

/// The machines of P3: the paper's two whose fast cores share a cache with slow ones, and 1FC-12SC changed to be such a one.
pub(super) const SHARED: [(&str, Machine); 3] =
    [("1FC-3SC", Machine::Single), ("4FC-12SC", Machine::Four), ("1FC-12SC, beside slow cores", Machine::Near)];

fn moves(judge: &mut Judge, either: &mut Judge, results: &Results<'_>) {
    let far = cost_of_moves(results, Machine::One, false).map(|cost| cost.1);
    let claim = Claim::new("P2", "", "greatest overhead of moves, the fast core in a domain of its own", "%");
    judge.push(claim, 18.0, far, QUARTER, NEEDS, why::moves(results, Machine::One, false));
    for (part, machine) in SHARED {
        let near = cost_of_moves(results, machine, true).map(|cost| cost.1);
        let claim = Claim::new("P3", part, "the same, fast cores in domains with slow ones, and topology", "%");
        // A quick study runs the small machine as well.
        let judge = if machine == Machine::Single { &mut *either } else { &mut *judge };
        judge.push(claim, 0.0, near, ELIMINATED, NEEDS, why::moves(results, machine, true));
    }
}

fn where_most(judge: &mut Judge, results: &Results<'_>) {
    let single = mean(SINGLE.iter().map(|mix| results.over_default(Machine::One, mix.name, "pa")));
    let one = mean_gain(results, Machine::One);
    let more = one.zip(single).map(|(multi, single)| multi.mean > single.mean);
    let claim =
        Claim::new("P4", "several applications", "PA's mean gain is greater on set 1 than on programs alone", "");
    judge.condition(claim, "the mean gain over set 1 is greater", more, NEEDS, why::where_most(results));
    let four = mean_gain(results, Machine::Four);
    let fewer = one.zip(four).map(|(one, four)| one.mean > four.mean);
    let claim = Claim::new("P4", "few fast cores", "PA's mean gain is greater on 1FC-12SC than on 4FC-12SC", "");
    judge.condition(claim, "the mean gain over set 1 is greater", fewer, NEEDS, why::where_most(results));
}

/// A mix on which a policy is good and one on which it is bad show the claim, so that some of the mixes may be enough; only all of
/// them can show that there are none.
fn across(judge: &mut Judge, results: &Results<'_>, full: bool) {
    for policy in ["rr", "busy-fcs", "static-ipc"] {
        let holds = behind(results, policy).map(|[least, greatest]| least <= GOOD && greatest >= BAD);
        let claim = Claim::new("P5", policy, "good on some mixes, and not on all", "");
        let rule = "within 2 points of the best policy on a mix, and 5 points or more behind it on another";
        let shown = holds.filter(|&holds| holds || full);
        judge.condition(claim, rule, shown, NEEDS, why::across(results, policy));
    }
}

fn threads(judge: &mut Judge, results: &Results<'_>) {
    for (part, policy) in [("over PA", "pa"), ("over MinTLP", "min-tlp")] {
        let gain = mean(THREADS.iter().zip([Machine::One, Machine::Single]).map(|(mix, machine)| {
            results.gain(&jobs::main(machine, mix.name, "static-ipc"), &jobs::main(machine, mix.name, policy))
        }));
        let claim = Claim::new("P6", part, "gain of Static-IPC-Driven on single threads alone", "%");
        judge.push(claim, 0.0, gain, Rule::Positive, NEEDS, why::threads(results));
    }
}

/// Of all mixes on both machines, the part for which something is so.
fn part_of(is: impl Fn(Machine, &'static str) -> Option<bool>) -> Option<f64> {
    let is = &is;
    let places = MACHINES.iter().flat_map(|&machine| SET_1.iter().map(move |mix| is(machine, mix.name)));
    let all: Vec<bool> = places.collect::<Option<_>>()?;
    Some(all.iter().filter(|&&is| is).count() as f64 / all.len() as f64)
}

fn unstable(judge: &mut Judge, results: &Results<'_>) {
    let less = part_of(|machine, mix| {
        let [default, pa] = [DEFAULT, "pa"].map(|policy| results.spread(&jobs::main(machine, mix, policy)));
        Some(default? > 2.0 * pa?)
    });
    let claim = Claim::new("P7", "spread", "Default's times vary more than twice as much as PA's over runs", "");
    let rule = "on three mixes of four";
    judge.condition(claim, rule, less.map(|part| part >= USUAL), NEEDS, why::unstable(results));
    // The part that a thread has of fast cores when all cores are one to it is fast cores over cores.
    let fails = part_of(|machine, mix| {
        let had = results.had(&jobs::main(machine, mix, DEFAULT), 0, |had| had.fast)?;
        Some(had < 0.5)
    });
    let claim = Claim::new(
        "P7",
        "sequential phases",
        "Default leaves the first application on slow cores for most of its time",
        "",
    );
    judge.condition(claim, rule, fails.map(|part| part >= USUAL), NEEDS, why::unstable(results));
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
