//! What programs do without a queue with flows, to compare with: a plain queue, sharding by hash, a
//! reorder ring. Each does what one kind of queue does, for the workload `flows` alone.
//!
//! | name | kind | how |
//! | --- | --- | --- |
//! | `plain` | parallel | one ring (DPDK's) for all workers |
//! | `plain-qmd` | parallel | one queue of the machine's queue device, without flows and tokens |
//! | `sharded` | atomic | a ring for each worker, which has the flows with its hash; a lock for each flow |
//! | `reorder` | ordered | packets get numbers under a lock; workers put them into a ring by number |

use super::{LEAVE, TIME};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Clock, Machine, Owned, OwnedSlice, Slot, Wait};
use baton_sync::flow::{FlowError, FlowOrder, FlowQueue, InHand, Shape, SharedQueue};
use baton_sync::lock::{RawLock, mcs::Mcs, tas::Tas};
use baton_sync::queue::{QueueError, RawQueue, mpmc::Mpmc, qmd::Qmd, ring::Ring};

/// The names, each with the kind of queue that it is.
pub(super) const BESIDE: [(&str, FlowOrder); 4] = [
    (PLAIN, FlowOrder::Parallel),
    (PLAIN_DEVICE, FlowOrder::Parallel),
    (SHARDED, FlowOrder::Atomic),
    (REORDER, FlowOrder::Ordered),
];
pub(super) const PLAIN: &str = "plain";
pub(super) const PLAIN_DEVICE: &str = "plain-qmd";
pub(super) const SHARDED: &str = "sharded";
pub(super) const REORDER: &str = "reorder";

type Item = (u64, u16);

fn error(why: QueueError) -> FlowError {
    match why {
        QueueError::Capacity(capacity) => FlowError::Capacity(capacity),
        QueueError::NoDevice => FlowError::NoDevice,
        QueueError::NoRoom(_) => FlowError::NoRoom,
    }
}

/// One ring for all workers.
pub(super) struct Plain<M: Machine>(Ring<M, Item>);

// SAFETY: a ring gives each item out once, with what its producer wrote before.
unsafe impl<M: Machine> FlowQueue<M> for Plain<M> {
    fn new(shape: Shape, _: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        Ring::with_capacity(shape.capacity).map(Plain).map_err(error)
    }

    fn bind(&self) -> Result<(), FlowError> {
        Ok(())
    }

    fn send(&self, word: u64, flow: u16, wait: Wait) {
        // SAFETY: any number of threads may use both sides.
        unsafe { self.0.enqueue((word, flow), wait) };
    }

    fn receive(&self, _: u32, wait: Wait) -> InHand {
        // SAFETY: as above.
        let (word, flow) = unsafe { self.0.dequeue(wait) };
        InHand::new(word, flow, 0)
    }

    unsafe fn complete(&self, _: InHand, _: Wait) {}

    unsafe fn pass_on(&self, _: InHand, _: usize, _: u64, _: Wait) {
        panic!("a plain queue passes nothing on");
    }
}

/// One queue of the machine's queue device for all workers. An item has eight bytes there: the flow
/// in the high 16 bits, the packet's producer and number, and its time in units of 16 nanoseconds,
/// modulo a second.
pub(super) struct PlainDevice<M: Machine>(Qmd<M, u64>);

const UNIT: u32 = 4;
const UNITS: u32 = 24;

// SAFETY: the device gives each item out once, with what its producer wrote before.
unsafe impl<M: Machine> FlowQueue<M> for PlainDevice<M> {
    fn new(shape: Shape, _: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        Qmd::with_capacity(shape.capacity).map(PlainDevice).map_err(error)
    }

    fn bind(&self) -> Result<(), FlowError> {
        Ok(())
    }

    fn send(&self, word: u64, flow: u16, wait: Wait) {
        let item = match word {
            LEAVE => LEAVE,
            _ => u64::from(flow) << 48 | word >> TIME << UNITS | word >> UNIT & ((1 << UNITS) - 1),
        };
        // SAFETY: any number of threads may use both sides.
        unsafe { self.0.enqueue(item, wait) };
    }

