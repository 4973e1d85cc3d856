//! The queue `qmd` of `baton-sync` on a chip with a queue device: what goes in comes out, in bulk
//! too, and the device gets back what a dropped queue had.

use super::queues::{Body, chip, run};
use super::{count, on_one};
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_machine::units::Cycles;
use baton_machine::{Machine, Owned, Wait};
use baton_sync::queue::auto::Auto;
use baton_sync::queue::qmd::Qmd;
use baton_sync::queue::{QueueError, RawQueue};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

type Queue = Qmd<Simulated, u64>;
const WAIT: Wait = Wait::Pause;

fn made(capacity: usize) -> Queue {
    Queue::with_capacity(capacity).expect("there is room")
}

/// `pairs` producers and as many consumers move items in bulks. Returns what each consumer got.
fn moved(settings: &[&str], pairs: u64, each: u64, bulk: [usize; 2]) -> (Vec<Vec<u64>>, baton_chip::Outcome) {
    let chip = chip(settings);
    let mut simulation = Simulation::new(&chip, &Options::default()).expect("the host has memory");
    let queue = simulation.outside(|| Arc::new(Owned::<Simulated, Queue>::new(made(16))));
    let got: Vec<_> = (0..pairs).map(|_| Rc::new(RefCell::new(Vec::new()))).collect();
    for producer in 0..pairs {
        let (queue, spawn) = (queue.clone(), super::queues::on(producer as u32));
        let items: Vec<u64> = (0..each).map(|item| producer << 32 | item).collect();
        // SAFETY: any number of threads may enqueue.
        let body = move || items.chunks(bulk[0]).for_each(|some| unsafe { queue.enqueue_all(some, WAIT) });
        simulation.spawn(spawn, body).expect("there is a core");
    }
    for (consumer, out) in (0..).zip(&got) {
        let (queue, out) = (queue.clone(), out.clone());
        let body = move || {
            let mut items = vec![0; each as usize];
            // SAFETY: any number of threads may dequeue.
            items.chunks_mut(bulk[1]).for_each(|some| unsafe { queue.dequeue_all(some, WAIT) });
            *out.borrow_mut() = items;
        };
        simulation.spawn(super::queues::on(pairs as u32 + consumer), body).expect("there is a core");
    }
    let outcome = simulation.run().expect("it ends");
    simulation.outside(|| drop(queue));
    (got.iter().map(|list| list.borrow().clone()).collect(), outcome)
}

/// Asserts that no item is lost or doubled, and that each consumer has each producer's items in the
/// order in which they were sent.
fn is_whole(got: &[Vec<u64>], each: u64) {
    for list in got {
        for producer in 0..got.len() as u64 {
            assert!(list.iter().filter(|item| **item >> 32 == producer).is_sorted(), "{list:?}");
        }
    }
    let mut all: Vec<u64> = got.iter().flatten().copied().collect();
    all.sort_unstable();
    let sent: Vec<u64> = (0..got.len() as u64).flat_map(|p| (0..each).map(move |item| p << 32 | item)).collect();
    assert_eq!(all, sent);
}

#[test]
fn bulks_of_many_threads_arrive_whole_and_in_order() {
    for bulk in [[1, 1], [5, 3], [8, 8], [3, 100], [100, 7]] {
        for settings in [&[][..], &["device.outstanding=1"], &["device.qmd.engines=2", "device.younger_stores=pass"]] {
            let (got, outcome) = moved(settings, 4, 100, bulk);
            is_whole(&got, 100);
            assert_eq!(count(&outcome, "refused"), 0);
        }
    }
}

#[test]
fn a_bulk_hides_latency_as_far_as_requests_may_be_under_way() {
    let cycles = |settings: &[&str], bulk| moved(settings, 1, 400, [bulk, bulk]).1.cycles.0;
    let (single, bulk) = (cycles(&[], 1), cycles(&[], 16));
    assert!(bulk * 5 < single, "{bulk} {single}");
    let alone = cycles(&["device.outstanding=1"], 16);
    assert!(alone * 10 > single * 9, "one at a time, a bulk is no faster: {alone} {single}");
}

/// The device's timer drops what waits too long. The queue asks again, so that nothing is lost and
/// a consumer's items stay in order.
#[test]
fn what_a_timer_drops_is_asked_for_again() {
    let late = |bulk: usize| {
        let got = Rc::new(RefCell::new(Vec::new()));
        let (out, queue) = (got.clone(), Rc::new(RefCell::new(None::<Rc<Queue>>)));
        let first = queue.clone();
        let producer: Body = Box::new(move || {
            let own = Rc::new(made(4));
            *first.borrow_mut() = Some(own.clone());
            act::delay(Cycles(40_000));
            for item in 0..20 {
                // SAFETY: any number of threads may enqueue.
                unsafe { own.enqueue(item, WAIT) };
                Simulated::work(Cycles(3_000));
            }
        });
        let consumer: Body = Box::new(move || {
            act::delay(Cycles(10_000));
            let own = queue.borrow().clone().expect("made long ago");
            let mut items = [0; 20];
            // SAFETY: any number of threads may dequeue.
            items.chunks_mut(bulk).for_each(|some| unsafe { own.dequeue_all(some, WAIT) });
            *out.borrow_mut() = items.to_vec();
        });
        let timer = chip(&["device.qmd.timeout=2000"]);
        let outcome = run(&timer, 1, vec![(0, producer), (1, consumer)]).expect("it ends");
        assert_eq!(*got.borrow(), (0..20).collect::<Vec<u64>>());
        count(&outcome, "dropped")
    };
    assert!(late(1) > 0 && late(5) > 0, "the timer has dropped nothing");
}

