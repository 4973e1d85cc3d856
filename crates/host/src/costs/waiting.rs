//! Measures what a waiting thread costs under a wait policy: how long it takes to go on after its
//! notice, what it takes to go to rest, and what a thread on the other CPU of its core loses.

use super::{Alone, Spread, now, pin};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::units::Nanos;
use baton_machine::{Atomic, Clock, Deadline, Machine, Native, Ordering, Wait, WaitResult};
use serde::Serialize;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// How long a waiter has waited when its notice comes, if it is to be at rest: longer than the
/// built-in policies try before they sleep.
pub const RESTED: Duration = Duration::from_micros(100);

/// What a wait costs its waiter.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Price {
    /// The time from the notice until the waiter goes on, if it has waited for [`RESTED`].
    pub rested: Spread,
    /// The same if the notice comes as soon as the wait has begun.
    pub at_once: Spread,
}

/// The two threads of a measurement: a waiter, and a notifier that knows when the wait has begun.
struct Two {
    cell: Alone<NativeAtomic<u64>>,
    /// The number of the wait that has begun, and when the last one ended.
    begun: Alone<AtomicU64>,
    ended_at: Alone<AtomicU64>,
    wait: Wait,
    give_up: Deadline,
}

/// The value of the cell that ends the waiter's loop.
const END: u64 = u64::MAX;

impl Two {
    fn new(wait: Wait, budget: Duration) -> Two {
        let at = Nanos(now() + 20 * budget.as_nanos() as u64 + 50_000_000);
        Two {
            cell: Alone(NativeAtomic::new(0)),
            begun: Alone::default(),
            ended_at: Alone::default(),
            wait,
            give_up: Deadline { at, clock: Clock::Monotonic },
        }
    }

    /// Waits again and again, until the notifier ends it or the time is over.
    fn waits(&self) {
        for seen in 0.. {
            self.ended_at.0.store(now(), Ordering::Relaxed);
            self.begun.0.store(seen + 1, Ordering::Release);
            match Native::wait_while(&self.cell.0, seen, self.wait, Some(self.give_up)) {
                WaitResult::Changed(value) if value != END => (),
                _ => return,
            }
        }
    }

