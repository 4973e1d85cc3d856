//! Each kind of access takes what the chip file says, to the cycle; deadlines are met to the cycle.

use crate::common;
use crate::common::{cell, simulation};
use baton_chip::{Chip, Reason, Simulated, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles};
use baton_units::CoreId;
use std::cell::Cell;
use std::rc::Rc;

fn on(core: u32) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }
}

/// Two sockets of two clusters of two cores.
fn eight() -> Chip {
    common::chip(&["core.count=8", "core.per_cluster=2", "core.clusters_per_socket=2"])
}

/// How long the running thread takes for `act`.
fn timed(act: impl FnOnce()) -> u64 {
    let start = act::time();
    act();
    (act::time() - start).0
}

#[test]
fn transactions_take_what_the_chip_file_says() {
    let chip = eight();
    let cache = &chip.cache;
    // The rows below: what core 0 does first, the core of the other thread, what the other thread
    // does then, and the price of that.
    type Act = fn(&common::Cell<u32>);
    let nothing: Act = |_| {};
    let load: Act = |cell| _ = cell.load(Relaxed);
    let store: Act = |cell| cell.store(1, Relaxed);
    let add: Act = |cell| _ = cell.fetch_add(1, Relaxed);
    let load_add: Act = |cell| _ = (cell.load(Relaxed), cell.fetch_add(1, Relaxed));
    let transfer = &cache.transfer;
    let upgrade = &cache.upgrade;
    for (first, other, then, price) in [
        (nothing, 1, load, cache.memory),
        (nothing, 1, store, cache.memory),
        (nothing, 1, add, cache.memory + cache.atomic),
        (store, 0, load, cache.hit),
        (load, 0, store, cache.hit),
        (store, 0, add, cache.hit + cache.atomic),
        (store, 1, load, transfer.same_cluster),
        (store, 2, load, transfer.same_socket),
        (store, 4, load, transfer.cross_socket),
        (store, 1, add, transfer.same_cluster + cache.atomic),
        (load, 7, store, transfer.cross_socket),
        (store, 1, load_add, transfer.same_cluster + upgrade.same_cluster + cache.atomic),
        (store, 3, load_add, transfer.same_socket + upgrade.same_socket + cache.atomic),
        (store, 6, load_add, transfer.cross_socket + upgrade.cross_socket + cache.atomic),
    ] {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let took = Rc::new(Cell::new(0));
        let (one, two, took_too) = (cell.clone(), cell, took.clone());
        simulation.spawn(on(0), move || first(&one.0)).unwrap();
        let later = Spawn { after: Cycles(100_000), ..on(other) };
        simulation.spawn(later, move || took_too.set(timed(|| then(&two.0)))).unwrap();
        simulation.run().unwrap();
        assert_eq!(took.get(), price.0, "on core {other}");
    }
}