    fn receive(&self, _: u32, wait: Wait) -> InHand {
        // SAFETY: as above.
        let item = unsafe { self.0.dequeue(wait) };
        if item == LEAVE {
            return InHand::new(LEAVE, 0, 0);
        }
        // The packet was sent less than 2^24 units ago.
        let now = M::now(Clock::Monotonic).0 >> UNIT;
        let sent = now - (now.wrapping_sub(item) & ((1 << UNITS) - 1));
        let (flow, which) = ((item >> 48) as u16, item << 16 >> (16 + UNITS));
        InHand::new(which << TIME | sent << UNIT & ((1 << TIME) - 1), flow, 0)
    }

    unsafe fn complete(&self, _: InHand, _: Wait) {}

    unsafe fn pass_on(&self, _: InHand, _: usize, _: u64, _: Wait) {
        panic!("a plain queue passes nothing on");
    }
}

/// Locks of flows: flow f has lock f modulo this number.
const LOCKS: usize = 1 << 10;

#[repr(C, align(128))]
struct FlowLock<M: Machine>(Tas<M>);

/// A ring for each worker. A worker has the lock of a flow while it has a packet of the flow in
/// hand, as a program does whose other threads may touch the flow's state too.
pub(super) struct Sharded<M: Machine> {
    shards: Vec<Owned<M, Mpmc<M, Item>>>,
    locks: OwnedSlice<M, FlowLock<M>>,
}

impl<M: Machine> Sharded<M> {
    fn lock(&self, flow: u16) -> &Tas<M> {
        &self.locks[usize::from(flow) % LOCKS].0
    }
}

// SAFETY: a flow's packets are all in one ring, with one consumer; rings as for `Plain`.
unsafe impl<M: Machine> FlowQueue<M> for Sharded<M> {
    /// The shape's window is the number of workers.
    fn new(shape: Shape, _: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        let shard = |_| Mpmc::with_capacity(shape.capacity).map(Owned::new).map_err(error);
        let shards = (0..shape.window).map(shard).collect::<Result<_, _>>()?;
        Ok(Sharded { shards, locks: OwnedSlice::new(LOCKS, |_| FlowLock(Tas::new())) })
    }

    fn bind(&self) -> Result<(), FlowError> {
        Ok(())
    }

    fn send(&self, word: u64, flow: u16, wait: Wait) {
        // SAFETY: any number of threads may use both sides.
        unsafe { self.shards[usize::from(flow) % self.shards.len()].enqueue((word, flow), wait) };
    }

    fn receive(&self, consumer: u32, wait: Wait) -> InHand {
        // SAFETY: as above.
        let (word, flow) = unsafe { self.shards[consumer as usize].dequeue(wait) };
        self.lock(flow).lock(wait);
        InHand::new(word, flow, 0)
    }

    unsafe fn complete(&self, item: InHand, wait: Wait) {
        // SAFETY: the thread has taken the lock in `receive`, with the same policy.
        unsafe { self.lock(item.flow).unlock((), wait) };
    }

    unsafe fn pass_on(&self, _: InHand, _: usize, _: u64, _: Wait) {
        panic!("a sharded queue passes nothing on");
    }
}

/// A word alone in its pair of cache lines.
#[repr(C, align(128))]
pub(super) struct Alone<T>(T);

/// The number of a packet that no collector waits for.
const NO_NUMBER: u64 = u64::MAX;

/// A slot of the ring: packet n is in it when `full` is n + 1.
pub(super) struct RingSlot<M: Machine> {
    full: M::Atomic<u64>,
    item: M::Slot<Item>,
}

/// Packets get numbers when they are sent. A worker that is done with one puts it into the ring's
/// slot of its number, and the collector takes them out in the order of the numbers.
pub(super) enum Reorder<M: Machine> {
    /// The workers' queue.
    Workers {
        /// The lock under which packets get their numbers and are sent, so that the queue has them in
        /// the order of the numbers.
        turn: Alone<Mcs<M>>,
        /// The number of the next packet.
        next: Alone<M::Slot<u64>>,
        queue: Mpmc<M, (u64, u16, u64)>,
        to: SharedQueue<M, Self>,
    },
    /// The collector's.
    Collector {
        /// Number of packets that the collector has taken.
        taken: Alone<M::Atomic<u64>>,
        slots: OwnedSlice<M, RingSlot<M>>,
    },
}

// SAFETY: the next number is accessed under the lock, and a slot by the worker with the packet of its
// turn and then by the collector.
unsafe impl<M: Machine> Sync for Reorder<M> {}
// SAFETY: as above; items are plain words.
unsafe impl<M: Machine> Send for Reorder<M> {}

