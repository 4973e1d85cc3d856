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
    /// Number of flows. Items take turns in them.
    flows: usize,
}

// SAFETY: a note is read by the guest that received its item, and a flow's number by the guest that
// has an item of the flow in hand, which is what is tested.
unsafe impl<M: Machine, F: FlowQueue<M>> Sync for Market<M, F> {}
// SAFETY: as above.
unsafe impl<M: Machine, F: FlowQueue<M>> Send for Market<M, F> {}

/// The usual number of flows.
const FLOWS: usize = 2;

impl<M: Machine, F: FlowQueue<M>> Market<M, F> {
    /// A queue of this shape, and a queue with `room` places to which its consumers pass items on.
    fn new(shape: Shape, room: usize, items: usize, flows: usize) -> Self {
        let new = |shape, to: &[_]| F::new(shape, to).expect("a shape that is allowed");
        let to = share::<M, _>(new(Shape { order: FlowOrder::Directed, capacity: room, window: 1 }, &[]));
        Market {
            queue: new(shape, std::slice::from_ref(&to)),
            to,
            notes: OwnedSlice::new(items, |_| M::Slot::new(0)),
            last: OwnedSlice::new(flows, |_| M::Slot::new(0)),
            received: OwnedSlice::new(items, |_| M::Atomic::new(0)),
            flows,
        }
    }

    fn flow(&self, item: usize) -> u16 {
        (item % self.flows) as u16
    }

    fn produce(&self, wait: Wait) {
        self.produce_some(0..self.notes.len(), wait);
    }

    fn produce_some(&self, items: std::ops::Range<usize>, wait: Wait) {
        for item in items {
            // SAFETY: no guest reads the note before it has received the item.
            unsafe { self.notes[item].write(|note| *note = item as u64 + 7) };
            self.queue.send(item as u64, self.flow(item), wait);
        }
    }

    fn bind(queue: &F) {
        queue.bind().expect("there is a token for each guest");
    }

    /// Receives an item and checks what came with it. Returns the item, and its number.
    fn receive(&self, consumer: usize, wait: Wait) -> (InHand, usize) {
        let got = self.queue.receive(consumer as u32, wait);
        let item = got.word as usize;
        assert_eq!(got.flow, self.flow(item), "an item with another flow");
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
        let last = &self.last[usize::from(self.flow(item))];
        // SAFETY: the caller promises to be alone with the flow.
        unsafe {
            assert!(last.read(|last| *last) <= item as u64, "an item came behind a later one of its flow");
            last.write(|last| *last = item as u64 + 1);
        }
    }

