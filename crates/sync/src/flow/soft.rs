//! A queue with flows in memory.
//!
//! - **Directed, parallel**: a ring ([`Mpmc`]).
//!
//! - **Atomic**: flows are spread over buckets. A bucket is a list of items; producers append to it,
//!   and it stands in the ring of ready buckets while it has items and no consumer has it. A
//!   consumer takes a bucket out of the ring, and the bucket's first item; when it is done with the
//!   item, it puts the bucket back, if that has more items. So flows of a bucket share it, as in
//!   programs that spread flows over threads by a hash, but no bucket belongs to a thread.
//!
//! - **Ordered**: a ring whose consumers take a number each. What they pass on goes into the number's
//!   slot of a reorder ring. A consumer that finds the next slot full moves items on, one consumer
//!   at a time. A consumer waits for a slot before it takes its item.

use super::{FlowError, FlowOrder, FlowQueue, InHand, Shape, SharedQueue, check};
use crate::queue::RawQueue;
use crate::queue::mpmc::Mpmc;
use baton_machine::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, OwnedSlice, Slot, Wait};

/// The queue's name on the command line.
pub const NAME: &str = "flows";

type Item = (u64, u16);

/// What a consumer passes on: an item, and the number of the queue that gets it.
type Output = (u64, u16, u8);

/// A word alone in its pair of cache lines.
#[repr(C, align(128))]
struct Alone<M: Machine>(M::Atomic<u64>);

/// No node.
const NONE: u32 = u32::MAX;

struct Node<M: Machine> {
    next: M::Atomic<u32>,
    item: M::Slot<Item>,
}

/// A list of items: `head` is the node of the item that was taken last, `tail` that of the item
/// that was appended last, and `items` counts those that wait or are in hand.
#[repr(C, align(128))]
struct Bucket<M: Machine> {
    tail: M::Atomic<u32>,
    items: M::Atomic<u32>,
    head: M::Atomic<u32>,
}

struct Buckets<M: Machine> {
    nodes: OwnedSlice<M, Node<M>>,
    buckets: OwnedSlice<M, Bucket<M>>,
    /// Number of nodes, from node 0 on, that no bucket has had yet.
    fresh: Alone<M>,
    /// Nodes that buckets have had, and that no bucket has now.
    free: Mpmc<M, u64>,
    ready: Mpmc<M, u64>,
}

fn wait_for<M: Machine>(cell: &M::Atomic<u64>, value: u64, wait: Wait) {
    loop {
        // Acquire: the caller sees what the thread did that stored the value.
        let seen = cell.load(Acquire);
        if seen == value {
            return;
        }
        let _ = M::wait_while(cell, seen, wait, None);
    }
}

fn put<M: Machine>(ring: &Mpmc<M, u64>, number: usize, wait: Wait) {
    // SAFETY: any number of threads may use both sides.
    unsafe { ring.enqueue(number as u64, wait) };
}

fn take<M: Machine>(ring: &Mpmc<M, u64>, wait: Wait) -> usize {
    // SAFETY: as above.
    unsafe { ring.dequeue(wait) as usize }
}

fn ring<M: Machine, T: Send + 'static>(places: usize) -> Result<Mpmc<M, T>, FlowError> {
    Mpmc::with_capacity(places.next_power_of_two()).map_err(|_| FlowError::Capacity(places))
}

impl<M: Machine> Buckets<M> {
    fn new(capacity: usize, buckets: usize) -> Result<Self, FlowError> {
        let (free, ready) = (ring(capacity)?, ring(buckets)?);
        // Each bucket has a node from the beginning, as if of an item that was taken.
        let node = |_| Node { next: M::Atomic::new(NONE), item: M::Slot::new((0, 0)) };
        let bucket = |at| {
            let node = (capacity + at) as u32;
            Bucket { tail: M::Atomic::new(node), items: M::Atomic::new(0), head: M::Atomic::new(node) }
        };
        let nodes = OwnedSlice::new(capacity + buckets, node);
        let fresh = Alone(M::Atomic::new(capacity as u64));
        Ok(Buckets { nodes, buckets: OwnedSlice::new(buckets, bucket), fresh, free, ready })
    }

    /// Takes a node that no bucket has, waiting while there is none.
    fn node(&self, wait: Wait) -> usize {
        // Relaxed, the exchange too: a fresh node has had no other user.
        let mut fresh = self.fresh.0.load(Relaxed);
        while fresh > 0 {
            match self.fresh.0.compare_exchange_weak(fresh, fresh - 1, Relaxed, Relaxed) {
                Ok(_) => return fresh as usize - 1,
                Err(now) => fresh = now,
            }
        }
        take(&self.free, wait)
    }

