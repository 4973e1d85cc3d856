//! Futexes whose buckets and queues live in memory: order, deadlines, moving, and what a sleep and
//! a wake-up cost.

use crate::common;
use crate::common::{Alone, Shared, cell, simulation};
use baton_chip::{Chip, Options, Outcome, Reason, Simulated, Simulation, Spawn, act};
use baton_machine::{Atomic, Deadline, Machine, Ordering::*, Wait, WaitResult, units::Cycles};
use baton_units::CoreId;
use std::cell::RefCell;
use std::rc::Rc;

const OCOR: &str = include_str!("../../../../chips/ocor64.toml");

fn on(core: u32, after: u64) -> Spawn {
    Spawn { affinity: vec![CoreId(core)], after: Cycles(after), ..Spawn::default() }
}

/// Chips of fixed latencies, with futexes at fixed prices and in memory, and coherent chips with
/// both placements of a futex's bucket (`os.futex_home`).
fn chips() -> Vec<Chip> {
    let mut chips: Vec<Chip> = [&[][..], &["os.futex_home=bucket"]].map(|set| common::cores(8, set)).into();
    for home in ["bucket", "lock"] {
        let settings = [format!("os.futex_home={home}"), "noise.start=0".into()];
        chips.push(Chip::from_toml_with(OCOR, "ocor64.toml", &settings).unwrap());
    }
    chips
}

fn wait(cell: &Shared<Alone<u32>>) {
    let _ = Simulated::wait_while(&cell.0, 0, Wait::Futex, None);
}

fn total(outcome: &Outcome, reason: Reason) -> u64 {
    outcome.threads.iter().map(|thread| thread.time(reason).0).sum()
}

#[test]
fn sleepers_are_woken_in_the_order_in_which_they_came() {
    for chip in chips() {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let order = Rc::new(RefCell::new(Vec::new()));
        // The thread on core 3 falls asleep first.
        for (turn, core) in [3, 1, 6, 2, 5].into_iter().enumerate() {
            let (cell, order) = (cell.clone(), order.clone());
            let sleeper = move || {
                wait(&cell);
                order.borrow_mut().push(core);
            };
            simulation.spawn(on(core, turn as u64 * 100_000), sleeper).unwrap();
        }
        let waker = move || {
            cell.0.store(1, Release);
            for _ in 0..5 {
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
                act::delay(Cycles(200_000));
            }
        };
        simulation.spawn(on(0, 1_000_000), waker).unwrap();
        simulation.run().unwrap();
        assert_eq!(*order.borrow(), [3, 1, 6, 2, 5], "{}", chip.name);
    }
}

#[test]
fn moved_sleepers_wait_behind_the_others_and_deadlines_hold() {
    for chip in chips() {
        let mut simulation = simulation(&chip);
        let (a, b) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
        let order = Rc::new(RefCell::new(Vec::new()));
        for (turn, (at, core)) in [(&b, 1), (&a, 2), (&a, 3), (&a, 4), (&a, 5)].into_iter().enumerate() {
            let (cell, order) = (at.clone(), order.clone());
            let sleeper = move || {
                wait(&cell);
                order.borrow_mut().push(core);
            };
            simulation.spawn(on(core, turn as u64 * 100_000), sleeper).unwrap();
        }
        let hasty = a.clone();
        let clock = chip.core.clock;
        let until = clock.nanos(Cycles(3_000_000));
        simulation
            .spawn(on(6, 600_000), move || {
                let deadline = Deadline { at: until, clock: Default::default() };
                assert_eq!(Simulated::wait_while(&hasty.0, 0, Wait::Futex, Some(deadline)), WaitResult::Expired);
                assert!(act::time() >= clock.cycles(until), "not before its time");
            })
            .unwrap();
        simulation
            .spawn(on(0, 1_000_000), move || {
                assert_eq!(act::requeue(&a.0, 7, &b.0, 1, 9), None, "the value is another");
                assert_eq!(
                    act::requeue(&a.0, 0, &b.0, 1, 9),
                    Some((1, 4)),
                    "one is woken, three and the hasty one move"
                );
                // The woken thread looks again, finds its value unchanged, and sleeps anew on its
                // own cell.
                act::delay(Cycles(3_000_000));
                a.0.store(1, Release);
                b.0.store(1, Release);
                // Two are woken: the thread that slept on `b` before, then the first of those that
                // were moved.
                assert_eq!(act::wake_moved(&b.0, 2), 2);
                act::delay(Cycles(200_000));
                assert_eq!(act::wake_moved(&b.0, 9), 2, "the hasty one has left");
                Simulated::wake::<u32>(&a.0, 9, Wait::Futex);
            })
            .unwrap();
        simulation.run().unwrap();
        let order = order.borrow();
        assert_eq!(order.len(), 5, "{}", chip.name);
        assert_eq!(order[0], 1, "{}: {order:?}", chip.name);
        let mut firsts = order[..2].to_vec();
        firsts.sort_unstable();
        assert_eq!(firsts, [1, 3], "{}: {order:?}", chip.name);
    }
}

