//! What siblings take from each other follows from the window entries, queues and slots of the chip
//! file, to the cycle, and comes back exactly when one of them stands still.

use crate::common;
use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_units::CpuId;
use std::cell::Cell;
use std::rc::Rc;

/// One core with two contexts. 100 entries keep 10 instructions ready, which is 2 a cycle when
/// results take 5 cycles; half of the entries keep √50 ready. Issue slots are never short.
const CORE: [&str; 14] = [
    "core.contexts=2",
    "core.rob=100",
    "core.load_queue=100",
    "core.store_queue=100",
    "core.width=8",
    "core.result_latency=5.0",
    "core.store_buffer=8",
    "wait.mwait.c1.enter=50",
    "wait.mwait.c1.exit=333",
    "wait.halt.enter=900",
    "wait.halt.send=1500",
    "wait.halt.exit=3100",
    "core.clock_hz=1000000000",
    "noise.start=0",
];
/// The speed with half of the window, in 2^20ths: √50 / √100.
const HALF: u64 = 741_455;
const ONE: u64 = 1 << 20;

fn chip(more: &[&str]) -> Chip {
    common::cores(1, &[&CORE[..], more].concat())
}

fn on(cpu: u32) -> Spawn {
    Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }
}

/// How long a worker's computation of `cycles` takes that begins long after its sibling has begun
/// to do `sibling`. When it ends, the worker stores 1 to the cell.
fn beside(chip: &Chip, cycles: u64, sibling: impl FnOnce(Shared<Alone<u32>>) + 'static) -> (u64, Outcome) {
    let mut simulation = simulation(chip);
    let cell = cell(&mut simulation, 0u32);
    let took = Rc::new(Cell::new(0));
    let (result, done) = (took.clone(), cell.clone());
    let worker = move || {
        act::delay(Cycles(100_000));
        let start = act::time();
        Simulated::work(Cycles(cycles));
        result.set((act::time() - start).0);
        done.0.store(1, Release);
        Simulated::wake(&raw const done.0, 1, Wait::Halt);
    };
    simulation.spawn(on(0), worker).unwrap();
    simulation.spawn(on(1), move || sibling(cell)).unwrap();
    let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    for thread in &outcome.threads {
        let stack = thread.cycle_stack(outcome.cycles);
        assert_eq!(stack.iter().map(|(_, cycles)| cycles.0).sum::<u64>(), outcome.cycles.0, "{stack:?}");
    }
    (took.get(), outcome)
}

fn waits(wait: Wait) -> impl FnOnce(Shared<Alone<u32>>) {
    move |cell| assert_eq!(Simulated::wait_while(&cell.0, 0, wait, None), WaitResult::Changed(1))
}

/// The cycles that a computation of `cycles` takes at a speed in 2^20ths.
fn at(speed: u64, cycles: u64) -> u64 {
    (cycles * ONE).div_ceil(speed)
}

#[test]
fn who_spins_keeps_half_of_the_window_and_who_stands_still_gives_it_back() {
    let chip = chip(&[]);
    let work = 1_000_000;
    assert_eq!(beside(&chip, work, |_| {}).0, work, "nobody beside it");
    for wait in [Wait::Pause, Wait::Spin] {
        let took = beside(&chip, work, waits(wait)).0;
        // The computation's rate is a whole number of hertz, so its length may differ by a cycle.
        assert!(took.abs_diff(at(HALF, work)) <= 1, "{wait}: {took}, not {}", at(HALF, work));
    }
    for wait in [Wait::Mwait(1), Wait::Halt] {
        assert_eq!(beside(&chip, work, waits(wait)).0, work, "{wait}");
    }
    // A sibling that computes takes half of the window; one that sleeps in the kernel takes
    // nothing.
    let computes = |_| Simulated::work(Cycles(10_000_000));
    assert!(beside(&chip, work, computes).0.abs_diff(at(HALF, work)) <= 1);
    assert_eq!(beside(&chip, work, |_| act::delay(Cycles(5_000_000))).0, work);
}