    fn send(&self, item: Item, wait: Wait) {
        let at = usize::from(item.1) % self.buckets.len();
        let (node, bucket) = (self.node(wait), &self.buckets[at]);
        // SAFETY: a node that is free has no other user until it is linked below.
        unsafe { self.nodes[node].item.write(|place| place.write(item)) };
        // Relaxed: the exchange of `tail` publishes it.
        self.nodes[node].next.store(NONE, Relaxed);
        // AcqRel: the next producer sees this node, and this one sees the node before.
        let before = bucket.tail.swap(node as u32, AcqRel);
        let next = &self.nodes[before as usize].next;
        // Release: the consumer that finds the node sees its item.
        next.store(node as u32, Release);
        M::wake::<u32>(next, u32::MAX, wait);
        // Acquire: after the bucket's last consumer, whose count this one follows; the ring hands on to
        // the next consumer what that one has written. The item is published by `next` alone.
        if bucket.items.fetch_add(1, Acquire) == 0 {
            put(&self.ready, at, wait);
        }
    }

    fn receive(&self, wait: Wait) -> (Item, u64) {
        let at = take(&self.ready, wait);
        // Relaxed, and the store below too: one consumer at a time has the bucket, and the ring
        // hands it on.
        let (bucket, head) = (&self.buckets[at], self.buckets[at].head.load(Relaxed));
        let next = &self.nodes[head as usize].next;
        let node = loop {
            // Acquire: see `send`. A producer that came later may have counted its item first, and
            // the one before it is about to link its own.
            match next.load(Acquire) {
                NONE => {
                    let _ = M::wait_while(next, NONE, wait, None);
                }
                node => break node,
            }
        };
        // SAFETY: the node was linked, and only this consumer reads the bucket's nodes.
        let item = unsafe { self.nodes[node as usize].item.read(|place| place.read()) };
        bucket.head.store(node, Relaxed);
        put(&self.free, head as usize, wait);
        (item, at as u64)
    }

    fn complete(&self, at: u64, wait: Wait) {
        // One less, modulo 2^32. Release: see `send`.
        if self.buckets[at as usize].items.fetch_add(u32::MAX, Release) > 1 {
            put(&self.ready, at as usize, wait);
        }
    }
}

/// A place of the ordered ring. Its number is as in [`Mpmc`]: 2p is empty for position p, 2p + 1 full.
struct RingSlot<M: Machine> {
    turn: M::Atomic<u64>,
    item: M::Slot<Item>,
}

/// A slot of the reorder ring: position p has left its output there when `done` is p + 1.
struct Done<M: Machine> {
    done: M::Atomic<u64>,
    output: M::Slot<Option<Output>>,
}

struct Line<M: Machine> {
    tail: Alone<M>,
    head: Alone<M>,
    /// Number of positions whose outputs have left.
    left: Alone<M>,
    /// Whether a thread moves outputs on.
    moving: Alone<M>,
    places: OwnedSlice<M, RingSlot<M>>,
    slots: OwnedSlice<M, Done<M>>,
}

impl<M: Machine> Line<M> {
    fn new(capacity: usize, window: usize) -> Self {
        let alone = || Alone(M::Atomic::new(0));
        let place = |at| RingSlot { turn: M::Atomic::new(2 * at as u64), item: M::Slot::new((0, 0)) };
        let slot = |_| Done { done: M::Atomic::new(0), output: M::Slot::new(None) };
        let (places, slots) = (OwnedSlice::new(capacity, place), OwnedSlice::new(window, slot));
        Line { tail: alone(), head: alone(), left: alone(), moving: alone(), places, slots }
    }

    fn place(&self, at: u64) -> &RingSlot<M> {
        &self.places[at as usize % self.places.len()]
    }

    fn slot(&self, at: u64) -> &Done<M> {
        &self.slots[at as usize % self.slots.len()]
    }

    fn send(&self, item: Item, wait: Wait) {
        // Relaxed: the place's number orders accesses to it.
        let at = self.tail.0.fetch_add(1, Relaxed);
        let place = self.place(at);
        wait_for::<M>(&place.turn, 2 * at, wait);
        // SAFETY: the place is empty for this position alone.
        unsafe { place.item.write(|to| to.write(item)) };
        // Release: the consumer sees the item.
        place.turn.store(2 * at + 1, Release);
        M::wake::<u64>(&place.turn, u32::MAX, wait);
    }

    fn receive(&self, wait: Wait) -> (Item, u64) {
        // Relaxed: as in `send`.
        let at = self.head.0.fetch_add(1, Relaxed);
        loop {
            // Acquire: the slot's former output was read.
            let left = self.left.0.load(Acquire);
            if at < left + self.slots.len() as u64 {
                break;
            }
            let _ = M::wait_while(&self.left.0, left, wait, None);
        }
        let place = self.place(at);
        wait_for::<M>(&place.turn, 2 * at + 1, wait);
        // SAFETY: the place is full for this position alone.
        let item = unsafe { place.item.read(|from| from.read()) };
        // Release: the next producer writes behind the read.
        place.turn.store(2 * (at + self.places.len() as u64), Release);
        M::wake::<u64>(&place.turn, u32::MAX, wait);
        (item, at)
    }

