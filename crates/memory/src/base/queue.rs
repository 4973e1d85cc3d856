//! The event queue: a timing wheel for the near future, a heap for the rest. Nothing is allocated or hashed in the
//! inner loop.
//!
//! Events are ordered by (time, rank, sequence). The rank puts the tries of spinning waits before
//! all other events of the same time, in the order of their threads. So the engine can leave out
//! tries that hit in the cache and cannot succeed: that changes the order of no other event.
//!
//! An event is known by a small number, which its type packs and unpacks, and is in the queue at
//! most once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;

/// Slots of the wheel, one per cycle; a power of two. The events of 64 cores that queue for one
/// line of a chip of fixed latencies spread over some 8,000 cycles.
const SLOTS: u64 = 16384;
const WORDS: usize = SLOTS as usize / 64;
const SUMMARY: usize = WORDS / 64;
const NONE: u32 = u32::MAX;

/// Number by which the queue knows an event; the event's type packs what the event is about into
/// it.
pub type EventId = u32;

/// The place of an event among the events of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A try of a spinning wait, by thread number.
    Try(u32),
    /// Any other event; such events come in the order in which they were put into the queue.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventPlace {
    Nowhere,
    Wheel,
    Heap,
}

#[derive(Clone, Copy)]
struct Node {
    time: u64,
    order: u64,
    before: u32,
    after: u32,
    place: EventPlace,
}

/// A queue of events of type `E`.
#[derive(Clone)]
pub struct EventQueue<E = EventId> {
    nodes: Vec<Node>,
    /// First and last event of each slot.
    slots: Box<[(u32, u32); SLOTS as usize]>,
    /// Bit set of the slots that hold events; `words` is the bit set of the words of `full` that
    /// are not 0.
    full: [u64; WORDS],
    words: [u64; SUMMARY],
    far: BinaryHeap<Reverse<(u64, u64, EventId)>>,
    /// The present time: no event in the queue is earlier.
    now: u64,
    /// A time before which no event is queued. It is never too late; it is exact unless `early`
    /// says that it may be too early.
    earliest: u64,
    early: bool,
    sequence: u64,
    near: u32,
    events: PhantomData<E>,
}

/// Orders of tries are below this number, the orders of all other events start from it.
const FIRST_SEQUENCE: u64 = 1 << 32;

impl<E: Copy + Into<EventId> + From<EventId>> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue::new()
    }
}

impl<E: Copy + Into<EventId> + From<EventId>> EventQueue<E> {
    pub fn new() -> Self {
        EventQueue {
            nodes: Vec::new(),
            slots: Box::new([(NONE, NONE); SLOTS as usize]),
            full: [0; WORDS],
            words: [0; SUMMARY],
            far: BinaryHeap::new(),
            now: 0,
            earliest: u64::MAX,
            early: false,
            sequence: FIRST_SEQUENCE,
            near: 0,
            events: PhantomData,
        }
    }

    /// Returns a time before which no event is queued.
    #[inline(always)]
    pub fn earliest(&self) -> u64 {
        self.earliest
    }

    /// Returns the exact time of the next event, or [`u64::MAX`] if there is none.
    #[inline(always)]
    pub fn first(&mut self) -> u64 {
        if self.early { self.look() } else { self.earliest }
    }

    #[inline(never)]
    fn look(&mut self) -> u64 {
        self.early = false;
        let far = if self.far.is_empty() { None } else { self.first_far() };
        let near = self.first_near().map_or(u64::MAX, |id| self.nodes[id as usize].time);
        self.earliest = near.min(far.map_or(u64::MAX, |(time, ..)| time));
        self.earliest
    }

    /// Puts the event into the queue at `time`, which is not in the past. The event must not be in
    /// the queue.
    #[inline]
    pub fn put(&mut self, event: E, time: u64, rank: Rank) {
        let id = event.into();
        debug_assert!(time >= self.now, "an event in the past: {time} < {}", self.now);
        while self.nodes.len() <= id as usize {
            self.nodes.push(Node { time: 0, order: 0, before: NONE, after: NONE, place: EventPlace::Nowhere });
        }
        debug_assert_eq!(self.nodes[id as usize].place, EventPlace::Nowhere, "event {id} is queued twice");
        let order = match rank {
            Rank::Try(thread) => u64::from(thread),
            Rank::Next => {
                self.sequence += 1;
                self.sequence
            }
        };
        self.earliest = self.earliest.min(time);
        if time - self.now < SLOTS {
            self.link(id, time, order);
        } else {
            let node = &mut self.nodes[id as usize];
            (node.time, node.order, node.place) = (time, order, EventPlace::Heap);
            self.far.push(Reverse((time, order, id)));
        }
    }