fn wait_until<M: Machine>(cell: &M::Atomic<u64>, wait: Wait, holds: impl Fn(u64) -> bool) -> u64 {
    loop {
        // Acquire: the caller sees what the thread did that stored the value.
        let seen = cell.load(Acquire);
        if holds(seen) {
            return seen;
        }
        let _ = M::wait_while(cell, seen, wait, None);
    }
}

impl<M: Machine> Reorder<M> {
    /// A worker puts packet `number` into the ring, when its slot is free.
    fn put(&self, number: u64, item: Item, wait: Wait) {
        let Reorder::Collector { taken, slots } = self else { unreachable!("items are passed on to a collector") };
        let room = slots.len() as u64;
        wait_until::<M>(&taken.0, wait, |taken| number < taken + room);
        let slot = &slots[(number % room) as usize];
        // SAFETY: the slot is this packet's, as the collector has taken the one before it there.
        unsafe { slot.item.write(|to| to.write(item)) };
        // Release: the collector sees the item.
        slot.full.store(number + 1, Release);
        M::wake::<u64>(&slot.full, 1, wait);
    }

    fn take(&self, wait: Wait) -> Item {
        let Reorder::Collector { taken, slots } = self else { unreachable!("a collector has its own queue") };
        // Relaxed: only the collector writes it.
        let number = taken.0.load(Relaxed);
        let slot = &slots[(number % slots.len() as u64) as usize];
        wait_until::<M>(&slot.full, wait, |full| full == number + 1);
        // SAFETY: the slot is full, and its next worker waits until the packet is taken.
        let item = unsafe { slot.item.read(|from| from.read()) };
        // Release: the slot's next worker writes behind the read.
        taken.0.store(number + 1, Release);
        M::wake::<u64>(&taken.0, u32::MAX, wait);
        item
    }
}

// SAFETY: the queue gives each packet out once, and the ring has each number once.
unsafe impl<M: Machine> FlowQueue<M> for Reorder<M> {
    fn new(shape: Shape, to: &[SharedQueue<M, Self>]) -> Result<Self, FlowError> {
        let Some(to) = to.first() else {
            let slot = |_| RingSlot { full: M::Atomic::new(0), item: M::Slot::new((0, 0)) };
            let slots = OwnedSlice::new(shape.window.into(), slot);
            return Ok(Reorder::Collector { taken: Alone(M::Atomic::new(0)), slots });
        };
        let queue = Mpmc::with_capacity(shape.capacity).map_err(error)?;
        Ok(Reorder::Workers { turn: Alone(Mcs::new()), next: Alone(M::Slot::new(0)), queue, to: to.clone() })
    }

    fn bind(&self) -> Result<(), FlowError> {
        Ok(())
    }

    fn send(&self, word: u64, flow: u16, wait: Wait) {
        let Reorder::Workers { turn, next, queue, .. } = self else {
            panic!("only workers pass items on to a collector")
        };
        if word == LEAVE {
            // SAFETY: any number of threads may use both sides.
            return unsafe { queue.enqueue((word, flow, NO_NUMBER), wait) };
        }
        let token = turn.0.lock(wait);
        // SAFETY: the lock guards the next number; the queue as above; this thread took the lock.
        unsafe {
            let number = next.0.read(|next| next.read());
            next.0.write(|next| next.write(number + 1));
            queue.enqueue((word, flow, number), wait);
            turn.0.unlock(token, wait);
        }
    }

    fn receive(&self, _: u32, wait: Wait) -> InHand {
        let (word, flow, number) = match self {
            // SAFETY: any number of threads may use both sides.
            Reorder::Workers { queue, .. } => unsafe { queue.dequeue(wait) },
            Reorder::Collector { .. } => {
                let (word, flow) = self.take(wait);
                (word, flow, NO_NUMBER)
            }
        };
        InHand::new(word, flow, number)
    }

    unsafe fn complete(&self, item: InHand, _: Wait) {
        assert!(item.token() == NO_NUMBER, "a worker of a reorder ring passes each packet on");
    }

    unsafe fn pass_on(&self, item: InHand, _: usize, word: u64, wait: Wait) {
        let Reorder::Workers { to, .. } = self else { panic!("a collector passes nothing on") };
        to.put(item.token(), (word, item.flow), wait);
    }
}
