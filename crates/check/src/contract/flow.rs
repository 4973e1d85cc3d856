//! Contracts of every queue with flows.

use crate::world::{Scenario, Shared, World, share};
use baton_machine::{Atomic, Machine, Ordering, OwnedSlice, Slot, Wait};
use baton_sync::flow::{FlowOrder, FlowQueue, InHand, Shape};

/// A queue with flows, the queue to which its consumers pass items on, and what threads note.
struct Market<M: Machine, F: FlowQueue<M>> {
    queue: F,
    to: Shared<M, F>,
    /// By item: what its producer writes before it sends the item.
    notes: OwnedSlice<M, M::Slot<u64>>,
    /// By flow: the number of the flow's last item, plus one. Only a thread that has an item of the
    /// flow in hand accesses it.
    last: OwnedSlice<M, M::Slot<u64>>,
    /// By item: how often it was received.
    received: OwnedSlice<M, M::Atomic<u64>>,
}

// SAFETY: a note is read by the guest that received its item, and a flow's number by the guest that
// has an item of the flow in hand, which is what is tested.
unsafe impl<M: Machine, F: FlowQueue<M>> Sync for Market<M, F> {}
// SAFETY: as above.
unsafe impl<M: Machine, F: FlowQueue<M>> Send for Market<M, F> {}

/// Number of flows. Items take turns in them.
const FLOWS: usize = 2;

fn flow(item: usize) -> u16 {
    (item % FLOWS) as u16
}

impl<M: Machine, F: FlowQueue<M>> Market<M, F> {
    fn new(shape: Shape, items: usize) -> Self {
        let new = |shape, to: &[_]| F::new(shape, to).expect("a shape that is allowed");
        let to = share::<M, _>(new(Shape { order: FlowOrder::Directed, capacity: 1, window: 1 }, &[]));
        Market {
            queue: new(shape, std::slice::from_ref(&to)),
            to,
            notes: OwnedSlice::new(items, |_| M::Slot::new(0)),
            last: OwnedSlice::new(FLOWS, |_| M::Slot::new(0)),
            received: OwnedSlice::new(items, |_| M::Atomic::new(0)),
        }
    }

    fn produce(&self, wait: Wait) {
        for item in 0..self.notes.len() {
            // SAFETY: no guest reads the note before it has received the item.
            unsafe { self.notes[item].write(|note| *note = item as u64 + 7) };
            self.queue.send(item as u64, flow(item), wait);
        }
    }

    fn bind(queue: &F) {
        queue.bind().expect("there is a token for each guest");
    }

    /// Receives an item and checks what came with it. Returns the item, and its number.
    fn receive(&self, wait: Wait) -> (InHand, usize) {
        let got = self.queue.receive(wait);
        let item = got.word as usize;
        assert_eq!(got.flow, flow(item), "an item with another flow");
        // SAFETY: the item was received, so its note was written before.
        assert_eq!(unsafe { self.notes[item].read(|note| *note) }, got.word + 7, "the item came before its note");
        self.received[item].fetch_add(1, Ordering::Relaxed);
        (got, item)
    }

    /// Writes the item's number as the last one of its flow.
    ///
    /// # Safety
    /// No other guest has an item of the flow in hand.
    unsafe fn note(&self, item: usize) {
        let last = &self.last[usize::from(flow(item))];
        // SAFETY: the caller promises to be alone with the flow.
        unsafe {
            assert!(last.read(|last| *last) <= item as u64, "an item came behind a later one of its flow");
            last.write(|last| *last = item as u64 + 1);
        }
    }

    fn assert_complete(&self) {
        assert!(self.received.iter().all(|times| times.load(Ordering::Relaxed) == 1), "items lost or doubled");
    }
}

