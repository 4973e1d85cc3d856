//! Why a claim came out as it did: figures of experiments that ran beside those of the claim.

use super::helper::{Assisted, Name};
use super::jobs::{FREE_CHANGE, LONG, STORES_ALONE, WORK};
use super::results::{Results, row};
use super::run::{Figures, Work};
use super::waits::By;

/// A reading's name.
pub(super) fn reading(reading: u32) -> &'static str {
    if reading == 1 { "table 1's prices" } else { "table 2's prices" }
}

fn said(of: Option<f64>) -> String {
    of.map_or_else(|| "not run".to_owned(), |of| format!("{of:.1}"))
}

pub(super) fn slowdown(results: &Results<'_>) -> String {
    let of = |entries: u32| {
        let works = [By::Pause, By::Mwmon].map(|by| Work::Table { by, barrier: false, entries });
        said(results.ratio((1, ""), works, |f| f.work as f64).map(|of| 100.0 * (of.mean - 1.0)))
    };
    format!(
        "`instructions of a turn`: {}% with 6, {}% with 8, {}% with 10, {}% with 12; the paper's figure lies between 8 and 10, and it gives no code",
        of(3),
        of(4),
        of(5),
        of(6)
    )
}

pub(super) fn barrier_of_table_1(call: bool) -> String {
    let what = if call { "call" } else { "wake-up" };
    format!(
        "arithmetic on table 1's rows, of which the {what} of pthreads holds a condition variable; table 2's barrier of NPTL is one system call, and \
         takes less than half of it"
    )
}

pub(super) fn throughput(results: &Results<'_>, reading: u32, over: By) -> String {
    let of = |by, barrier, what: fn(&Figures) -> f64| {
        said(results.mean(reading, "", row(by, barrier), what).map(|of| of.mean))
    };
    let cycles = |by, light| {
        let work = Work::Pseudo { by, light, work: WORK };
        said(results.mean(reading, "", work, |f| f.work as f64).map(|of| of.mean))
    };
    let gain = |light, work| said(results.gain(reading, over, light, work).map(|of| of.mean));
    let free = |light| {
        let works = [over, By::Mwmon].map(|by| Work::Pseudo { by, light, work: WORK });
        said(results.ratio((reading, FREE_CHANGE), works, |f| f.work as f64).map(|of| 100.0 * (of.mean - 1.0)))
    };
    format!(
        "an iteration takes {} cycles with mwmon and {} with {} at light work 0, {} and {} at 10; mwmon's barrier alone takes {} of call and {} of wake-up. \
         `units ten times as long`: {}% and {}% at light work 0 and 10; half of the window costs at most √2, so no unit gives more than 41% over a spinner. \
         `{FREE_CHANGE}`: {}% and {}%. Loads alone, no other instructions: {}% at 0",
        cycles(By::Mwmon, 0),
        cycles(over, 0),
        over.name(),
        cycles(By::Mwmon, 10),
        cycles(over, 10),
        of(By::Mwmon, true, |f| f.call as f64),
        of(By::Mwmon, true, |f| f.wake_up as f64),
        gain(0, LONG),
        gain(10, LONG),
        free(0),
        free(10),
        gain(0, 0),
    )
}

pub(super) fn helper(results: &Results<'_>, reading: u32, kernel: Name) -> String {
    let of = |by, prefetches| said(results.speedup(reading, kernel, by, prefetches).map(|of| of.mean));
    let against = |other, prefetches| said(against(results, reading, other, kernel, prefetches));
    format!(
        "`figure 5`: {}% with mwmon, {}% with pthreads, {}% with spin-loops; {}% with mwmon and a helper that does not prefetch. `{FREE_CHANGE}`: \
         {}% with mwmon, {}% without prefetches. `{STORES_ALONE}`, so that no eviction of the monitored line ends a wait: {}% and {}%. The paper's processor has a hardware prefetcher, this chip has none",
        of(By::Mwmon, true),
        of(By::Futex, true),
        of(By::Pause, true),
        of(By::Mwmon, false),
        against(FREE_CHANGE, true),
        against(FREE_CHANGE, false),
        against(STORES_ALONE, true),
        against(STORES_ALONE, false)
    )
}

/// By how many percent a kernel with a helper by mwmon is faster than the kernel alone, on the
/// changed chip `other`.
fn against(results: &Results<'_>, reading: u32, other: &'static str, kernel: Name, prefetches: bool) -> Option<f64> {
    let of = |by, prefetches| Work::Assisted(Assisted { kernel, by, prefetches });
    let works = [of(None, false), of(Some(By::Mwmon), prefetches)];
    Some(100.0 * (results.ratio((reading, other), works, |f| f.work as f64)?.mean - 1.0))
}

/// A sentence on the four kernels in the paper's sizes: what a helper gains, and which misses are
/// left to the worker.
pub(super) fn four(results: &Results<'_>, reading: u32) -> String {
    let one = |[kernel, _]: [Name; 2]| {
        let gain = |by| said(results.speedup(reading, kernel, by, true).map(|of| of.mean));
        let work = |by, prefetches| Work::Assisted(Assisted { kernel, by, prefetches });
        let works = [work(Some(By::Mwmon), true), work(None, false)];
        let left = results.ratio((reading, ""), works, |f| f.misses as f64).map(|of| 100.0 * of.mean);
        format!(
            "{}: {}% with mwmon, {}% with pthreads, {}% with spin-loops, {}% of the misses left; `{STORES_ALONE}`: {}% with mwmon",
            kernel.title(),
            gain(By::Mwmon),
            gain(By::Futex),
            gain(By::Pause),
            said(left),
            said(against(results, reading, STORES_ALONE, kernel, true))
        )
    };
    format!("`figure 5`: {}", Name::SIZES.map(one).join(". "))
}