/// A thread waits on `a` until its deadline. It is woken once while `a` is unchanged, so it goes to
/// sleep again, and around that moment it is moved to `b`. When its deadline has passed, `b` has no
/// trace of the thread: the next wake-up there reaches the thread that sleeps on `b`.
#[test]
fn a_sleeper_that_was_moved_on_its_way_back_to_sleep_leaves_its_new_queue() {
    for (chip, moment) in
        chips().iter().flat_map(|chip| (24_000..32_000).step_by(250).map(move |moment| (chip, moment)))
    {
        let mut simulation = simulation(chip);
        let (a, b) = (cell(&mut simulation, 0u32), cell(&mut simulation, 0u32));
        let at = chip.core.clock.nanos(Cycles(1_000_000));
        let (hasty, patient) = (a.clone(), b.clone());
        let hasty = move || {
            let deadline = Deadline { at, clock: Default::default() };
            assert_eq!(Simulated::wait_while(&hasty.0, 0, Wait::Futex, Some(deadline)), WaitResult::Expired);
        };
        simulation.spawn(on(1, 0), hasty).unwrap();
        simulation.spawn(on(2, 1_200_000), move || wait(&patient)).unwrap();
        let woken = a.clone();
        simulation.spawn(on(3, 200_000), move || Simulated::wake::<u32>(&woken.0, 1, Wait::Futex)).unwrap();
        let mover = move || {
            act::delay(Cycles(moment));
            act::requeue(&a.0, 0, &b.0, 0, 9);
            act::delay(Cycles(1_500_000 - act::time().0));
            b.0.store(1, Release);
            assert_eq!(act::wake_moved(&b.0, 1), 1);
        };
        simulation.spawn(on(0, 200_000), mover).unwrap();
        simulation.run().unwrap_or_else(|stuck| panic!("{}, {moment}: {stuck}", chip.name));
    }
}

