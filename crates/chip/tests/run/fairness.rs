//! How a lock treats threads that lock again and again: how evenly it serves them, and how long one
//! waits.

use crate::common;
use baton_check::world::share;
use baton_chip::{Options, Simulated, Simulation, Spawn};
use baton_machine::units::{CpuId, Cycles, Nanos};
use baton_machine::{Clock, Machine, Wait};
use baton_sync::lock::{RawLock, fair::Fair, plain::Plain};
use std::sync::{Arc, Mutex};

const THREADS: u32 = 4;
/// Length of the run in nanoseconds.
const RUN: u64 = 2_000_000;
/// About 200 nanoseconds.
const SECTION: Cycles = Cycles(600);
/// Time in microseconds after which the fair lock of this test hands itself over.
const PATIENCE: u32 = 20;

/// The critical sections of each thread, and its longest wait in nanoseconds.
fn run<L: RawLock<Simulated>>(wait: Wait) -> Vec<(u64, u64)> {
    let chip = common::cores(THREADS, &[]);
    let options = Options { limit: Some(Cycles(100_000_000)), threads: THREADS as usize, ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).unwrap();
    let lock = simulation.outside(|| share::<Simulated, _>(L::new()));
    let served = Arc::new(Mutex::new(Vec::new()));
    for thread in 0..THREADS {
        let (lock, served) = (lock.clone(), served.clone());
        let guest = move || {
            let (mut count, mut longest) = (0, 0);
            let mut before = Simulated::now(Clock::Monotonic);
            while before < Nanos(RUN) {
                let token = lock.lock(wait);
                longest = longest.max((Simulated::now(Clock::Monotonic) - before).0);
                Simulated::work(SECTION);
                // SAFETY: the lock was taken above, with the same policy.
                unsafe { lock.unlock(token, wait) };
                count += 1;
                before = Simulated::now(Clock::Monotonic);
            }
            served.lock().unwrap().push((count, longest));
        };
        simulation.spawn(Spawn { cpus: vec![CpuId(thread)], ..Spawn::default() }, guest).unwrap();
    }
    assert!(simulation.run().unwrap().finished);
    simulation.outside(|| drop(lock));
    let served = served.lock().unwrap().clone();
    assert_eq!(served.len(), THREADS as usize);
    served
}

/// Jain's index of the threads' critical sections: 1 if all have as many, 1/n if one has all.
fn jain(served: &[(u64, u64)]) -> f64 {
    let counts = || served.iter().map(|(count, _)| *count as f64);
    counts().sum::<f64>().powi(2) / (counts().map(|count| count * count).sum::<f64>() * served.len() as f64)
}

fn longest(served: &[(u64, u64)]) -> u64 {
    served.iter().map(|(_, longest)| *longest).max().unwrap()
}

/// Four threads have a CPU each and lock again at once. Under `plain` two of them take the lock from
/// each other, and two get it once in two milliseconds.
#[test]
fn a_fair_lock_serves_evenly_and_within_its_time() {
    let starved = run::<Plain<Simulated>>(Wait::Pause);
    assert!(jain(&starved) < 0.6 && longest(&starved) > RUN / 2, "no thread starves: {starved:?}");
    // Each of the waiters in front has a turn: the patience, two critical sections, and a
    // microsecond for the hand-over.
    let bound = u64::from(THREADS - 1) * (u64::from(PATIENCE) * 1_000 + 2 * 200 + 1_000);
    for wait in [Wait::Pause, Wait::Futex] {
        let served = run::<Fair<Simulated, PATIENCE>>(wait);
        assert!(jain(&served) > 0.99, "{wait}: {served:?}");
        assert!(longest(&served) < bound, "{wait}: a wait is longer than {bound} ns: {served:?}");
    }
}