    /// Receives an item of a queue of this order, notes its number if the thread is alone with the
    /// item's flow, and completes it.
    fn take(&self, order: FlowOrder, consumer: usize, wait: Wait) {
        let (got, item) = self.receive(consumer, wait);
        // SAFETY: the queue is atomic, or has one consumer; the item came from it.
        unsafe {
            if order != FlowOrder::Parallel {
                self.note(item);
            }
            self.queue.complete(got, wait);
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
        let market = share::<W::M, _>(Market::<W::M, F>::new(shape, 1, rounds * consumers, FLOWS));
        let (all, producer) = (market.clone(), market.clone());
        let consumer = |number| {
            let market = market.clone();
            move || {
                Market::<W::M, F>::bind(&market.queue);
                (0..rounds).for_each(|_| market.take(shape.order, number, wait));
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
    let market = share::<W::M, _>(Market::<W::M, F>::new(shape, 1, 2 * rounds, FLOWS));
    let (all, producer, collector) = (market.clone(), market.clone(), market.clone());
    let consumer = |number| {
        let market = market.clone();
        move || {
            Market::<W::M, F>::bind(&market.queue);
            for _ in 0..rounds {
                let (got, item) = market.receive(number, wait);
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
            let got = collector.to.receive(0, wait);
            assert_eq!((got.word, got.flow), (item as u64 + 100, collector.flow(item)), "out of order");
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

/// The steps of a queue with flows one by one, for a world that explores all executions: the other
/// contracts have too many for it.
mod steps {
    use super::*;

    type Run<W, F> = Market<<W as World>::M, F>;

    /// An atomic queue whose flows share a bucket.
    const ONE_BUCKET: Shape = Shape { order: FlowOrder::Atomic, capacity: 2, window: 1 };

    /// A producer sends two items of one flow, and then as many threads as `consumers` receive them.
    /// With `meanwhile` they receive while the producer sends.
    fn pass<W: World, F: FlowQueue<W::M>>(shape: Shape, consumers: usize, meanwhile: bool) {
        let wait = W::WAITS[0];
        W::skim(move || {
            let market = share::<W::M, _>(Run::<W, F>::new(shape, 1, 2, 1));
            let (all, producer) = (market.clone(), market.clone());
            let first = Scenario::new().guest(move || producer.produce(wait));
            let first = if meanwhile { first } else { first.then() };
            let consumer = |number| {
                let market = market.clone();
                move || {
                    Run::<W, F>::bind(&market.queue);
                    (0..2 / consumers).for_each(|_| market.take(shape.order, number, wait));
                }
            };
            first.guests(consumers, consumer).finally(move || all.assert_complete())
        });
    }

    /// Two threads send an item each, and a third one receives both meanwhile. So a consumer may find
    /// the item that was counted behind one that is not linked yet.
    pub fn two_send<W: World, F: FlowQueue<W::M>>() {
        for &wait in W::WAITS {
            W::skim(move || {
                let market = share::<W::M, _>(Run::<W, F>::new(ONE_BUCKET, 1, 2, 1));
                let (all, consumer) = (market.clone(), market.clone());
                let producer = |number: usize| {
                    let market = market.clone();
                    move || market.produce_some(number..number + 1, wait)
                };
                // The producers' items come in any order.
                let consume = move || (0..2).for_each(|_| consumer.take(FlowOrder::Parallel, 0, wait));
                Scenario::new().guests(2, producer).guest(consume).finally(move || all.assert_complete())
            });
        }
    }

    /// An item of a flow comes when the flow's last consumer may be done or not, and another consumer
    /// gets it.
    pub fn another_comes<W: World, F: FlowQueue<W::M>>() {
        let wait = W::WAITS[0];
        W::skim(move || {
            let market = share::<W::M, _>(Run::<W, F>::new(ONE_BUCKET, 1, 2, 1));
            let (all, first, second) = (market.clone(), market.clone(), market.clone());
            let consumer = |number| {
                let market = market.clone();
                move || market.take(FlowOrder::Atomic, number, wait)
            };
            let sent = Scenario::new().guest(move || first.produce_some(0..1, wait)).then();
            let sent = sent.guests(2, consumer).guest(move || second.produce_some(1..2, wait));
            sent.finally(move || all.assert_complete())
        });
    }

    /// A flow is handed from one consumer to another, with what the first one wrote.
    pub fn handed_on<W: World, F: FlowQueue<W::M>>() {
        pass::<W, F>(ONE_BUCKET, 2, false);
    }

    /// Items come while their flow's consumer has one in hand, and places are used again.
    pub fn comes_meanwhile<W: World, F: FlowQueue<W::M>>() {
        for order in [FlowOrder::Atomic, FlowOrder::Ordered] {
            pass::<W, F>(Shape { order, capacity: 1, window: 1 }, 1, true);
        }
    }

    /// Two workers of an ordered queue pass an item on each, and a collector then finds them in order.
    /// With a window of one, the second worker waits for the first one's item to leave.
    pub fn moves_on<W: World, F: FlowQueue<W::M>>() {
        let wait = W::WAITS[0];
        for window in [1, 2] {
            W::skim(move || {
                let shape = Shape { order: FlowOrder::Ordered, capacity: 2, window };
                let market = share::<W::M, _>(Run::<W, F>::new(shape, 2, 2, 1));
                let (all, producer, collector) = (market.clone(), market.clone(), market.clone());
                let worker = |number| {
                    let market = market.clone();
                    move || {
                        let (got, item) = market.receive(number, wait);
                        // SAFETY: the item came from this queue.
                        unsafe { market.queue.pass_on(got, 0, item as u64, wait) };
                    }
                };
                let collect = move || {
                    for item in 0..2 {
                        let got = collector.to.receive(0, wait);
                        assert_eq!(got.word, item, "out of order");
                        // SAFETY: as above.
                        unsafe { collector.to.complete(got, wait) };
                    }
                };
                let sent = Scenario::new().guest(move || producer.produce(wait)).then();
                sent.guests(2, worker).then().guest(collect).finally(move || all.assert_complete())
            });
        }
    }
}

pub use steps::{another_comes, comes_meanwhile, handed_on, moves_on, two_send};
