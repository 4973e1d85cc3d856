//! Measures the cost of recording as a process starts to be recorded, and writes it into the trace,
//! so that the analysis can subtract it. A fork's child does not measure again.

use super::session::SESSION;
use super::sites;
use crate::thread::Thread;
use baton_trace::{What, sys};

/// Events in a measurement of the plain event. There are few, because they stay in the trace.
const EVENTS: u64 = 64;
/// Number of measurements; the fastest counts, because an interrupt only lengthens one.
const ROUNDS: usize = 4;

/// Probe number of a plain event.
const PLAIN: u32 = 0;
/// Probe number of the two events around a contended wait, with the readings of the CPU time beside
/// them where these are made.
const CONTENDED: u32 = 1;

/// Measures the cost of a plain event and of the two events around a contended wait, and writes
/// both costs into the trace. The measured events are pauses of length zero, which say nothing.
pub(super) fn measure(thread: &Thread) {
    let nothing = What::Pause { ticks: 0 };
    let plain = fastest(EVENTS, || {
        for _ in 0..EVENTS / 2 {
            core::hint::black_box(sites::site(thread, measure as *const () as usize));
            thread.pen.post(&SESSION, nothing);
            core::hint::black_box(sites::site(thread, measure as *const () as usize));
            thread.pen.post_ordered(&SESSION, nothing);
        }
    });
    let contended = fastest(8, || {
        for _ in 0..8 {
            thread.pen.post(&SESSION, nothing);
            cpu_time(thread);
            thread.pen.post_ordered(&SESSION, nothing);
            cpu_time(thread);
        }
    });
    for (probe, picoseconds) in [(PLAIN, plain), (CONTENDED, contended)] {
        thread.pen.post(&SESSION, What::ProbeCost { probe, picoseconds });
    }
}

/// Reads the CPU time where [`cpu_time_of`](super::post::cpu_time_of) does, without writing an
/// event.
fn cpu_time(thread: &Thread) {
    if thread.switches.told().is_none() {
        core::hint::black_box(sys::thread_cpu_ns());
    }
}

/// Picoseconds of a single one of the `count` things that `run` does, in the fastest of [`ROUNDS`]
/// rounds.
fn fastest(count: u64, run: impl Fn()) -> u64 {
    let round = || {
        let before = sys::clock_ns(libc::CLOCK_MONOTONIC);
        run();
        sys::clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(before)
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or(0) * 1000 / count
}
