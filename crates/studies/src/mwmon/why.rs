//! Why a claim came out as it did: figures of experiments that ran beside those of the claim.

use super::helper::Name;
use super::jobs::{FREE_CHANGE, IDEAL, LONG, STORES_ALONE, WORK};
use super::results::{Of, Results, Treated, Value, call, memory, wake_up, work};
use super::run::Work;
use super::waits::By;
use crate::kit::Ratio;

/// A reading's name.
pub(super) fn reading(reading: u32) -> &'static str {
    if reading == 1 { "table 1's prices" } else { "table 2's prices" }
}

/// A ratio as percent more than 1.
pub(super) fn percent(of: Option<Ratio>) -> String {
    of.map_or_else(|| "not run".to_owned(), |of| format!("{:.1}%", of.percent().mean))
}

/// A mean in cycles.
fn cycles(results: &Results<'_>, of: Of, what: Value) -> String {
    results.mean(of, what).map_or_else(|| "not run".to_owned(), |of| format!("{:.0}", of.mean))
}

pub(super) fn slowdown(results: &Results<'_>) -> String {
    let of = |entries: u32| {
        let works = [By::Pause, By::Mwmon].map(|by| Of::chosen(1, Work::Table { by, barrier: false, entries }));
        percent(results.ratio(works, work))
    };
    format!(
        "`instructions of a turn`: {} with 6, {} with 8, {} with 10, {} with 12; the paper's figure lies between 8 and 10, and it gives no code",
        of(3),
        of(4),
        of(5),
        of(6)
    )
}

pub(super) fn barrier_of_table_1(results: &Results<'_>, calls: bool) -> String {
    let what = if calls { "call" } else { "wake-up" };
    let of = |by| cycles(results, Of::chosen(1, Work::row(by, true)), if calls { call } else { wake_up });
    format!(
        "arithmetic on table 1's rows; table 2's barrier of pthreads takes less than half of their {what}. A guess: table 1's pthreads did \
         more in the kernel. It is no code of a condition variable: `condition variable` takes {} cycles, the futex alone {}",
        of(By::Condvar),
        of(By::Futex)
    )
}

/// By how many percent mwmon gains over another mechanism in figure 4, with one change of the chip
/// in both arms.
pub(super) fn changed(
    results: &Results<'_>,
    reading: u32,
    change: &'static str,
    over: By,
    light: u32,
) -> Option<Ratio> {
    let of = |by| Of { reading, change, work: Work::Pseudo { by, light, work: WORK } };
    results.ratio([of(over), of(By::Mwmon)], work)
}

pub(super) fn throughput(results: &Results<'_>, reading: u32, over: By) -> String {
    let iteration = |by, light| cycles(results, Of::chosen(reading, Work::Pseudo { by, light, work: WORK }), work);
    let barrier = |what| cycles(results, Of::chosen(reading, Work::row(By::Mwmon, true)), what);
    let gain = |treated: Treated, light, unit| percent(results.gain(reading, treated, over, (light, unit)));
    let changed = |change, light| percent(changed(results, reading, change, over, light));
    format!(
        "`figure 4`: an iteration takes {} cycles with mwmon, {} with pthreads and {} with spin-loops at light work 0; {}, {} and {} at 10; \
         mwmon's barrier alone takes {} of call and {} of wake-up. `units ten times as long`: {} and {} at light work 0 and 10, with `{IDEAL}` {} \
         and {}. `{FREE_CHANGE}`: {} and {}. `{STORES_ALONE}`: {} and {}. `loads alone`, no other instructions: {} at 0. In the model half of the \
         window costs a worker √2 at most, so no unit gives more than 41% over a spinner",
        iteration(By::Mwmon, 0),
        iteration(By::Futex, 0),
        iteration(By::Pause, 0),
        iteration(By::Mwmon, 10),
        iteration(By::Futex, 10),
        iteration(By::Pause, 10),
        barrier(call),
        barrier(wake_up),
        gain(Of::chosen, 0, LONG),
        gain(Of::chosen, 10, LONG),
        gain(Of::ideal, 0, LONG),
        gain(Of::ideal, 10, LONG),
        changed(FREE_CHANGE, 0),
        changed(FREE_CHANGE, 10),
        changed(STORES_ALONE, 0),
        changed(STORES_ALONE, 10),
        gain(Of::chosen, 0, 0),
    )
}

