//! A1 to A13 with their rules. Ratios are the original's over the new one's: above 1 the new one wins.

use super::jobs::{CORES, IDEAL, LOCK, LOCKS, LONG, MOST, SECTIONS, SHORT, TASKS, WORKS};
use super::results::{Of, Results, energy, greatest, time};
use super::run::{Arm, Figures, Load};
use super::why;
use crate::kit::{Judge, Ratio};
use crate::{Basis, Claim, Effect, Interval, Rule, Verdict};
use baton_chip::Simulated;
use baton_sync::lock::{mcs::Mcs, one_spinner_paper::OneSpinnerPaper};

/// A quarter of the paper's figure.
const QUARTER: Rule = Rule::Within(0.25);
const NEEDS: &str = "all seeds, every number of cores";

/// Ratios from which and to which two times are comparable.
const COMPARABLE: [f64; 2] = [0.75, 1.25];

/// All of them. Without the full run none is judged.
pub(super) fn all(results: &Results<'_>, full: bool) -> Vec<Claim> {
    let mut judge = Judge::new(full);
    headlines(&mut judge, results);
    figure_1(&mut judge, results);
    figure_2(&mut judge, results);
    figures_3_and_4(&mut judge, results);
    figures_5_and_6(&mut judge, results);
    sizes(&mut judge);
    judge.claims
}

/// What is best at 64 cores, of locks, tasks and barriers.
fn headlines(judge: &mut Judge, results: &Results<'_>) {
    let loads = [LOCK, TASKS, SHORT, LONG].map(Of::most);
    let faster: Option<Vec<Interval>> = loads.into_iter().map(|of| results.faster(of)).collect();
    let saved: Option<Vec<Interval>> = loads.into_iter().map(|of| results.saved(of)).collect();
    let claim = Claim::new("A1", "", "best gain at 64 cores: time of the original over ours", "times");
    judge.push(claim, 23.0, faster.and_then(greatest), QUARTER, NEEDS, why::locks(results));
    judge.ideal(IDEAL, best_ideal(results, time), QUARTER, Effect::Raises);
    let claim = Claim::new("A2", "", "best gain at 64 cores: energy of the original over ours", "times");
    judge.push(claim, 6.0, saved.and_then(greatest), QUARTER, NEEDS, why::power(results));
    judge.ideal(IDEAL, best_ideal(results, energy), QUARTER, Effect::Raises);
}

/// The best gain at 64 cores, of locks, tasks and barriers, with MWAIT at its ideal.
fn best_ideal(results: &Results<'_>, value: fn(&Figures) -> f64) -> Option<Interval> {
    let loads = [LOCK, TASKS, SHORT, LONG].map(Of::most);
    let all: Option<Vec<Interval>> =
        loads.into_iter().map(|of| results.under_ideal(of, Arm::Original, value)).collect();
    all.and_then(greatest)
}

/// Time beyond what the work itself takes when sections follow each other without a gap.
fn overhead(cores: u32, work: u64) -> impl Fn(&Figures) -> f64 {
    let least = (work * u64::from(cores)).max(2 * work) as f64;
    move |figures| (figures.cycles - least).max(1.0)
}

/// The greatest ratio of a standard lock's figure to the better of the new locks', over all numbers of cores.
fn best_of_figure_1(results: &Results<'_>, overheads: bool, of_energy: bool) -> Option<Interval> {
    let Load::Sections { work } = SECTIONS else { return None };
    let at = |cores: u32, standard: Arm, new: Arm| {
        let of = Of::at(SECTIONS, cores);
        match (overheads, of_energy) {
            (true, _) => results.ratio(of, [standard, new], overhead(cores, work)),
            (_, true) => results.ratio(of, [standard, new], energy),
            _ => results.ratio(of, [standard, new], time),
        }
    };
    let all = CORES.into_iter().flat_map(|cores| {
        LOCKS[..3].iter().flat_map(move |&standard| [Arm::Mcs, Arm::New].map(|new| (cores, standard, new)))
    });
    let ratios: Option<Vec<Interval>> = all.map(|(cores, standard, new)| at(cores, standard, new)).collect();
    ratios.and_then(greatest)
}