/// Two consumers of an atomic queue: no two have items of one flow in hand, each flow is in order,
/// and a consumer sees what the flow's last one wrote. With a window of one, flows share a bucket.
pub fn atomic<W: World, F: FlowQueue<W::M>>() {
    for &wait in W::WAITS {
        for window in [1, 2] {
            consume::<W, F>(Shape { order: FlowOrder::Atomic, capacity: 2, window }, 2, wait);
        }
    }
}

/// Two consumers of a parallel queue receive each item once.
pub fn parallel<W: World, F: FlowQueue<W::M>>() {
    for &wait in W::WAITS {
        consume::<W, F>(Shape { order: FlowOrder::Parallel, capacity: 2, window: 1 }, 2, wait);
    }
}

/// The only consumer of a directed queue receives the items in their order.
pub fn directed<W: World, F: FlowQueue<W::M>>() {
    for &wait in W::WAITS {
        consume::<W, F>(Shape { order: FlowOrder::Directed, capacity: 1, window: 1 }, 1, wait);
    }
}

/// A producer, and consumers that complete what they receive.
fn consume<W: World, F: FlowQueue<W::M>>(shape: Shape, consumers: usize, wait: Wait) {
    let rounds = W::few().rounds;
    W::skim(move || {
        let market = share::<W::M, _>(Market::<W::M, F>::new(shape, rounds * consumers));
        let (all, producer) = (market.clone(), market.clone());
        let consumer = |_| {
            let market = market.clone();
            move || {
                Market::<W::M, F>::bind(&market.queue);
                for _ in 0..rounds {
                    let (got, item) = market.receive(wait);
                    if shape.order != FlowOrder::Parallel {
                        // SAFETY: the queue is atomic, or has one consumer.
                        unsafe { market.note(item) };
                    }
                    // SAFETY: the item came from this queue.
                    unsafe { market.queue.complete(got, wait) };
                }
            }
        };
        let scenario = Scenario::new().guest(move || producer.produce(wait)).guests(consumers, consumer);
        scenario.finally(move || all.assert_complete())
    });
}

/// Two consumers of an ordered queue pass items on, and drop every third: what they pass on comes in
/// the order in which the items were sent, though the next queue has one place.
pub fn ordered<W: World, F: FlowQueue<W::M>>() {
    for &wait in W::WAITS {
        for window in [1, 2] {
            let shape = Shape { order: FlowOrder::Ordered, capacity: 2, window };
            W::glance(move || pass_on::<W, F>(shape, wait));
        }
    }
}

fn pass_on<W: World, F: FlowQueue<W::M>>(shape: Shape, wait: Wait) -> Scenario {
    let rounds = W::few().rounds.max(2);
    let is_dropped = |item: usize| item % 3 == 2;
    let market = share::<W::M, _>(Market::<W::M, F>::new(shape, 2 * rounds));
    let (all, producer, collector) = (market.clone(), market.clone(), market.clone());
    let consumer = |_| {
        let market = market.clone();
        move || {
            Market::<W::M, F>::bind(&market.queue);
            for _ in 0..rounds {
                let (got, item) = market.receive(wait);
                // SAFETY: the item came from this queue.
                unsafe {
                    match is_dropped(item) {
                        true => market.queue.complete(got, wait),
                        false => market.queue.pass_on(got, 0, item as u64 + 100, wait),
                    }
                }
            }
        }
    };
    let collect = move || {
        Market::<W::M, F>::bind(&collector.to);
        for item in (0..2 * rounds).filter(|&item| !is_dropped(item)) {
            let got = collector.to.receive(wait);
            assert_eq!((got.word, got.flow), (item as u64 + 100, flow(item)), "out of order");
            // SAFETY: only the collector uses the flows' numbers, and the item came from this queue.
            unsafe {
                collector.note(item);
                collector.to.complete(got, wait);
            }
        }
    };
    let scenario = Scenario::new().guest(move || producer.produce(wait)).guests(2, consumer).guest(collect);
    scenario.finally(move || all.assert_complete())
}
