//! A computation that is preempted, moved, interrupted, re-rated by changes of clock and slowed
//! down by a sibling ends at the cycle that arithmetic says: over random schedules ([`model`] is
//! the arithmetic), and for two exact ones.

use crate::common;
#[path = "re_rated/model.rs"]
mod model;

use baton_chip::{Chip, Options, Reason, Simulated, Simulation, Spawn, Stretch, act};
use baton_machine::{Machine as _, units::Cycles};
use baton_units::{CoreId, CpuId, Hertz};
use model::{Machine, Model, Op};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::cell::RefCell;
use std::rc::Rc;

const CALL: u64 = 600;

/// What is done to the threads from outside.
#[derive(Clone, Debug)]
struct Events {
    /// Changes of clocks: the delay, the core, and its clock in percent of the reference.
    clocks: Vec<(u64, u32, u64)>,
    /// Moves: the delay, the thread, and the CPUs to which it is sent.
    moves: Vec<(u64, usize, u32)>,
}

fn events() -> impl Strategy<Value = Events> {
    let clock = (1_000u64..300_000, 0u32..3, 40u64..101);
    let send = (20_000u64..300_000, any::<usize>(), 0u32..63);
    (prop::collection::vec(clock, 0..24), prop::collection::vec(send, 0..10))
        .prop_map(|(clocks, moves)| Events { clocks, moves })
}

/// For each thread, how often it computes and sleeps, and for how long.
fn works() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let work = (1_000u64..250_000, 1u64..60_000, 1usize..6).prop_map(|(work, sleep, turns)| {
        let turn = [Op::Work(work), Op::Call(CALL), Op::Sleep(sleep)];
        [Op::Call(CALL), Op::Sleep(1)].into_iter().chain(turn.into_iter().cycle().take(3 * turns)).collect()
    });
    prop::collection::vec(work, 1..9)
}

/// Executes the operations. Each sleep is a system call, so `Op::Call` itself does nothing.
fn run(ops: &[Op]) {
    for op in ops {
        match *op {
            Op::Work(cycles) => Simulated::work(Cycles(cycles)),
            Op::Call(_) => {}
            Op::Sleep(cycles) => act::delay(Cycles(cycles)),
        }
    }
}

/// Whether the run does not depend on the order of what happens at the same moment.
fn is_plain(machine: &Machine, log: &[Vec<Stretch>]) -> bool {
    let is_change = |time| machine.changes.iter().any(|change| change.0 == time);
    let moments = &machine.interrupt.1;
    let all =
        log[..log.len() - 1].iter().enumerate().flat_map(|(id, log)| log.iter().map(move |stretch| (id, stretch)));
    all.into_iter().all(|(id, &Stretch { from: Cycles(from), to: Cycles(to), reason, .. })| {
        let apart = |time| !machine.is_tick(time) && !is_change(time);
        let called = moments.iter().any(|&(at, _)| from < at && at <= to || at == from && reason == Reason::Kernel);
        match reason {
            Reason::Kernel => apart(from) && apart(to) && !called,
            Reason::Asleep => apart(from) && apart(to),
            Reason::Switch | Reason::Waking => !called,
            // If another thread is moved at the moment at which a computation stops, the CPU may
            // have been taken by its timer or by that move.
            Reason::Work => moments.iter().all(|&(at, target)| at != to || target == id),
            _ => true,
        }
    }) && moments.iter().all(|&(at, _)| !machine.is_tick(at) && !is_change(at))
}

fn check(chip: &Chip, works: &[Vec<Op>], events: &Events) -> Result<(), TestCaseError> {
    let reference = chip.core.clock.0;
    let mut simulation =
        Simulation::new(chip, &Options { limit: Some(Cycles(500_000_000)), ..Options::default() }).unwrap();
    let (tick, tick_cost) = (chip.os.interrupt.tick.0, chip.os.interrupt.tick_cost.0);
    let (mut changes, mut at) = (Vec::new(), 0);
    for &(after, core, percent) in &events.clocks {
        // A change of clock never comes at the moment of a tick, because the order of the two would
        // matter.
        at += after;
        at += u64::from(tick != 0 && at.is_multiple_of(tick));
        let (core, clock) = (core % chip.core.count, reference / 100 * percent);
        simulation.set_clock(Cycles(at), CoreId(core), Hertz(clock)).unwrap();
        changes.push((at, core, clock));
    }
    let mut guests = Vec::new();
    for ops in works {
        let ops = ops.clone();
        let body = move || {
            act::wait_begins();
            run(&ops);
        };
        guests.push(simulation.spawn(Spawn::default(), body).unwrap());
    }
    // One thread sends the others to other CPUs.
    let (moments, moves) = (Rc::new(RefCell::new(Vec::new())), events.moves.clone());
    let mut ops = vec![Op::Call(CALL), Op::Sleep(1)];
    ops.extend(moves.iter().flat_map(|&(after, ..)| [Op::Call(CALL), Op::Call(CALL), Op::Sleep(after)]));
    let (sent, cpus) = (moments.clone(), chip.cpus());
    let body = move || {
        act::wait_begins();
        act::delay(Cycles(1));
        for &(after, thread, set) in &moves {
            let set: Vec<CpuId> = (0..cpus).filter(|cpu| set >> cpu & 1 == 1).map(CpuId).collect();
            let target = thread % guests.len();
            act::set_affinity(guests[target], &[], &set).unwrap();
            sent.borrow_mut().push((act::time().0, target));
            act::delay(Cycles(after));
        }
    };
    simulation.spawn(Spawn::default(), body).unwrap();
    prop_assert!(simulation.run().unwrap().finished, "it goes on for ever");
    let interrupt = (chip.os.interrupt.cost.0, moments.take());
    let machine = Machine { reference, cores: chip.core.count, cpus, changes, tick: (tick, tick_cost), interrupt };
    let log: Vec<_> = simulation.lock_log().waits.iter().map(|log| machine.joined(log)).collect();
    prop_assume!(is_plain(&machine, &log));
    let all: Vec<Vec<Op>> = works.iter().cloned().chain([ops]).collect();
    let verdict = Model::new(&machine, &log, &all).check();
    prop_assert!(verdict.is_ok(), "{}", verdict.unwrap_err());
    Ok(())
}

