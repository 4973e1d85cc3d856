//! Where the kernel puts a thread that it wakes: on the CPU where the thread was last, on the waker's, or on one that idles.

use super::futex::{wait, wake};
use super::{Alone, pin};
use baton_machine::discover::allowed_cpus;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What became of threads that might have gone to another CPU.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Places {
    /// Woken by a thread on the CPU where it was last, while another CPU idled: the share that went to the idle one.
    pub(crate) sought_idle: f64,
    /// Woken from another CPU while its own idled: the share that came to the waker's.
    pub(crate) pulled: f64,
    /// Wake-ups of each kind.
    pub(crate) samples: u32,
}

/// Wakes a thread that may run on both CPUs, each time after it was on the one and on the other of them. Other CPUs are left out of it.
pub(crate) fn places(cpus: (u32, u32), budget: Duration) -> Option<Places> {
    let (same, samples) = ended_elsewhere(cpus, cpus.0, cpus.1, budget / 2)?;
    let (other, more) = ended_elsewhere(cpus, cpus.1, cpus.0, budget / 2)?;
    Some(Places { sought_idle: same, pulled: other, samples: samples.min(more) })
}

/// Allows the calling thread both CPUs; whether the kernel did.
fn allow(cpus: (u32, u32)) -> bool {
    // SAFETY: all-zero bytes are an empty set, which is ours; the numbers are of CPUs that exist.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpus.0 as usize, &mut set);
        libc::CPU_SET(cpus.1 as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

fn here() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::sched_getcpu() as u32 }
}

/// A waker on `cpus.0`, and a sleeper whose last CPU was `last`: how often it ran on `counts` first, and of how many.
fn ended_elsewhere(cpus: (u32, u32), last: u32, counts: u32, budget: Duration) -> Option<(f64, u32)> {
    // Fewer than this say nothing.
    const LEAST: u32 = 20;
    if !allowed_cpus().contains(&cpus.1) {
        return None;
    }
    let (word, ran_on) = (Alone(AtomicU32::new(0)), Alone(AtomicU32::new(u32::MAX)));
    let (asleep, stop) = (Alone(AtomicU32::new(0)), AtomicBool::new(false));
    let sleeper = || {
        for generation in 0.. {
            pin(last);
            if !allow(cpus) {
                stop.store(true, Ordering::Release);
            }
            asleep.0.store(generation + 1, Ordering::Release);
            while word.0.load(Ordering::Acquire) == generation {
                wait(&word.0, generation);
            }
            ran_on.0.store(here(), Ordering::Release);
            if stop.load(Ordering::Acquire) {
                return;
            }
        }
    };
    let (there, all) = std::thread::scope(|s| {
        s.spawn(sleeper);
        let waker = s.spawn(|| {
            pin(cpus.0);
            let (begin, mut there, mut all) = (Instant::now(), 0u32, 0u32);
            for generation in 0.. {
                while asleep.0.load(Ordering::Acquire) <= generation {
                    std::thread::sleep(Duration::from_micros(50));
                }
                // The sleeper is on its way, or asleep; this thread has run for a while when it wakes it, so it owes the
                // sleeper nothing.
                std::thread::sleep(Duration::from_micros(300));
                spin(Duration::from_micros(100));
                let stops = begin.elapsed() > budget || stop.load(Ordering::Acquire);
                stop.store(stops, Ordering::Release);
                ran_on.0.store(u32::MAX, Ordering::Release);
                word.0.store(generation + 1, Ordering::Release);
                wake(&word.0, 1);
                // Time enough to come up on another CPU, and not to be moved there by a tick.
                let from = Instant::now();
                while ran_on.0.load(Ordering::Acquire) == u32::MAX && from.elapsed() < Duration::from_micros(200) {
                    std::hint::spin_loop();
                }
                while ran_on.0.load(Ordering::Acquire) == u32::MAX {
                    std::thread::sleep(Duration::from_micros(50));
                }
                if stops {
                    return (there, all);
                }
                all += 1;
                there += u32::from(ran_on.0.load(Ordering::Acquire) == counts);
            }
            unreachable!("the loop ends in itself")
        });
        waker.join().expect("the waker does not panic")
    });
    (all >= LEAST).then(|| (f64::from(there) / f64::from(all), all))
}

fn spin(time: Duration) {
    let from = Instant::now();
    while from.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn woken_threads_are_somewhere() {
        let cpus = allowed_cpus();
        let Some(&second) = cpus.get(1) else { return };
        if let Some(places) = places((cpus[0], second), Duration::from_millis(100)) {
            assert!((0.0..=1.0).contains(&places.sought_idle) && (0.0..=1.0).contains(&places.pulled), "{places:?}");
        }
    }
}
