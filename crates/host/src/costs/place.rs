//! Where the kernel puts a thread that it wakes: on the CPU where the thread was last, on the waker's, or on one that idles.

use super::futex::{wait, wake};
use super::{Alone, pin};
use baton_machine::discover::allowed_cpus;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What became of threads that might have gone to another CPU.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Places {
    /// Woken by a thread on the CPU where it was last, while another CPU idled: those that went to the idle one.
    pub sought_idle: Share,
    /// Woken from another CPU, which has had little to do, while its own idled after much work: those that came to the waker's.
    pub pulled: Share,
}

/// A share of wake-ups, by batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Of all of them; none where batches differ by more than chance: then there is no such share.
    pub share: Option<f64>,
    /// The lowest of a batch.
    pub low: f64,
    /// The highest of a batch.
    pub high: f64,
    /// Wake-ups in all.
    pub samples: u32,
}

impl Share {
    /// Batches of so many hits of so many. Chance is three standard deviations of a batch, and a twentieth for what the rest of the
    /// machine does. `None` if there are none.
    fn of(batches: &[(u32, u32)]) -> Option<Share> {
        let (hits, samples) = batches.iter().fold((0, 0), |(hits, all), batch| (hits + batch.0, all + batch.1));
        let share = f64::from(hits) / f64::from(samples);
        let each = || batches.iter().map(|&(hits, all)| (f64::from(hits) / f64::from(all), f64::from(all)));
        let chance = |all: f64| 3.0 * (share * (1.0 - share) / all).sqrt() + 0.05;
        let steady = each().all(|(own, all)| (own - share).abs() <= chance(all));
        let (low, high) = each().fold((1.0, 0.0), |(low, high), (own, _)| (own.min(low), own.max(high)));
        (samples != 0).then_some(Share { share: steady.then_some(share), low, high, samples })
    }
}

/// How long the sleeper's CPU works before each wake-up: next to nothing else happens between two of them, so its load is high.
const WORK: Duration = Duration::from_millis(3);

/// Wakes a thread that may run on both CPUs, each time after it was on the one and on the other of them, in batches by turns. Other CPUs
/// are left out of it.
pub fn places(cpus: (u32, u32), budget: Duration) -> Option<Places> {
    const BATCH: Duration = Duration::from_millis(60);
    let rounds = (budget.as_millis() / (2 * BATCH).as_millis()).clamp(2, 10);
    let (mut sought, mut pulled) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let each = budget / (2 * rounds as u32);
        sought.push(ended_elsewhere(cpus, cpus.0, cpus.1, None, each)?);
        pulled.push(ended_elsewhere(cpus, cpus.1, cpus.0, Some(WORK), each)?);
    }
    Some(Places { sought_idle: Share::of(&sought)?, pulled: Share::of(&pulled)? })
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

/// A waker on `cpus.0`, and a sleeper whose last CPU was `last`: how often the sleeper ran on `counts` first, and of how many times.
/// With `work`, a third thread works at `last` for so long before each wake-up, while the waker sleeps.
fn ended_elsewhere(
    cpus: (u32, u32),
    last: u32,
    counts: u32,
    work: Option<Duration>,
    budget: Duration,
) -> Option<(u32, u32)> {
    // Fewer than this say nothing.
    const LEAST: u32 = 12;
    if !allowed_cpus().contains(&cpus.1) {
        return None;
    }
    let trial = Trial { cpus, last, counts, work, ..Trial::default() };
    let (there, all) = std::thread::scope(|s| {
        s.spawn(|| trial.sleeper());
        if work.is_some() {
            s.spawn(|| trial.worker());
        }
        s.spawn(|| trial.waker(budget)).join().expect("the waker does not panic")
    });
    (all >= LEAST).then_some((there, all))
}

/// What the third thread is to do.
const IDLE: u32 = 0;
const BUSY: u32 = 1;
const OVER: u32 = 2;

