//! What siblings take from each other: it follows from the window entries, queues and slots of the chip file, to the
//! cycle, and comes back exactly when one of them stands still.

use crate::common;
use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles, units::Nanos};
use baton_units::CpuId;
use std::cell::Cell;
use std::rc::Rc;

/// One core with two contexts: 100 entries keep 10 instructions ready, which is 2 a cycle when results take 5; half of
/// them keep √50 ready. The slots are never short.
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
/// Speed in half of the window, in 2^20ths: √50 / √100.
const HALF: u64 = 741_455;
const ONE: u64 = 1 << 20;

fn chip(more: &[&str]) -> Chip {
    common::cores(1, &[&CORE[..], more].concat())
}

fn on(cpu: u32) -> Spawn {
    Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }
}

/// What the worker's computation of `cycles` takes, begun when the sibling has long begun to do what `sibling` says
/// until the cell is 1.
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

/// Cycles of a computation of `cycles` at a speed in 2^20ths.
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
        // The rate is whole hertz: a millionth of a cycle.
        assert!(took.abs_diff(at(HALF, work)) <= 1, "{wait}: {took}, not {}", at(HALF, work));
    }
    for wait in [Wait::Mwait(1), Wait::Halt] {
        assert_eq!(beside(&chip, work, waits(wait)).0, work, "{wait}");
    }
    // One that computes, and one that sleeps in the kernel.
    let computes = |_| Simulated::work(Cycles(10_000_000));
    assert!(beside(&chip, work, computes).0.abs_diff(at(HALF, work)) <= 1);
    assert_eq!(beside(&chip, work, |_| act::delay(Cycles(5_000_000))).0, work);
}

#[test]
fn the_slowdown_follows_from_the_entries() {
    let slowdown = |settings: &[&str]| beside(&chip(settings), 1_000_000, waits(Wait::Pause)).0 as f64 / 1e6;
    let root = 2f64.sqrt();
    assert!((slowdown(&[]) - root).abs() < 1e-3, "{}", slowdown(&[]));
    // A window that is larger than the slots can use: half of it still is, and what is lost are the spinner's slots.
    let ample = ["core.rob=1000", "core.load_queue=1000", "core.store_queue=1000", "core.width=3"];
    let slots = 1.0 / (1.0 - 4.0 / (chip(&[]).wait.pause.0 + chip(&[]).cache.hit.0) as f64 / 3.0);
    assert!((slowdown(&ample) - slots).abs() < 1e-3, "{} for {slots}", slowdown(&ample));
    // Between them: 3 slots, of which half of 280 entries can fill √140 / 5 = 2.37.
    let between = ["core.rob=280", "core.load_queue=280", "core.store_queue=280", "core.width=3"];
    assert!((slowdown(&between) - 3.0 / (140f64.sqrt() / 5.0)).abs() < 1e-3, "{}", slowdown(&between));
    // The queues are the window if they are smaller.
    let loads = ["core.rob=1000", "core.load_queue=25", "core.store_queue=1000"];
    assert!((slowdown(&loads) - root).abs() < 1e-3, "{}", slowdown(&loads));
    // Without a window only the caches are shared.
    assert_eq!(slowdown(&["core.rob=0"]), 1.0);
}

#[test]
fn slots_are_shared_cycle_by_cycle() {
    // Results at once: two slots bind.
    let short = chip(&["core.width=2", "core.result_latency=1.0"]);
    let took = |sibling: Wait| beside(&short, 1_000_000, waits(sibling)).0;
    assert_eq!(took(Wait::Spin), 2_000_000, "a spinner without PAUSE takes every other slot");
    // Load, compare, branch, PAUSE: four of the two slots of each turn.
    let turn = short.wait.pause.0 + short.cache.hit.0;
    let expected = 1e6 / (1.0 - 4.0 / turn as f64 / 2.0);
    assert!((took(Wait::Pause) as f64 - expected).abs() < 10.0, "{} for {expected}", took(Wait::Pause));
    assert_eq!(took(Wait::Mwait(1)), 1_000_000);
}

/// A computation is re-rated in the middle, to the cycle.
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
        // The sibling's context is active for its switch, its looks and its spin; of those cycles (1 - speed) are lost.
        let sibling = &outcome.threads[1];
        let awake = (sibling.ended - sibling.born).0 - sibling.time(Reason::Asleep).0;
        // Its first start came before the computation.
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
                // Ends while the waiter sleeps; meanwhile it has come and gone.
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
        // From the store's writing: the change, the exit, a look that hits. The buffer writes it a hit after it entered.
        assert_eq!(woken, stored + hit + mode + exit + hit, "mode change {mode}");
        // Two changes in the middle of the work, and half of the window from the waiter's start to its standing still.
        let waiter = &outcome.threads[0];
        let changes = outcome.threads[1].time(Reason::Mode).0;
        assert_eq!(changes, 4 * mode, "the waiter comes, stands still, wakes and ends: {:?}", outcome.threads[1]);
        assert_eq!(waiter.time(Reason::Mode).0, mode);
        assert!(worked > 1_000_000 + 2 * mode, "{worked}");
        assert!(worked < 1_000_000 + 2 * mode + (chip.os.idle.wake.0 + 1_000 + enter), "{worked}");
    }
}

/// Stores in half of the buffer wait sooner than in the whole.
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
