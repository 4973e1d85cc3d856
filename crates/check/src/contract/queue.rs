//! Contracts of every queue.

use crate::world::{Crowd, Scenario, World, share};
use baton_machine::{Machine, OwnedSlice, Slot, Wait};
use baton_sync::queue::{QueueError, RawQueue, Side};

/// A function that makes a queue of a given capacity.
type Make<Q> = fn(usize) -> Result<Q, QueueError>;

/// Capacities to test; with one place, every item meets a full queue and an empty one.
const CAPACITIES: [usize; 2] = [1, 2];

/// Whether the queue needs a device that this world's machine lacks. The attempt to make such a
/// queue must then fail with [`QueueError::NoDevice`], and the queue cannot be tested in this
/// world.
pub(super) fn lacks_device<W: World, Q: RawQueue<W::M, Item = u64>>() -> bool {
    let lacks = Q::INFO.device && !W::QUEUE_DEVICE;
    if lacks {
        for capacity in CAPACITIES {
            assert_eq!(Q::with_capacity(capacity).err(), Some(QueueError::NoDevice));
        }
    }
    lacks
}

/// Each item that goes in comes out once, the items of one producer come out in their order, and
/// the consumer sees what the producer wrote before.
pub fn transfer<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    for &crowd in W::CROWDS {
        for &wait in W::WAITS {
            for capacity in CAPACITIES {
                pass_on::<W, Q>(crowd, capacity, wait, Q::with_capacity);
            }
        }
    }
}

/// The contract `transfer`, at an age at which the queue's counts wrap.
pub fn long_life<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    for &wait in W::WAITS {
        for capacity in CAPACITIES {
            pass_on::<W, Q>(W::few(), capacity, wait, Q::aged);
        }
    }
}

/// A full queue returns the item and an empty one has none; in between it holds as many as it
/// claims, in order.
pub fn full_and_empty<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    for &wait in W::WAITS {
        for new in [Q::with_capacity as Make<Q>, Q::aged] {
            W::run(move || {
                let queue = share::<W::M, _>(new(4).expect("4 is a power of two"));
                let all = queue.clone();
                let scenario = Scenario::new().guest(move || {
                    for lap in 0..3 {
                        // SAFETY: this guest is the only one.
                        unsafe { fill_and_empty::<W, Q>(&queue, 10 * lap, wait) };
                    }
                });
                scenario.finally(move || drop(all))
            });
        }
    }
    for bad in [0, 3, 1 << 31] {
        assert!(Q::with_capacity(bad).is_err_and(|error| error == QueueError::Capacity(bad)), "a capacity of {bad}");
    }
}

/// A device without room returns the error for that, and has room again when a queue is dropped.
pub fn room<W: World, Q: RawQueue<W::M, Item = u64>>() {
    assert!(Q::INFO.device);
    if lacks_device::<W, Q>() {
        return;
    }
    W::run(move || {
        assert_eq!(Q::with_capacity(1 << 30).err(), Some(QueueError::NoRoom(1 << 30)));
        for _ in 0..2 {
            let mut all = Vec::new();
            let full = loop {
                match Q::with_capacity(2) {
                    Ok(queue) => all.push(queue),
                    Err(full) => break full,
                }
            };
            assert_eq!((full, all.is_empty()), (QueueError::NoRoom(2), false));
            all.pop();
            assert!(Q::with_capacity(2).is_ok(), "what a dropped queue had is free");
        }
        Scenario::new()
    });
}

/// Fills and empties the queue.
///
/// # Safety
/// The calling guest is alone with the queue.
unsafe fn fill_and_empty<W: World, Q: RawQueue<W::M, Item = u64>>(queue: &Q, first: u64, wait: Wait) {
    let n = queue.capacity() as u64;
    assert_eq!(n, 4);
    // SAFETY: the caller promises to be alone with the queue.
    unsafe {
        assert_eq!(queue.try_dequeue(wait), None, "an empty queue has nothing");
        for i in 0..n {
            assert_eq!(queue.try_enqueue(first + i, wait), Ok(()), "there is room");
        }
        assert_eq!(queue.try_enqueue(99, wait), Err(99), "a full queue gives the item back");
        for i in 0..n {
            assert_eq!(queue.try_dequeue(wait), Some(first + i), "out of order");
        }
        assert_eq!(queue.try_dequeue(wait), None, "an empty queue has nothing");
    }
}

