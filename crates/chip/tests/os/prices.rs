//! What the operating system takes from threads and from CPUs: ticks, calls between CPUs, idle
//! states, migrations, system calls.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::config::WakeSpread;
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Wait, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

/// Checks that every cycle of every thread and of every CPU has one reason.
fn check(outcome: &Outcome) {
    for thread in &outcome.threads {
        let sum: u64 = thread.cycle_stack(outcome.cycles).iter().map(|(_, time)| time.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{}", thread.name);
    }
    for cpu in &outcome.cpus {
        let sum: u64 = cpu.times.iter().map(|(_, time)| time.0).sum();
        assert_eq!(sum, outcome.cycles.0, "{cpu:?}");
    }
}

#[test]
fn ticks_take_their_cycles_and_an_idle_cpu_has_none() {
    let settings = ["os.tick=10000", "os.tick_cost=250", "os.wake_idle=1000", "os.wake_polling=1000"];
    let chip = common::cores(2, &settings);
    let mut simulation = simulation(&chip);
    let work = || Simulated::work(Cycles(100_000));
    simulation.spawn(on(0, 0), work).unwrap();
    // The second thread begins between two ticks and ends before the next one.
    simulation.spawn(on(1, 11_500), || Simulated::work(Cycles(7_000))).unwrap();
    let outcome = simulation.run().unwrap();
    check(&outcome);
    // The first thread begins at 1,000, and 9,750 of every 10,000 cycles are its own. It ends
    // before the tick at 110,000.
    let ticks = 10;
    assert_eq!(outcome.threads[0].ended.0, 1_000 + 100_000 + ticks * 250);
    assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(ticks * 250));
    assert_eq!(outcome.threads[0].time(Reason::Work), Cycles(100_000));
    assert_eq!(outcome.threads[1].ended.0, 12_500 + 7_000);
    assert_eq!(outcome.threads[1].time(Reason::Kernel), Cycles(0));
}

#[test]
fn slices_end_at_ticks() {
    let chip = common::cores(1, &["os.tick=10000", "os.time_slice=25000", "os.context_switch=0", "os.wake_idle=0"]);
    let mut simulation = simulation(&chip);
    for _ in 0..2 {
        simulation.spawn(Spawn::default(), || Simulated::work(Cycles(90_000))).unwrap();
    }
    let outcome = simulation.run().unwrap();
    check(&outcome);
    // The slice is over at 25,000, but the tick that notices this comes at 30,000: the threads run
    // for 30,000 each in turn.
    assert_eq!(outcome.threads[0].ended.0.max(outcome.threads[1].ended.0), outcome.cycles.0);
    let mut ends: Vec<u64> = outcome.threads.iter().map(|thread| thread.ended.0).collect();
    ends.sort_unstable();
    let start = outcome.threads[0].time(Reason::Waking).0;
    assert_eq!(
        (ends[1] - start, outcome.threads[0].counts.preemptions + outcome.threads[1].counts.preemptions),
        (180_000, 5)
    );
}

