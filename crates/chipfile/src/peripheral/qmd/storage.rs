//! The SRAM and the queues in it: a head and a count each. Nothing here knows of time or of requests.

use baton_machine::queues::QueueId;

/// Entries that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    first: u32,
    entries: u32,
}

/// Whether a queue serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// It moves: requests wait.
    Closed,
    /// It is another device's now, which requests are sent on to.
    Gone {
        device: u32,
        queue: QueueId,
    },
}

/// A queue.
pub(super) struct Queue {
    state: State,
    region: Region,
    /// Whose it is.
    pub(super) domain: u32,
    head: u32,
    /// Items that a dequeue can take.
    items: u32,
    /// Places taken by enqueues whose tail has not moved yet.
    coming: u32,
    /// Places of items that were taken and whose head has not moved yet.
    going: u32,
}

impl Queue {
    /// Entries that no item has, and none is on its way to.
    pub(super) fn free(&self) -> u32 {
        self.region.entries - self.items - self.coming - self.going
    }

    /// Items that a dequeue can take.
    pub(super) fn items(&self) -> u32 {
        self.items
    }

    /// Entries that hold an item, or soon will, or did so until now.
    pub(super) fn used(&self) -> u32 {
        self.items + self.coming + self.going
    }

    /// How many it can hold: for checks.
    #[cfg(any(test, debug_assertions))]
    pub(super) fn entries(&self) -> u32 {
        self.region.entries
    }
}

/// Where a queue stands in the table of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) usize);

/// The SRAM with its queues.
pub(super) struct Storage {
    sram: Vec<u64>,
    /// By slot, with the id under which the slot's queue is known.
    queues: Vec<Option<(QueueId, Queue)>>,
    /// Counts allocations, so that no id comes twice.
    given: u32,
}

/// Bits of an id that say which slot; the others say which allocation. The highest bit is a group's (`groups.rs`).
const SLOT_BITS: u32 = 12;

/// Most queues of a device.
pub(super) const MOST_QUEUES: u64 = 1 << SLOT_BITS;

/// Most allocations in a device's life.
const MOST_GIVEN: u32 = 1 << (31 - SLOT_BITS);

impl Storage {
    pub(super) fn new(entries: u64, queues: u64) -> Storage {
        let queues = (0..queues).map(|_| None).collect();
        Storage { sram: vec![0; entries as usize], queues, given: 0 }
    }

    /// Allocates `count` consecutive queues. Returns the first one's id.
    pub(super) fn allocate(&mut self, entries: u32, count: u32, domain: u32) -> Option<QueueId> {
        if entries == 0 || count == 0 || self.given == MOST_GIVEN {
            return None;
        }
        let all = u32::try_from(u64::from(entries) * u64::from(count)).ok()?;
        let slot = self.free_slots(count as usize)?;
        let first = self.free_entries(all)?;
        let id = self.given << SLOT_BITS | slot as u32;
        for i in 0..count {
            let region = Region { first: first + i * entries, entries };
            let queue = Queue { state: State::Open, region, domain, head: 0, items: 0, coming: 0, going: 0 };
            self.queues[slot + i as usize] = Some((QueueId(id).plus(i), queue));
        }
        self.given += 1;
        Some(QueueId(id))
    }

    /// The first of `count` consecutive free slots.
    fn free_slots(&self, count: usize) -> Option<usize> {
        let at = self.queues.windows(count).position(|slots| slots.iter().all(Option::is_none));
        at.filter(|_| count <= self.queues.len())
    }

    /// The first of `count` consecutive free entries: the first gap that is large enough.
    fn free_entries(&self, entries: u32) -> Option<u32> {
        let mut regions: Vec<Region> = self.queues.iter().flatten().map(|(_, queue)| queue.region).collect();
        // A queue that has moved away has none.
        regions.retain(|region| region.entries > 0);
        regions.sort_by_key(|region| region.first);
        let mut end = 0;
        for region in regions {
            if region.first - end >= entries {
                return Some(end);
            }
            end = region.first + region.entries;
        }
        (self.sram.len() as u64 >= u64::from(end) + u64::from(entries)).then_some(end)
    }

    /// Gives a queue's entries back. How many items were still in it.
    pub(super) fn release(&mut self, slot: Slot) -> u32 {
        self.queues[slot.0].take().map_or(0, |(_, queue)| queue.used())
    }

    /// The slot of the queue of this id.
    pub(super) fn find(&self, id: QueueId) -> Option<Slot> {
        let slot = (id.0 & (MOST_QUEUES as u32 - 1)) as usize;
        let known = self.queues.get(slot)?.as_ref()?.0;
        (known == id).then_some(Slot(slot))
    }

    /// The queue of a slot that is in use.
    pub(super) fn queue(&self, slot: Slot) -> Option<&Queue> {
        self.queues[slot.0].as_ref().map(|(_, queue)| queue)
    }

    /// Whether a queue serves requests.
    pub(super) fn state(&self, slot: Slot) -> State {
        self.queue(slot).map_or(State::Open, |queue| queue.state)
    }

    pub(super) fn set_state(&mut self, slot: Slot, state: State) {
        if let Some(queue) = self.queue_mut(slot) {
            queue.state = state;
        }
    }

    /// The item `place` places behind the front.
    pub(super) fn peek(&self, slot: Slot, place: u64) -> Option<u64> {
        let queue = self.queue(slot).filter(|queue| place < u64::from(queue.items))?;
        let at = (u64::from(queue.head) + place) % u64::from(queue.region.entries);
        Some(self.sram[queue.region.first as usize + at as usize])
    }

    /// A queue's items are elsewhere: its entries are free.
    pub(super) fn leave(&mut self, slot: Slot, state: State) {
        if let Some(queue) = self.queue_mut(slot) {
            (queue.state, queue.region, queue.items) = (state, Region { first: 0, entries: 0 }, 0);
        }
    }

    fn queue_mut(&mut self, slot: Slot) -> Option<&mut Queue> {
        self.queues[slot.0].as_mut().map(|(_, queue)| queue)
    }

    /// Writes an item behind the last one; false: there is no room. Its tail moves with [`Storage::tail_moves`].
    pub(super) fn put(&mut self, slot: Slot, item: u64) -> bool {
        let Some(queue) = self.queues[slot.0].as_mut().map(|(_, queue)| queue) else { return false };
        if queue.free() == 0 {
            return false;
        }
        let at = (queue.head + queue.items + queue.coming) % queue.region.entries;
        queue.coming += 1;
        self.sram[(queue.region.first + at) as usize] = item;
        true
    }

    /// Reads the item at the front; `None`: there is none. Its head moves with [`Storage::head_moves`].
    pub(super) fn get(&mut self, slot: Slot) -> Option<u64> {
        let queue = self.queues[slot.0].as_mut().map(|(_, queue)| queue)?;
        if queue.items == 0 {
            return None;
        }
        let item = self.sram[(queue.region.first + queue.head) as usize];
        queue.head = (queue.head + 1) % queue.region.entries;
        queue.items -= 1;
        queue.going += 1;
        Some(item)
    }

    /// The tail moves past the oldest item that was put: dequeues can take it.
    pub(super) fn tail_moves(&mut self, slot: Slot) {
        if let Some(queue) = self.queue_mut(slot) {
            queue.coming -= 1;
            queue.items += 1;
        }
    }

    /// The head moves past the oldest item that was got: its place is free.
    pub(super) fn head_moves(&mut self, slot: Slot) {
        if let Some(queue) = self.queue_mut(slot) {
            queue.going -= 1;
        }
    }
}