/// Tries on both sides while others use the queue: each guest goes on trying until it has moved its
/// items.
pub fn tries<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    let rounds = W::few().rounds;
    for &wait in W::WAITS {
        W::run(move || {
            let market = share::<W::M, _>(Market::<W::M, Q>::new(2, 1, 1, rounds, Q::with_capacity));
            let all = market.clone();
            let (producer, consumer) = (market.clone(), market);
            let scenario = Scenario::new()
                .guest(move || {
                    for i in 0..rounds {
                        let item = producer.write(0, i);
                        // SAFETY: this is the only producer.
                        while unsafe { producer.queue.try_enqueue(item, wait) }.is_err() {
                            W::M::relax();
                        }
                    }
                })
                .guest(move || {
                    for i in 0..rounds {
                        let item = loop {
                            // SAFETY: this is the only consumer.
                            match unsafe { consumer.queue.try_dequeue(wait) } {
                                Some(item) => break item,
                                None => W::M::relax(),
                            }
                        };
                        consumer.read(0, i, item);
                    }
                });
            scenario.finally(move || all.assert_complete())
        });
    }
}

/// Pairs are put in and taken out, also if there is no room for a whole pair. A queue that moves pairs
/// item by item does nothing here that it does not do in `transfer`, and is looked at less closely.
pub fn pairs<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    let rounds = W::few().rounds;
    for &wait in W::WAITS {
        for capacity in CAPACITIES {
            let plan = move || {
                let market = share::<W::M, _>(Market::<W::M, Q>::new(capacity, 1, 1, 2 * rounds, Q::with_capacity));
                let all = market.clone();
                let (producer, consumer) = (market.clone(), market);
                let scenario = Scenario::new()
                    .guest(move || {
                        for i in 0..rounds {
                            let pair = [producer.write(0, 2 * i), producer.write(0, 2 * i + 1)];
                            // SAFETY: this is the only producer.
                            unsafe { producer.queue.enqueue_all(&pair, wait) };
                        }
                    })
                    .guest(move || {
                        for i in 0..rounds {
                            let mut pair = [0; 2];
                            // SAFETY: this is the only consumer.
                            unsafe { consumer.queue.dequeue_all(&mut pair, wait) };
                            (2 * i..).zip(pair).for_each(|(i, item)| consumer.read(0, i, item));
                        }
                    });
                scenario.finally(move || all.assert_complete())
            };
            if Q::INFO.counted_bulk.is_some() || Q::INFO.device { W::skim(plan) } else { W::glance(plan) }
        }
    }
}

/// Each guest puts in an item and takes one out, again and again, so that all guests are on both
/// sides.
pub fn both_sides<W: World, Q: RawQueue<W::M, Item = u64>>() {
    if lacks_device::<W, Q>() {
        return;
    }
    assert_eq!((Q::INFO.producers, Q::INFO.consumers), (Side::Multi, Side::Multi));
    let Crowd { guests, rounds } = W::few();
    for &wait in W::WAITS {
        for capacity in CAPACITIES {
            W::skim(move || {
                let market = Market::<W::M, Q>::new(capacity, guests, guests, guests * rounds, Q::with_capacity);
                let market = share::<W::M, _>(market);
                let all = market.clone();
                let guest = |me| {
                    let market = market.clone();
                    move || {
                        for i in 0..rounds {
                            let item = market.write(me, i);
                            // SAFETY: any number of guests may be on either side.
                            unsafe {
                                market.queue.enqueue(item, wait);
                                market.read(me, i, market.queue.dequeue(wait));
                            }
                        }
                    }
                };
                Scenario::new().guests(guests, guest).finally(move || all.assert_complete())
            });
        }
    }
}

/// Number of guests, out of `wanted`, that may be on a side.
fn side(side: Side, wanted: usize) -> usize {
    if side == Side::Single { 1 } else { wanted.max(1) }
}

