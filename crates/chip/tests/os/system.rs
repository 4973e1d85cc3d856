//! What the operating system does with threads, and runs that can never end.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::{Options, Reason, Refused, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Machine, Ordering::*, Owned, Wait, local::Use, units::Cycles};
use baton_units::CoreId;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[test]
fn threads_share_a_core_by_time_slices() {
    let chip = common::cores(1, &["os.time_slice=10000", "os.context_switch=100"]);
    let mut simulation = simulation(&chip);
    for _ in 0..4 {
        simulation.spawn(Spawn::default(), || Simulated::work(Cycles(100_000))).unwrap();
    }
    let outcome = simulation.run().unwrap();
    let ends: Vec<u64> = outcome.threads.iter().map(|thread| thread.ended.0).collect();
    let last = *ends.iter().max().unwrap();
    assert!(ends.iter().all(|end| last - end < 4 * 10_100), "nobody is far behind: {ends:?}");
    for thread in &outcome.threads {
        assert_eq!(thread.time(Reason::Work), Cycles(100_000));
        assert!(thread.counts.preemptions >= 8);
    }
}

#[test]
fn a_preempted_spinner_burns_its_slice() {
    // On one core, the waiter spins for its whole slice before the writer gets the core.
    let chip = common::cores(1, &["os.time_slice=50000"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let (waiter, writer) = (cell.clone(), cell);
    simulation.spawn(Spawn::default(), move || drop_wait(&waiter.0, Wait::Pause)).unwrap();
    simulation.spawn(Spawn { after: Cycles(1), ..Spawn::default() }, move || writer.0.store(1, Release)).unwrap();
    let outcome = simulation.run().unwrap();
    let spun = outcome.threads[0].time(Reason::Spin).0;
    assert!((49_000..51_000).contains(&spun), "{spun}");
}

fn drop_wait(cell: &common::Cell<u32>, wait: Wait) {
    let _ = Simulated::wait_while(cell, 0, wait, None);
}

#[test]
fn affinity_is_kept_and_idle_cores_steal() {
    let chip = common::cores(4, &["os.time_slice=10000"]);
    let mut simulation = simulation(&chip);
    let pinned = Spawn { affinity: vec![CoreId(2)], ..Spawn::default() };
    for _ in 0..3 {
        simulation
            .spawn(pinned.clone(), || {
                for _ in 0..50 {
                    Simulated::work(Cycles(1000));
                    assert_eq!(act::core(), CoreId(2));
                }
            })
            .unwrap();
    }
    let seen = Rc::new(RefCell::new([false; 4]));
    for _ in 0..6 {
        let seen = seen.clone();
        simulation
            .spawn(Spawn::default(), move || {
                for _ in 0..50 {
                    Simulated::work(Cycles(1000));
                    seen.borrow_mut()[act::core().0 as usize] = true;
                }
            })
            .unwrap();
    }
    let outcome = simulation.run().unwrap();
    // 9 threads of 50,000 cycles run on 4 cores, 3 of them on one core only.
    assert!(outcome.cycles < Cycles(250_000), "{}", outcome.cycles);
    assert!(seen.borrow()[0] && seen.borrow()[1] && seen.borrow()[3]);
    let nowhere = Spawn { name: "odd".into(), affinity: vec![CoreId(9)], ..Spawn::default() };
    let mut simulation = Simulation::new(&chip, &Options { threads: 1, ..Options::default() }).unwrap();
    let refused = simulation.spawn(nowhere, || {});
    assert_eq!(refused, Err(Refused::Affinity { thread: "odd".into(), cores: vec![9], cpus: vec![], has: 4 }));
    let another = simulation.spawn(Spawn::default(), || {});
    assert!(another.is_ok(), "{another:?}: the refused thread has left its place to others");
}

#[test]
fn fewer_cpus_than_cores() {
    let chip = common::cores(4, &[]);
    let cycles = |cpus| {
        let options = Options { cpus: Some(cpus), ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        for _ in 0..4 {
            simulation.spawn(Spawn::default(), || Simulated::work(Cycles(40_000_000))).unwrap();
        }
        simulation.run().unwrap().cycles.0 / 1_000_000
    };
    assert_eq!((cycles(4), cycles(2), cycles(1)), (40, 80, 160));
    let options = Options { cpus: Some(5), ..Options::default() };
    let refused = Simulation::new(&chip, &options).err().unwrap().to_string();
    assert_eq!(refused, "5 CPUs asked for; chip `sample-host` has 4 (core.count times core.contexts)");
}

#[test]
fn guests_start_and_join_guests_and_numbers_come_back() {
    let chip = common::cores(2, &[]);
    let mut simulation = simulation(&chip);
    let ended = Rc::new(Cell::new(0));
    let end = ended.clone();
    simulation
        .spawn(Spawn::default(), move || {
            for round in 0..20 {
                let end = end.clone();
                let guest = act::spawn(Spawn::default(), move || {
                    assert_eq!(Simulated::local().index(), 1, "round {round}");
                    assert_eq!(Simulated::local().get(Use::Progress), 0);
                    Simulated::local().set(Use::Progress, 7);
                    Simulated::work(Cycles(100));
                    end.set(end.get() + 1);
                });
                act::join(guest);
                act::join(guest);
            }
        })
        .unwrap();
    assert!(simulation.run().unwrap().finished);
    assert_eq!(ended.get(), 20);
}

#[test]
fn a_deadlock_is_reported_as_a_chain() {
    let chip = common::cores(2, &[]);
    let mut simulation = simulation(&chip);
    let (a, b) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
    let (first, second) = (a.clone(), b.clone());
    let named = |name: &str| Spawn { name: name.into(), ..Spawn::default() };
    let one = simulation.spawn(named("one"), move || drop_wait(&first.0, Wait::Futex)).unwrap();
    let two = move || {
        a.0.store(0, Release);
        drop_wait(&second.0, Wait::Pause);
    };
    simulation.spawn(named("two"), two).unwrap();
    simulation.spawn(named("three"), move || act::join(one)).unwrap();
    let stuck = simulation.run().unwrap_err();
    let text = stuck.to_string();
    assert_eq!(stuck.waiting.len(), 3);
    assert!(text.contains("thread 0 (one) sleeps on the cell at 0x"), "{text}");
    assert!(text.contains("last written by thread 1 (two)"), "{text}");
    assert!(text.contains("thread 1 (two) spins on the cell at 0x"), "{text}");
    assert!(text.contains("written by no thread"), "{text}");
    assert!(text.contains("thread 2 (three) sleeps for the end of thread 0 (one)"), "{text}");
}

#[test]
fn a_limit_ends_a_run_and_every_cycle_has_a_reason() {
    let chip = common::cores(2, &[]);
    let options = Options { limit: Some(Cycles(1_234_567)), ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).unwrap();
    for _ in 0..3 {
        simulation
            .spawn(Spawn::default(), || {
                loop {
                    Simulated::work(Cycles(777))
                }
            })
            .unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert!(!outcome.finished);
    assert_eq!(outcome.cycles, Cycles(1_234_567));
    for thread in &outcome.threads {
        let sum: u64 = thread.times.iter().map(|(_, cycles)| cycles.0).sum();
        assert_eq!(sum, (thread.ended - thread.born).0);
    }
}

#[test]
fn guest_memory_outlives_its_simulation() {
    let chip = common::cores(1, &[]);
    let mut simulation = simulation(&chip);
    let kept = simulation.outside(|| Owned::<Simulated, [u64; 4]>::new([1, 2, 3, 4]));
    drop(simulation);
    assert_eq!(*kept, [1, 2, 3, 4]);
}

#[test]
fn a_guest_panic_is_the_runs_panic() {
    let chip = common::cores(1, &[]);
    let mut simulation = simulation(&chip);
    simulation.spawn(Spawn::default(), || panic!("guest says no")).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulation.run())).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"guest says no"));
}

