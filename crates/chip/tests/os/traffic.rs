//! What ticks, calls from CPU to CPU and system calls do in memory: which lines they read and
//! write, what this costs to the cycle, and which thread pays.

use crate::common;
use crate::common::{Alone, cell, simulation};
use baton_chip::{Chip, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

#[test]
fn a_tick_costs_its_code_and_its_lines() {
    for (data, queue) in [(0, 0), (3, 0), (0, 2), (3, 2)] {
        let lines = [format!("os.interrupt_lines={data}"), format!("os.queue_lines={queue}")];
        let settings =
            ["os.tick=10000", "os.tick_cost=250", "os.wake_idle=1000", "os.wake_polling=1000", "os.idle_poll=1000000"];
        let all: Vec<&str> = settings.into_iter().chain(lines.iter().map(String::as_str)).collect();
        let chip = common::cores(2, &all);
        let mut simulation = simulation(&chip);
        simulation.spawn(on(0, 0), || Simulated::work(Cycles(70_000))).unwrap();
        let outcome = simulation.run().unwrap();
        let (memory, hit, lines) = (chip.cache.memory.0, chip.cache.hit.0, data + queue);
        // The lines come from memory once; the other six ticks find them in the cache.
        let kernel = 7 * 250 + lines * (memory + 6 * hit);
        assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(kernel), "{data} and {queue} lines");
        assert_eq!(outcome.threads[0].time(Reason::Work), Cycles(70_000));
        assert_eq!(outcome.threads[0].ended.0, 1_000 + 70_000 + kernel);
        assert_eq!((outcome.memory.fetches, outcome.memory.hits), (lines, 6 * lines));
    }
}

/// A thread on core 1 wakes a sleeper on core 0, where a worker computes if `busy`. Returns how
/// long the call takes, the worker's time in the kernel, the time from the call until the sleeper
/// runs, and the outcome.
fn wakes(lines: &[&str], busy: bool) -> (u64, u64, u64, Outcome) {
    let settings = ["os.interrupt=900", "os.wakeup_granularity=1000", "os.sleeper_credit=2000", "os.idle_poll=0"];
    let all: Vec<&str> = settings.iter().chain(lines).copied().collect();
    let chip = common::cores(2, &all);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let times = Rc::new(Cell::new([0; 3]));
    let (sleeper, woken, call) = (cell.clone(), times.clone(), times.clone());
    simulation
        .spawn(on(0, 0), move || {
            let _ = Simulated::wait_while(&sleeper.0, 0, Wait::Futex, None);
            let [from, to, _] = woken.get();
            woken.set([from, to, act::time().0]);
        })
        .unwrap();
    let work = if busy { 2_000_000 } else { 1 };
    simulation.spawn(on(0, 50_000), move || Simulated::work(Cycles(work))).unwrap();
    simulation
        .spawn(on(1, 500_000), move || {
            cell.0.store(1, Release);
            Simulated::fence(SeqCst);
            let from = act::time().0;
            Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
            let [.., woken] = call.get();
            call.set([from, act::time().0, woken]);
        })
        .unwrap();
    let outcome = simulation.run().unwrap();
    let [from, to, woken] = times.get();
    (to - from, outcome.threads[1].time(Reason::Kernel).0, woken - from, outcome)
}

/// The cycles of a transfer within a cluster, and of a hit.
fn prices() -> [u64; 2] {
    let chip = common::cores(2, &[]);
    [chip.cache.transfer.same_cluster.0, chip.cache.hit.0]
}

#[test]
fn a_call_between_cpus_hands_the_run_queue_over() {
    let [transfer, hit] = prices();
    let (call, kernel, _, plain) = wakes(&[], true);
    let (slower, more, _, outcome) = wakes(&["os.interrupt_lines=2", "os.queue_lines=1"], true);
    // The sleeper has left the line of its CPU's run queue at core 0. The waker takes the line from
    // there, and the handler waits for that and takes the line back. The handler's other lines are
    // in the cache since it woke the CPU for the worker's first step.
    assert_eq!(slower, call + transfer);
    assert_eq!((kernel, more), (900, 900 + 3 * hit + 2 * transfer));
    assert_eq!(outcome.threads[1].time(Reason::Work), Cycles(2_000_000));
    assert_eq!(outcome.memory.transfers, plain.memory.transfers + 2);
    // Three lines for each of the two CPUs that calls have reached.
    assert_eq!(outcome.memory.fetches, plain.memory.fetches + 6);
}

#[test]
fn a_call_that_wakes_an_idle_cpu_runs_its_handler_first() {
    let [transfer, hit] = prices();
    let (_, _, woken, _) = wakes(&[], false);
    let (_, _, later, _) = wakes(&["os.interrupt_lines=2", "os.queue_lines=1"], false);
    // The CPU has handled an interrupt before, so the handler's lines hit; the run queue's line
    // comes back from the waker.
    assert_eq!(later - woken, 2 * hit + transfer);
}

/// A chip of four cores with a tick every 20,000 cycles. The lines of `loops` just fit into a
/// core's first level.
fn small(settings: &[&str]) -> Chip {
    let fixed = [
        "core.count=4",
        "core.per_cluster=4",
        "network.width=2",
        "network.height=2",
        "home.banks=4",
        "dram.controllers=1",
        "noise.start=0",
        "os.tick=20000",
        "os.tick_cost=100",
    ];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).unwrap()
}

/// A thread that reads as many lines as its core's cache has, again and again, and computes
/// between.
fn loops(simulation: &mut Simulation, chip: &Chip) -> impl FnOnce() + use<> {
    let lines = chip.coherent.as_ref().map_or(0, |coherent| coherent.l1.size_bytes / u64::from(chip.cache.line_bytes));
    let cells: Vec<Owned<Simulated, Alone<u32>>> =
        simulation.outside(|| (0..lines).map(|_| Owned::new(Alone(Atomic::new(0)))).collect());
    move || {
        for _ in 0..60 {
            cells.iter().for_each(|cell| _ = cell.0.load(Relaxed));
            Simulated::work(Cycles(3000));
        }
    }
}

fn misses(outcome: &Outcome) -> u64 {
    outcome.cores[0].misses + outcome.cores[0].l2_hits
}

#[test]
fn a_switch_finds_what_the_other_has_left() {
    let run = |threads: u32| {
        let chip = small(&["os.time_slice=40000"]);
        let mut simulation = simulation(&chip);
        for _ in 0..threads {
            let body = loops(&mut simulation, &chip);
            simulation.spawn(on(0, 0), body).unwrap();
        }
        misses(&simulation.run().unwrap())
    };
    let (alone, both) = (run(1), run(2));
    assert!(both > 3 * alone, "{alone} misses alone, {both} of two that take turns");
}

#[test]
fn handlers_take_cache_lines_from_the_thread() {
    let run = |settings: &[&str]| {
        let chip = small(settings);
        let mut simulation = simulation(&chip);
        let body = loops(&mut simulation, &chip);
        simulation.spawn(on(0, 0), body).unwrap();
        let outcome = simulation.run().unwrap();
        (misses(&outcome), outcome.memory.messages, outcome.threads[0].time(Reason::Kernel).0)
    };
    let (plain, messages, kernel) = run(&[]);
    let (with, more, longer) = run(&["os.interrupt_lines=64", "os.queue_lines=16"]);
    // The handlers' own 80 lines miss once. All further misses are of lines that the handlers have
    // evicted.
    assert!(with > plain + 2 * 80, "{plain} misses without, {with} with them");
    assert!(more > messages && longer > kernel, "{messages} and {more} messages, {kernel} and {longer} cycles");
}
