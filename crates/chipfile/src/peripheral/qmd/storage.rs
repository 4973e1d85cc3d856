//! The SRAM and the queues in it, each with a head and a count. This module knows neither time nor
//! requests.

use baton_machine::queues::QueueId;

/// Entries that are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    first: u32,
    entries: u32,
}

/// Whether a queue serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueState {
    Open,
    /// The queue is being moved: requests wait.
    Closed,
    /// The queue is at another device now; requests are sent on to it.
    Gone {
        device: u32,
        queue: QueueId,
    },
}

/// A queue.
pub(super) struct Queue {
    state: QueueState,
    region: Region,
    /// The protection domain that the queue belongs to.
    pub(super) domain: u32,
    head: u32,
    /// Number of items that a dequeue can take.
    items: u32,
    /// Number of places taken by enqueues whose tail has not moved yet.
    coming: u32,
    /// Number of places of items that were taken and whose head has not moved yet.
    going: u32,
}

impl Queue {
    /// Returns the number of entries that neither hold an item nor are reserved for one.
    pub(super) fn free(&self) -> u32 {
        self.region.entries - self.items - self.coming - self.going
    }

    /// Returns the number of items that a dequeue can take.
    pub(super) fn items(&self) -> u32 {
        self.items
    }

    /// Returns the number of entries that hold an item, are reserved for one, or are not yet free
    /// of one.
    pub(super) fn used(&self) -> u32 {
        self.items + self.coming + self.going
    }

    /// Returns the number of entries of the queue.
    pub(super) fn entries(&self) -> u32 {
        self.region.entries
    }
}

/// The position of a queue in the table of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) usize);

/// The SRAM with its queues.
pub(super) struct Storage {
    sram: Vec<u64>,
    /// The queue of each slot, with its id.
    queues: Vec<Option<(QueueId, Queue)>>,
    /// Number of allocations so far, so that no id is used twice.
    given: u32,
}

/// Number of bits in an id that name the slot; the other bits name the allocation. The highest bit
/// marks groups (`groups.rs`).
const SLOT_BITS: u32 = 12;

/// Largest number of queues of a device.
pub(super) const MOST_QUEUES: u64 = 1 << SLOT_BITS;

/// Largest number of allocations that a device makes.
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
            let queue = Queue { state: QueueState::Open, region, domain, head: 0, items: 0, coming: 0, going: 0 };
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

    /// The first of this number of consecutive free entries: the first gap that is large enough.
    fn free_entries(&self, entries: u32) -> Option<u32> {
        let mut regions: Vec<Region> = self.queues.iter().flatten().map(|(_, queue)| queue.region).collect();
        // A queue that has moved to another device keeps its slot here, but no entries.
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

    /// Releases the entries of a queue. Returns the number of entries that were still in use.
    pub(super) fn release(&mut self, slot: Slot) -> u32 {
        self.queues[slot.0].take().map_or(0, |(_, queue)| queue.used())
    }

    /// Returns the slot of the queue with this id.
    pub(super) fn find(&self, id: QueueId) -> Option<Slot> {
        let slot = (id.0 & (MOST_QUEUES as u32 - 1)) as usize;
        let known = self.queues.get(slot)?.as_ref()?.0;
        (known == id).then_some(Slot(slot))
    }

    /// Returns the queue of a slot that is in use.
    pub(super) fn queue(&self, slot: Slot) -> Option<&Queue> {
        self.queues[slot.0].as_ref().map(|(_, queue)| queue)
    }

    /// Returns whether a queue serves requests.
    pub(super) fn state(&self, slot: Slot) -> QueueState {
        self.queue(slot).map_or(QueueState::Open, |queue| queue.state)
    }

    pub(super) fn set_state(&mut self, slot: Slot, state: QueueState) {
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

    /// Frees the entries of a queue whose items have moved to another device.
    pub(super) fn leave(&mut self, slot: Slot, state: QueueState) {
        if let Some(queue) = self.queue_mut(slot) {
            (queue.state, queue.region, queue.items) = (state, Region { first: 0, entries: 0 }, 0);
        }
    }

    fn queue_mut(&mut self, slot: Slot) -> Option<&mut Queue> {
        self.queues[slot.0].as_mut().map(|(_, queue)| queue)
    }

    /// Writes an item behind the last one. Returns false if there is no room. The tail moves with
    /// [`Storage::tail_moves`].
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

    /// Reads the item at the front; `None` if there is none. The head moves with
    /// [`Storage::head_moves`].
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

    /// Moves the tail past the oldest item that was put: dequeues can take that item.
    pub(super) fn tail_moves(&mut self, slot: Slot) {
        if let Some(queue) = self.queue_mut(slot) {
            queue.coming -= 1;
            queue.items += 1;
        }
    }

    /// Moves the head past the oldest item that was got: its place is free.
    pub(super) fn head_moves(&mut self, slot: Slot) {
        if let Some(queue) = self.queue_mut(slot) {
            queue.going -= 1;
        }
    }
}