#[test]
fn a_spinner_does_not_try_while_a_handler_runs() {
    let run = |skip_tries| {
        let chip = common::cores(2, &["os.tick=10000", "os.tick_cost=777"]);
        let options = Options { skip_tries, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        let cell = cell(&mut simulation, 0u32);
        let (waiter, writer) = (cell.clone(), cell);
        simulation.spawn(on(0, 0), move || _ = Simulated::wait_while(&waiter.0, 0, Wait::Pause, None)).unwrap();
        simulation.spawn(on(1, 123_456), move || writer.0.store(1, Release)).unwrap();
        let outcome = simulation.run().unwrap();
        check(&outcome);
        let waiter = &outcome.threads[0];
        assert!((12..=13).contains(&(waiter.time(Reason::Kernel).0 / 777)), "{:?}", waiter.times);
        (waiter.counts.tries, waiter.ended, waiter.times)
    };
    assert_eq!(run(true), run(false));
}

/// How long a thread takes to run again after it has slept for `slept`, and the outcome.
fn wake_after(chip: &Chip, slept: u64) -> (u64, Outcome) {
    wake_with_seed(chip, slept, Options::default().seed)
}

/// Like `wake_after`, with a seed.
fn wake_with_seed(chip: &Chip, slept: u64, seed: u64) -> (u64, Outcome) {
    let mut simulation = Simulation::new(chip, &Options { seed, ..Options::default() }).unwrap();
    let took = Rc::new(Cell::new(0));
    let result = took.clone();
    let sleeper = move || {
        let start = act::time().0;
        act::delay(Cycles(slept));
        took.set(act::time().0 - start - slept);
    };
    simulation.spawn(on(0, 0), sleeper).unwrap();
    let outcome = simulation.run().unwrap();
    check(&outcome);
    (result.get(), outcome)
}

#[test]
fn idle_states_take_their_exit_to_the_cycle() {
    let settings =
        ["os.wake_polling=100", "os.idle_poll=1000", "os.wake_idle=500", "os.idle_states=20000:4000 100000:70000"];
    let chip = common::cores(1, &settings);
    for (slept, exit) in
        [(999, 100), (1000, 500), (19_999, 500), (20_000, 4000), (99_999, 4000), (100_000, 70_000), (9_000_000, 70_000)]
    {
        assert_eq!(wake_after(&chip, slept).0, exit, "after {slept}");
    }
    let (_, outcome) = wake_after(&chip, 150_000);
    let cpu = &outcome.cpus[0];
    let idle = ["polling", "halted", "idle_1", "idle_2"].map(|name| cpu.time(name).0);
    // The time before the thread began counts as polling, too, but is 0 long: the thread begins at
    // 0.
    assert_eq!(idle, [1000, 19_000, 80_000, 50_000]);
    assert_eq!(cpu.time("waking").0, 70_000 + 100);
}

/// With `os.wake_spread`, the price of a wake-up lies on the line between two percentiles; without
/// it, each wake-up takes its price.
#[test]
fn wake_ups_vary_by_their_percentiles() {
    let spread = WakeSpread::parse("10:500 50:1000 90:2000").unwrap();
    let at = [0, 1000, 3000, 5000, 7000, 9000, 9999].map(|draw| spread.thousandths(draw));
    assert_eq!(at, [500, 500, 750, 1000, 1500, 2000, 2000]);
    let prices = ["os.wake_polling=1000", "os.idle_poll=1000000", "os.wake_idle=1000"];
    let by_seed = |more: &[&str]| {
        let took = |seed| wake_with_seed(&common::cores(1, &[&prices[..], more].concat()), 5000, seed).0;
        (1..=200).map(took).collect::<Vec<u64>>()
    };
    assert_eq!(by_seed(&[]), [1000; 200]);
    let drawn = by_seed(&["os.wake_spread=10:500 50:1000 90:2000"]);
    assert_eq!(drawn, by_seed(&["os.wake_spread=10:500 50:1000 90:2000"]), "by the seed alone");
    assert!(drawn.iter().all(|time| (500..=2000).contains(time)));
    let below = |limit| drawn.iter().filter(|&&time| time < limit).count();
    // About 100 of 200 draws lie below the median; the bounds are four standard deviations away.
    assert!((72..=128).contains(&below(1000)), "{}", below(1000));
    assert!((4..=40).contains(&below(510)) && (20..=60).contains(&(200 - below(1750))), "{drawn:?}");
}

#[test]
fn a_migration_costs_its_price_once() {
    let took = |migrate: u64| {
        let migrate = format!("os.migrate={migrate}");
        let chip = common::cores(2, &[&migrate, "os.syscall=33"]);
        let mut simulation = simulation(&chip);
        simulation
            .spawn(on(0, 0), || {
                Simulated::work(Cycles(10_000));
                act::set_affinity(act::this().unwrap(), &[CoreId(1)], &[]).unwrap();
                Simulated::work(Cycles(10_000));
                assert_eq!(act::core(), CoreId(1));
                Simulated::work(Cycles(10_000));
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        check(&outcome);
        assert_eq!(outcome.migrations, 1);
        assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(33));
        outcome.cycles.0
    };
    assert_eq!(took(1234) - took(0), 1234);
}

#[test]
fn a_system_call_reads_its_cpus_kernel_lines() {
    let chip = common::cores(2, &["os.syscall=500", "os.kernel_lines=3"]);
    let mut simulation = simulation(&chip);
    let took = Rc::new(Cell::new([0; 2]));
    let result = took.clone();
    simulation
        .spawn(on(0, 0), move || {
            let call = || {
                let start = act::time().0;
                act::notify(act::Notice::Working, None, None);
                act::time().0 - start
            };
            took.set([call(), call()]);
        })
        .unwrap();
    simulation.run().unwrap();
    let cache = &chip.cache;
    assert_eq!(result.get(), [500 + 3 * cache.memory.0, 500 + 3 * cache.hit.0]);
}

/// A chip of 16 cores on a 4x4 mesh, on which [`way`] gives the time of a packet.
fn mesh(settings: &[&str]) -> Chip {
    let fixed = [
        "core.count=16",
        "core.per_cluster=16",
        "network.width=4",
        "network.height=4",
        "home.banks=16",
        "dram.controllers=2",
        "dram.placement=corners",
        "noise.start=0",
        "os.idle_poll=0",
    ];
    let all: Vec<String> = fixed.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    Chip::from_toml_with(include_str!("../../../../chips/ocor64.toml"), "ocor64.toml", &all).unwrap()
}

/// The time from the waker's call on core 0 to the first step of the sleeper on `core`, and the
/// home of the cell.
fn woken_on(core: u32, settings: &[&str]) -> (u64, u32) {
    let chip = mesh(settings);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    // Guest memory begins on a page, and its lines are distributed over the homes in turn.
    let home = (&raw const cell.0).addr() as u32 / chip.cache.line_bytes % 16;
    let times = Rc::new(Cell::new([0; 2]));
    let (sleeper, woken, call) = (cell.clone(), times.clone(), times.clone());
    simulation
        .spawn(on(core, 0), move || {
            let _ = Simulated::wait_while(&sleeper.0, 0, Wait::Futex, None);
            let [call, _] = woken.get();
            woken.set([call, act::time().0]);
        })
        .unwrap();
    simulation
        .spawn(on(0, 400_000), move || {
            cell.0.store(1, Release);
            Simulated::fence(SeqCst);
            call.set([act::time().0, 0]);
            Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
        })
        .unwrap();
    check(&simulation.run().unwrap());
    let [call, woken] = times.get();
    (woken - call, home)
}

/// What a control packet takes between two nodes of the 4x4 mesh: two cycles into the network, two
/// a router, one a link, and two out of the network; within a node one cycle.
fn way(from: u32, to: u32) -> u64 {
    let routers = u64::from(1 + (from % 4).abs_diff(to % 4) + (from / 4).abs_diff(to / 4));
    if from == to { 1 } else { 1 + 1 + 2 * routers + (routers - 1) + 1 + 1 }
}

#[test]
fn an_interrupt_from_cpu_to_cpu_is_a_packet() {
    for core in [1, 5, 15] {
        let by = |ipi: &str| woken_on(core, &[&format!("os.ipi={ipi}")]).0;
        assert_eq!(by("packet") - by("price"), way(0, core), "to core {core}");
    }
}

#[test]
fn a_wake_up_goes_by_way_of_the_home() {
    for futex_home in ["os.futex_home=lock", "os.futex_home=bucket"] {
        // The time on the way is the same to a halted CPU as to a polling one.
        for idle in ["os.idle_poll=0", "os.idle_poll=1000000"] {
            for core in [1, 5, 15] {
                let by = |ipi: &str| woken_on(core, &[futex_home, idle, ipi]);
                let ((home_takes, home), (price, _)) = (by("os.ipi=home"), by("os.ipi=price"));
                let took = home_takes - price;
                if futex_home.ends_with("lock") {
                    assert_eq!(took, way(0, home) + way(home, core), "{idle}: by home {home} to core {core}");
                } else {
                    // The wake-up goes by way of the bucket's home, wherever that is.
                    assert!((0..16).any(|home| took == way(0, home) + way(home, core)), "{took} to core {core}");
                }
            }
        }
    }
}

#[test]
fn a_call_to_a_busy_cpu_takes_its_cycles_from_the_thread_there() {
    let chip = common::cores(2, &["os.interrupt=900", "os.wakeup_granularity=1000", "os.sleeper_credit=2000"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let sleeper = cell.clone();
    simulation.spawn(on(0, 0), move || _ = Simulated::wait_while(&sleeper.0, 0, Wait::Futex, None)).unwrap();
    simulation.spawn(on(0, 50_000), || Simulated::work(Cycles(2_000_000))).unwrap();
    simulation
        .spawn(on(1, 500_000), move || {
            cell.0.store(1, Release);
            Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
        })
        .unwrap();
    let outcome = simulation.run().unwrap();
    check(&outcome);
    let worker = &outcome.threads[1];
    assert_eq!((worker.time(Reason::Kernel), worker.counts.preemptions), (Cycles(900), 1));
    assert_eq!(worker.time(Reason::Work), Cycles(2_000_000));
    assert!(outcome.threads[0].ended < worker.ended);
}
