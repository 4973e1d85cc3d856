//! More threads than contexts: a thread that waits at the device leaves its CPU to those that wait
//! for one, sleeps, and is interrupted when its queue has an item or room.

use super::count;
use super::queues::{chip, on};
use baton_chip::{Options, Outcome, Simulation, act};
use baton_machine::units::Cycles;
use baton_machine::{Owned, Wait};
use baton_sync::queue::RawQueue;
use baton_sync::queue::qmd::Qmd;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

type Queue = Qmd<baton_chip::Simulated, u64>;

/// The items that each consumer of a run got, in their order.
type Log = Rc<RefCell<Vec<Vec<u64>>>>;

/// Runs `pairs` producers and `pairs` consumers on the first `cores` cores. Each passes `each`
/// items, at most `bulk` at a time. Returns what each consumer got, and the outcome.
fn passed(settings: &[&str], [pairs, cores]: [u32; 2], each: u64, bulk: usize, wait: Wait) -> (Vec<Vec<u64>>, Outcome) {
    let chip = chip(settings);
    let options = Options { limit: Some(Cycles(400_000_000)), ..Options::default() };
    let mut simulation = Simulation::new(&chip, &options).expect("the host has memory");
    let make = || Arc::new(Owned::<baton_chip::Simulated, Queue>::new(Queue::with_capacity(8).expect("there is room")));
    let queue = simulation.outside(make);
    let got: Log = Rc::new(RefCell::new(vec![Vec::new(); pairs as usize]));
    for consumer in 0..pairs {
        let (queue, out) = (queue.clone(), got.clone());
        let body = move || {
            let mut items = vec![0; each as usize];
            // SAFETY: any number of threads may dequeue.
            items.chunks_mut(bulk).for_each(|some| unsafe { queue.dequeue_all(some, wait) });
            out.borrow_mut()[consumer as usize] = items;
        };
        simulation.spawn(on(consumer % cores), body).expect("there is a core");
    }
    for producer in 0..pairs {
        let queue = queue.clone();
        let items: Vec<u64> = (0..each).map(|item| u64::from(producer) << 32 | item).collect();
        let body = move || {
            // The consumers ask first.
            act::delay(Cycles(20_000));
            // SAFETY: any number of threads may enqueue.
            items.chunks(bulk).for_each(|some| unsafe { queue.enqueue_all(some, wait) });
        };
        simulation.spawn(on((pairs + producer) % cores), body).expect("there is a core");
    }
    let outcome = simulation.run().expect("it ends");
    assert!(outcome.finished, "{settings:?}: it goes on for ever");
    simulation.outside(|| drop(queue));
    (got.take(), outcome)
}

/// Asserts that no item is lost or doubled, and that each consumer has each producer's items in the
/// order in which they were sent.
fn is_whole(got: &[Vec<u64>], each: u64) {
    let mut all: Vec<u64> = got.iter().flatten().copied().collect();
    all.sort_unstable();
    let sent: Vec<u64> = (0..got.len() as u64).flat_map(|p| (0..each).map(move |item| p << 32 | item)).collect();
    assert_eq!(all, sent);
    for list in got {
        for producer in 0..got.len() as u64 {
            assert!(list.iter().filter(|item| **item >> 32 == producer).is_sorted(), "{list:?}");
        }
    }
}

/// A consumer blocks on the CPU that its producer needs. With patience the run's length does not
/// depend on the time slice, because no slice ends.
#[test]
fn a_thread_that_waits_does_not_keep_its_cpu_for_its_time_slice() {
    let cycles = |slice: u64, patience: u64| {
        let settings = [format!("os.time_slice={slice}"), format!("device.qmd.patience={patience}")];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let (got, outcome) = passed(&settings, [1, 1], 1, 1, Wait::Pause);
        assert_eq!(got, [[0]]);
        (outcome.cycles.0, count(&outcome, "dropped"), count(&outcome, "fired"))
    };
    for slice in [8_000_000, 800_000] {
        let (without, ..) = cycles(slice, 0);
        assert!(without > slice, "{without}: nothing drops the request, so the slice must end");
        let (with, dropped, fired) = cycles(slice, 5_000);
        assert!(with < 100_000 && dropped > 0 && fired == 1, "{with} {dropped} {fired}");
    }
    assert_eq!(cycles(8_000_000, 5_000), cycles(800_000, 5_000), "no slice ends");
}

