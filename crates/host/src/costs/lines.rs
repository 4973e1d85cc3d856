//! Measures what it costs when two cores use the same cache line.

use super::chain::Ring;
use super::{Alone, Spread, now, pin};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Native, Ordering, Wait, WaitResult};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

/// Rounds per batch.
const ROUNDS: u64 = 100;

/// One of two threads that answer each other through a cell. It gives up after a time limit,
/// because the other thread may not answer if other programs keep its CPU busy.
struct Side<'a> {
    cell: &'a NativeAtomic<u64>,
    wait: Wait,
    give_up: Deadline,
}

impl Side<'_> {
    /// Waits while the cell holds `seen`. Returns false if the time limit has passed or the other
    /// thread has sent [`END`].
    fn answered(&self, seen: u64) -> bool {
        match Native::wait_while(self.cell, seen, self.wait, Some(self.give_up)) {
            WaitResult::Changed(value) => value != END,
            WaitResult::Expired => false,
        }
    }

    fn say(&self, value: u64) {
        self.cell.store(value, Ordering::Release);
        Native::wake(self.cell, 1, self.wait);
    }
}

/// The value that the first thread sends when it is done.
const END: u64 = u64::MAX;

/// Runs `first` on one CPU and `second` on another until the budget is used up. `first` returns the
/// time of each batch.
fn pair(
    cpus: (u32, u32),
    wait: Wait,
    budget: Duration,
    first: impl Fn(&Side<'_>, u64) -> Option<f64> + Sync,
    second: impl Fn(&Side<'_>) + Sync,
) -> Option<Spread> {
    let cell = Alone(NativeAtomic::new(0u64));
    let give_up = Deadline { at: Nanos(now() + 4 * budget.as_nanos() as u64 + 10_000_000), clock: Clock::Monotonic };
    let side = Side { cell: &cell.0, wait, give_up };
    let sample = std::thread::scope(|s| {
        s.spawn(|| {
            pin(cpus.1);
            second(&side);
        });
        let measure = s.spawn(|| {
            pin(cpus.0);
            let mut sample = Vec::new();
            let end = Instant::now() + budget;
            for batch in 0.. {
                match first(&side, batch) {
                    Some(time) if Instant::now() < end => sample.push(time),
                    _ => break,
                }
            }
            side.say(END);
            sample
        });
        measure.join().expect("the measuring thread does not panic")
    });
    // The first batch includes the start of the other thread, so it is dropped.
    Spread::of(sample.into_iter().skip(1).collect())
}

/// The round trip of one line between two cores. Each core writes the line when it has seen the
/// other's write, so each way takes two transfers: one to read the line and one to own it. `None`
/// if the CPUs gave no result in time.
pub fn round_trip(cpus: (u32, u32), wait: Wait, budget: Duration) -> Option<Spread> {
    let ping = |side: &Side<'_>, batch: u64| {
        let start = Instant::now();
        for round in batch * ROUNDS..(batch + 1) * ROUNDS {
            side.say(2 * round + 1);
            if !side.answered(2 * round + 1) {
                return None;
            }
        }
        Some(start.elapsed().as_nanos() as f64 / ROUNDS as f64)
    };
    let pong = |side: &Side<'_>| {
        for round in 0.. {
            if !side.answered(2 * round) {
                return;
            }
            side.say(2 * round + 2);
        }
    };
    pair(cpus, wait, budget, ping, pong)
}

/// The extra cost of an atomic write to a line of which another core has a copy, over a write to a
/// line that the core owns alone.
pub fn upgrade(cpus: (u32, u32), budget: Duration) -> Option<Spread> {
    const LINES: usize = 64;
    let lines: Vec<Alone<NativeAtomic<u64>>> = (0..LINES).map(|_| Alone(NativeAtomic::new(0))).collect();
    let read_all = || {
        for line in &lines {
            std::hint::black_box(line.0.load(Ordering::Acquire));
        }
    };
    let write_all = || {
        let start = Instant::now();
        for line in &lines {
            std::hint::black_box(line.0.fetch_add(1, Ordering::Relaxed));
        }
        start.elapsed().as_nanos() as f64 / LINES as f64
    };
    let writer = |side: &Side<'_>, round: u64| {
        side.say(2 * round + 1);
        if !side.answered(2 * round + 1) {
            return None;
        }
        // This core reads all lines first. Its writes then only invalidate the other copies and
        // fetch nothing.
        read_all();
        let shared = write_all();
        Some((shared - write_all()).max(0.0))
    };
    let reader = |side: &Side<'_>| {
        for round in 0.. {
            if !side.answered(2 * round) {
                return;
            }
            read_all();
            side.say(2 * round + 2);
        }
    };
    pair(cpus, Wait::Spin, budget, writer, reader)
}

/// The latency of a load of a line that another core has just written. The loads depend on each
/// other and visit lines that the other core owns.
pub fn remote(cpus: (u32, u32), budget: Duration) -> Option<Spread> {
    // The range fits into any second-level cache. The order is random, so that no prefetcher helps.
    const LINES: usize = 512;
    let ring = Ring::new(LINES, 128);
    let at = |i: usize| {
        // SAFETY: the cell lies in the ring's mapping and holds a word; both sides use it as an atomic while they take turns.
        unsafe { AtomicUsize::from_ptr(ring.cell(i)) }
    };
    let reader = |side: &Side<'_>, round: u64| {
        side.say(2 * round + 1);
        if !side.answered(2 * round + 1) {
            return None;
        }
        let (start, mut offset) = (Instant::now(), 0);
        for _ in 0..LINES {
            offset = at(offset / 128).load(Ordering::Relaxed);
        }
        std::hint::black_box(offset);
        Some(start.elapsed().as_nanos() as f64 / LINES as f64)
    };
    let writer = |side: &Side<'_>| {
        for round in 0.. {
            if !side.answered(2 * round) {
                return;
            }
            for i in 0..LINES {
                // Storing the same value is enough for the writer to own the line.
                at(i).store(at(i).load(Ordering::Relaxed), Ordering::Relaxed);
            }
            side.say(2 * round + 2);
        }
    };
    pair(cpus, Wait::Spin, budget, reader, writer)
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, measured};
    use super::*;

    #[test]
    fn a_line_goes_to_and_fro() {
        let cpus = baton_machine::discover::allowed_cpus();
        let Some(second) = cpus.get(1) else { return };
        let trip = measured(Budget::LOOK, |budget| round_trip((cpus[0], *second), Wait::Pause, budget.long));
        assert!(trip.median > 10.0, "{trip:?}");
    }

    #[test]
    fn a_line_that_another_core_wrote_is_far() {
        let cpus = baton_machine::discover::allowed_cpus();
        let Some(second) = cpus.get(1) else { return };
        let far = measured(Budget::LOOK, |budget| remote((cpus[0], *second), budget.long));
        assert!(far.median > 2.0, "{far:?}");
    }

    #[test]
    fn a_pair_that_gets_no_answer_gives_up() {
        let start = Instant::now();
        let deaf = |side: &Side<'_>, _: u64| side.answered(0).then_some(0.0);
        assert_eq!(pair((0, 0), Wait::Futex, Duration::from_millis(5), deaf, |_| ()), None);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
