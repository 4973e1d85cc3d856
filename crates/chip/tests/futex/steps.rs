//! Steps of the futexes in memory whose faults show only at one moment, or in a price. When each
//! step was broken on purpose, only the test for it failed (`scripts/mutate/mutate futex`).

use crate::common;
use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

fn wait(cell: &Shared<Alone<u32>>) {
    let _ = Simulated::wait_while(&cell.0, 0, Wait::Futex, None);
}

fn until(chip: &Chip, at: u64) -> Option<Deadline> {
    Some(Deadline { at: chip.core.clock.nanos(Cycles(at)), clock: Default::default() })
}

/// A coherent chip whose CPUs wake up at once, so that a roused sleeper runs while the store that
/// marks its node is still on its way.
fn quick() -> Chip {
    let settings =
        ["os.futex_home=bucket", "os.ipi=price", "os.wake_polling=0", "os.idle_poll=9000000", "noise.start=0"];
    let text = include_str!("../../../../chips/ocor64.toml");
    Chip::from_toml_with(text, "ocor64.toml", &settings.map(str::to_owned)).unwrap()
}

#[test]
fn no_wake_up_is_lost_at_any_moment_of_a_wait() {
    for chip in [common::cores(8, &["os.futex_home=bucket"]), common::cores(8, &[]), quick()] {
        for moment in (0..6_000).step_by(150) {
            let mut simulation = simulation(&chip);
            let cell = cell(&mut simulation, 0u32);
            let waits = cell.clone();
            simulation.spawn(on(1, 20_000), move || wait(&waits)).unwrap();
            let waker = move || {
                act::delay(Cycles(20_000 + moment - act::time().0));
                cell.0.store(1, Release);
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
            };
            simulation.spawn(on(0, 0), waker).unwrap();
            let outcome = simulation.run().unwrap_or_else(|stuck| panic!("{}, {moment}: {stuck}", chip.name));
            assert!(outcome.finished);
        }
    }
}

/// A thread whose deadline comes leaves each cell's queue: another thread that sleeps on the same
/// cells gets every later wake-up.
#[test]
fn who_gives_up_leaves_its_queue() {
    let chip = common::cores(4, &["os.futex_home=bucket"]);
    let mut simulation = simulation(&chip);
    let cells: Vec<_> = (0..6).map(|_| cell(&mut simulation, 0u32)).collect();
    let (hasty, patient, waker) = (cells.clone(), cells.clone(), cells);
    let soon = until(&chip, 200_000);
    simulation
        .spawn(on(1, 0), move || {
            for cell in &hasty {
                assert_eq!(Simulated::wait_while(&cell.0, 0, Wait::Futex, soon), WaitResult::Expired);
            }
            act::delay(Cycles(2_000_000));
        })
        .unwrap();
    simulation.spawn(on(2, 500_000), move || patient.iter().for_each(wait)).unwrap();
    simulation
        .spawn(on(0, 600_000), move || {
            for cell in &waker {
                act::delay(Cycles(100_000));
                cell.0.store(1, Release);
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
            }
        })
        .unwrap();
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
}