#[test]
fn the_slowdown_follows_from_the_entries() {
    let slowdown = |settings: &[&str]| beside(&chip(settings), 1_000_000, waits(Wait::Pause)).0 as f64 / 1e6;
    let root = 2f64.sqrt();
    assert!((slowdown(&[]) - root).abs() < 1e-3, "{}", slowdown(&[]));
    // The window is larger than the slots can use, and so is half of it: the worker loses only the
    // slots that the spinner uses.
    let ample = ["core.rob=1000", "core.load_queue=1000", "core.store_queue=1000", "core.width=3"];
    let slots = 1.0 / (1.0 - 4.0 / (chip(&[]).wait.pause.0 + chip(&[]).cache.hit.0) as f64 / 3.0);
    assert!((slowdown(&ample) - slots).abs() < 1e-3, "{} for {slots}", slowdown(&ample));
    // Between these cases: half of 280 entries can fill √140 / 5 = 2.37 of the 3 slots.
    let between = ["core.rob=280", "core.load_queue=280", "core.store_queue=280", "core.width=3"];
    assert!((slowdown(&between) - 3.0 / (140f64.sqrt() / 5.0)).abs() < 1e-3, "{}", slowdown(&between));
    // A load queue that is smaller than the reorder buffer bounds the window.
    let loads = ["core.rob=1000", "core.load_queue=25", "core.store_queue=1000"];
    assert!((slowdown(&loads) - root).abs() < 1e-3, "{}", slowdown(&loads));
    // Without a window, siblings share only the caches.
    assert_eq!(slowdown(&["core.rob=0"]), 1.0);
}

#[test]
fn slots_are_shared_cycle_by_cycle() {
    // With results after one cycle, the two slots are the bound.
    let short = chip(&["core.width=2", "core.result_latency=1.0"]);
    let took = |sibling: Wait| beside(&short, 1_000_000, waits(sibling)).0;
    assert_eq!(took(Wait::Spin), 2_000_000, "a spinner without PAUSE takes every other slot");
    // An iteration of the spinner's loop is four instructions (load, compare, branch, PAUSE), each
    // of which takes one of two slots a cycle.
    let turn = short.wait.pause.0 + short.cache.hit.0;
    let expected = 1e6 / (1.0 - 4.0 / turn as f64 / 2.0);
    assert!((took(Wait::Pause) as f64 - expected).abs() < 10.0, "{} for {expected}", took(Wait::Pause));
    assert_eq!(took(Wait::Mwait(1)), 1_000_000);
}

/// A sibling that spins in the middle of a computation slows it down for as long as the spin lasts.
#[test]
fn a_siblings_spin_slows_down_as_long_as_it_lasts() {
    let chip = chip(&[]);
    for lasts in [1_000, 123_457, 400_000] {
        let spins = move |cell: Shared<Alone<u32>>| {
            act::delay(Cycles(150_000));
            let deadline = Deadline { at: Nanos((act::time() + Cycles(lasts)).0), clock: Default::default() };
            assert_eq!(Simulated::wait_while(&cell.0, 0, Wait::Pause, Some(deadline)), WaitResult::Expired);
        };
        let (took, outcome) = beside(&chip, 1_000_000, spins);
        // The sibling's context is active for its switch, its looks and its spin: the worker loses
        // (1 - speed) of these cycles.
        let sibling = &outcome.threads[1];
        let awake = (sibling.ended - sibling.born).0 - sibling.time(Reason::Asleep).0;
        // The sibling woke up for its first start before the computation began.
        let active = awake - chip.os.idle.wake_polling.0;
        let (lost, expected) = (took - 1_000_000, active as f64 * (1.0 - HALF as f64 / ONE as f64));
        assert!(active > lasts && (lost as f64 - expected).abs() < 300.0, "{lost} of {expected}");
    }
}

