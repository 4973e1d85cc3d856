//! Policies that rest (in an idle wait or by spinning) for a time and then sleep: a short wait ends
//! within the rest; in a long one the thread sleeps, and its CPU runs another thread.

use crate::common::{self, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

/// Policies that rest for 10,000 nanoseconds, which are cycles here, with the reason to which the
/// rest is charged.
const RESTS: [(Wait, Reason); 5] = [
    (Wait::MwaitPark(10_000), Reason::Monitor),
    (Wait::UmwaitPark(10_000), Reason::Monitor),
    (Wait::MwaitxPark(10_000), Reason::Monitor),
    (Wait::WfePark(10_000), Reason::Monitor),
    (Wait::SpinFor(10_000), Reason::Spin),
];

fn chip(cores: u32) -> Chip {
    let mut settings =
        ["core.clock_hz=1000000000", "noise.start=0", "os.time_slice=400000"].map(str::to_owned).to_vec();
    for of in ["umwait", "mwaitx", "wfe", "mwait.c1"] {
        settings.extend([format!("wait.{of}.enter=50"), format!("wait.{of}.exit=100")]);
    }
    common::cores(cores, &settings.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs two threads on one CPU. The waiter begins at 0; the other thread comes at `comes`, works
/// for `work` cycles and ends the wait. Returns when the other thread first ran, the result of the
/// wait, and the outcome of the run.
fn beside(wait: Wait, comes: u64, work: u64, deadline: Option<Deadline>) -> (u64, WaitResult<u32>, Outcome) {
    let chip = chip(1);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let (waits, ran, ended) = (cell.clone(), Rc::new(Cell::new(0)), Rc::new(Cell::new(WaitResult::Expired)));
    let (runs, ends) = (ran.clone(), ended.clone());
    let on = |after| Spawn { affinity: vec![CoreId(0)], after: Cycles(after), ..Spawn::default() };
    simulation.spawn(on(0), move || ends.set(Simulated::wait_while(&waits.0, 0, wait, deadline))).unwrap();
    let body = move || {
        runs.set(act::time().0);
        Simulated::work(Cycles(work));
        cell.0.store(1, Release);
        Simulated::wake(&raw const cell.0, 1, wait);
    };
    simulation.spawn(on(comes), body).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{wait}: {stuck}"));
    (ran.get(), ended.get(), outcome)
}

#[test]
fn after_its_rest_a_waiter_gives_its_cpu_up() {
    for (wait, rest) in RESTS {
        let (ran, ended, outcome) = beside(wait, 1_000, 5_000, None);
        assert_eq!(ended, WaitResult::Changed(1), "{wait}");
        // The other thread runs after the waiter's rest, its system call and the switch, long
        // before the end of the slice.
        assert!((10_000..40_000).contains(&ran), "{wait}: the other thread ran at {ran}");
        assert!(
            (9_000..12_000).contains(&outcome.threads[0].time(rest).0),
            "{wait}: {:?}",
            outcome.threads[0].time(rest)
        );
        assert_eq!(outcome.threads[0].counts.sleeps, 1, "{wait}");
    }
    // A waiter whose policy only rests keeps the CPU until its time slice ends.
    let (ran, ..) = beside(Wait::Mwait(1), 1_000, 5_000, None);
    assert!(ran >= 400_000, "{ran}");
}

/// A waiter that yields hands the CPU to the thread that ends the wait, and never sleeps. Without a
/// thread to yield to, it sleeps after the given number of yields.
#[test]
fn an_offered_cpu_is_another_threads_at_once() {
    // The other thread comes before the yields are used up, or after the last one.
    for (comes, sleeps) in [(1_000, 0), (300_000, 1)] {
        let (ran, ended, outcome) = beside(Wait::YieldPark(20), comes, 5_000, None);
        assert_eq!(ended, WaitResult::Changed(1));
        assert!((comes..comes + 40_000).contains(&ran), "the other thread came at {comes} and ran at {ran}");
        assert_eq!(outcome.threads[0].counts.sleeps, sleeps, "it came at {comes}");
    }
}

#[test]
fn a_deadline_counts_whether_it_comes_in_the_rest_or_in_the_sleep() {
    for (wait, _) in RESTS {
        for (at, sleeps) in [(4_000, 0), (30_000, 1)] {
            let deadline = Deadline { at: Nanos(at), clock: Default::default() };
            let (_, ended, outcome) = beside(wait, 200_000, 0, Some(deadline));
            assert_eq!(ended, WaitResult::Expired, "{wait}");
            let thread = &outcome.threads[0];
            assert_eq!(thread.counts.sleeps, sleeps, "{wait}, deadline {at}");
        }
    }
}

/// The waiter and the waker have a CPU each: if the store comes within the rest, neither enters the
/// kernel, the waker because no sleeper is announced.
#[test]
fn a_short_wait_asks_nothing_of_the_kernel() {
    for (wait, _) in RESTS {
        let chip = chip(2);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let waits = cell.clone();
        let body = move || assert_eq!(Simulated::wait_while(&waits.0, 0, wait, None), WaitResult::Changed(1));
        simulation.spawn(Spawn { affinity: vec![CoreId(0)], ..Spawn::default() }, body).unwrap();
        let body = move || {
            Simulated::work(Cycles(6_000));
            cell.0.store(1, Release);
            Simulated::wake(&raw const cell.0, 1, wait);
        };
        simulation.spawn(Spawn { affinity: vec![CoreId(1)], ..Spawn::default() }, body).unwrap();
        let outcome = simulation.run().unwrap();
        for thread in &outcome.threads {
            assert_eq!((thread.time(Reason::Kernel), thread.counts.sleeps), (Cycles(0), 0), "{wait}");
        }
    }
}
