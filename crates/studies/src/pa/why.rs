//! Why a claim came out as it did: figures of experiments that ran beside those of the claim.

use super::gains::{ALONE, CHOSEN, behind, cost_of_moves, mean_gain};
use super::jobs::{self, DEFAULT, RATIOS};
use super::machine::{MACHINES, Machine};
use super::mixes::{SINGLE, THREADS, WITH_PHASES, beside};
use super::results::{Results, mean};
use super::run::Case;
use crate::Interval;

fn said(of: Option<Interval>) -> String {
    number(of.map(|of| of.mean))
}

fn number(of: Option<f64>) -> String {
    of.map_or_else(|| "not run".to_owned(), |of| format!("{of:.1}"))
}

pub(super) fn headline(results: &Results<'_>, policy: &'static str) -> String {
    let best = CHOSEN.greatest(|place| CHOSEN.gain(results, place, [policy, DEFAULT]));
    let name = best.map_or("no mix".to_owned(), |(machine, mix, _)| format!("{mix} on {}", machine.name()));
    let ratio = |ratio| {
        said(mean(WITH_PHASES.into_iter().map(|mix| {
            let of = |policy| Case { ratio, ..jobs::main(Machine::One, mix, policy) };
            results.gain(&of("pa"), &of(DEFAULT))
        })))
    };
    let ratios: Vec<String> = RATIOS.iter().map(|&of| format!("{}% at {:.1}", ratio(of), of as f64 / 10.0)).collect();
    format!(
        "the greatest is {name}. The fast core has twice the clock, so a program of one thread gains 100% at most, and a mix of it and a parallel one some 40%. `ratio of the clocks`, on \
         mixes of a thread and a program with sequential parts: {}. The paper's programs are not at hand, and its pages with gains by workload are missing",
        ratios.join(", ")
    )
}

/// The loss of the application that loses most under PA at equal clocks: how many percent longer it
/// takes.
fn worst(results: &Results<'_>, case: impl Fn(&'static str, &'static str) -> Case) -> String {
    let apps = beside().flat_map(|mix| (0..mix.apps.len()).map(move |app| (mix.name, app)));
    let cost = |(mix, app)| results.gain_of(Some(app), &case(mix, DEFAULT), &case(mix, "pa")).map(|cost| cost.mean);
    number(apps.map(cost).collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().reduce(f64::max)))
}

pub(super) fn moves(results: &Results<'_>, machine: Machine, aware: bool) -> String {
    let cost = cost_of_moves(results, machine, aware);
    let name = cost.map_or("no application", |cost| cost.0);
    let mean_cost = |case: &dyn Fn(&'static str) -> Case| {
        said(results.mean_beside(|mix| results.gain(&jobs::equal(machine, mix, DEFAULT), &case(mix))))
    };
    let mut all = format!(
        "`equal clocks`, with the fast cores named: {name} loses most; the mean over the mixes without wupwise is {}% with pa",
        mean_cost(&|mix| jobs::equal(machine, mix, "pa")),
    );
    if aware {
        all +=
            &format!(" and {}% with pa that is aware of topology", mean_cost(&|mix| jobs::equal_aware(machine, mix)));
        return all;
    }
    all += &format!(
        " and {}% with rr, whose threads all take turns. A thread's pages stay where it first touched them. `all memory near`: the greatest loss is {}%; \
         `1FC-3SC`, whose cores share a cache and memory: {}%. The paper does not say how often its threads were swapped, nor on which program it measured",
        mean_cost(&|mix| jobs::equal(machine, mix, "rr")),
        worst(results, jobs::equal_near_memory),
        worst(results, |mix, policy| jobs::equal(Machine::Single, mix, policy)),
    );
    all
}

pub(super) fn where_most(results: &Results<'_>) -> String {
    let single = mean(SINGLE.iter().map(|mix| results.over_default(Machine::One, mix.name, "pa")));
    let alone = |machine| said(results.over_default(machine, ALONE, "pa"));
    format!(
        "`main`, PA's mean gain over Default: {}% on set 1 and {}% on its programs alone on 1FC-12SC, {}% on 4FC-12SC, without wupwise {}% on 1FC-3SC, {}% on 8FC-8SC. `{ALONE}`, where nothing competes for the one fast core: the gain \
         shrinks as the paper says, from {} to {} and {}% on 1, 4 and 8 fast cores. A guess: where a second program has sequential parts, more fast cores serve both",
        said(mean_gain(results, Machine::One)),
        said(single),
        said(mean_gain(results, Machine::Four)),
        said(mean_gain(results, Machine::Single)),
        said(mean_gain(results, Machine::Half)),
        alone(Machine::One),
        alone(Machine::Four),
        alone(Machine::Half),
    )
}

pub(super) fn across(results: &Results<'_>, policy: &'static str) -> String {
    let [least, greatest] = behind(results, policy).map_or([None; 2], |behind| behind.map(Some));
    format!("`main`: behind the best policy of a mix by {} to {} points of gain", number(least), number(greatest))
}

pub(super) fn threads(results: &Results<'_>) -> String {
    let of = |policy| {
        let one = |(mix, machine): (&super::mixes::Mix, Machine)| results.over_default(machine, mix.name, policy);
        said(mean(THREADS.iter().zip([Machine::One, Machine::Single]).map(one)))
    };
    format!(
        "`single threads alone`, mean gain over Default: static-ipc {}%, pa {}%, min-tlp {}%, rr {}%, pa-speedup {}%. A thread of computing is twice as fast on the fast core, one of memory less (speed-ups, measured before each run)",
        of("static-ipc"),
        of("pa"),
        of("min-tlp"),
        of("rr"),
        of("pa-speedup"),
    )
}

pub(super) fn unstable(results: &Results<'_>) -> String {
    let spread = |policy| {
        let all: Vec<f64> = MACHINES
            .iter()
            .flat_map(|&machine| super::mixes::SET_1.iter().map(move |mix| jobs::main(machine, mix.name, policy)))
            .filter_map(|case| results.spread(&case))
            .collect();
        number(Interval::of(&all).map(|of| of.mean))
    };
    let fast = |machine| {
        let all: Vec<f64> = super::mixes::SET_1
            .iter()
            .filter_map(|mix| results.had(&jobs::main(machine, mix.name, DEFAULT), 0, |had| 100.0 * had.fast))
            .collect();
        number(Interval::of(&all).map(|of| of.mean))
    };
    format!(
        "`main`: the mean coefficient of variation is {}% with Default and {}% with PA; with Default the first application of a mix has fast cores for {}% of its time on 1FC-12SC and {}% on 4FC-12SC",
        spread(DEFAULT),
        spread("pa"),
        fast(Machine::One),
        fast(Machine::Four),
    )
}
