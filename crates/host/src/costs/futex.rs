//! Measures what it costs to sleep in the kernel and to be woken.

use super::spread::percentiles;
use super::{Alone, Budget, Spread, batches, now, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Sleeps while `word` holds `value`.
pub fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word is aligned and alive during the call; no time-out is given.
    unsafe {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, std::ptr::null::<libc::timespec>());
    }
}

/// Wakes at most `n` sleepers.
pub fn wake(word: &AtomicU32, n: i32) {
    // SAFETY: the kernel uses the address only as a key, and reads no memory there.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, n) };
}

/// The cost of a wake that finds no waiter.
pub fn wake_none(budget: Budget) -> Spread {
    let word = AtomicU32::new(0);
    batches(budget.short, |n| (0..n).for_each(|_| wake(&word, 1)))
}

/// The cost of a wait that finds the value changed, and so does not sleep.
pub fn wait_changed(budget: Budget) -> Spread {
    let word = AtomicU32::new(0);
    batches(budget.short, |n| (0..n).for_each(|_| wait(&word, 1)))
}

/// The cost of a system call that does almost nothing: entering and leaving the kernel.
pub fn system_call(budget: Budget) -> Spread {
    batches(budget.short, |n| {
        for _ in 0..n {
            // SAFETY: the call takes no argument. It is made by its number, so that the C library
            // cannot answer it without the kernel.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    })
}

/// Whether sampling can stop: the budget is used up and there are at least `LEAST` samples. On CPUs
/// that other programs keep busy, sampling stops after ten times the budget in any case.
fn enough(begin: Instant, budget: Duration, samples: usize) -> bool {
    const LEAST: usize = 6;
    let spent = begin.elapsed();
    spent >= budget && samples >= LEAST || spent >= 10 * budget
}

/// The cost of waking threads that sleep on other CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    /// The duration of the wake call, at the waker.
    pub call: Spread,
    /// The time from the call to the first instruction of the last sleeper.
    pub latency: Spread,
    /// The percentiles [`PERCENTS`] of the latency, in nanoseconds.
    pub percentiles: [f64; PERCENTS.len()],
}

/// The percentiles of a wake-up's latency that are reported.
pub const PERCENTS: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// Wakes `sleepers` threads on `cpus.1` from `cpus.0`, each time after they have slept for `idle`.
pub fn wake_sleepers(cpus: (u32, u32), sleepers: u32, idle: Duration, budget: Duration) -> Option<Woken> {
    let word = Alone(AtomicU32::new(0));
    let asleep = Alone(AtomicU32::new(0));
    let woke_at = Alone(AtomicU64::new(0));
    let stop = AtomicBool::new(false);
    let sleeper = || {
        pin(cpus.1);
        let mut generation = 0;
        loop {
            asleep.0.fetch_add(1, Ordering::AcqRel);
            while word.0.load(Ordering::Acquire) == generation {
                wait(&word.0, generation);
            }
            woke_at.0.fetch_max(now(), Ordering::AcqRel);
            generation += 1;
            if stop.load(Ordering::Acquire) {
                return;
            }
        }
    };
    let (calls, latencies) = std::thread::scope(|s| {
        for _ in 0..sleepers {
            s.spawn(sleeper);
        }
        let waker = s.spawn(|| {
            pin(cpus.0);
            let (mut calls, mut latencies) = (Vec::new(), Vec::new());
            let begin = Instant::now();
            let mut generation = 0;
            loop {
                // Wait until all sleepers are on their way to sleep, then let them sleep for
                // `idle`.
                while asleep.0.load(Ordering::Acquire) < sleepers * (generation + 1) {
                    std::hint::spin_loop();
                }
                let from = Instant::now();
                while from.elapsed() < idle {
                    std::hint::spin_loop();
                }
                let last = enough(begin, budget, calls.len());
                stop.store(last, Ordering::Release);
                let start = now();
                word.0.store(generation + 1, Ordering::Release);
                wake(&word.0, i32::MAX);
                let done = now();
                if last {
                    return (calls, latencies);
                }
                while asleep.0.load(Ordering::Acquire) < sleepers * (generation + 2) {
                    std::hint::spin_loop();
                }
                calls.push((done - start) as f64);
                latencies.push(woke_at.0.load(Ordering::Acquire).saturating_sub(start) as f64);
                generation += 1;
            }
        });
        waker.join().expect("the waker does not panic")
    });
    // The first wake runs cold code, so its sample is dropped.
    let warm = |sample: &[f64]| sample.iter().skip(1).copied().collect::<Vec<f64>>();
    let percentiles = percentiles(warm(&latencies), PERCENTS)?;
    Some(Woken { call: Spread::of(warm(&calls))?, latency: Spread::of(warm(&latencies))?, percentiles })
}

/// Measures the round trip of two threads that wake each other and then sleep, on two CPUs or both
/// on one.
pub fn round_trip(cpus: (u32, u32), budget: Duration) -> Option<Spread> {
    let words = [Alone(AtomicU32::new(0)), Alone(AtomicU32::new(0))];
    let stop = AtomicBool::new(false);
    // Adds one to word `to`, and wakes its sleeper.
    let send = |to: usize| {
        words[to].0.fetch_add(1, Ordering::AcqRel);
        wake(&words[to].0, 1);
    };
    // Waits until word `at` is no longer `seen`.
    let receive = |at: usize, seen: u32| {
        while words[at].0.load(Ordering::Acquire) == seen {
            wait(&words[at].0, seen);
        }
    };
    let times = std::thread::scope(|s| {
        s.spawn(|| {
            pin(cpus.1);
            let mut seen = 0;
            loop {
                receive(0, seen);
                seen = seen.wrapping_add(1);
                // If `stop` was set, it was set before the message that has just arrived was sent.
                let last = stop.load(Ordering::Acquire);
                send(1);
                if last {
                    return;
                }
            }
        });
        let first = s.spawn(|| {
            pin(cpus.0);
            let mut sample = Vec::new();
            let begin = Instant::now();
            let mut seen = 0u32;
            loop {
                let last = enough(begin, budget, sample.len());
                stop.store(last, Ordering::Release);
                let start = Instant::now();
                send(0);
                receive(1, seen);
                sample.push(start.elapsed().as_nanos() as f64);
                seen = seen.wrapping_add(1);
                if last {
                    return sample;
                }
            }
        });
        first.join().expect("the measuring thread does not panic")
    });
    Spread::of(times.into_iter().skip(1).collect())
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use super::*;

    #[test]
    fn sleepers_are_woken_and_all_end() {
        let cpus = baton_machine::discover::allowed_cpus();
        let pair = (cpus[0], *cpus.last().unwrap());
        let one = measured(Budget::LOOK, |budget| round_trip((cpus[0], cpus[0]), budget.long));
        assert!(one.median > 500.0, "two system calls and two switches: {one:?}");
        if pair.0 != pair.1 {
            let three = |budget: Budget| wake_sleepers(pair, 3, Duration::from_micros(50), budget.long);
            let woken = measured(Budget::LOOK, three);
            assert!(woken.latency.median > 0.0 && woken.call.low > 50.0, "{woken:?}");
        }
    }

    #[test]
    fn calls_that_do_nothing_are_cheaper_than_a_sleep() {
        let none = wake_none(Budget::LOOK);
        assert!(none.median > 10.0 && none.low < 100_000.0, "{none:?}");
        assert!(wait_changed(Budget::LOOK).median > 10.0);
    }
}
