//! Every queue of the registry that the real machine can have: no item is lost or duplicated, order
//! is kept, also in bulk, when counts wrap, and when items have destructors.

#![allow(clippy::disallowed_types, reason = "the tests stand outside of the algorithms")]

use baton_machine::{Machine, Native, Wait};
use baton_sync::queue::mpmc::Mpmc;
use baton_sync::queue::ring::Ring;
use baton_sync::queue::spsc::Spsc;
use baton_sync::queue::{self, BulkQueue, QUEUES, QueueError, QueueVisitor, RawQueue, Side};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Producers number their items; each consumer sees the items of one producer in order, and
/// together the consumers see all.
fn transfer<Q: RawQueue<Native, Item = u64>>(queue: &Q, items: u64, wait: Wait) {
    let threads = |side| if side == Side::Single { 1 } else { 2 };
    let (producers, consumers) = (threads(Q::INFO.producers), threads(Q::INFO.consumers));
    let sum = AtomicU64::new(0);
    std::thread::scope(|s| {
        for p in 0..producers {
            // SAFETY: there are as many producers as the queue allows.
            s.spawn(move || (0..items).for_each(|i| unsafe { queue.enqueue((p << 32) + i, wait) }));
        }
        for _ in 0..consumers {
            s.spawn(|| {
                let mut next = [0; 2];
                for _ in 0..items * producers / consumers {
                    // SAFETY: there are as many consumers as the queue allows.
                    let item = unsafe { queue.dequeue(wait) };
                    let (from, number) = ((item >> 32) as usize, item & 0xffff_ffff);
                    assert!(number >= next[from], "{} overtakes under {wait}", Q::INFO.name);
                    next[from] = number + 1;
                    sum.fetch_add(number + 1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), producers * items * (items + 1) / 2, "{} under {wait}", Q::INFO.name);
    // SAFETY: no other thread uses the queue.
    assert!(unsafe { queue.try_dequeue(wait) }.is_none());
}

struct Transfer(usize, Wait);

impl QueueVisitor<Native> for Transfer {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let queue = Q::with_capacity(self.0).unwrap();
        assert_eq!(queue.capacity(), self.0);
        // Spinning threads that outnumber the CPUs wait for each other's time slices.
        let items = if self.1.parks() { 2_000 } else { 20 };
        transfer(&queue, items, self.1);
    }
}

#[test]
fn items_arrive_once_and_in_order() {
    for info in QUEUES.iter().filter(|info| !info.device) {
        for capacity in [1, 2, 64] {
            for wait in [Wait::Pause, Wait::Futex, Wait::SpinPark(32)] {
                queue::visit::<Native, _>(info.name, Transfer(capacity, wait)).unwrap();
            }
        }
    }
}

struct Bounds;

impl QueueVisitor<Native> for Bounds {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        for bad in [0, 3, 6, (1 << 30) + 1, 1 << 31, usize::MAX] {
            let error = Q::with_capacity(bad).err().expect("no queue has this capacity");
            assert!(error.to_string().contains("power of two"), "{error}");
        }
        let queue = Q::with_capacity(4).unwrap();
        // SAFETY: no other thread uses the queue.
        unsafe {
            for lap in 0..5 {
                for i in 0..4 {
                    assert_eq!(queue.try_enqueue(10 * lap + i, Wait::Futex), Ok(()));
                }
                assert_eq!(queue.try_enqueue(99, Wait::Futex), Err(99), "{} holds too many", Q::INFO.name);
                for i in 0..4 {
                    assert_eq!(queue.try_dequeue(Wait::Futex), Some(10 * lap + i));
                }
                assert_eq!(queue.try_dequeue(Wait::Futex), None);
            }
        }
    }
}

#[test]
fn a_queue_is_full_at_its_capacity_and_empty_at_nothing() {
    for info in QUEUES.iter().filter(|info| !info.device) {
        queue::visit::<Native, _>(info.name, Bounds).unwrap();
    }
}

struct Absent;

impl QueueVisitor<Native> for Absent {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        assert_eq!(Q::with_capacity(4).err(), Some(QueueError::NoDevice), "{}", Q::INFO.name);
        assert_eq!(Q::with_capacity(3).err(), Some(QueueError::Capacity(3)), "{}", Q::INFO.name);
        // The native machine has no queue device: the type of its handle has no value, and
        // therefore no size.
        assert_eq!(size_of::<<Native as Machine>::Queues>(), 0);
    }
}

#[test]
fn a_queue_in_a_device_is_refused_and_says_why() {
    let in_devices: Vec<_> = QUEUES.iter().filter(|info| info.device).collect();
    assert!(!in_devices.is_empty());
    for info in in_devices {
        queue::visit::<Native, _>(info.name, Absent).unwrap();
    }
    assert!(Native::queues(0).is_none());
}

struct Took;

impl QueueVisitor<Native> for Took {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let expected = if Q::INFO.name == "auto" { "ring" } else { Q::INFO.name };
        assert_eq!(Q::with_capacity(4).unwrap().took(), expected);
    }
}

#[test]
fn auto_takes_the_ring_where_there_is_no_device_and_says_so() {
    for info in QUEUES.iter().filter(|info| !info.device) {
        queue::visit::<Native, _>(info.name, Took).unwrap();
    }
}

struct All(usize);

impl QueueVisitor<Native> for All {
    type Out = ();
    fn visit<Q: RawQueue<Native, Item = u64>>(self) {
        let queue = Q::with_capacity(8).unwrap();
        let items: Vec<u64> = (0..120).collect();
        std::thread::scope(|s| {
            // SAFETY: this is the only producer.
            s.spawn(|| items.chunks(self.0).for_each(|some| unsafe { queue.enqueue_all(some, Wait::Futex) }));
            let mut got = vec![0; items.len()];
            // SAFETY: this is the only consumer.
            got.chunks_mut(self.0).for_each(|some| unsafe { queue.dequeue_all(some, Wait::Futex) });
            assert_eq!(got, items, "{} by {}", Q::INFO.name, self.0);
        });
    }
}

#[test]
fn many_items_move_at_once_whatever_the_queue_holds() {
    for info in QUEUES.iter().filter(|info| !info.device) {
        for at_once in [1, 3, 5, 8, 32] {
            queue::visit::<Native, _>(info.name, All(at_once)).unwrap();
        }
    }
}

#[test]
fn bulk_is_all_or_nothing_and_burst_is_what_there_is() {
    let ring = Ring::<Native, u64>::starting_at(8, u32::MAX - 3).unwrap();
    let wait = Wait::Pause;
    let mut out = [0; 8];
    assert!(ring.enqueue_bulk(&[1, 2, 3, 4, 5], wait));
    assert!(!ring.enqueue_bulk(&[6, 7, 8, 9], wait));
    assert_eq!(ring.enqueue_burst(&[6, 7, 8, 9], wait), 3);
    assert_eq!(ring.enqueue_burst(&[9], wait), 0);
    assert!(ring.dequeue_bulk(&mut out[..6], wait));
    assert_eq!(out[..6], [1, 2, 3, 4, 5, 6]);
    assert!(!ring.dequeue_bulk(&mut out[..3], wait));
    assert_eq!(ring.dequeue_burst(&mut out, wait), 2);
    assert_eq!(out[..2], [7, 8]);
    assert!(ring.enqueue_bulk(&[], wait) && ring.dequeue_bulk(&mut [], wait));
}

#[test]
fn counts_wrap() {
    let ring = Ring::<Native, u64>::starting_at(4, u32::MAX - 1000).unwrap();
    transfer(&ring, 2_000, Wait::SpinPark(32));
}

#[test]
fn bulks_of_many_threads_stay_together() {
    const BULKS: u64 = 500;
    let ring = Ring::<Native, u64>::with_capacity(32).unwrap();
    let wait = Wait::Futex;
    let seen = AtomicU64::new(0);
    std::thread::scope(|s| {
        for p in 0..2 {
            let ring = &ring;
            s.spawn(move || {
                for b in 0..BULKS {
                    let bulk: [u64; 8] = std::array::from_fn(|i| (p << 32) + b * 8 + i as u64);
                    while !ring.enqueue_bulk(&bulk, wait) {
                        std::thread::sleep(std::time::Duration::from_micros(5));
                    }
                }
            });
            s.spawn(|| {
                let mut bulk = [0; 8];
                while seen.load(Ordering::Relaxed) < 2 * BULKS {
                    if ring.dequeue_bulk(&mut bulk, wait) {
                        assert!(bulk.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{bulk:?}");
                        seen.fetch_add(1, Ordering::Relaxed);
                    } else {
                        std::thread::sleep(std::time::Duration::from_micros(5));
                    }
                }
            });
        }
    });
    assert_eq!(seen.into_inner(), 2 * BULKS);
}

#[test]
fn what_is_left_in_a_queue_is_dropped_with_it() {
    fn leave<Q: RawQueue<Native, Item = Arc<()>>>() {
        let item = Arc::new(());
        let queue = Q::with_capacity(4).unwrap();
        // SAFETY: no other thread uses the queue.
        unsafe {
            for _ in 0..3 {
                queue.try_enqueue(item.clone(), Wait::Pause).unwrap();
            }
            drop(queue.try_dequeue(Wait::Pause));
        }
        assert_eq!(Arc::strong_count(&item), 3);
        drop(queue);
        assert_eq!(Arc::strong_count(&item), 1);
    }
    leave::<Spsc<Native, _>>();
    leave::<Ring<Native, _>>();
    leave::<Mpmc<Native, _>>();
}