/// Producers and consumers share the crowd. First the larger half produces, then the smaller one.
fn pass_on<W: World, Q: RawQueue<W::M, Item = u64>>(crowd: Crowd, capacity: usize, wait: Wait, new: Make<Q>) {
    let halves = [crowd.guests.div_ceil(2), crowd.guests / 2];
    for [producers, consumers] in [halves, [halves[1], halves[0]]] {
        let (producers, consumers) = (side(Q::INFO.producers, producers), side(Q::INFO.consumers, consumers));
        // The number of items divides evenly on both sides.
        let rounds = crowd.rounds * producers * consumers;
        let plan = move || {
            let market = Market::<W::M, Q>::new(capacity, producers, consumers, rounds, new);
            let market = share::<W::M, _>(market);
            let all = market.clone();
            let producer = |p| {
                let market = market.clone();
                move || market.produce(p, rounds / producers, wait)
            };
            let consumer = |c| {
                let market = market.clone();
                move || market.consume(c, rounds / consumers, wait)
            };
            let scenario = Scenario::new().guests(producers, producer).guests(consumers, consumer);
            scenario.finally(move || all.assert_complete())
        };
        if producers + consumers > 2 {
            W::skim(plan)
        } else {
            W::dig(plan)
        }
        if halves[0] == halves[1] {
            break;
        }
    }
}

/// A queue, what its producers wrote beside it, and what its consumers got.
pub(super) struct Market<M: Machine, Q> {
    pub(super) queue: Q,
    /// By item: what its producer writes before the item goes into the queue.
    written: OwnedSlice<M, M::Slot<u64>>,
    /// By consumer, in order: the items that it got.
    got: Vec<OwnedSlice<M, M::Slot<u64>>>,
    /// Number of items of each producer.
    each: usize,
}

// SAFETY: what is written for an item is read by the thread that got the item, which is what is
// tested; a consumer's list is accessed only by the consumer until the guests have ended.
unsafe impl<M: Machine, Q: Sync> Sync for Market<M, Q> {}
// SAFETY: what is written for an item is read by the thread that got the item, which is what is
// tested.
unsafe impl<M: Machine, Q: Send> Send for Market<M, Q> {}

impl<M: Machine, Q: RawQueue<M, Item = u64>> Market<M, Q> {
    pub(super) fn new(capacity: usize, producers: usize, consumers: usize, items: usize, new: Make<Q>) -> Self {
        let slots = |n: usize| OwnedSlice::new(n, |_| M::Slot::new(u64::MAX));
        Market {
            queue: new(capacity).expect("a power of two"),
            written: slots(items),
            got: (0..consumers).map(|_| slots(items / consumers)).collect(),
            each: items / producers,
        }
    }

    /// Returns the producer's `i`th item, after writing the note that goes with it.
    pub(super) fn write(&self, producer: usize, i: usize) -> u64 {
        let item = producer * self.each + i;
        // SAFETY: a thread reads the note only after it got the item, which is not in the queue
        // yet.
        unsafe { self.written[item].write(|at| *at = !(item as u64)) };
        item as u64
    }

    /// Records that the consumer got the item, and checks the note that goes with it.
    pub(super) fn read(&self, consumer: usize, i: usize, item: u64) {
        let slot = self.written.get(item as usize).expect("an item that nobody made");
        // SAFETY: the note was written before the item went into the queue.
        assert_eq!(unsafe { slot.read(|at| *at) }, !item, "what the producer wrote is not there");
        // SAFETY: only this consumer writes its list.
        unsafe { self.got[consumer][i].write(|at| *at = item) };
    }

    fn produce(&self, producer: usize, n: usize, wait: Wait) {
        for i in 0..n {
            let item = self.write(producer, i);
            // SAFETY: if the queue allows only one producer, this is the only one.
            unsafe { self.queue.enqueue(item, wait) };
        }
    }

    fn consume(&self, consumer: usize, n: usize, wait: Wait) {
        for i in 0..n {
            // SAFETY: if the queue allows only one consumer, this is the only one.
            let item = unsafe { self.queue.dequeue(wait) };
            self.read(consumer, i, item);
        }
    }

    /// Asserts that every item was got once, and that each consumer got the items of one producer
    /// in their order.
    pub(super) fn assert_complete(&self) {
        // SAFETY: the guests have ended.
        let read = |slot: &M::Slot<u64>| unsafe { slot.read(|at| *at) };
        let got: Vec<Vec<u64>> = self.got.iter().map(|list| list.iter().map(read).collect()).collect();
        for list in &got {
            for producer in 0..self.written.len() / self.each {
                let own = |item: &&u64| **item as usize / self.each == producer;
                assert!(list.iter().filter(own).is_sorted(), "out of order: {list:?}");
            }
        }
        let mut all: Vec<u64> = got.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..self.written.len() as u64).collect::<Vec<_>>(), "items lost or doubled");
    }
}