/// A wake-up takes sleepers of its own cell only, also where another cell's sleeper stands before
/// them in the bucket.
#[test]
fn cells_of_one_bucket_do_not_take_each_others_wake_ups() {
    for settings in [&["os.futex_home=bucket"][..], &[]] {
        let chip = common::cores(4, settings);
        let mut simulation = simulation(&chip);
        // There are 300 cells and 256 buckets, so two cells share a bucket.
        let cells: Vec<_> = (0..300).map(|_| cell(&mut simulation, 0u32)).collect();
        let bucket = |at: usize| {
            let offset = act::offset_of(&raw const cells[at].0);
            (offset >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
        };
        let pair = simulation.outside(|| {
            (0..300).find_map(|a| (0..a).find(|&b| bucket(a) == bucket(b)).map(|b| [a, b])).expect("two share a bucket")
        });
        let [first, second] = pair.map(|at| cells[at].clone());
        for (core, cell) in [(1, first.clone()), (2, second.clone())] {
            simulation.spawn(on(core, u64::from(core) * 100_000), move || wait(&cell)).unwrap();
        }
        let waker = move || {
            for cell in [second, first] {
                cell.0.store(1, Release);
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
                act::delay(Cycles(100_000));
            }
        };
        simulation.spawn(on(0, 900_000), waker).unwrap();
        simulation.run().unwrap_or_else(|stuck| panic!("{settings:?}: {stuck}"));
    }
}

/// Two threads sleep on `a`. The first one is moved to `b` and woken there; the second one stays on
/// `a`, and a thread that sleeps on `b` later can be woken there: each wake-up finds one thread.
#[test]
fn who_is_moved_leaves_its_neighbours() {
    let chip = common::cores(4, &["os.futex_home=bucket"]);
    let mut simulation = simulation(&chip);
    let (a, b) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
    for (core, cell, after) in [(1, &a, 0), (2, &a, 100_000), (3, &b, 600_000)] {
        let cell = cell.clone();
        simulation.spawn(on(core, after), move || wait(&cell)).unwrap();
    }
    let mover = move || {
        assert_eq!(act::requeue(&a.0, 0, &b.0, 0, 1), Some((0, 1)));
        a.0.store(1, Release);
        assert_eq!(act::wake_moved(&b.0, 1), 1);
        act::delay(Cycles(500_000));
        b.0.store(1, Release);
        assert_eq!(act::wake_moved(&b.0, 1), 1);
        assert_eq!(act::wake_moved(&a.0, 1), 1);
    };
    simulation.spawn(on(0, 400_000), mover).unwrap();
    simulation.run().unwrap_or_else(|stuck| panic!("{stuck}"));
}

/// The deadline passes while the thread is on its way to sleep: the wait expires without a sleep.
#[test]
fn who_comes_too_late_does_not_sleep() {
    let chip = common::cores(2, &["os.futex_home=bucket"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let soon = until(&chip, 50_000 + chip.os.idle.wake_polling.0 + 1_500);
    simulation
        .spawn(on(0, 50_000), move || {
            assert_eq!(Simulated::wait_while(&cell.0, 0, Wait::Futex, soon), WaitResult::Expired);
        })
        .unwrap();
    let outcome = simulation.run().unwrap();
    assert_eq!(outcome.threads[0].counts.sleeps, 0);
}

/// Two sleepers, and a waker that rouses two halted CPUs in one call, spend the same time in the
/// kernel with futexes in memory as at fixed prices.
#[test]
fn the_code_costs_what_it_costs_at_fixed_prices() {
    let took = |settings: &[&str]| {
        let chip = common::cores(4, &[&["os.futex_wake=100000", "os.idle_poll=0"], settings].concat());
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        for core in [1, 2] {
            let cell = cell.clone();
            simulation.spawn(on(core, 0), move || wait(&cell)).unwrap();
        }
        simulation
            .spawn(on(0, 400_000), move || {
                cell.0.store(1, Release);
                Simulated::wake::<u32>(&cell.0, 2, Wait::Futex);
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        [0, 1, 2].map(|thread| outcome.threads[thread].time(Reason::Kernel).0)
    };
    let plain = took(&[]);
    assert_eq!(took(&["os.futex_home=bucket"]), plain);
    assert_eq!(plain, [2_600, 2_600, 100_000 + 2_500]);
}

/// A thread that holds a bucket's lock when its time slice ends gives up its CPU after it has
/// released the lock.
#[test]
fn a_slice_that_ends_in_a_buckets_lock_ends_behind_it() {
    let chip = common::cores(1, &["os.time_slice=10000", "os.futex_home=bucket", "os.futex_wake_none=10"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let ran = Rc::new(Cell::new(0));
    let result = ran.clone();
    simulation
        .spawn(Spawn::default(), move || {
            while act::cpu_time().0 < 2_000_000 {
                assert_eq!(act::wake_moved(&cell.0, 1), 0);
            }
            result.set(act::time().0);
        })
        .unwrap();
    simulation.spawn(Spawn::default(), || Simulated::work(Cycles(2_000_000))).unwrap();
    let outcome = simulation.run().unwrap();
    assert!(outcome.threads[0].counts.preemptions > 150, "{}", outcome.threads[0].counts.preemptions);
}