    #[inline]
    fn link(&mut self, id: EventId, time: u64, order: u64) {
        let at = (time % SLOTS) as usize;
        let (first, last) = self.slots[at];
        // The search goes from the back, because sequence numbers grow: a new event nearly always
        // comes last in its slot.
        let mut before = last;
        while before != NONE && self.nodes[before as usize].order > order {
            before = self.nodes[before as usize].before;
        }
        let after = if before == NONE { first } else { self.nodes[before as usize].after };
        self.nodes[id as usize] = Node { time, order, before, after, place: EventPlace::Wheel };
        if before == NONE {
            self.slots[at].0 = id;
        } else {
            self.nodes[before as usize].after = id;
        }
        if after == NONE {
            self.slots[at].1 = id;
        } else {
            self.nodes[after as usize].before = id;
        }
        self.full[at / 64] |= 1 << (at % 64);
        self.words[at / 4096] |= 1 << (at / 64 % 64);
        self.near += 1;
    }

    /// Takes the event out of the queue. Returns whether it was in the queue.
    #[inline]
    pub fn cancel(&mut self, event: E) -> bool {
        let id = event.into();
        let Some(node) = self.nodes.get(id as usize).copied() else { return false };
        match node.place {
            EventPlace::Nowhere => return false,
            EventPlace::Wheel => self.unlink(id, node),
            // The entry in the heap is recognised as stale when it reaches the top.
            EventPlace::Heap => {}
        }
        self.nodes[id as usize].place = EventPlace::Nowhere;
        self.early |= node.time == self.earliest;
        true
    }

    #[inline]
    fn unlink(&mut self, _id: EventId, node: Node) {
        let at = (node.time % SLOTS) as usize;
        if node.before == NONE {
            self.slots[at].0 = node.after;
        } else {
            self.nodes[node.before as usize].after = node.after;
        }
        if node.after == NONE {
            self.slots[at].1 = node.before;
        } else {
            self.nodes[node.after as usize].before = node.before;
        }
        if self.slots[at].0 == NONE {
            self.empty(at);
        }
        self.near -= 1;
    }

    /// Notes that a slot holds no events any more.
    #[inline(always)]
    fn empty(&mut self, at: usize) {
        self.full[at / 64] &= !(1 << (at % 64));
        if self.full[at / 64] == 0 {
            self.words[at / 4096] &= !(1 << (at / 64 % 64));
        }
    }

    /// The first event of the wheel.
    #[inline]
    fn first_near(&self) -> Option<EventId> {
        (self.near != 0).then(|| self.slots[self.search()].0)
    }