/// What the threads of a trial share.
#[derive(Default)]
struct Trial {
    cpus: (u32, u32),
    last: u32,
    counts: u32,
    work: Option<Duration>,
    /// Wake-ups so far: the word that the sleeper sleeps on.
    word: Alone<AtomicU32>,
    /// Sleeps so far: one more than wake-ups when the sleeper is asleep, or on its way.
    asleep: Alone<AtomicU32>,
    /// The CPU on which the sleeper came up; [`NOWHERE`] until it has.
    ran_on: Alone<AtomicU32>,
    /// The third thread's order.
    order: Alone<AtomicU32>,
    stop: AtomicBool,
}

/// No CPU.
const NOWHERE: u32 = u32::MAX;

impl Trial {
    fn worker(&self) {
        pin(self.last);
        let order = &self.order.0;
        loop {
            while order.load(Ordering::Acquire) == IDLE {
                wait(order, IDLE);
            }
            while order.load(Ordering::Acquire) == BUSY {
                std::hint::spin_loop();
            }
            if order.load(Ordering::Acquire) == OVER {
                return;
            }
        }
    }

    fn sleeper(&self) {
        for generation in 0.. {
            pin(self.last);
            if !allow(self.cpus) {
                self.stop.store(true, Ordering::Release);
            }
            self.asleep.0.store(generation + 1, Ordering::Release);
            while self.word.0.load(Ordering::Acquire) == generation {
                wait(&self.word.0, generation);
            }
            self.ran_on.0.store(here(), Ordering::Release);
            if self.stop.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// Wakes the sleeper until the budget is used up: how often it came up on `counts`, and of how many times.
    fn waker(&self, budget: Duration) -> (u32, u32) {
        pin(self.cpus.0);
        let (begin, mut there, mut all) = (Instant::now(), 0, 0);
        for generation in 0.. {
            while self.asleep.0.load(Ordering::Acquire) <= generation {
                std::thread::sleep(Duration::from_micros(50));
            }
            // The sleeper is on its way, or asleep; this thread has run for a while when it wakes it, so it owes the
            // sleeper nothing.
            if let Some(work) = self.work {
                self.order(BUSY);
                std::thread::sleep(work);
                self.order.0.store(IDLE, Ordering::Release);
            }
            std::thread::sleep(Duration::from_micros(300));
            spin(Duration::from_micros(100));
            let stops = begin.elapsed() > budget || self.stop.load(Ordering::Acquire);
            self.stop.store(stops, Ordering::Release);
            let ran_on = self.wake_sleeper(generation);
            if stops {
                self.order(OVER);
                break;
            }
            all += 1;
            there += u32::from(ran_on == self.counts);
        }
        (there, all)
    }

    fn order(&self, order: u32) {
        self.order.0.store(order, Ordering::Release);
        wake(&self.order.0, 1);
    }

    /// Wakes the sleeper of this generation: the CPU on which it came up.
    fn wake_sleeper(&self, generation: u32) -> u32 {
        self.ran_on.0.store(NOWHERE, Ordering::Release);
        self.word.0.store(generation + 1, Ordering::Release);
        wake(&self.word.0, 1);
        let ran_on = || self.ran_on.0.load(Ordering::Acquire);
        // Time enough to come up on another CPU, and not to be moved there by a tick.
        let from = Instant::now();
        while ran_on() == NOWHERE && from.elapsed() < Duration::from_micros(200) {
            std::hint::spin_loop();
        }
        while ran_on() == NOWHERE {
            std::thread::sleep(Duration::from_micros(50));
        }
        ran_on()
    }
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
            let fits = |s: Share| 0.0 <= s.low && s.low <= s.high && s.high <= 1.0 && s.samples > 0;
            assert!(fits(places.sought_idle) && fits(places.pulled), "{places:?}");
        }
    }

    #[test]
    fn a_share_that_moves_is_none() {
        let steady = Share::of(&[(24, 100), (28, 100), (22, 100), (26, 100)]).unwrap();
        assert_eq!((steady.share, steady.low, steady.high, steady.samples), (Some(0.25), 0.22, 0.28, 400));
        assert_eq!(Share::of(&[(0, 100), (60, 100), (0, 100), (40, 100)]).unwrap().share, None);
        assert_eq!(Share::of(&[(0, 100), (0, 90)]).unwrap().share, Some(0.0));
        assert_eq!(Share::of(&[]), None);
    }
}