/// The greatest ratio of a standard lock's figure to 1spinner's with MWAIT at its ideal, at 64
/// cores.
fn ideal_of_figure_1(results: &Results<'_>, value: impl Fn(&Figures) -> f64) -> Option<Interval> {
    let all: Option<Vec<Interval>> =
        LOCKS[..3].iter().map(|&standard| results.under_ideal(Of::most(SECTIONS), standard, &value)).collect();
    all.and_then(greatest)
}

fn figure_1(judge: &mut Judge, results: &Results<'_>) {
    let Load::Sections { work } = SECTIONS else { return };
    for (part, overheads) in [("time", false), ("overhead", true)] {
        let claim = Claim::new("A3", part, "most that a standard lock takes over a new one, of all cores", "times");
        let ours = best_of_figure_1(results, overheads, false);
        judge.push(claim, 4.0, ours, QUARTER, NEEDS, why::sections(results));
        let ideal = match overheads {
            true => ideal_of_figure_1(results, overhead(MOST, work)),
            false => ideal_of_figure_1(results, time),
        };
        judge.ideal(IDEAL, ideal, QUARTER, Effect::Raises);
    }
    let claim = Claim::new("A4", "", "most energy that a standard lock takes over a new one, of all cores", "times");
    judge.push(claim, 3.5, best_of_figure_1(results, false, true), QUARTER, NEEDS, why::sections(results));
    judge.ideal(IDEAL, ideal_of_figure_1(results, energy), QUARTER, Effect::Raises);
}

fn figure_2(judge: &mut Judge, results: &Results<'_>) {
    let claim = Claim::new("A5", "", "LOCK/UNLOCK at 64 cores: time of the original over 1spinner's", "times");
    judge.push(claim, 22.0, results.faster(Of::most(LOCK)), QUARTER, NEEDS, why::locks(results));
    let ideal = || results.under_ideal(Of::most(LOCK), Arm::Original, time);
    judge.ideal(IDEAL, ideal(), QUARTER, Effect::Raises);
    let ends = || {
        let [few, many] = [results.faster(Of::at(LOCK, 2))?, results.faster(Of::most(LOCK))?];
        Some(Verdict::all([few.is_below(1.0), many.is_above(1.0)]))
    };
    let claim = Claim::new("A6", "", "the original is faster at few cores, and no more as they grow", "");
    let rule = "time of the original over 1spinner's is below 1 at 2 cores and above 1 at 64";
    judge.weighed(claim, rule, ends(), NEEDS, why::crossover(results));
    judge.ideal_condition(IDEAL, ideal().map(|many| many.is_above(1.0)));
}

fn figures_3_and_4(judge: &mut Judge, results: &Results<'_>) {
    let few: Option<Vec<Interval>> =
        [2, 4, 6, 8].into_iter().map(|cores| results.faster(Of::at(TASKS, cores))).collect();
    let claim = Claim::new("A7", "2 to 8 cores", "PARALLEL TASK: comparable", "");
    let rule = "time of the original over 1spinner's lies within 0.75 and 1.25 at 2, 4, 6 and 8 cores";
    let comparable = |all: Vec<Interval>| Verdict::all(all.into_iter().map(|one| one.is_within(COMPARABLE)));
    judge.weighed(claim, rule, few.map(comparable), NEEDS, why::tasks(results));
    let ideal = |of: Of| results.under_ideal(of, Arm::Original, time);
    let few: Option<Vec<Interval>> = [2, 4, 6, 8].into_iter().map(|cores| ideal(Of::at(TASKS, cores))).collect();
    judge.ideal_condition(IDEAL, few.map(comparable));
    let claim = Claim::new("A7", "64 cores", "PARALLEL TASK: time of the original over 1spinner's", "times");
    judge.push(claim, 23.0, results.faster(Of::most(TASKS)), QUARTER, NEEDS, why::tasks(results));
    judge.ideal(IDEAL, ideal(Of::most(TASKS)), QUARTER, Effect::Raises);
    let claim = Claim::new("A8", "", "PARALLEL TASK at 64 cores: energy of the original over 1spinner's", "times");
    judge.push(claim, 6.0, results.saved(Of::most(TASKS)), QUARTER, NEEDS, why::power(results));
    let saved = results.under_ideal(Of::most(TASKS), Arm::Original, energy);
    judge.ideal(IDEAL, saved, QUARTER, Effect::Raises);
    let works = WORKS.map(|work| Of::most(Load::Tasks { work: work * super::jobs::DELAY }));
    let gains = |ideal| works.into_iter().map(|of| results.pairs(of, ideal)).collect::<Option<Vec<Ratio>>>();
    let claim = Claim::new("A9", "", "the gain of tasks shrinks with their work and stays above 1", "");
    let rule = "each gain is above 1 and at most that of the next shorter work, of 0.1 to 4000 µs";
    // Two lengths of work have the same seeds: what one gain has more is told seed by seed.
    let shrinks = |all: Vec<Ratio>| {
        let falls: Option<Vec<Interval>> = all.windows(2).map(|two| two[1].less(&two[0])).collect();
        let falls = falls?.into_iter().map(|more| more.is_at_most(0.0));
        Some(Verdict::all(all.iter().map(|one| one.interval().is_above(1.0)).chain(falls)))
    };
    judge.weighed(claim, rule, gains(false).and_then(shrinks), NEEDS, why::tasks(results));
    judge.ideal_condition(IDEAL, gains(true).and_then(shrinks));
}