/// Why mwmon is slower than a spinner where threads are alike.
pub(super) fn alike(results: &Results<'_>, reading: u32) -> String {
    let gain = |light| percent(results.gain(reading, Of::ideal, By::Pause, (light, WORK)));
    format!(
        "`{IDEAL}`: {} at light work 0 and {} at 10; what is missing is the price of mwmon's waits, which a spinner does not pay",
        gain(0),
        gain(10)
    )
}

pub(super) fn helper(results: &Results<'_>, reading: u32, kernel: Name) -> String {
    let of = |by| percent(results.speedup(reading, Of::chosen, kernel, by));
    let against = |other, prefetches| percent(against(results, reading, other, kernel, prefetches));
    format!(
        "`figure 5`: {} with mwmon, {} with pthreads, {} with spin-loops; {} with mwmon and a helper that does not prefetch. `{FREE_CHANGE}`: \
         {} with mwmon, {} without prefetches. `{STORES_ALONE}`, so that no eviction of the monitored line ends a wait: {} and {}. `{IDEAL}`: {}. \
         A guess: the helper saves more misses than the paper's, whose processor has a hardware prefetcher; this chip has none",
        of(By::Mwmon),
        of(By::Futex),
        of(By::Pause),
        percent(results.idle(reading, kernel, By::Mwmon)),
        against(FREE_CHANGE, true),
        against(FREE_CHANGE, false),
        against(STORES_ALONE, true),
        against(STORES_ALONE, false),
        percent(results.speedup(reading, Of::ideal, kernel, By::Mwmon)),
    )
}

/// The speed of a kernel with a helper and mwmon over the kernel alone, both on a chip with one
/// change.
pub(super) fn against(
    results: &Results<'_>,
    reading: u32,
    change: &'static str,
    kernel: Name,
    prefetches: bool,
) -> Option<Ratio> {
    let with = if prefetches { Work::helped(kernel, By::Mwmon) } else { Work::idle(kernel, By::Mwmon) };
    results.ratio([Work::serial(kernel), with].map(|work| Of { reading, change, work }), work)
}

/// A sentence on the four kernels in the paper's sizes: how much of its time a worker alone waits for
/// memory, which is all that a helper can save; what a helper gains; which misses are left to the
/// worker.
pub(super) fn four(results: &Results<'_>, reading: u32) -> String {
    let one = |[kernel, _]: [Name; 2]| {
        let gain = |by| percent(results.speedup(reading, Of::chosen, kernel, by));
        let left = results.misses_left(reading, Of::chosen, kernel);
        let left = left.map_or_else(|| "not run".to_owned(), |of| format!("{:.1}", 100.0 * of.interval().mean));
        let alone = |what| results.mean(Of::chosen(reading, Work::serial(kernel)), what).map(|of| of.mean);
        let memory = alone(memory).zip(alone(work)).map(|(memory, work)| 100.0 * memory / work);
        let memory = memory.map_or_else(|| "not run".to_owned(), |share| format!("{share:.0}%"));
        format!(
            "{}: alone {memory} of its time waits for memory; {} with mwmon, {} with pthreads, {} with spin-loops, {left}% of the misses left; `{STORES_ALONE}`: {} with mwmon; `{IDEAL}`: {}",
            kernel.title(),
            gain(By::Mwmon),
            gain(By::Futex),
            gain(By::Pause),
            percent(against(results, reading, STORES_ALONE, kernel, true)),
            percent(results.speedup(reading, Of::ideal, kernel, By::Mwmon)),
        )
    };
    format!("`figure 5`: {}", Name::SIZES.map(one).join(". "))
}
