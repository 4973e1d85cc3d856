//! Why a claim came out as it did: figures of experiments that ran beside those of the claim.

use super::jobs::{CHANGES, FREE, KERNEL, LOCK, LONG, MOST, OWNER, SECTIONS, SHORT, SPIN, SPINS, TASKS};
use super::results::{self, Of, Results, time};
use super::run::{Arm, Load};
use crate::Interval;

pub(super) fn said(of: Option<Interval>) -> String {
    of.map_or_else(|| "not run".to_owned(), |of| baton_plot::number(of.mean))
}

fn cycles(results: &Results<'_>, of: Of, arm: Arm) -> String {
    results.mean(of, arm, time).map_or_else(|| "not run".to_owned(), |of| format!("{:.0}", of.mean))
}

/// The gain on a load under other spin budgets and other prices, and over other locks.
fn beside(results: &Results<'_>, load: Load) -> String {
    let most = Of::most(load);
    let spins = SPINS.map(|spin| {
        let original = (Of { spin, ..most }, Arm::Original);
        format!("{} with {spin}", said(results.across([original, (most, Arm::New)], time)))
    });
    let changed = |name: &str| {
        let change = CHANGES.iter().find(|(_, other, _)| *other == name).map_or("", |(_, name, _)| name);
        said(results.faster(Of { change, ..most }))
    };
    let over = |arm| said(results.ratio(most, [arm, Arm::New], time));
    format!(
        "`spin budget`: {}; {SPIN} is libgomp's. Over the mutex that sleeps at once: {}, over the ticket spinlock: {}, over a mutex that tries at each turn: {}. `MWAIT's exit`: {} at 50 cycles, {} at \
         20,000. `{FREE}`: {}. `directory`: {} where it {OWNER}. `kernel`: {} with that of 3.5. 1spinner that polls takes {} times the time of 1spinner with MWAIT",
        spins.join(", "),
        over(Arm::Pthread),
        over(Arm::Ticket),
        over(Arm::SpinPark),
        changed("50 cycles"),
        changed(super::jobs::SLOW),
        changed(FREE),
        changed(OWNER),
        changed(KERNEL),
        over(Arm::NewPolls),
    )
}

pub(super) fn locks(results: &Results<'_>) -> String {
    let most = Of::most(LOCK);
    let of = |arm| cycles(results, most, arm);
    let each = |arm| {
        results
            .mean(most, arm, time)
            .map_or_else(|| "not run".to_owned(), |of| format!("{:.0}", of.mean / f64::from(MOST)))
    };
    format!(
        "64 acquisitions, one a thread, take {} cycles with the original, {} with 1spinner, {} with MCS/MWAIT: {} and {} a hand-off, of which 210 are the section's, \
         and an exit of MWAIT takes 1000. {}",
        of(Arm::Original),
        of(Arm::New),
        of(Arm::Mcs),
        each(Arm::Original),
        each(Arm::New),
        beside(results, LOCK)
    )
}

pub(super) fn crossover(results: &Results<'_>) -> String {
    let at = |cores| said(results.faster(Of::at(LOCK, cores)));
    format!("`figure 2`: {} at 2 cores, {} at 4, {} at 8, {} at 16, {} at 64", at(2), at(4), at(8), at(16), at(64))
}

pub(super) fn sections(results: &Results<'_>) -> String {
    let most = Of::most(SECTIONS);
    let over = |arm| said(results.ratio(most, [arm, Arm::New], time));
    let length = |tenths: u64| {
        let of = Of::most(Load::Sections { work: tenths * super::jobs::DELAY });
        let all = [Arm::Pthread, Arm::Original, Arm::Ticket];
        let best = results::greatest(all.into_iter().filter_map(|arm| results.ratio(of, [arm, Arm::New], time)));
        said(best)
    };
    format!(
        "at 64 cores and 1 µs: {} over the mutex that sleeps, {} over libgomp's, {} over the ticket spinlock. `lengths of figure 1`, which the paper does not give: the most is \
         {} at 0.1 µs, {} at 5 µs, {} at 20 µs",
        over(Arm::Pthread),
        over(Arm::Original),
        over(Arm::Ticket),
        length(1),
        length(50),
        length(200),
    )
}

pub(super) fn tasks(results: &Results<'_>) -> String {
    let at = |cores| said(results.faster(Of::at(TASKS, cores)));
    format!(
        "`figure 3`: {} at 2 cores, {} at 8, {} at 16, {} at 64; a task a thread takes {} cycles with the original and {} with 1spinner. {}",
        at(2),
        at(8),
        at(16),
        at(64),
        cycles(results, Of::most(TASKS), Arm::Original),
        cycles(results, Of::most(TASKS), Arm::New),
        beside(results, TASKS)
    )
}

pub(super) fn power(results: &Results<'_>) -> String {
    let all = [LOCK, TASKS, SHORT].map(|load| {
        let of = Of::most(load);
        let draws = said(results.ratio(of, [Arm::New, Arm::Original], results::power));
        format!("{} and {}, at {draws} times the power", said(results.faster(of)), said(results.saved(of)))
    });
    format!(
        "an energy gain is the gain in time over the ratio of mean powers. Gains in time and energy: of locks {}; of tasks {}; of barriers {}. {}",
        all[0],
        all[1],
        all[2],
        tasks(results)
    )
}

pub(super) fn barriers(results: &Results<'_>) -> String {
    let of = |load, arm| cycles(results, Of::most(load), arm);
    let over = |load, arm| said(results.ratio(Of::most(load), [Arm::Original, arm], time));
    let budgets = SPINS.map(|spin| {
        let of = Of { spin, ..Of::most(SHORT) };
        format!("{} with {spin}", said(results.across([(of, Arm::Original), (Of::most(SHORT), Arm::New)], time)))
    });
    format!(
        "64 cores, 1 µs of work: {} cycles an episode with the stock barrier, {} with two levels and MWAIT, {} with two levels that poll, {} with the stock one and \
         MWAIT. Gains over the stock one: {}, {}, {}; at 250 µs: {}, {}, {}. `spin budget` of the stock one, gain of two levels with MWAIT: {}",
        of(SHORT, Arm::Original),
        of(SHORT, Arm::New),
        of(SHORT, Arm::NewPolls),
        of(SHORT, Arm::OriginalMwait),
        over(SHORT, Arm::New),
        over(SHORT, Arm::NewPolls),
        over(SHORT, Arm::OriginalMwait),
        over(LONG, Arm::New),
        over(LONG, Arm::NewPolls),
        over(LONG, Arm::OriginalMwait),
        budgets.join(", "),
    )
}
