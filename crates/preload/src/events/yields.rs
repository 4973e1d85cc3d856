//! Calls that yield the CPU. A thread that makes them again and again, with hardly anything in between,
//! waits: a lock or a flag of the program's own is not there yet. The trace gets no event for each
//! call, but a few for such a series, each with the part of the series since the event before. The
//! part after the last event is lost. It is at most a quarter of the series, or [`STEP`].

use super::session::SESSION;
use super::sites;
use crate::base::errno;
use crate::thread::{self, Thread, Yields};
use baton_trace::{What, clock};
use core::sync::atomic::Ordering::Relaxed;

/// Ticks between two calls from which on they belong to different series: 5 µs of a counter of 3 GHz.
const BETWEEN: u64 = 1 << 14;

/// The most ticks of a series that are not in the trace: 90 µs of a counter of 3 GHz.
const STEP: u64 = 1 << 18;

/// The fewest calls of a series. A thread that works may well yield its CPU once or twice.
const LEAST: u32 = 3;

/// The time before a call that yields the CPU; `None` if the thread is not recorded.
#[inline(always)]
pub fn before_yield() -> Option<u64> {
    (SESSION.is_open() && thread::existing().is_some()).then(|| clock::now(SESSION.source()))
}

/// Called after a call at `at` that yielded the CPU, and that began at `began`.
#[inline]
pub fn yielded(began: Option<u64>, at: usize) {
    let (Some(began), Some(thread)) = (began, thread::existing()) else { return };
    if thread.yields.is_due(began, clock::now(SESSION.source()), at) {
        errno::kept(|| tell(thread, at));
    }
}

impl Yields {
    /// Counts a call, and returns whether the trace should get an event. A signal handler that yields
    /// the CPU in the middle of this at worst ends the series.
    fn is_due(&self, began: u64, now: u64, at: usize) -> bool {
        if self.at.load(Relaxed) != at || began.saturating_sub(self.last.load(Relaxed)) >= BETWEEN {
            self.at.store(at, Relaxed);
            self.first.store(began, Relaxed);
            self.told.store(began, Relaxed);
            self.calls.store(0, Relaxed);
        }
        let calls = self.calls.load(Relaxed) + 1;
        self.calls.store(calls, Relaxed);
        self.last.store(now, Relaxed);
        let (first, told) = (self.first.load(Relaxed), self.told.load(Relaxed));
        match told == first {
            true => calls >= LEAST,
            false => now.saturating_sub(told) >= (told.saturating_sub(first) / 4).min(STEP),
        }
    }
}

/// Writes down what the trace does not have of the thread's series.
#[inline(never)]
fn tell(thread: &Thread, at: usize) {
    let site = sites::contended(thread, at);
    let (yields, now) = (&thread.yields, clock::now(SESSION.source()));
    let calls = yields.calls.swap(0, Relaxed);
    let ticks = now.saturating_sub(yields.told.swap(now, Relaxed));
    yields.last.store(now, Relaxed);
    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
    thread.pen.post_at(&SESSION, now, What::Yielded { site, calls, ticks });
    // The thread may have no other event for long, and the kernel keeps some 680 of its switches.
    if thread.switches.is_due_in_call(thread.holds.is_free()) {
        thread.switches.empty(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the calls after which the trace gets an event; each call takes `call` ticks, and
    /// `between` pass until the next one. What is told is told at once.
    fn told(calls: u64, call: u64, between: u64) -> Vec<u64> {
        let (yields, mut now, mut told) = (Yields::new(), 1_000_000, Vec::new());
        for number in 1..=calls {
            let began = now;
            now += call;
            if yields.is_due(began, now, 0x1234) {
                yields.told.store(now, Relaxed);
                yields.calls.store(0, Relaxed);
                told.push(number);
            }
            now += between;
        }
        told
    }

    #[test]
    fn a_series_is_told_from_its_third_call_on_and_then_ever_more_seldom() {
        assert!(told(2, 600, 30).is_empty());
        assert_eq!(told(12, 600, 0), [3, 4, 5, 7, 9, 12]);
        // Calls that are further apart belong to no series.
        assert!(told(100, 600, BETWEEN).is_empty());
        // A series of 20,000 calls is told some 60 times, and the last part is short.
        let long = told(20_000, 600, 0);
        assert!(long.len() < 100, "{}", long.len());
        assert!((20_000 - long.last().unwrap()) * 600 <= STEP);
    }

    #[test]
    fn calls_at_two_places_are_two_series() {
        let yields = Yields::new();
        let due = |number: u64, at: usize| yields.is_due(number * 1_000, number * 1_000 + 600, at);
        assert!(!due(1, 0x10) && !due(2, 0x10) && !due(3, 0x20) && !due(4, 0x10));
        assert!(!due(5, 0x10) && due(6, 0x10));
    }
}
