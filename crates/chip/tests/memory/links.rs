//! Load-linked and store-conditional between siblings, and between threads that take turns on a
//! CPU: no update is lost.

use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Options, Outcome, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, units::Cycles};
use baton_units::CpuId;
use std::cell::Cell;
use std::rc::Rc;

/// Four cores whose atomics are pairs of load-linked and store-conditional.
fn chip(more: &[&str]) -> Chip {
    let all = ["core.atomics=llsc", "core.result_latency=3", "noise.start=0", "os.wake_polling=0", "os.wake_idle=0"];
    let all: Vec<String> = all.iter().chain(more).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_at(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", Some(4), &all)
        .expect("a right chip")
}

fn on(cpu: u32) -> Spawn {
    Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() }
}

/// An addition as algorithms write it: it reads, then compares and exchanges until that succeeds.
/// Returns the value that it found.
fn add(cell: &Alone<u32>) -> u32 {
    let mut seen = cell.0.load(Relaxed);
    while let Err(other) = cell.0.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
        seen = other;
    }
    seen
}

/// One thread exchanges 0 for 1. On a sibling, `other` does something else to the cell, `after`
/// cycles after a moment that is 20 cycles before the exchange. Returns whether the exchange
/// succeeded, and the cell's value at the end.
fn against(chip: &Chip, after: u64, other: impl FnOnce(Shared<Alone<u32>>) + 'static) -> (bool, u32) {
    let mut simulation = simulation(chip);
    let cell = cell(&mut simulation, 0u32);
    let won = Rc::new(Cell::new(false));
    let (exchanges, result, writes) = (cell.clone(), won.clone(), cell.clone());
    let first = move || {
        exchanges.0.load(Relaxed);
        Simulated::work(Cycles(5_000 - act::time().0));
        result.set(exchanges.0.compare_exchange(0, 1, Relaxed, Relaxed).is_ok());
    };
    let second = move || {
        writes.0.load(Relaxed);
        Simulated::work(Cycles(4_980 + after - act::time().0));
        other(writes);
    };
    simulation.spawn(on(0), first).unwrap();
    simulation.spawn(on(4), second).unwrap();
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
    let end = simulation.outside(|| cell.0.load(Relaxed));
    (won.get(), end)
}

/// A sibling's store comes at every moment of an exchange, and is never lost: if the store comes
/// first, the exchange fails; if the exchange comes first, the store overwrites its value.
#[test]
fn a_siblings_store_is_never_lost() {
    // Without a window a sibling does not slow computations down, so the moments are exact.
    for buffer in ["core.store_buffer=0", "core.store_buffer=8"] {
        let chip = chip(&["core.contexts=2", "core.rob=0", buffer]);
        let (mut won, mut lost) = (0, 0);
        for after in 0..60 {
            let (first, end) = against(&chip, after, |cell| cell.0.store(100, Release));
            assert_eq!(end, 100, "{buffer}: a store {after} cycles later; the exchange succeeded: {first}");
            *if first { &mut won } else { &mut lost } += 1;
        }
        assert!(won != 0 && lost != 0, "{won} exchanges before, {lost} behind");
    }
}

#[test]
fn of_siblings_exchanges_one_succeeds() {
    let chip = chip(&["core.contexts=2", "core.rob=0"]);
    let wins = Rc::new(Cell::new(0));
    for after in 0..60 {
        let other = wins.clone();
        let exchange = move |cell: Shared<Alone<u32>>| {
            other.set(u32::from(cell.0.compare_exchange(0, 2, Relaxed, Relaxed).is_ok()));
        };
        let (first, end) = against(&chip, after, exchange);
        assert_eq!((u32::from(first) + wins.get(), end), (1, if first { 1 } else { 2 }), "{after} cycles later");
    }
}

/// Eight threads on the four contexts each of two cores add to one cell.
#[test]
fn many_siblings_add_up() {
    for buffer in ["core.store_buffer=0", "core.store_buffer=8"] {
        let chip = chip(&["core.contexts=4", "core.store_queue=8", buffer]);
        let mut simulation = simulation(&chip);
        let count = cell(&mut simulation, 0u32);
        for cpu in (0..16).filter(|cpu| cpu % 4 < 2) {
            let count = count.clone();
            let body = move || (0..100).for_each(|_| _ = add(&count));
            simulation.spawn(Spawn { after: Cycles(u64::from(cpu) * 7), ..on(cpu) }, body).unwrap();
        }
        simulation.run().unwrap_or_else(|stuck| panic!("{buffer}: {stuck}"));
        assert_eq!(simulation.outside(|| count.0.load(Relaxed)), 800, "{buffer}");
    }
}

/// Threads take turns on a CPU in slices of a few cycles. If a thread loses the CPU between its
/// load-linked and its store-conditional, the store-conditional fails, although the other threads
/// on the core take no line away from it.
#[test]
fn a_switch_of_threads_breaks_a_link() {
    for slice in 40..60 {
        let settings = [&format!("os.time_slice={slice}"), "os.context_switch=1", "os.wakeup_granularity=0"];
        let chip = chip(&settings);
        let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
        let count = cell(&mut simulation, 0u32);
        for _ in 0..3 {
            let count = count.clone();
            let body = move || {
                for turn in 0..100 {
                    add(&count);
                    Simulated::work(Cycles(turn % 7));
                }
            };
            simulation.spawn(on(0), body).unwrap();
        }
        let outcome: Outcome = simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
        let preemptions: u64 = outcome.threads.iter().map(|thread| thread.counts.preemptions).sum();
        assert!(preemptions > 20, "slices of {slice} are short: {preemptions}");
        assert_eq!(simulation.outside(|| count.0.load(Relaxed)), 300, "slices of {slice}");
    }
}