#[test]
fn a_cell_outside_guest_memory_is_refused() {
    let chip = common::cores(1, &[]);
    let mut simulation = simulation(&chip);
    let cell: &'static common::Cell<u32> = Box::leak(Box::new(Atomic::new(0)));
    simulation.spawn(Spawn::default(), move || _ = cell.load(Relaxed)).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| simulation.run())).unwrap_err();
    assert!(caught.downcast_ref::<String>().unwrap().contains("not guest memory"));
}

proptest! {
    #![proptest_config(baton_needs::property!(64))]
    /// A computation takes its cycles whatever happens around it, and every cycle of every thread
    /// has a reason.
    #[test]
    fn work_is_neither_lost_nor_made(
        works in prop::collection::vec((1u64..300_000, 0u64..100_000, 1u64..30), 1..9),
        cpus in 1u32..4,
        slice in 500u64..50_000,
        seed in 0u64..1000,
    ) {
        let slice = format!("os.time_slice={slice}");
        let chip = common::cores(4, &[&slice, "os.wakeup_granularity=1000", "noise.start=5000"]);
        let options = Options { cpus: Some(cpus), seed, ..Options::default() };
        let mut simulation = Simulation::new(&chip, &options).unwrap();
        for &(work, pause, turns) in &works {
            let body = move || for _ in 0..turns {
                Simulated::work(Cycles(work));
                act::delay(Cycles(pause));
            };
            simulation.spawn(Spawn::default(), body).unwrap();
        }
        let outcome = simulation.run().unwrap();
        let mut total = 0;
        for (thread, &(work, pause, turns)) in outcome.threads.iter().zip(&works) {
            prop_assert_eq!(thread.time(Reason::Work), Cycles(work * turns));
            prop_assert!(thread.time(Reason::Asleep) >= Cycles(pause * turns));
            let sum: u64 = thread.times.iter().map(|(_, cycles)| cycles.0).sum();
            prop_assert_eq!(sum, (thread.ended - thread.born).0);
            total += work * turns;
        }
        prop_assert!(outcome.cycles.0 * u64::from(cpus) >= total);
    }
}