/// On an idle chip, the call that wakes a sleeper, and the time until the sleeper runs, take longer
/// with futexes in memory than at fixed prices by exactly the accesses of the protocol.
#[test]
fn a_wait_and_a_wake_up_cost_their_accesses() {
    let settings = ["os.wake_idle=9000", "os.idle_poll=0"];
    let plain = common::cores(2, &settings);
    let stored = common::cores(2, &[&settings[..], &["os.futex_home=bucket"]].concat());
    let took = |chip: &Chip| {
        let mut simulation = simulation(chip);
        let cell = cell(&mut simulation, 0u32);
        let (sleeper, times) = (cell.clone(), Rc::new(RefCell::new([0; 3])));
        let woken = times.clone();
        simulation
            .spawn(on(0, 0), move || {
                wait(&sleeper);
                woken.borrow_mut()[2] = act::time().0;
            })
            .unwrap();
        let waker = times.clone();
        simulation
            .spawn(on(1, 400_000), move || {
                cell.0.store(1, Release);
                waker.borrow_mut()[0] = act::time().0;
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
                waker.borrow_mut()[1] = act::time().0;
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        let [call, back, run] = *times.borrow();
        (back - call, run - call, outcome)
    };
    let (plain_back, plain_run, _) = took(&plain);
    let (back, run, _) = took(&stored);
    let cache = &stored.cache;
    let (hit, transfer, upgrade) = (cache.hit, cache.transfer.same_cluster, cache.upgrade.same_cluster);
    // The waker's accesses: it takes the bucket's lock from the sleeper's cache, and looks at the
    // lock twice more; it reads the head, and the node's key and link; it writes head and tail; it
    // marks the node, which it has read before; and it gives the lock back.
    let bucket = (transfer + cache.atomic).0 + 5 * hit.0 + hit.0;
    let node = (transfer + hit + upgrade).0;
    assert_eq!(back - plain_back, bucket + node);
    // The sleeper reads its node once more when it runs.
    assert_eq!(run - plain_run, bucket + node + transfer.0);
}

/// What a wake-up costs if no thread sleeps, by `os.futex_wake_entry`.
#[test]
fn a_wake_up_without_a_sleeper_costs_what_the_kernel_does() {
    let took = |settings: &[&str]| {
        let mut simulation = simulation(&common::cores(1, settings));
        let (cell, time) = (cell(&mut simulation, 0u32), Rc::new(RefCell::new(0)));
        let spent = time.clone();
        simulation
            .spawn(on(0, 0), move || {
                // The first call finds the kernel's lines in no cache.
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
                let start = act::time().0;
                Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
                *spent.borrow_mut() = act::time().0 - start;
            })
            .unwrap();
        simulation.run().unwrap();
        *time.borrow()
    };
    let chip = common::cores(1, &[]);
    let (call, hit, atomic) = (chip.os.futex.wake_none.0, chip.cache.hit.0, chip.cache.atomic.0);
    for home in [&[][..], &["os.futex_home=bucket"]] {
        let with = |entry| took(&[home, &[entry]].concat());
        let program = with("os.futex_wake_entry=program");
        assert_eq!(took(home), program);
        assert_eq!(with("os.futex_wake_entry=call"), program + call, "{home:?}");
    }
    // In place of the program's look, the lock: an atomic on its ticket, two looks at it, the head,
    // and the store that gives it back.
    let stored = |entry| took(&["os.futex_home=bucket", entry]);
    let lock = atomic + hit + 3 * hit + hit;
    assert_eq!(stored("os.futex_wake_entry=lock"), stored("os.futex_wake_entry=program") - hit + call + lock);
    let refused =
        Chip::from_toml_with(OCOR, "x.toml", &["os.futex_wake_entry=none".to_owned()]).unwrap_err().to_string();
    assert!(refused.contains("key `os.futex_wake_entry` is the text \"none\"; expected \"program\""), "{refused}");
}

#[test]
fn a_holder_of_a_buckets_lock_is_not_preempted() {
    // With one core and the shortest time slice, a thread that spins on the bucket's lock would
    // spin for ever if the lock's holder were preempted.
    let settings = ["os.time_slice=1000", "os.wakeup_granularity=0", "os.futex_home=bucket", "os.context_switch=0"];
    for cores in [1, 2] {
        let chip = common::cores(cores, &settings);
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        for _ in 0..6 {
            let cell = cell.clone();
            let body = move || {
                for round in 0..40u64 {
                    cell.0.store(0, Release);
                    let soon = Deadline { at: chip_time() + baton_units::Nanos(20_000), clock: Default::default() };
                    let _ = Simulated::wait_while(&cell.0, 0, Wait::Futex, Some(soon));
                    Simulated::work(Cycles(300 + round));
                    cell.0.store(1, Release);
                    Simulated::wake::<u32>(&cell.0, 2, Wait::Futex);
                }
            };
            simulation.spawn(Spawn::default(), body).unwrap();
        }
        let outcome = simulation.run().unwrap();
        assert!(outcome.finished && total(&outcome, Reason::Ready) > 0);
    }
}

/// A thread that has released a bucket's lock can be preempted again.
#[test]
fn who_has_held_a_buckets_lock_is_preempted_again() {
    let chip = common::cores(1, &["os.time_slice=10000", "os.futex_home=bucket"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    for _ in 0..2 {
        let cell = cell.clone();
        let body = move || {
            assert_eq!(act::wake_moved(&cell.0, 1), 0);
            Simulated::work(Cycles(100_000));
        };
        simulation.spawn(Spawn::default(), body).unwrap();
    }
    let outcome = simulation.run().unwrap();
    assert!(outcome.threads.iter().all(|thread| thread.counts.preemptions > 5), "{:?}", outcome.threads);
}

fn chip_time() -> baton_units::Nanos {
    Simulated::now(Default::default())
}

#[test]
fn the_locks_home_needs_lines_that_go_round() {
    let set = |text, settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.into()).collect();
        Chip::from_toml_with(text, "x.toml", &settings).unwrap_err().to_string()
    };
    let sample = include_str!("../../../../chips/sample-host.toml");
    let says = "--set: key `os.futex_home` is the text \"kernel\"; expected \"bucket\" or \"lock\"";
    assert_eq!(set(sample, &["os.futex_home=kernel"]), says);
    for (text, settings) in
        [(sample, vec!["os.futex_home=lock"]), (OCOR, vec!["home.placement=first-touch", "os.futex_home=lock"])]
    {
        let error = set(text, &settings);
        assert!(
            error.contains("key `os.futex_home` is \"lock\"; expected \"bucket\" where lines do not go round"),
            "{error}"
        );
    }
    let cut: String =
        OCOR.lines().filter(|line| !line.starts_with("futex_home")).map(|line| format!("{line}\n")).collect();
    let error = set(&cut, &[]);
    assert!(
        error.contains("key `os.ipi` is \"home\"; expected \"price\" or \"packet\" without os.futex_home"),
        "{error}"
    );
}

/// If no sleeper is announced, a wake-up costs a fence and a look at the counter, and does not
/// enter the kernel.
#[test]
fn a_wake_up_of_nobody_stays_out_of_the_kernel() {
    let chip = common::cores(2, &["os.futex_home=bucket"]);
    let mut simulation = simulation(&chip);
    let cell = cell(&mut simulation, 0u32);
    let body = move || {
        Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
        let began = act::time();
        Simulated::wake::<u32>(&cell.0, 1, Wait::Futex);
        // The counter is in the cache since the first call.
        assert_eq!(act::time() - began, chip.core.fence + chip.cache.hit);
    };
    simulation.spawn(Spawn::default(), body).unwrap();
    assert_eq!(total(&simulation.run().unwrap(), Reason::Kernel), 0);
}

/// A waker that wakes several threads rouses the last one late. If the deadline of the last one has
/// come before that, and it sleeps for another reason, it sleeps on.
#[test]
fn a_late_rousing_leaves_another_sleep_alone() {
    let chip = common::cores(8, &["os.futex_home=bucket", "os.wake_polling=100", "os.idle_poll=9000000"]);
    let clock = chip.core.clock;
    let mut gone_on = 0;
    for deadline in (1_000_200..1_014_000).step_by(400) {
        let mut simulation = simulation(&chip);
        let cell = cell(&mut simulation, 0u32);
        let slept = Rc::new(RefCell::new((0, 0)));
        for core in 1..6 {
            let (cell, slept) = (cell.clone(), slept.clone());
            let sleeper = move || {
                // The sleeper that is roused last gives up at `deadline`.
                let until = Deadline { at: clock.nanos(Cycles(deadline)), clock: Default::default() };
                let _ = Simulated::wait_while(&cell.0, 0, Wait::Futex, (core == 5).then_some(until));
                let began = act::time();
                act::delay(Cycles(700_000));
                if core == 5 {
                    *slept.borrow_mut() = (began.0, (act::time() - began).0);
                }
            };
            simulation.spawn(on(core, u64::from(core) * 100_000), sleeper).unwrap();
        }
        let roused = Rc::new(RefCell::new(0));
        let end = roused.clone();
        let waker = move || {
            cell.0.store(1, Release);
            Simulated::wake::<u32>(&cell.0, 9, Wait::Futex);
            *end.borrow_mut() = act::time().0;
        };
        simulation.spawn(on(0, 1_000_000), waker).unwrap();
        simulation.run().unwrap();
        let (began, slept) = *slept.borrow();
        assert!(slept >= 700_000, "deadline {deadline}: it slept {slept} from {began} on");
        gone_on += u32::from(began < *roused.borrow() - chip.os.futex.wake_more.0);
    }
    assert!(gone_on > 3, "in too few runs it had gone on before it was roused: {gone_on}");
}

/// A sleep takes the same events and operations however long it lasts.
#[test]
fn a_thread_that_sleeps_costs_nothing() {
    let events = |cycles: u64| {
        let chip = common::cores(2, &["os.futex_home=bucket"]);
        let mut simulation = Simulation::new(&chip, &Options::default()).unwrap();
        let cell = cell(&mut simulation, 0u32);
        for _ in 0..100 {
            let cell = cell.clone();
            simulation.spawn(Spawn::default(), move || wait(&cell)).unwrap();
        }
        simulation
            .spawn(Spawn { after: Cycles(cycles), ..Spawn::default() }, move || {
                cell.0.store(1, Release);
                Simulated::wake::<u32>(&cell.0, u32::MAX, Wait::Futex);
            })
            .unwrap();
        let outcome = simulation.run().unwrap();
        (outcome.events, outcome.guest_operations)
    };
    assert_eq!(events(100_000_000), events(100_000_000_000));
}