/// Time beyond the work.
fn beyond(work: u64) -> impl Fn(&Figures) -> f64 {
    move |figures| (figures.cycles - work as f64).max(1.0)
}

fn figures_5_and_6(judge: &mut Judge, results: &Results<'_>) {
    let Load::Barriers { work } = SHORT else { return };
    let claim = Claim::new("A10", "overhead", "1 µs of work, 64 cores: ours over the stock barrier's", "times");
    let ours = results.ratio(Of::most(SHORT), [Arm::New, Arm::Original], beyond(work));
    judge.push(claim, 0.5, ours, QUARTER, NEEDS, why::barriers(results));
    let ideal = |load, value: fn(&Figures) -> f64| results.under_ideal(Of::most(load), Arm::Original, value);
    let inverse = results.under_ideal(Of::most(SHORT), Arm::Original, beyond(work));
    let overhead =
        inverse.map(|of| Interval { mean: of.mean.recip(), half: of.half.map(|half| half / of.mean.powi(2)) });
    judge.ideal(IDEAL, overhead, QUARTER, Effect::Lowers);
    let claim = Claim::new("A10", "energy", "1 µs of work, 64 cores: lower energy", "");
    let rule = "energy of the stock barrier over ours is above 1";
    let saved = results.saved(Of::most(SHORT)).map(|of| of.is_above(1.0));
    judge.weighed(claim, rule, saved, NEEDS, why::barriers(results));
    judge.ideal_condition(IDEAL, ideal(SHORT, energy).map(|of| of.is_above(1.0)));
    let claim = Claim::new("A11", "", "250 µs of work, 64 cores: still faster", "");
    let rule = "time of the stock barrier over ours is above 1, its interval included";
    let faster = results.faster(Of::most(LONG)).map(|of| of.is_above(1.0));
    judge.weighed(claim, rule, faster, NEEDS, why::barriers(results));
    judge.ideal_condition(IDEAL, ideal(LONG, time).map(|of| of.is_above(1.0)));
    let same = results.faster(Of::at(SHORT, super::run::NODE));
    let claim = Claim::new("A12", "", "1 µs of work on one node: the same time", "times");
    let claim = Claim { basis: Basis::Derived, ..claim };
    let why = "by construction, as in the paper: on one node the stock barrier is used, so both are the same run";
    judge.claims.push(match same {
        Some(same) => claim.judged(1.0, same, Rule::Points(0.01), why),
        None => claim.open(Some(1.0), Rule::Points(0.01), "needs the full run: 8 cores"),
    });
}

/// Of the types, as they stand in memory.
fn sizes(judge: &mut Judge) {
    let spinner = size_of::<OneSpinnerPaper<Simulated>>();
    let mcs = size_of::<Mcs<Simulated>>();
    let claim = Claim::new("A13", "", "1spinner in the paper's form takes 4 to 8 bytes, MCS 8 to 16", "");
    let rule = "the paper's form of 1spinner has 4 to 8 bytes, MCS 8 to 16";
    let holds = (4..=8).contains(&spinner) && (8..=16).contains(&mcs);
    let why = format!("1spinner takes {spinner} bytes, MCS {mcs}");
    judge.condition(claim, rule, Some(holds), &format!("{why}; {MOST} cores"), why.clone());
}