#[test]
fn a_posted_item_comes_without_its_thread_waiting() {
    let took = Rc::new(Cell::new([0; 2]));
    let out = took.clone();
    let outcome = on_one(&[], move || {
        let queue = made(16);
        let begins = act::time().0;
        (0..8).for_each(|item| queue.post(item));
        let posted = act::time().0 - begins;
        // SAFETY: this thread is alone.
        (0..8).for_each(|item| assert_eq!(unsafe { queue.dequeue(WAIT) }, item));
        out.set([posted, act::time().0 - begins]);
    });
    let [posted, all] = took.get();
    assert!(posted <= 8 && all > 8 * 150, "{posted} {all}");
    assert_eq!((count(&outcome, "enqueued"), count(&outcome, "released")), (8, 0));
}

#[test]
fn a_dropped_queues_room_is_the_devices_again() {
    // The device has sixteen queues, and places for 2048 items in all.
    let outcome = on_one(&[], || {
        for _ in 0..50 {
            let queue = made(2048);
            assert_eq!(Queue::with_capacity(1).err(), Some(QueueError::NoRoom(1)));
            // SAFETY: this thread is alone.
            assert_eq!(unsafe { queue.try_enqueue(7, WAIT) }, Ok(()));
        }
        let all: Vec<Queue> = (0..16).map(|_| made(8)).collect();
        assert_eq!(Queue::with_capacity(8).err(), Some(QueueError::NoRoom(8)), "no queue is left");
        drop(all);
    });
    assert_eq!(count(&outcome, "released"), 50, "an item was in each of the fifty");
}

#[test]
fn a_queue_that_the_first_device_has_no_room_for_lies_in_the_second() {
    let outcome = on_one(&["device.count=2"], || {
        let queues = [made(2048), made(2048)];
        assert_eq!(Queue::with_capacity(1).err(), Some(QueueError::NoRoom(1)));
        for (item, queue) in (0..).zip(&queues) {
            queue.post(item);
        }
        for (item, queue) in (0..).zip(&queues) {
            // SAFETY: this thread is alone.
            assert_eq!(unsafe { queue.try_dequeue(WAIT) }, Some(item));
        }
    });
    let enqueued = |device: usize| outcome.devices[device].counts.iter().find(|(name, _)| *name == "enqueued").copied();
    assert_eq!([enqueued(0), enqueued(1)], [Some(("enqueued", 1)); 2]);
}

#[test]
fn without_a_device_there_is_no_queue() {
    let sample = include_str!("../../../../chips/sample-host.toml");
    let plain = Chip::from_toml(sample, "sample-host.toml").expect("a right chip");
    let mut simulation = Simulation::new(&plain, &Options::default()).expect("the host has memory");
    simulation.spawn(Spawn::default(), || assert!(Simulated::queues(0).is_none())).expect("there is a core");
    simulation.run().expect("it ends");
    let made = simulation.outside(|| Queue::with_capacity(4).err());
    assert_eq!(made, Some(QueueError::NoDevice));
}

/// A queue may be made before a run, as other data may. It may also outlive its simulation, as the
/// queue of a run that is cut off does.
#[test]
fn a_queue_is_made_and_dropped_outside_of_time() {
    let mut simulation = Simulation::new(&chip(&[]), &Options::default()).expect("the host has memory");
    let queues = simulation.outside(|| [made(1024), made(1024)]);
    assert_eq!(simulation.outside(|| Queue::with_capacity(1).err()), Some(QueueError::NoRoom(1)));
    let [first, second] = queues;
    simulation.outside(|| drop(first));
    let third = simulation.outside(|| made(1024));
    simulation.spawn(Spawn::default(), move || third.post(3)).expect("there is a core");
    let outcome = simulation.run().expect("it ends");
    assert_eq!(
        (count(&outcome, "enqueued"), outcome.devices[0].port.requests),
        (1, 2),
        "the post, and the drop's call"
    );
    drop(simulation);
    drop(second);
}

/// `Auto` takes `qmd` where a device has room, and the ring where there is no device or none with
/// room. The queue that it took passes items.
#[test]
fn auto_takes_what_there_is_and_says_what() {
    let took = |chip: &Chip, full: bool| {
        let mut simulation = Simulation::new(chip, &Options::default()).expect("the host has memory");
        let said = Rc::new(Cell::new(""));
        let out = said.clone();
        let body = move || {
            let mut others = Vec::new();
            while full && let Ok(queue) = Queue::with_capacity(16) {
                others.push(queue);
            }
            let auto = Auto::<Simulated, u64>::with_capacity(16).expect("there is a ring");
            out.set(auto.took());
            // SAFETY: this thread is alone.
            unsafe {
                auto.enqueue_all(&[1, 2, 3], WAIT);
                assert_eq!((auto.dequeue(WAIT), auto.try_dequeue(WAIT), auto.dequeue(WAIT)), (1, Some(2), 3));
                assert_eq!(auto.try_dequeue(WAIT), None);
            }
            assert_eq!(auto.capacity(), 16);
            assert!(Auto::<Simulated, u64>::with_capacity(3).is_err_and(|bad| bad == QueueError::Capacity(3)));
        };
        simulation.spawn(Spawn::default(), body).expect("there is a core");
        simulation.run().expect("it ends");
        said.get()
    };
    let with = chip(&[]);
    assert_eq!(took(&with, false), "qmd");
    assert_eq!(took(&with, true), "ring");
    let without = Chip::from_toml(include_str!("../../../../chips/sample-host.toml"), "sample-host.toml");
    assert_eq!(took(&without.expect("a right chip"), false), "ring");
}