    /// Waits, spinning, until wait number `n` has begun. Returns whether it has.
    fn has_begun(&self, n: u64) -> bool {
        while self.begun.0.load(Ordering::Acquire) < n {
            if now() >= self.give_up.at.0 {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }

    fn notify(&self, value: u64) {
        self.cell.0.store(value, Ordering::Release);
        Native::wake(&self.cell.0, 1, self.wait);
    }

    /// Runs the waiter on one CPU and `measure` on another; ends the waiter when `measure` returns.
    fn run<T: Send>(&self, [measurer, waiter]: [u32; 2], measure: impl FnOnce(&Two) -> T + Send) -> T {
        std::thread::scope(|s| {
            s.spawn(|| {
                pin(waiter);
                self.waits();
            });
            let measures = s.spawn(|| {
                pin(measurer);
                let found = measure(self);
                self.notify(END);
                found
            });
            measures.join().expect("the measuring thread does not panic")
        })
    }
}

fn spin_for(time: Duration) {
    let from = Instant::now();
    while from.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// What a wait costs its waiter, on the second CPU, if the first one notifies it. `None` if the CPUs
/// gave no result in time.
pub fn price(cpus: (u32, u32), wait: Wait, budget: Duration) -> Option<Price> {
    let after = |rest: Duration| {
        let latencies = Two::new(wait, budget).run([cpus.0, cpus.1], |two| {
            let (from, mut all) = (Instant::now(), Vec::new());
            for n in 1.. {
                if from.elapsed() >= budget || !two.has_begun(n) {
                    break;
                }
                if !rest.is_zero() {
                    spin_for(rest);
                }
                let start = now();
                two.notify(n);
                if !two.has_begun(n + 1) {
                    break;
                }
                all.push(two.ended_at.0.load(Ordering::Relaxed).saturating_sub(start) as f64);
            }
            all
        });
        // The first wait includes the start of the waiter.
        Spread::of(latencies.into_iter().skip(1).collect())
    };
    Some(Price { rested: after(RESTED)?, at_once: after(Duration::ZERO)? })
}

/// By how much a worker takes longer beside a waiter than alone, in percent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Loss {
    /// The median of the pairs.
    pub median: f64,
    /// The ends of the middle 80% of the pairs.
    pub low: f64,
    pub high: f64,
}

/// Elements of the worker's array, which fits into any first-level cache.
const ELEMENTS: usize = 512;
/// Passes over the array in one piece of work: some hundred microseconds.
const PASSES: u64 = 400;

/// A piece of work that keeps a core's units busy: four chains of multiplications and loads. Returns
/// its time.
fn work(array: &[u64; ELEMENTS]) -> f64 {
    let start = Instant::now();
    let mut sums = [1u64; 4];
    for pass in 0..PASSES {
        for four in array.as_chunks::<4>().0 {
            for (sum, value) in sums.iter_mut().zip(four) {
                *sum = sum.wrapping_mul(*value | 1).wrapping_add(pass);
            }
        }
    }
    std::hint::black_box(sums);
    start.elapsed().as_nanos() as f64
}

/// By how much a worker on the first CPU takes longer while a thread waits on the second one than
/// while that CPU has nothing to do. `None` if the CPUs gave no result in time.
pub fn loss(cpus: (u32, u32), wait: Wait, budget: Duration) -> Option<Loss> {
    let array = std::array::from_fn(|i| i as u64);
    let (from, mut all) = (Instant::now(), Vec::new());
    while from.elapsed() < budget {
        // Each pair has a waiter of its own, so that no thread is there while the worker is alone.
        let alone = std::thread::scope(|s| {
            let one = s.spawn(|| {
                pin(cpus.0);
                work(&array);
                work(&array)
            });
            one.join().expect("the worker does not panic")
        });
        let beside = Two::new(wait, budget).run([cpus.0, cpus.1], |two| {
            let begun = two.has_begun(1);
            spin_for(RESTED);
            work(&array);
            begun.then(|| work(&array))
        })?;
        all.push(100.0 * (beside / alone - 1.0));
    }
    let Spread { median, low, high, .. } = Spread::of(all)?;
    Some(Loss { median, low, high })
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, measured};
    use super::*;

    const LOOK: Duration = Duration::from_millis(10);

    #[test]
    fn a_sleeper_takes_longer_to_go_on_than_a_spinner() {
        let cpus = baton_machine::discover::allowed_cpus();
        let Some(second) = cpus.get(1) else { return };
        let of = |wait| measured(Budget::LOOK, |_| price((cpus[0], *second), wait, LOOK));
        let [spins, sleeps] = [Wait::Spin, Wait::Futex].map(of);
        // A wake-up takes a system call at least, a line of another CPU some hundred nanoseconds. The
        // low ends are those that other programs disturb least.
        assert!(sleeps.rested.low > spins.rested.low, "{sleeps:?} {spins:?}");
    }

    #[test]
    fn a_loss_is_measured_pair_by_pair() {
        let cpus = baton_machine::discover::allowed_cpus();
        let waiter = cpus.get(1).copied().unwrap_or(cpus[0]);
        let lost = measured(Budget::LOOK, |_| loss((cpus[0], waiter), Wait::Futex, LOOK));
        assert!(lost.low <= lost.median && lost.median <= lost.high && lost.low > -100.0, "{lost:?}");
    }

    #[test]
    fn a_waiter_that_never_begins_gives_no_result() {
        let two = Two { give_up: Deadline { at: Nanos(now()), clock: Clock::Monotonic }, ..Two::new(Wait::Spin, LOOK) };
        assert!(!two.has_begun(1));
    }
}
