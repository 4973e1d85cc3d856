//! Why a claim came out as it did: of what was run beside it.

use super::helper::{Assisted, Name};
use super::jobs::{FREE_CHANGE, LONG, WORK};
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
    let free = |prefetches| {
        let of = |by, prefetches| Work::Assisted(Assisted { kernel, by, prefetches });
        let works = [of(None, false), of(Some(By::Mwmon), prefetches)];
        said(results.ratio((reading, FREE_CHANGE), works, |f| f.work as f64).map(|of| 100.0 * (of.mean - 1.0)))
    };
    format!(
        "`figure 5`: {}% with mwmon, {}% with pthreads, {}% with spin-loops; {}% with mwmon and a helper that does not prefetch. A thread that streams evicts \
         the monitored line, which ends the other's wait, and each end is two changes of mode; `{FREE_CHANGE}`: {}% with mwmon, {}% without prefetches. The \
         paper's processor has a hardware prefetcher, this chip has none",
        of(By::Mwmon, true),
        of(By::Futex, true),
        of(By::Pause, true),
        of(By::Mwmon, false),
        free(true),
        free(false)
    )
}