/// Periods of ticks are long enough for switches and handlers to leave a part of each, also at the
/// slowest clock. With ticks, threads move only by calls and when a CPU runs dry: if the tick of
/// one CPU took a thread from another CPU, the order of the two CPUs' ticks would decide which
/// thread pays for the handler.
fn policy() -> impl Strategy<Value = (&'static str, u64, u64)> {
    let ticks = (prop_oneof![Just("fair"), Just("sticky")], 12_000u64..60_000, Just(0));
    let none = (prop_oneof![Just("fair"), Just("sticky"), Just("eevdf"), Just("eevdf-guest")], Just(0), Just(70_000));
    prop_oneof![ticks, none]
}

fn settings((scheduler, tick, balance): (&str, u64, u64), slice: u64) -> Vec<String> {
    [
        ("time_slice", slice),
        ("tick", tick),
        ("tick_cost", 1777),
        ("balance_interval", balance),
        ("interrupt", 901),
        ("migrate", 1234),
        ("wakeup_granularity", 1000),
        ("syscall", CALL),
    ]
    .map(|(key, value)| format!("os.{key}={value}"))
    .into_iter()
    .chain([format!("os.scheduler={scheduler}")])
    .collect()
}

fn chip(cores: u32, settings: &[String], more: &[&str]) -> Chip {
    common::cores(cores, &settings.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
}

/// Two contexts share two issue slots: a thread that computes alone uses both, and two threads that
/// compute have one each.
const SIBLINGS: [&str; 4] = ["core.contexts=2", "core.width=2", "core.rob=100", "core.result_latency=1"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 256, rng_seed: RngSeed::Fixed(6), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn on_cores_of_their_own(works in works(), events in events(), slice in 5_000u64..60_000, policy in policy()) {
        check(&chip(3, &settings(policy, slice), &[]), &works, &events)?;
    }

    #[test]
    fn beside_siblings(works in works(), events in events(), slice in 5_000u64..60_000, policy in policy()) {
        check(&chip(2, &settings(policy, slice), &SIBLINGS), &works, &events)?;
    }
}

/// A handler that runs when the clock changes takes what it would have taken without the change;
/// the computation that it interrupts is re-rated.
#[test]
fn a_change_of_clock_leaves_a_handler_as_it_began() {
    let settings = ["os.tick=10000", "os.tick_cost=1000", "os.wake_polling=0", "core.clock_hz=2000000000"];
    let ends = |change: u64| {
        let mut simulation = common::simulation(&common::cores(1, &settings));
        simulation.set_clock(Cycles(change), CoreId(0), Hertz(1_000_000_000)).unwrap();
        simulation.spawn(Spawn::default(), || Simulated::work(Cycles(12_000))).unwrap();
        simulation.run().unwrap().cycles.0
    };
    // The clock halves within the handler: 10,000 cycles before the tick, 1,000 in its handler, and
    // 2,000 cycles at half the clock.
    assert_eq!(ends(10_400), 10_000 + 1_000 + 4_000);
    // The clock halves 1,000 before the tick: the thread computes 500 cycles fewer until then, and
    // the handler takes twice as long.
    assert_eq!(ends(9_000), 10_000 + 2_000 + 5_000);
    // The clock halves 600 cycles after the handler's end.
    assert_eq!(ends(11_600), 10_000 + 1_000 + 600 + 2 * 1_400);
}

/// A thread that returns to a CPU beside a computing sibling gets only its share of the core, and
/// leaves the sibling the other share.
#[test]
fn a_computation_that_comes_back_shares_its_core_again() {
    let more = ["os.time_slice=10000", "os.context_switch=0", "os.wake_polling=0"];
    let chip = common::cores(1, &[&SIBLINGS[..], &more].concat());
    let mut simulation = common::simulation(&chip);
    let on = |cpu| Spawn { cpus: vec![CpuId(cpu)], ..Spawn::default() };
    // Two threads take turns on CPU 0, four times each, beside a third one that computes on CPU 1
    // all the while. At last the third one is alone.
    for (cpu, work) in [(0, 20_000), (0, 20_000), (1, 50_000)] {
        simulation.spawn(on(cpu), move || Simulated::work(Cycles(work))).unwrap();
    }
    let outcome = simulation.run().unwrap();
    let ends: Vec<u64> = outcome.threads.iter().map(|thread| thread.ended.0).collect();
    assert_eq!(ends, [70_000, 80_000, 80_000 + 10_000]);
    assert_eq!(outcome.threads[0].counts.preemptions + outcome.threads[1].counts.preemptions, 6);
}
