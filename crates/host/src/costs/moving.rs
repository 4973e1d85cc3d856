//! The extra cost of waking a thread on another CPU than the one on which it ran last. Two kinds of
//! wake-up alternate that differ in nothing else.

use super::futex::{wait, wake};
use super::{Alone, Budget, Spread, now, pin};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How long the sleeper's CPU idles before each wake-up; enough for the CPU to halt.
const IDLE: Duration = Duration::from_millis(2);

/// Binds the thread with id `thread` to one CPU. Returns whether the kernel did so.
fn bind(thread: i32, cpu: u32) -> bool {
    // SAFETY: `set` is a local variable, and all-zero bytes are an empty set; CPU_SET ignores a
    // number that does not fit into it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize % libc::CPU_SETSIZE as usize, &mut set);
        libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

/// How many nanoseconds later a thread's first instruction on `cpus.1` comes if the thread ran on
/// `cpus.0` last. The waker runs on `cpus.0`. An error says why the difference cannot be measured.
pub fn migration(cpus: (u32, u32), budget: Budget) -> Result<Spread, String> {
    let (here, there) = cpus;
    let word = Alone(AtomicU32::new(0));
    let (asleep, woke_at) = (Alone(AtomicU32::new(0)), Alone(AtomicU64::new(0)));
    let (number, stop, bound) = (AtomicI32::new(0), AtomicBool::new(false), AtomicBool::new(true));
    let sleeper = || {
        // SAFETY: `gettid` takes no argument and touches no memory.
        number.store(unsafe { libc::gettid() }, Ordering::Release);
        for generation in 0.. {
            // The sleeper falls asleep on the two CPUs alternately.
            pin(if generation % 2 == 0 { there } else { here });
            asleep.0.store(generation + 1, Ordering::Release);
            while word.0.load(Ordering::Acquire) == generation {
                wait(&word.0, generation);
            }
            woke_at.0.store(now(), Ordering::Release);
            if stop.load(Ordering::Acquire) {
                return;
            }
        }
    };
    let latencies = std::thread::scope(|s| {
        s.spawn(sleeper);
        let waker = s.spawn(|| {
            pin(here);
            let end = now() + (budget.long * 2).as_nanos() as u64;
            let mut latencies = Vec::new();
            for generation in 0.. {
                // The waker sleeps, because the sleeper may need this CPU to fall asleep.
                while asleep.0.load(Ordering::Acquire) <= generation {
                    std::thread::sleep(Duration::from_micros(50));
                }
                std::thread::sleep(Duration::from_micros(200));
                if !bind(number.load(Ordering::Acquire), there) {
                    bound.store(false, Ordering::Release);
                }
                let from = now();
                while now() - from < IDLE.as_nanos() as u64 {
                    std::hint::spin_loop();
                }
                let stops = now() >= end || !bound.load(Ordering::Acquire);
                stop.store(stops, Ordering::Release);
                woke_at.0.store(0, Ordering::Release);
                let start = now();
                word.0.store(generation + 1, Ordering::Release);
                wake(&word.0, 1);
                while woke_at.0.load(Ordering::Acquire) == 0 {
                    std::hint::spin_loop();
                }
                latencies.push(woke_at.0.load(Ordering::Acquire).saturating_sub(start) as f64);
                if stops {
                    return latencies;
                }
            }
            unreachable!("the loop ends in itself")
        });
        waker.join().expect("the waker does not panic")
    });
    if !bound.load(Ordering::Acquire) {
        return Err("the kernel does not let a thread's CPUs be chosen".into());
    }
    // The first pair runs cold code, so it is dropped.
    more(&latencies[latencies.len().min(2)..])
}

/// The median of the differences within pairs (second minus first), with its 95% interval. An error
/// if there are too few pairs, or if the interval reaches down to zero or is wider than the median.
fn more(pairs: &[f64]) -> Result<Spread, String> {
    const LEAST: usize = 20;
    let mut more: Vec<f64> = pairs.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
    let samples = more.len();
    if samples < LEAST {
        return Err(format!("{samples} pairs of wake-ups are too few"));
    }
    more.sort_by(f64::total_cmp);
    // The median's interval by ranks: the binomial distribution, 1.96 standard deviations about the
    // middle.
    let (n, off) = (samples as f64, 0.98 * (samples as f64).sqrt());
    let at = |rank: f64| more[(rank.max(0.0) as usize).min(samples - 1)];
    let found = Spread { median: at(n / 2.0), low: at(n / 2.0 - off), high: at((n / 2.0 + off).ceil()), samples };
    let us = |ns: f64| ns / 1e3;
    let range = format!("{:.1} to {:.1} µs", us(found.low), us(found.high));
    match found {
        Spread { low, .. } if low <= 0.0 => {
            Err(format!("a thread that moves comes up {range} later: that may be nothing"))
        }
        Spread { low, median, high, .. } if high - low > median => {
            Err(format!("a thread that moves comes up {range} later: that says little"))
        }
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wake-ups that take 20 µs with 4 µs of noise; every second one takes `more` nanoseconds
    /// longer.
    fn recorded(more: f64) -> Vec<f64> {
        (0..400u32)
            .map(|n| 20_000.0 + f64::from(n * n % 4_001 * 7_919 % 4_001) + if n % 2 == 1 { more } else { 0.0 })
            .collect()
    }

    #[test]
    fn a_difference_is_told_from_noise() {
        let found = more(&recorded(3_000.0)).unwrap();
        assert!((2_500.0..3_500.0).contains(&found.median) && found.low < found.median, "{found:?}");
        assert!(found.low > 2_000.0 && found.high < 4_000.0, "{found:?}");
    }

    #[test]
    fn what_may_be_nothing_is_refused() {
        assert!(more(&recorded(0.0)).unwrap_err().contains("may be nothing"));
        assert!(more(&recorded(-9_000.0)).is_err());
        assert!(more(&recorded(3_000.0)[..30]).unwrap_err().contains("too few"));
    }

    #[test]
    fn threads_are_moved_and_end() {
        let cpus = baton_machine::discover::allowed_cpus();
        if let Some(&other) = cpus.get(1) {
            let _ = migration((cpus[0], other), Budget { long: Duration::from_millis(20), ..Budget::LOOK });
        }
    }
}