/// With `Wait::Futex` a thread sleeps after its first dropped request, with `Wait::Pause` after its
/// second.
#[test]
fn the_wait_policy_says_when_a_thread_sleeps() {
    let dropped = |wait| {
        let (_, outcome) = passed(&[], [1, 1], 1, 1, wait);
        (count(&outcome, "dropped"), count(&outcome, "fired"))
    };
    assert_eq!(dropped(Wait::Futex), (1, 1));
    assert_eq!(dropped(Wait::Pause), (2, 1));
}

/// Two or four times as many threads as CPUs: all send and get their items, with both wait
/// policies, one by one and in bulk, with several settings of the device, and where no thread or
/// only one can be armed.
#[test]
fn all_threads_of_a_crowd_take_part_and_end() {
    let all: [&[&str]; 7] = [
        &[],
        &["device.qmd.patience=200", "os.time_slice=20000", "os.wakeup_granularity=5000"],
        &["device.qmd.patience=1000", "device.outstanding=1"],
        &["device.qmd.engines=2", "device.younger_stores=pass", "device.qmd.pointers=access"],
        &["device.qmd.buffers=shared", "device.qmd.patience=2000"],
        &["device.qmd.armed=1", "device.qmd.patience=500"],
        &["device.qmd.armed=0", "os.time_slice=50000"],
    ];
    for settings in all {
        for (bulk, cores, wait) in [(1, 4, Wait::Futex), (5, 2, Wait::Pause), (30, 4, Wait::Pause)] {
            let (got, outcome) = passed(settings, [4, cores], 30, bulk, wait);
            is_whole(&got, 30);
            assert!(count(&outcome, "dropped") > 0, "{settings:?}: no thread was in another's way");
        }
    }
}

/// With a CPU for each thread, patience changes neither the cycles nor any count of the device.
#[test]
fn without_a_crowd_nothing_changes() {
    let run = |patience: &str, bulk| passed(&[patience], [4, 8], 100, bulk, Wait::Futex).1;
    for bulk in [1, 20] {
        let (with, without) = (run("device.qmd.patience=100", bulk), run("device.qmd.patience=0", bulk));
        assert_eq!((with.cycles, &with.devices), (without.cycles, &without.devices));
    }
}

/// A thread is killed at one of forty moments: before, while or after it becomes armed for its
/// queue. The device forgets it, and another thread gets the item.
#[test]
fn a_thread_that_is_killed_in_its_sleep_bars_no_other() {
    for at in (0..40).map(|turn| 30_000 + 997 * turn) {
        let body = move || {
            let queue = Arc::new(Owned::<baton_chip::Simulated, Queue>::new(Queue::with_capacity(8).expect("room")));
            let wait = {
                let queue = queue.clone();
                // SAFETY: any number of threads may dequeue.
                move || unsafe { queue.dequeue(Wait::Futex) }
            };
            let victim = act::spawn(on(1), {
                let wait = wait.clone();
                move || {
                    let _ = wait();
                }
            });
            let other = act::spawn(on(1), move || assert_eq!(wait(), 7));
            act::delay(Cycles(at));
            act::kill(victim);
            act::join(victim);
            // SAFETY: any number of threads may enqueue.
            unsafe { queue.enqueue(7, Wait::Futex) };
            act::join(other);
        };
        let outcome = super::on_one(&["device.qmd.armed=2"], body);
        assert_eq!((count(&outcome, "enqueued"), count(&outcome, "dequeued")), (1, 1));
    }
}

/// Threads that sleep for items that never come are a deadlock, and not a run without end.
#[test]
fn who_sleeps_for_ever_is_found() {
    let bodies: Vec<(u32, super::Body)> = (0..2)
        .map(|_| {
            let body = || {
                let queue = Queue::with_capacity(8).expect("room");
                // SAFETY: any number of threads may dequeue.
                unsafe { queue.dequeue(Wait::Futex) };
            };
            (0, Box::new(body) as super::Body)
        })
        .collect();
    let stuck = super::run(&chip(&[]), 1, bodies).expect_err("nothing comes");
    assert!(stuck.contains("sleeps") && stuck.contains("device 0"), "{stuck}");
}