    /// Records that position `at` is done, with its output. Sends outputs whose turn it is by
    /// `send`, unless another thread does so already.
    fn done(&self, at: u64, output: Option<Output>, wait: Wait, send: impl Fn(Output)) {
        let slot = self.slot(at);
        // SAFETY: the slot is this position's until it is done.
        unsafe { slot.output.write(|to| to.write(output)) };
        // Release: the thread that moves outputs on sees the output.
        slot.done.store(at + 1, Release);
        // SeqCst: of two threads with neighbouring positions, one sees that the other one is done, or
        // that the other one's output has left.
        M::fence(SeqCst);
        // A thread that finds `moving` set leaves the output to the one that has set it. That one
        // clears it by an exchange that reads what this thread wrote (AcqRel), and looks again.
        while self.next_is_done() && self.moving.0.swap(1, AcqRel) == 0 {
            while self.next_is_done() {
                // Relaxed: only the thread that moves outputs on writes it.
                let left = self.left.0.load(Relaxed);
                // SAFETY: the position is done, and its slot is not used again before it has left.
                let output = unsafe { self.slot(left).output.read(|from| from.read()) };
                output.into_iter().for_each(&send);
                // Release: the slot's next user writes behind the read.
                self.left.0.store(left + 1, Release);
                M::wake::<u64>(&self.left.0, u32::MAX, wait);
                // C11: the fence above suffices, as each position's thread looks behind it, and what
                // it leaves to this thread is read by the exchange below. Without this fence all
                // tests pass; its cycles are part of the figures of `docs/reference/qmd.md`.
                M::fence(SeqCst);
            }
            // C11: the next thread that sets `moving` must see `left`, or it sends an output again:
            // Release. Loom, whose fences order more than C11's, shows so without the fence above.
            self.moving.0.swap(0, AcqRel);
        }
    }

    fn next_is_done(&self) -> bool {
        // Relaxed: a thread that then sets `moving` sees the last value. Acquire: the output.
        let left = self.left.0.load(Relaxed);
        self.slot(left).done.load(Acquire) == left + 1
    }
}

enum Kind<M: Machine> {
    Plain(Mpmc<M, Item>),
    Atomic(Buckets<M>),
    Ordered(Line<M>),
}

/// A queue in memory.
pub struct Soft<M: Machine> {
    kind: Kind<M>,
    to: Box<[SharedQueue<M, Self>]>,
}

// SAFETY: a node, a place and a slot belong to one thread at a time, as argued where they are used;
// the other fields are cells of the machine.
unsafe impl<M: Machine> Sync for Soft<M> {}
// SAFETY: as above; items are plain words.
unsafe impl<M: Machine> Send for Soft<M> {}

impl<M: Machine> Soft<M> {
    fn send_on(&self, (word, flow, way): Output, wait: Wait) {
        self.to[usize::from(way)].send(word, flow, wait);
    }
}

// SAFETY: rings give each item out once; a bucket and a position belong to one thread at a time. The
// orderings are argued where they stand.
unsafe impl<M: Machine> FlowQueue<M> for Soft<M> {
    fn new(shape: Shape, to: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        check(shape)?;
        assert!(to.len() <= 1 << u8::BITS, "a queue passes items on to 256 queues at most");
        let kind = match shape.order {
            FlowOrder::Directed | FlowOrder::Parallel => Kind::Plain(ring(shape.capacity)?),
            FlowOrder::Atomic => Kind::Atomic(Buckets::new(shape.capacity, shape.window.into())?),
            FlowOrder::Ordered => Kind::Ordered(Line::new(shape.capacity, shape.window.into())),
        };
        Ok(Soft { kind, to: to.into() })
    }

    fn bind(&self) -> Result<(), FlowError> {
        Ok(())
    }

    fn send(&self, word: u64, flow: u16, wait: Wait) {
        match &self.kind {
            // SAFETY: any number of threads may enqueue.
            Kind::Plain(ring) => unsafe { ring.enqueue((word, flow), wait) },
            Kind::Atomic(buckets) => buckets.send((word, flow), wait),
            Kind::Ordered(line) => line.send((word, flow), wait),
        }
    }

    fn receive(&self, _: u32, wait: Wait) -> InHand {
        let ((word, flow), token) = match &self.kind {
            // SAFETY: any number of threads may dequeue.
            Kind::Plain(ring) => (unsafe { ring.dequeue(wait) }, 0),
            Kind::Atomic(buckets) => buckets.receive(wait),
            Kind::Ordered(line) => line.receive(wait),
        };
        InHand { word, flow, token }
    }

    unsafe fn complete(&self, item: InHand, wait: Wait) {
        match &self.kind {
            Kind::Plain(_) => {}
            Kind::Atomic(buckets) => buckets.complete(item.token, wait),
            Kind::Ordered(line) => line.done(item.token, None, wait, |output| self.send_on(output, wait)),
        }
    }

    unsafe fn pass_on(&self, item: InHand, way: usize, word: u64, wait: Wait) {
        let output = (word, item.flow, way as u8);
        match &self.kind {
            Kind::Ordered(line) => line.done(item.token, Some(output), wait, |output| self.send_on(output, wait)),
            _ => {
                self.send_on(output, wait);
                // SAFETY: guaranteed by the caller.
                unsafe { self.complete(item, wait) };
            }
        }
    }
}