    /// The first slot of the wheel that holds events. At least one slot must hold events.
    #[inline]
    fn search(&self) -> usize {
        let from = (self.now % SLOTS) as usize;
        let (word, bit) = (from / 64, from % 64);
        let here = self.full[word] & (u64::MAX << bit);
        if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            // The next word with events, with wrap-around; the earlier bits of this word come last.
            let turn = (word + 1) % WORDS;
            let mut group = turn / 64;
            let mut ahead = self.words[group] & (u64::MAX << (turn % 64));
            while ahead == 0 {
                group = (group + 1) % SUMMARY;
                ahead = self.words[group];
            }
            let word = (group * 64 + ahead.trailing_zeros() as usize) % WORDS;
            word * 64 + self.full[word].trailing_zeros() as usize
        }
    }

    /// Drops cancelled entries from the top of the heap. Returns the first entry that was not
    /// cancelled.
    #[inline]
    fn first_far(&mut self) -> Option<(u64, u64, EventId)> {
        while let Some(&Reverse((time, order, id))) = self.far.peek() {
            if self.is_alive((time, order, id)) {
                return Some((time, order, id));
            }
            self.far.pop();
        }
        None
    }

    /// Whether an entry of the heap was not cancelled.
    #[inline]
    fn is_alive(&self, (time, order, id): (u64, u64, EventId)) -> bool {
        let node = &self.nodes[id as usize];
        node.place == EventPlace::Heap && node.time == time && node.order == order
    }

    /// Takes the next event out, with its time, which becomes the queue's present.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.pop_number().map(|(time, id)| (time, E::from(id)))
    }

    #[inline(always)]
    fn pop_number(&mut self) -> Option<(u64, EventId)> {
        if !self.far.is_empty() {
            return self.pop_with_far();
        }
        if self.near == 0 {
            self.earliest = u64::MAX;
            return None;
        }
        let at = self.search();
        let id = self.slots[at].0;
        let node = &mut self.nodes[id as usize];
        (node.place, self.now) = (EventPlace::Nowhere, node.time);
        let (time, after) = (node.time, node.after);
        self.near -= 1;
        self.slots[at].0 = after;
        if after != NONE {
            self.nodes[after as usize].before = NONE;
            self.earliest = time;
            return Some((time, id));
        }
        self.slots[at].1 = NONE;
        self.empty(at);
        self.earliest = match self.near {
            0 => u64::MAX,
            // All events in the wheel are less than `SLOTS` cycles away.
            _ => time + (self.search() as u64).wrapping_sub(time) % SLOTS,
        };
        Some((time, id))
    }

    /// Does the work of [`EventQueue::pop`] when some events are farther away than the wheel
    /// reaches.
    fn pop_with_far(&mut self) -> Option<(u64, EventId)> {
        let near = self.first_near().map(|id| {
            let node = &self.nodes[id as usize];
            (node.time, node.order, id)
        });
        let far = if self.far.is_empty() { None } else { self.first_far() };
        let (time, id, from_far) = match (near, far) {
            (None, None) => {
                self.earliest = u64::MAX;
                return None;
            }
            (Some(near), Some(far)) if far < near => (far.0, far.2, true),
            (Some(near), _) => (near.0, near.2, false),
            (None, Some(far)) => (far.0, far.2, true),
        };
        if from_far {
            self.far.pop();
        } else {
            self.unlink(id, self.nodes[id as usize]);
        }
        self.nodes[id as usize].place = EventPlace::Nowhere;
        self.now = time;
        let near = self.first_near().map_or(u64::MAX, |id| self.nodes[id as usize].time);
        let (far, alive) = self.far.peek().map_or((u64::MAX, true), |&Reverse(top)| (top.0, self.is_alive(top)));
        self.earliest = near.min(far);
        self.early = !alive;
        Some((time, id))
    }

    /// Moves the present to `time`; no event may be queued before it.
    #[inline(always)]
    pub fn advance(&mut self, time: u64) {
        debug_assert!(self.now <= time && time <= self.earliest);
        self.now = time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(baton_needs::property!(256))]
        /// Compares the queue with a sorted map, with cancellations, near and far events and ties.
        #[test]
        fn events_come_in_order(acts in prop::collection::vec((0u8..4, 0u32..12, 0u64..10_000), 1..400)) {
            let mut queue: EventQueue = EventQueue::new();
            let mut model: BTreeMap<(u64, u64), u32> = BTreeMap::new();
            let (mut now, mut sequence) = (0, FIRST_SEQUENCE);
            for (act, id, delay) in acts {
                let queued = model.iter().find(|(_, queued)| **queued == id).map(|(&key, _)| key);
                match act {
                    0 => {
                        let expected = model.pop_first().map(|((time, _), id)| (time, id));
                        prop_assert_eq!(queue.pop(), expected);
                        now = expected.map_or(now, |(time, _)| time);
                    }
                    1 => {
                        prop_assert_eq!(queue.cancel(id), queued.is_some());
                        queued.map(|key| model.remove(&key));
                    }
                    _ if queued.is_some() => {}
                    2 => {
                        let time = now + delay % 5;
                        queue.put(id, time, Rank::Try(id));
                        model.insert((time, u64::from(id)), id);
                    }
                    _ => {
                        sequence += 1;
                        queue.put(id, now + delay, Rank::Next);
                        model.insert((now + delay, sequence), id);
                    }
                }
                let first = model.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
                prop_assert!(queue.earliest() <= first);
                if delay % 3 != 0 {
                    prop_assert_eq!(queue.first(), first);
                }
                prop_assert!(queue.earliest() <= model.first_key_value().map_or(u64::MAX, |(key, _)| key.0));
            }
            while let Some(((time, _), id)) = model.pop_first() {
                prop_assert_eq!(queue.pop(), Some((time, id)));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
