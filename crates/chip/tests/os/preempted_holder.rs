//! What happens when the holder of a lock loses its CPU: measured for every lock, with waiters that
//! spin with PAUSE and waiters that sleep.
//!
//! `cargo test -p baton-chip --test os preempted_holder:: -- --nocapture` prints the table.
//!
//! CPU 0 has the holder and a thread that computes; the section is four slices long, so the holder
//! loses the CPU within it again and again. CPU 1 has a waiter and a bystander that computes, CPU 2
//! another waiter.

use crate::common;
use baton_chip::{Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Machine, Owned, Wait, units::Cycles};
use baton_sync::lock::{LOCKS, LockVisitor, RawLock, ZeroInit, info, visit};
use baton_units::CoreId;
use std::cell::RefCell;
use std::rc::Rc;

const SLICE: u64 = 50_000;
const SECTION: u64 = 4 * SLICE;
const SHORT: u64 = 2_000;
const BYSTANDER: u64 = 300_000;

struct Run(Wait);

/// The core of each thread that got the lock and the time, in order; and the outcome.
type Measured = (Vec<(u32, u64)>, Outcome);

impl LockVisitor<Simulated> for Run {
    type Out = Measured;

    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Measured {
        let slice = format!("os.time_slice={SLICE}");
        let chip = common::cores(3, &[&slice, "os.scheduler=sticky"]);
        let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        let got = Rc::new(RefCell::new((Vec::new(), 0)));
        let wait = self.0;
        let on = |core, after| Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() };
        for (core, after, section) in [(0, 0, SECTION), (1, 10_000, SHORT), (2, 20_000, SHORT)] {
            let (lock, got) = (lock.clone(), got.clone());
            let body = move || {
                let token = lock.lock(wait);
                {
                    let mut got = got.borrow_mut();
                    got.0.push((core, act::time().0));
                    got.1 += 1;
                    assert_eq!(got.1, 1, "two hold the lock");
                }
                Simulated::work(Cycles(section));
                got.borrow_mut().1 -= 1;
                // SAFETY: locked above, with the same policy.
                unsafe { lock.unlock(token, wait) };
            };
            simulation.spawn(on(core, after), body).unwrap();
        }
        simulation.spawn(on(0, 15_000), || Simulated::work(Cycles(SECTION))).unwrap();
        simulation.spawn(on(1, 15_000), || Simulated::work(Cycles(BYSTANDER))).unwrap();
        let outcome = simulation.run().expect("everybody gets the lock");
        simulation.outside(|| drop(lock));
        let order = got.borrow().0.clone();
        (order, outcome)
    }
}

#[test]
fn a_preempted_holder_delays_all_and_sleepers_leave_their_cpus_to_others() {
    println!("{:<14} {:<10} {:>10} {:>10} {:>12} {:>10}", "lock", "wait", "section", "waiters", "spun", "bystander");
    for info in LOCKS {
        let mut ends = Vec::new();
        let mut waits: Vec<Wait> =
            [Wait::Pause, Wait::Futex].into_iter().filter(|&wait| info.wait(Some(wait)).is_ok()).collect();
        if waits.is_empty() {
            // This lock waits by a policy of its own.
            waits.push(info.wait(None).unwrap());
        }
        for wait in waits {
            let (order, outcome) = visit(info.name, Run(wait)).unwrap();
            assert_eq!(order.len(), 3, "{}", info.name);
            assert_eq!(order[0].0, 0, "{}: the holder comes first", info.name);
            let threads = &outcome.threads;
            let last = order[2].1;
            let spun: u64 = threads[1..3].iter().map(|thread| thread.time(Reason::Spin).0).sum();
            let [holder, bystander] = [threads[0].ended.0 - order[0].1, threads[4].ended.0];
            println!("{:<14} {:<10} {holder:>10} {last:>10} {spun:>12} {bystander:>10}", info.name, wait.to_string());
            // The holder lost its CPU within its section, and every waiter waited for that.
            assert!(threads[0].counts.preemptions >= 3 && holder > SECTION + 3 * SLICE, "{}: {holder}", info.name);
            assert!(last >= order[0].1 + SECTION + 3 * SLICE, "{}: a waiter got in at {last}", info.name);
            ends.push((wait, spun, bystander));
        }
        if let [(_, spun, beside_spinner), (_, quiet, beside_sleeper)] = ends[..] {
            // A waiter that spins takes half of its CPU from the bystander; one that sleeps takes
            // next to nothing.
            assert!(quiet < spun / 4, "{}: {quiet} and {spun}", info.name);
            assert!(beside_sleeper + SLICE < beside_spinner, "{}: {beside_sleeper}, {beside_spinner}", info.name);
        }
    }
}

/// Three threads a CPU take the lock again and again, for short sections.
struct Crowded(Wait);

impl LockVisitor<Simulated> for Crowded {
    type Out = u64;

    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> u64 {
        let mut simulation =
            Simulation::new(&common::cores(2, &["os.time_slice=200000"]), &Options::default()).unwrap();
        let lock = simulation.outside(|| Rc::new(Owned::<Simulated, L>::new(L::new())));
        let wait = self.0;
        for _ in 0..6 {
            let lock = lock.clone();
            let body = move || {
                for _ in 0..8_000 {
                    let token = lock.lock(wait);
                    Simulated::work(Cycles(300));
                    // SAFETY: locked above, with the same policy.
                    unsafe { lock.unlock(token, wait) };
                    Simulated::work(Cycles(2_000));
                }
            };
            simulation.spawn(Spawn::default(), body).unwrap();
        }
        let outcome = simulation.run().expect("all threads end");
        simulation.outside(|| drop(lock));
        outcome.cycles.0
    }
}

#[test]
fn a_lock_for_general_use_does_not_collapse_with_more_threads_than_cpus() {
    let takes = |name: &str| visit(name, Crowded(info(name).unwrap().wait_of_a_mutex(None).unwrap())).unwrap();
    let mutex = takes("futex");
    for general in LOCKS.iter().filter(|lock| lock.general) {
        let time = takes(general.name);
        println!("{:<16} {:.2} times the time of `futex`", general.name, time as f64 / mutex as f64);
        assert!(time < 2 * mutex, "{}: {time} cycles, `futex` {mutex}", general.name);
    }
    // The bar can be missed: `mcs`, which hands the lock over to the next waiter, misses it.
    let mcs = takes("mcs");
    println!("{:<16} {:.2}", "mcs", mcs as f64 / mutex as f64);
    assert!(mcs > 2 * mutex, "{mcs} cycles, `futex` {mutex}");
}