#[test]
fn requests_of_one_line_are_served_one_after_the_other() {
    let chip = common::cores(8, &[]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let ends = Rc::new(std::cell::RefCell::new(Vec::new()));
    for core in 0..8 {
        let (cell, ends) = (cell.clone(), ends.clone());
        simulation
            .spawn(on(core), move || {
                let _ = cell.0.fetch_add(1, Relaxed);
                ends.borrow_mut().push(act::time().0);
            })
            .unwrap();
    }
    simulation.run().unwrap();
    let ends = ends.borrow();
    let turn = chip.cache.transfer.same_cluster + chip.cache.atomic;
    for pair in ends.windows(2) {
        assert_eq!(pair[1] - pair[0], turn.0);
    }
}

#[test]
fn a_wake_up_costs_what_the_chip_file_says() {
    let idle = ["os.futex_wake=5000", "os.wake_idle=9000", "os.wake_polling=700", "os.idle_poll=50000"];
    let chip = common::cores(2, &idle);
    wake_ups_cost(&chip, [(20_000, 5000, 700), (400_000, 5000, 9000)]);
    // Waking a CPU that polls needs no interrupt, if the chip has a price for it.
    let chip = common::cores(2, &[&idle[..], &["os.futex_wake_polling=1900"]].concat());
    wake_ups_cost(&chip, [(20_000, 1900, 700), (400_000, 5000, 9000)]);
}

/// Wakes a sleeper after the delay of each row, and compares the price of the waker's call and the
/// sleeper's latency with the other two numbers of the row.
fn wake_ups_cost(chip: &Chip, rows: [(u64, u64, u64); 2]) {
    for (delay, price, latency) in rows {
        let mut simulation = simulation(chip);
        let cell = cell(&mut simulation, 0u32);
        let woken_at = Rc::new(Cell::new(0));
        let waker_went_on = Rc::new(Cell::new(0));
        let (sleeper, waker) = (cell.clone(), cell);
        let woken = woken_at.clone();
        simulation
            .spawn(on(0), move || {
                let _ = Simulated::wait_while(&sleeper.0, 0, Wait::Futex, None);
                woken.set(act::time().0);
            })
            .unwrap();
        let went_on = waker_went_on.clone();
        let at_call = Rc::new(Cell::new(0));
        let call = at_call.clone();
        simulation
            .spawn(Spawn { after: Cycles(delay), ..on(1) }, move || {
                waker.0.store(1, Release);
                call.set(act::time().0);
                Simulated::wake::<u32>(&waker.0, 1, Wait::Futex);
                went_on.set(act::time().0);
            })
            .unwrap();
        simulation.run().unwrap();
        let (os, cache) = (&chip.os, &chip.cache);
        // The waker executes a fence, looks at the table of sleepers, and enters the kernel.
        let look = chip.core.fence + cache.transfer.same_cluster;
        assert_eq!(waker_went_on.get() - at_call.get(), look.0 + price);
        // The woken thread takes itself off the table, whose line the waker has read, and reads its
        // cell.
        let after = cache.upgrade.same_cluster + cache.atomic + cache.transfer.same_cluster;
        let runnable = at_call.get() + (look + os.futex.wake_none).0;
        assert_eq!(woken_at.get(), runnable + latency + after.0);
    }
}

#[test]
fn nobody_asleep_costs_no_system_call() {
    let chip = common::cores(2, &[]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    simulation
        .spawn(on(0), move || {
            Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
            assert_eq!(timed(|| Simulated::wake::<u32>(&cell.0, 1, Wait::Pause)), 0);
        })
        .unwrap();
    let outcome = simulation.run().unwrap();
    assert_eq!(outcome.threads[0].time(Reason::Kernel), Cycles(0));
}

#[test]
fn a_sleeper_expires_at_its_deadline() {
    let chip = common::cores(1, &["core.clock_hz=1000000000"]);
    for until in [50_000u64, 50_001, 3_000_000] {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        simulation
            .spawn(on(0), move || {
                let deadline = Deadline { at: baton_units::Nanos(until), clock: Default::default() };
                let ended = Simulated::wait_while(&cell.0, 0, Wait::Futex, Some(deadline));
                assert_eq!(ended, WaitResult::Expired);
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        let thread = &outcome.threads[0];
        let os = &chip.os;
        let latency = if until < 100_000 { os.idle.wake_polling } else { os.idle.wake };
        // The woken thread takes itself off the table, whose line its core still has, and looks at
        // the cell once more.
        let after = chip.cache.hit + chip.cache.atomic + chip.cache.hit;
        assert_eq!(thread.ended, Cycles(until) + latency + after);
    }
}

#[test]
fn a_bounded_spin_ends_at_its_last_try() {
    for tries in [1, 2, 128] {
        let chip = common::cores(1, &[]);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        simulation
            .spawn(on(0), move || {
                let soon = Deadline { at: baton_units::Nanos(1_000_000), clock: Default::default() };
                let _ = Simulated::wait_while(&cell.0, 0, Wait::SpinPark(tries), Some(soon));
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        let thread = &outcome.threads[0];
        assert_eq!(thread.counts.tries, u64::from(tries));
        assert_eq!(thread.counts.sleeps, 1);
        let spun = u64::from(tries) * chip.cache.hit.0 + u64::from(tries - 1) * chip.wait.pause.0;
        assert_eq!(thread.time(Reason::Spin), Cycles(spun));
    }
}

/// When the line of a plain spin goes, the core throws away what it has speculated. PAUSE keeps the
/// core from speculating.
#[test]
fn a_spin_pays_its_flush_when_its_line_goes() {
    let run = |flush: u32, wait, pause: u32| {
        let settings = [format!("core.flush={flush}"), format!("wait.pause={pause}")];
        let chip = common::cores(2, &[&settings[0], &settings[1]]);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let (waiter, writer) = (cell.clone(), cell);
        simulation
            .spawn(on(0), move || {
                assert_eq!(Simulated::wait_while(&waiter.0, 0, wait, None), WaitResult::Changed(2));
            })
            .unwrap();
        let body = move || {
            // The first store takes the line away without ending the wait.
            writer.0.store(0, Release);
            Simulated::work(Cycles(5_000));
            writer.0.store(2, Release);
        };
        simulation.spawn(Spawn { after: Cycles(100_000), ..on(1) }, body).unwrap();
        let outcome = simulation.run().unwrap();
        (outcome.threads[0].ended, outcome.threads[0].time(Reason::Flush).0)
    };
    let plain = run(0, Wait::Spin, 30);
    assert_eq!(plain.1, 0);
    for flush in [1, 20, 31] {
        let (ended, flushed) = run(flush, Wait::Spin, 30);
        assert_eq!(flushed, 2 * u64::from(flush), "the line went twice");
        assert!(ended >= plain.0, "{ended} after {}", plain.0);
        assert_eq!(run(flush, Wait::Pause, 30).1, 0, "with PAUSE between tries");
        // A PAUSE that takes no longer than an iteration of the plain loop does not keep the core
        // from speculating.
        let spin = common::chip(&[]).wait.spin.0 as u32;
        assert_eq!(run(flush, Wait::Pause, spin).1, 2 * u64::from(flush));
    }
}

#[test]
fn a_monitor_wakes_its_exit_after_the_line_goes() {
    let chip = common::cores(2, &["wait.mwaitx.enter=50", "wait.mwaitx.exit=333"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let (waiter, writer) = (cell.clone(), cell);
    simulation
        .spawn(on(0), move || {
            assert_eq!(Simulated::wait_while(&waiter.0, 0, Wait::Mwaitx, None), WaitResult::Changed(1));
            // The writer wakes up on a CPU that polls, the waiter's line goes, and the waiter
            // leaves its idle wait and reads the cell anew.
            let (polling, transfer) = (5_000, 120);
            assert_eq!(act::time(), Cycles(100_000 + polling + 333 + transfer));
        })
        .unwrap();
    simulation.spawn(Spawn { after: Cycles(100_000), ..on(1) }, move || writer.0.store(1, Release)).unwrap();
    simulation.run().unwrap();
}

#[test]
fn a_policy_that_the_chip_lacks_is_named() {
    let chip = common::cores(2, &["wait.tpause=70"]);
    assert!(chip.check_wait(Wait::Tpause).is_ok());
    let missing = chip.check_wait(Wait::Umwait).unwrap_err().to_string();
    assert_eq!(missing, "wait policy `umwait` is not available here: the chip file has no wait.umwait");
    for (wait, key) in [
        (Wait::Mwait(1), "wait.mwait.c1"),
        (Wait::Mwait(3), "wait.mwait.c3"),
        (Wait::Mwmon, "wait.mwmon"),
        (Wait::Halt, "wait.halt"),
    ] {
        let missing = chip.check_wait(wait).unwrap_err().to_string();
        assert_eq!(missing, format!("wait policy `{wait}` is not available here: the chip file has no {key}"));
    }
    let kernel = ["wait.mwait.c1.enter=5", "wait.mwait.c1.exit=5", "wait.mwait.level=kernel"];
    let refused = common::cores(2, &kernel).check_wait(Wait::Mwait(1)).unwrap_err().to_string();
    assert!(refused.contains("key wait.mwait.level is \"kernel\"") && refused.contains("mwmon"), "{refused}");
    assert!(common::cores(2, &kernel[..2]).check_wait(Wait::Mwait(1)).is_ok());
}
