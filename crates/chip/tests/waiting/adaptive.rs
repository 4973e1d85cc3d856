//! The wait policy `adaptive`: a waiter that has its CPU alone keeps the CPU and looks, a waiter
//! whose CPU another thread wants gives it up, and the policy learns from earlier waits.

use crate::common::{self, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_units::CoreId;
use std::cell::RefCell;
use std::rc::Rc;

/// The policy takes a sleep to cost 10,000 nanoseconds, which are cycles here.
const ADAPTIVE: Wait = Wait::Adaptive(10_000);

/// A chip of `cores` cores; user code has MWAIT there if `mwait`.
fn chip(cores: u32, mwait: bool) -> Chip {
    let mut settings = vec!["core.clock_hz=1000000000", "noise.start=0", "os.time_slice=400000"];
    if mwait {
        settings.extend(["wait.mwait.c1.enter=50", "wait.mwait.c1.exit=100"]);
    }
    common::cores(cores, &settings)
}

/// A thread on core 0 waits for each of these times in turn, until a thread on core 1 stores. With
/// `rival`, a third thread computes on core 0 meanwhile.
fn waits_for(chip: &Chip, times: &[u64], rival: bool) -> Outcome {
    let mut simulation = simulation(chip);
    let cell = cell(&mut simulation, 0u32);
    let (waits, times) = (cell.clone(), times.to_vec());
    let on = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
    let last = times.len() as u32;
    let waiter = move || {
        let mut seen = 0;
        while seen != last {
            let WaitResult::Changed(now) = Simulated::wait_while(&waits.0, seen, ADAPTIVE, None) else {
                panic!("it expired")
            };
            seen = now;
        }
    };
    simulation.spawn(on(0), waiter).unwrap();
    let stores = move || {
        for time in times {
            Simulated::work(Cycles(time));
            cell.0.fetch_add(1, Release);
            Simulated::wake(&raw const cell.0, 1, ADAPTIVE);
        }
    };
    simulation.spawn(on(1), stores).unwrap();
    if rival {
        simulation.spawn(on(0), || Simulated::work(Cycles(2_000_000))).unwrap();
    }
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"))
}

#[test]
fn a_thread_whose_cpu_no_other_one_wants_does_not_sleep() {
    let outcome = waits_for(&chip(2, false), &[100_000; 5], false);
    assert_eq!(outcome.threads[0].counts.sleeps, 0);
    // The first waits try until a monitor is worth it, and then stand still; later waits stand
    // still at once.
    let outcome = waits_for(&chip(2, true), &[100_000; 5], false);
    assert_eq!(outcome.threads[0].counts.sleeps, 0);
    let (tried, stood) = (outcome.threads[0].time(Reason::Spin), outcome.threads[0].time(Reason::Monitor));
    assert!(tried.0 < 10_000 && stood.0 > 450_000, "{tried:?} {stood:?}");
}

#[test]
fn waits_that_are_long_beyond_doubt_are_learnt_and_slept_through() {
    let outcome = waits_for(&chip(2, false), &[4_000_000; 8], false);
    assert_eq!(outcome.threads[0].counts.sleeps, 8);
    // The first wait tries for as long as 20 sleeps cost before its thread sleeps, the second one
    // for a shorter time.
    let tried = outcome.threads[0].time(Reason::Spin).0;
    assert!((190_000..420_000).contains(&tried), "{tried}");
}

#[test]
fn a_cpu_that_is_wanted_is_given_up() {
    let times = [50_000; 20];
    let alone = waits_for(&chip(2, false), &times, false);
    let outcome = waits_for(&chip(2, false), &times, true);
    // The waiter sleeps soon, and learns to sleep at once. (When it is woken, the rival has the CPU
    // for the rest of its slice.)
    let thread = &outcome.threads[0];
    assert!(thread.counts.sleeps >= 3, "{}", thread.counts.sleeps);
    assert!(thread.time(Reason::Spin).0 < 20_000, "{:?}", thread.time(Reason::Spin));
    assert!(alone.threads[0].time(Reason::Spin).0 > 900_000);
    // The rival had the CPU meanwhile: it computes for two million cycles, and ends soon after.
    assert!(outcome.cycles.0 < 2_500_000, "{:?}", outcome.cycles);
}

#[test]
fn a_deadline_counts_in_every_stage() {
    for (at, rival) in [(4_000, false), (300_000, false), (600_000, false), (30_000, true)] {
        let chip = chip(2, true);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let on = |core| Spawn { affinity: vec![CoreId(core)], ..Spawn::default() };
        let ends = Rc::new(RefCell::new(None));
        let ended = ends.clone();
        let body = move || {
            let deadline = Some(Deadline { at: Nanos(at), clock: Default::default() });
            let result = Simulated::wait_while(&cell.0, 0, ADAPTIVE, deadline);
            *ended.borrow_mut() = Some((result, act::time().0));
        };
        simulation.spawn(on(0), body).unwrap();
        if rival {
            simulation.spawn(on(0), || Simulated::work(Cycles(50_000))).unwrap();
        }
        simulation.run().unwrap();
        let (result, then) = ends.borrow_mut().take().unwrap();
        assert_eq!(result, WaitResult::Expired, "deadline {at}");
        assert!(then >= at && then < at + 60_000, "deadline {at}: {then}");
    }
}