#[test]
fn a_change_of_mode_costs_both_sides_its_price() {
    for mode in [0, 700] {
        let chip = chip(&[&format!("core.mode_change={mode}")]);
        let (hit, enter, exit) = (chip.cache.hit.0, 50, 333);
        let moments = Rc::new(Cell::new((0, 0, 0)));
        let (of_waiter, of_writer) = (moments.clone(), moments.clone());
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let waiter = cell.clone();
        simulation
            .spawn(on(1), move || {
                act::delay(Cycles(200_000));
                let _ = Simulated::wait_while(&waiter.0, 0, Wait::Mwait(1), None);
                let woken = act::time().0;
                of_waiter.set((woken, of_waiter.get().1, of_waiter.get().2));
            })
            .unwrap();
        simulation
            .spawn(on(0), move || {
                cell.0.load(Relaxed);
                // The computation ends while the waiter stands still; the waiter came and began its
                // wait during the computation.
                let start = act::time().0;
                Simulated::work(Cycles(1_000_000));
                let worked = act::time().0 - start;
                cell.0.store(1, Release);
                let stored = act::time().0;
                Simulated::work(Cycles(10));
                let slowed = act::time().0 - stored;
                of_writer.set((0, worked, stored));
                assert!(slowed >= mode + 10, "the notifier stands still, too: {slowed}");
                Simulated::work(Cycles(100_000));
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        let (woken, worked, stored) = moments.get();
        // From the moment in which the store is written: the change of mode, the exit, and a look
        // that hits. The buffer writes the store a hit after it has entered.
        assert_eq!(woken, stored + hit + mode + exit + hit, "mode change {mode}");
        // Two changes of mode fall into the work, and the worker has only half of the window from
        // the waiter's start until the waiter stands still.
        let waiter = &outcome.threads[0];
        let changes = outcome.threads[1].time(Reason::Mode).0;
        assert_eq!(changes, 4 * mode, "the waiter comes, stands still, wakes and ends: {:?}", outcome.threads[1]);
        assert_eq!(waiter.time(Reason::Mode).0, mode);
        assert!(worked > 1_000_000 + 2 * mode, "{worked}");
        assert!(worked < 1_000_000 + 2 * mode + (chip.os.idle.wake.0 + 1_000 + enter), "{worked}");
    }
}

/// Beside an active sibling a thread has half of the store buffer, so fewer stores fit before it
/// waits.
#[test]
fn the_store_buffer_is_divided() {
    let text = include_str!("../../../../chips/ocor64.toml");
    let settings = ["core.contexts=2", "core.store_buffer=8", "core.rob=0", "core.atomics=near"].map(str::to_owned);
    let mwait = ["wait.mwait.c1.enter=50", "wait.mwait.c1.exit=333"].map(str::to_owned);
    let chip = Chip::from_toml_at(text, "ocor64", Some(4), &[&settings[..], &mwait[..]].concat()).unwrap();
    let stalled = |sibling: Wait| {
        let mut simulation = simulation(&chip);
        let flag = cell(&mut simulation, 0u32);
        let cells: Vec<_> = (0..8).map(|_| cell(&mut simulation, 0u32)).collect();
        let waits = flag.clone();
        simulation
            .spawn(Spawn { cpus: vec![CpuId(4)], ..Spawn::default() }, move || {
                assert_eq!(Simulated::wait_while(&waits.0, 0, sibling, None), WaitResult::Changed(1));
            })
            .unwrap();
        let took = Rc::new(Cell::new(0));
        let result = took.clone();
        simulation
            .spawn(on(0), move || {
                act::delay(Cycles(50_000));
                let start = act::time();
                cells.iter().for_each(|cell| cell.0.store(1, Relaxed));
                result.set((act::time() - start).0);
                flag.0.store(1, Release);
            })
            .unwrap();
        simulation.run().unwrap();
        took.get()
    };
    assert!(stalled(Wait::Mwait(1)) < 30, "eight stores fit: {}", stalled(Wait::Mwait(1)));
    assert!(stalled(Wait::Pause) > 100, "the fifth waits for the first: {}", stalled(Wait::Pause));
}
