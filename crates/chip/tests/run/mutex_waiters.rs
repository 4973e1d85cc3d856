//! The waiters of `gomp-mutex` make libgomp's accesses: they only read while the lock is held, one
//! read a turn, and take the line from each other no more often the longer they wait. The waiters of
//! `plain` read too, and the holder does not see these waiters until they are about to sleep.

use crate::common;
use baton_chip::{Options, Simulated, Simulation, Spawn};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Owned, Wait};
use baton_sync::lock::{RawLock, gomp_mutex::Gomp, plain::Plain, spin_park::SpinPark};
use std::rc::Rc;

/// Two waiters make `n` tries each while a third thread holds the lock for a million cycles, and then
/// sleep. Returns a waiter's operations, the lines that cores took from each other, and the waiters'
/// sleeps.
fn contended<L: RawLock<Simulated, Token = ()>>(n: u32) -> [u64; 3] {
    let [_, rest @ ..] = held::<L>(n, 1_000_000);
    rest
}

/// The same, with the lock held for `cycles`. The first figure is the holder's operations.
fn held<L: RawLock<Simulated, Token = ()>>(n: u32, cycles: u64) -> [u64; 4] {
    let mut simulation = Simulation::new(&common::cores(3, &[]), &Options::default()).unwrap();
    let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
    let wait = Wait::SpinPark(n);
    for thread in 0..3u64 {
        let lock = lock.clone();
        let body = move || {
            lock.lock(wait);
            Simulated::work(Cycles(if thread == 0 { cycles } else { 100 }));
            // SAFETY: this thread locked it above.
            unsafe { lock.unlock((), wait) };
        };
        simulation.spawn(Spawn { after: Cycles(1000 * thread), ..Spawn::default() }, body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert!(outcome.finished);
    let sleeps = outcome.threads[1..].iter().map(|thread| thread.counts.sleeps).sum();
    let [holder, waiter] = [0, 1].map(|thread| outcome.threads[thread].counts.operations);
    [holder, waiter, outcome.memory.transfers, sleeps]
}

/// Asserts that waiters make one operation a turn, and take no line from each other by it.
fn only_read<L: RawLock<Simulated, Token = ()>>() {
    let [few, transfers, sleeps] = contended::<L>(10);
    let [many, still, as_many] = contended::<L>(1010);
    assert_eq!((many - few, sleeps, as_many), (1000, 2, 2));
    // Only the order in which the waiters fall asleep differs.
    assert!(still.abs_diff(transfers) <= 4, "{still} and {transfers}");
}

#[test]
fn waiters_of_libgomps_mutex_read_and_do_not_try() {
    only_read::<Gomp<Simulated>>();
    // The mutex of OCOR's paper tries at each turn, and each try takes the line.
    let [_, transfers, _] = contended::<SpinPark<Simulated>>(10);
    let [_, more, _] = contended::<SpinPark<Simulated>>(1010);
    assert!(more > transfers + 100, "{more} and {transfers}");
}

#[test]
fn a_holder_of_plain_wakes_nobody_while_waiters_only_try() {
    only_read::<Plain<Simulated>>();
    // An exchange to lock and a subtraction to unlock, as if there were no waiters.
    let [holder, .., sleeps] = held::<Plain<Simulated>>(100_000, 20_000);
    assert_eq!((holder, sleeps), (2, 0));
    let [holder, .., sleeps] = held::<Plain<Simulated>>(10, 1_000_000);
    assert!(holder > 2 && sleeps == 2, "{holder} operations, {sleeps} sleeps");
}
