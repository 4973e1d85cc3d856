//! On which CPU the kernel runs a thread that it wakes: the thread's last CPU, the waker's, or an
//! idle one.

use super::futex::{wait, wake};
use super::{Alone, pin};
use baton_machine::discover::allowed_cpus;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How often woken threads changed their CPU, in two situations.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Places {
    /// The situation: the waker runs on the sleeper's last CPU, and another CPU idles. The share of
    /// sleepers that ran on the idle CPU.
    pub sought_idle: Share,
    /// The situation: the waker runs on another CPU, which has been little used, and the sleeper's
    /// own CPU idles after much work. The share of sleepers that ran on the waker's CPU.
    pub pulled: Share,
}

/// A share of wake-ups, measured in batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share over all batches. `None` if batches differ by more than chance, because then no
    /// single share exists.
    pub share: Option<f64>,
    /// The lowest share of a batch.
    pub low: f64,
    /// The highest share of a batch.
    pub high: f64,
    /// The number of wake-ups in all batches.
    pub samples: u32,
}

impl Share {
    /// The share from batches of (hits, tries). Batches may differ by chance: three standard
    /// deviations of a batch, plus a twentieth for the rest of the machine. Returns `None` for no
    /// batches.
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

/// How long the sleeper's CPU works before each wake-up. It idles little between two wake-ups, so
/// its load is high.
const WORK: Duration = Duration::from_millis(3);

/// Wakes a thread that may run on both CPUs, in batches that alternate between the two CPUs as the
/// thread's last one. No other CPU takes part.
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

/// Allows the calling thread both CPUs. Returns whether the kernel did so.
fn allow(cpus: (u32, u32)) -> bool {
    // SAFETY: `set` is a local variable, and all-zero bytes are an empty set; the numbers are those
    // of existing CPUs.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpus.0 as usize, &mut set);
        libc::CPU_SET(cpus.1 as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

fn here() -> u32 {
    // SAFETY: `sched_getcpu` takes no argument and touches no memory.
    unsafe { libc::sched_getcpu() as u32 }
}

/// Runs a waker on `cpus.0` and a sleeper whose last CPU was `last`. Returns how often the sleeper
/// ran first on the CPU `counts`, and the number of wake-ups. With `work`, a third thread works on
/// `last` for that long before each wake-up, while the waker sleeps.
fn ended_elsewhere(
    cpus: (u32, u32),
    last: u32,
    counts: u32,
    work: Option<Duration>,
    budget: Duration,
) -> Option<(u32, u32)> {
    // With fewer wake-ups than this, the share says nothing.
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

/// The orders for the third thread.
const IDLE: u32 = 0;
const BUSY: u32 = 1;
const OVER: u32 = 2;

/// The state that the threads of a trial share.
#[derive(Default)]
struct Trial {
    cpus: (u32, u32),
    last: u32,
    counts: u32,
    work: Option<Duration>,
    /// The number of wake-ups so far. The sleeper sleeps on this word.
    word: Alone<AtomicU32>,
    /// The number of sleeps so far. It exceeds the number of wake-ups by one while the sleeper is
    /// asleep or about to be.
    asleep: Alone<AtomicU32>,
    /// The CPU on which the sleeper woke up; [`NOWHERE`] until it has.
    ran_on: Alone<AtomicU32>,
    /// The order for the third thread.
    order: Alone<AtomicU32>,
    stop: AtomicBool,
}

/// The value that stands for no CPU.
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

    /// Wakes the sleeper until the budget is used up. Returns how often the sleeper ran first on
    /// the CPU `counts`, and the number of wake-ups.
    fn waker(&self, budget: Duration) -> (u32, u32) {
        pin(self.cpus.0);
        let (begin, mut there, mut all) = (Instant::now(), 0, 0);
        for generation in 0.. {
            while self.asleep.0.load(Ordering::Acquire) <= generation {
                std::thread::sleep(Duration::from_micros(50));
            }
            // The sleeper is asleep or about to be. This thread has run for a while when it wakes
            // the sleeper, so the scheduler owes the sleeper no time.
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

    /// Wakes the sleeper of this generation. Returns the CPU on which the sleeper woke up.
    fn wake_sleeper(&self, generation: u32) -> u32 {
        self.ran_on.0.store(NOWHERE, Ordering::Release);
        self.word.0.store(generation + 1, Ordering::Release);
        wake(&self.word.0, 1);
        let ran_on = || self.ran_on.0.load(Ordering::Acquire);
        // The sleeper has time to run on another CPU, but a tick must not move it there.
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
