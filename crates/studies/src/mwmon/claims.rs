//! M1 to M11 with their rules. Gains are percent more; every part names the reading whose prices it has.

use super::helper::Name;
use super::jobs::WORK;
use super::results::{Results, percent, row};
use super::waits::By;
use super::why;
use crate::kit::Judge;
use crate::{Basis, Claim, Interval, Rule};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
const NEEDS: &str = "50 repetitions, every degree of asymmetry";

/// All of them. Without the full run none is judged.
pub(super) fn all(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    tables(&mut judge, results);
    figure_4(&mut judge, results);
    figure_5(&mut judge, results);
    judge.claims.extend(not_built());
    judge.claims
}

/// How much longer the work takes beside a spinner than beside the mean of others, in percent.
pub(super) fn slowdown(
    results: &Results<'_>,
    reading: u32,
    other: &str,
    barrier: bool,
    rest: &[By],
) -> Option<Interval> {
    let of = |by| results.mean(reading, other, row(by, barrier), |figures| figures.work as f64);
    let others: Option<Vec<f64>> = rest.iter().map(|&by| Some(of(by)?.mean)).collect();
    let mean = others?.iter().sum::<f64>() / rest.len() as f64;
    let spins = of(By::Pause)?;
    Some(percent(Interval { mean: spins.mean / mean, half: spins.half.map(|half| half / mean) }))
}

fn tables(judge: &mut Judge, results: &Results<'_>) {
    let rest = [By::Halt, By::Futex, By::Mwmon];
    let claim = Claim::new("M1", "", "work beside a spinner takes longer than beside the other three", "%");
    judge.push(claim, 19.0, slowdown(results, 1, "", false, &rest), QUARTER, NEEDS, why::slowdown(results));
    let of = |barrier: bool, [above, below]: [By; 2], reading: u32, call: bool| {
        let works = [row(above, barrier), row(below, barrier)];
        results.ratio((reading, ""), works, if call { |f| f.call as f64 } else { |f| f.wake_up as f64 })
    };
    for (part, paper, call) in [("wake-up", 1.476, false), ("call", 5.08, true)] {
        let ours = of(false, [By::Halt, By::Mwmon], 1, call);
        let claim = Claim::new("M2", part, "HALT's over mwmon's", "times");
        judge.claims.push(claim.calibrated(paper, ours, QUARTER, "both rows of table 1 set prices of the chip"));
    }
    for reading in [1, 2] {
        let claim = Claim::new(
            "M3",
            why::reading(reading),
            "work beside a spinner in a barrier takes longer than beside mwmon",
            "%",
        );
        let ours = slowdown(results, reading, "", true, &[By::Mwmon]);
        judge.push(claim, 24.5, ours, QUARTER, NEEDS, why::slowdown(results));
    }
    for (what, paper, call) in [("wake-up", 3.98, false), ("call", 3.47, true)] {
        for reading in [1, 2] {
            let part = format!("{what}, {}", why::reading(reading));
            let claim = Claim::new("M4", part, "the pthreads barrier's over mwmon's", "times");
            let ours = of(true, [By::Futex, By::Mwmon], reading, call);
            let (basis, why) = match reading {
                1 => (Basis::Derived, why::barrier_of_table_1(call)),
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
            let claim = Claim::new("M5", part.clone(), "throughput of mwmon, mean over asymmetry", "%");
            judge.push(
                claim,
                mean,
                results.mean_gain(reading, over),
                QUARTER,
                NEEDS,
                why::throughput(results, reading, over),
            );
            let claim = Claim::new("M6", part.clone(), "throughput of mwmon, light thread idle", "%");
            let ours = results.gain(reading, over, 0, WORK);
            judge.push(claim, ends[0], ours, QUARTER, NEEDS, why::throughput(results, reading, over));
            let claim = Claim::new("M7", part, "throughput of mwmon, both threads alike", "%");
            let rule = if over == By::Pause { Rule::Points(1.0) } else { QUARTER };
            judge.push(
                claim,
                ends[1],
                results.gain(reading, over, 10, WORK),
                rule,
                NEEDS,
                why::throughput(results, reading, over),
            );
        }
    }
}

fn figure_5(judge: &mut Judge, results: &Results<'_>) {
    for reading in [1, 2] {
        let of = |kernel, by| results.speedup(reading, kernel, by, true);
        let claim = Claim::new(
            "M8",
            format!("LU, {}", why::reading(reading)),
            "speed with a helper and mwmon over serial",
            "%",
        );
        judge.push(claim, 7.0, of(Name::Lu, By::Mwmon), QUARTER, NEEDS, why::helper(results, reading, Name::Lu));
        let below = |kernel, by| Some(of(kernel, by)?.mean < 0.0);
        let claim =
            Claim::new("M11", format!("LU, {}", why::reading(reading)), "slower than serial with spin-loops", "");
        let rule = "the gain with spin-loops is below 0";
        judge.condition(claim, rule, below(Name::Lu, By::Pause), NEEDS, why::helper(results, reading, Name::Lu));
        let best = || {
            let [mwmon, spins, futex] = [By::Mwmon, By::Pause, By::Futex].map(|by| of(Name::Spmv, by));
            let (mwmon, spins, futex) = (mwmon?.mean, spins?.mean, futex?.mean);
            Some(mwmon > 0.0 && mwmon > spins && mwmon > futex)
        };
        let claim = Claim::new(
            "M11",
            format!("sparse product, {}", why::reading(reading)),
            "mwmon is best, and better than serial",
            "",
        );
        let rule = "the gain with mwmon is above 0 and above that of spin-loops and of pthreads";
        judge.condition(claim, rule, best(), NEEDS, why::helper(results, reading, Name::Spmv));
    }
}

/// What rests on kernels that are not built.
fn not_built() -> Vec<Claim> {
    let parts: [(&'static str, &str, &str, f64); 8] = [
        ("M8", "TC", "speed with a helper and mwmon over serial", 35.0),
        ("M8", "mean of four", "speed with a helper and mwmon over serial", 17.0),
        ("M9", "over spin-loops", "mean of four", 15.0),
        ("M9", "over pthreads", "mean of four", 3.6),
        ("M10", "over pthreads", "best of four", 7.0),
        ("M10", "over spin-loops", "best of four", 40.0),
        ("M11", "TC", "gains most, by misses that it saves", 1.0),
        ("M11", "BT", "gains little, as few misses are saved", 1.0),
    ];
    let why =
        "not comparable yet: transitive closure and BT are not built, and a mean or a best of four needs all four";
    let claim = |(id, part, what, paper)| Claim {
        basis: Basis::NotComparable,
        ..Claim::new(id, part, what, "%").open(Some(paper), QUARTER, why)
    };
    parts.map(claim).into()
}
