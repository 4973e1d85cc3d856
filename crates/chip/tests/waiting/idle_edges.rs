//! Edges of idle waits: monitors that are reset, deadlines that have passed, time slices that end
//! between two steps, wake-ups of other cells.

use crate::common::{self, Alone, Shared, cell, simulation};
use crate::idle_waits::{PRICES, fixed, on};
use baton_chip::{Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::Release, Wait, WaitResult, units::Cycles, units::Nanos};
use std::rc::Rc;

/// A wake-up wakes a thread that has halted for its cell, though another thread has halted before
/// for another cell.
#[test]
fn a_wake_up_leaves_those_halted_for_other_cells() {
    let chip = common::cores(3, &PRICES);
    let mut simulation = simulation(&chip);
    let cells = [cell(&mut simulation, 0u32), cell(&mut simulation, 0u32)];
    let woken = Rc::new(std::cell::RefCell::new(Vec::new()));
    for (id, cell) in cells.iter().enumerate() {
        let (cell, woken) = (cell.clone(), woken.clone());
        let body = move || {
            let _ = Simulated::wait_while(&cell.0, 0, Wait::Halt, None);
            woken.borrow_mut().push(id);
        };
        simulation.spawn(Spawn { after: Cycles(id as u64 * 10_000), ..on(id as u32) }, body).unwrap();
    }
    let seen = woken.clone();
    let body = move || {
        for id in [1, 0] {
            cells[id].0.store(1, Release);
            Simulated::wake(&raw const cells[id].0, 1, Wait::Halt);
            Simulated::work(Cycles(50_000));
            assert_eq!(seen.borrow().last(), Some(&id));
        }
    };
    simulation.spawn(Spawn { after: Cycles(100_000), ..on(2) }, body).unwrap();
    assert!(simulation.run().unwrap().finished);
    assert_eq!(*woken.borrow(), [1, 0]);
}

/// The time that a thread with `body` on CPU 0 spends for this reason. A thread on CPU 1 stores to
/// the first cell `stores` times, then stores to the second one and wakes its waiter.
fn spends(reason: Reason, stores: u32, body: impl FnOnce(&[Shared<Alone<u32>>; 2]) + 'static) -> Cycles {
    let mut simulation = simulation(&fixed(&[]));
    let cells = [cell(&mut simulation, 0u32), cell(&mut simulation, 0u32)];
    let of = cells.clone();
    simulation.spawn(on(0), move || body(&of)).unwrap();
    let other = move || {
        for value in 1..=stores {
            cells[0].0.store(value, Release);
            Simulated::work(Cycles(20_000));
        }
        cells[1].0.store(1, Release);
        Simulated::wake(&raw const cells[1].0, 1, Wait::Halt);
    };
    simulation.spawn(Spawn { after: Cycles(100_000), ..on(1) }, other).unwrap();
    simulation.run().unwrap().threads[0].time(reason)
}

fn expires_at_once(cell: &Alone<u32>, wait: Wait) {
    let past = Deadline { at: Nanos(1), clock: Default::default() };
    Simulated::work(Cycles(10));
    assert_eq!(Simulated::wait_while(&cell.0, 0, wait, Some(past)), WaitResult::Expired);
}

/// When a wait is over, its monitor is reset: a store to the monitor's line ends no later wait of
/// the thread.
#[test]
fn a_monitor_is_reset_when_its_wait_is_over() {
    let [without, with] = [0, 1].map(|stores| {
        spends(Reason::Kernel, stores, |cells| {
            expires_at_once(&cells[0], Wait::Mwait(1));
            assert_eq!(Simulated::wait_while(&cells[1].0, 0, Wait::Halt, None), WaitResult::Changed(1));
        })
    });
    assert_eq!(with, without);
}

#[test]
fn a_deadline_that_has_passed_costs_no_halt() {
    assert_eq!(spends(Reason::Monitor, 0, |cells| expires_at_once(&cells[0], Wait::Halt)), Cycles(0));
}

/// The cycles that a switch of threads takes.
const SWITCH: u64 = 500;

/// On one CPU, a thread computes until the moment `until` and then waits; another thread comes at
/// 9,000. Returns when the other thread began to run.
fn beside_a_waiter(until: u64) -> u64 {
    let switch = format!("os.context_switch={SWITCH}");
    let prices = [&PRICES[..], &["os.time_slice=20000", &switch]].concat();
    let mut simulation = simulation(&common::cores(1, &prices));
    let cell = cell(&mut simulation, 0u32);
    let (waits, began) = (cell.clone(), Rc::new(std::cell::Cell::new(0)));
    let body = move || {
        Simulated::work(Cycles(until - act::time().0));
        assert_eq!(Simulated::wait_while(&waits.0, 0, Wait::Mwait(1), None), WaitResult::Changed(1));
    };
    simulation.spawn(on(0), body).unwrap();
    let begins = began.clone();
    let body = move || {
        begins.set(act::time().0);
        Simulated::work(Cycles(5_000));
        cell.0.store(1, Release);
    };
    simulation.spawn(Spawn { after: Cycles(9_000), ..on(0) }, body).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{until}: {stuck}"));
    assert!(outcome.finished);
    began.get()
}

/// A time slice that ends between MONITOR and MWAIT is not lost, at whatever cycle it ends: the
/// CPU's other thread runs at once.
#[test]
fn a_time_slice_that_ends_before_mwait_is_not_lost() {
    let usual = beside_a_waiter(1_000_000);
    let end = usual - SWITCH;
    for until in end - 500..end {
        let began = beside_a_waiter(until);
        // Before the switch, the waiter's first read may miss all caches, and its CPU may enter an
        // idle wait and leave it.
        assert!(began <= usual + SWITCH, "waits from {until} on: {began}, and {usual} if the first thread computes");
    }
}
