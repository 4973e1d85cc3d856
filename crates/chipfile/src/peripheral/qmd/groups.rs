//! The functions of the device that concern several queues (section 3.5): the load balancer and the
//! data reducer.

use super::storage::{Queue, Slot, Storage};
use baton_machine::queues::{Combine, QueueId};

/// The bit that marks the id of a group.
const GROUP: u32 = 1 << 31;

/// Neighbouring queues among which enqueues are balanced.
struct Group {
    id: QueueId,
    domain: u32,
    queues: Vec<QueueId>,
    /// The position at which the next search begins: behind the queue that the last search found.
    next: usize,
}

/// The queue to which the balancer sends an item, or the reason why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Balanced {
    /// To this queue.
    To(Slot),
    /// All queues are full.
    Full,
    /// A queue of the group was released.
    Gone,
}

/// The groups.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    given: u32,
}

impl Groups {
    /// Adds a group of these queues. Returns its id; `None` if all ids of groups were given.
    pub(super) fn add(&mut self, queues: Vec<QueueId>, domain: u32) -> Option<QueueId> {
        let id = QueueId(GROUP | self.given);
        self.given = Some(self.given + 1).filter(|&given| given < GROUP)?;
        self.all.push(Group { id, domain, queues, next: 0 });
        Some(id)
    }

    /// Releases a group. Returns false if no group has this id.
    pub(super) fn release(&mut self, id: QueueId) -> bool {
        let before = self.all.len();
        self.all.retain(|group| group.id != id);
        self.all.len() < before
    }

    /// Returns the domain of a group.
    pub(super) fn domain(&self, id: QueueId) -> Option<u32> {
        self.all.iter().find(|group| group.id == id).map(|group| group.domain)
    }

    /// Returns whether an enqueue to a group would be served or refused: a queue has room, or the
    /// group is gone.
    pub(super) fn has_room(&self, id: QueueId, storage: &Storage) -> bool {
        let room = |&queue: &QueueId| {
            storage.find(queue).and_then(|slot| storage.queue(slot)).is_none_or(|queue| queue.free() > 0)
        };
        self.all.iter().find(|group| group.id == id).is_none_or(|group| group.queues.iter().any(room))
    }

    /// Returns the queue with the fewest places used and reserved among the queues of the group
    /// that have a free place; among equals, the first behind the queue that was found last.
    pub(super) fn pick(&mut self, id: QueueId, storage: &Storage) -> Balanced {
        let Some(group) = self.all.iter_mut().find(|group| group.id == id) else { return Balanced::Gone };
        let mut best: Option<(u32, usize, Slot)> = None;
        for i in 0..group.queues.len() {
            let at = (group.next + i) % group.queues.len();
            let slot = storage.find(group.queues[at]);
            let Some((slot, queue)) = slot.and_then(|slot| Some((slot, storage.queue(slot)?))) else {
                return Balanced::Gone;
            };
            if queue.free() > 0 && best.is_none_or(|(least, ..)| queue.used() < least) {
                best = Some((queue.used(), at, slot));
            }
        }
        let Some((_, at, slot)) = best else { return Balanced::Full };
        group.next = (at + 1) % group.queues.len();
        Balanced::To(slot)
    }
}

/// A reducer: combines an item from each queue of its workers, and gives each worker the result.
struct Reducer {
    by: Combine,
    from: Vec<QueueId>,
    to: Vec<QueueId>,
    /// The thread that each queue belongs to, if one has joined it.
    members: Vec<Option<u32>>,
    /// Whether the member of each queue has ended, so that neither its item nor room for the result
    /// is waited for.
    left: Vec<bool>,
    /// The queues that hold the current result.
    written: Vec<Slot>,
    /// The time at which the current sum is ready; `None`: the reducer is idle.
    ready: Option<u64>,
}

/// The reducers. A sum takes `cycles` cycles per item, and a reducer computes one sum at a time.
pub(super) struct Reducers {
    all: Vec<Reducer>,
    cycles: u64,
}

impl Reducers {
    pub(super) fn new(cycles: u64) -> Reducers {
        Reducers { all: Vec::new(), cycles }
    }

    /// Adds a reducer that reads the queues `from` and writes the queues `to`.
    pub(super) fn add(&mut self, by: Combine, from: Vec<QueueId>, to: Vec<QueueId>) {
        let (members, left) = (vec![None; from.len()], vec![false; from.len()]);
        self.all.push(Reducer { by, from, to, members, left, written: Vec::new(), ready: None });
    }

    /// Makes a thread the member of a queue. Returns false if no reducer reads the queue, or if
    /// another thread is its member.
    pub(super) fn join(&mut self, queue: QueueId, thread: u32) -> bool {
        self.all.iter_mut().any(|reducer| {
            let at = reducer.from.iter().position(|read| *read == queue);
            let free = at.filter(|&at| reducer.members[at].is_none_or(|member| member == thread));
            free.inspect(|&at| (reducer.members[at], reducer.left[at]) = (Some(thread), false)).is_some()
        })
    }

    /// A thread is no longer the member of one queue, or of any if `one` is `None`: no reducer
    /// waits for it. Returns whether it was such a member.
    pub(super) fn leave(&mut self, thread: u32, one: Option<QueueId>) -> bool {
        let mut any = false;
        for reducer in &mut self.all {
            for (at, member) in reducer.members.iter_mut().enumerate() {
                if *member == Some(thread) && one.is_none_or(|queue| queue == reducer.from[at]) {
                    (*member, reducer.left[at], any) = (None, true, true);
                }
            }
        }
        any
    }

    /// Returns whether a reducer reads this queue; no dequeue may take from such a queue.
    pub(super) fn reads(&self, queue: QueueId) -> bool {
        self.all.iter().any(|reducer| reducer.from.contains(&queue))
    }

    /// Returns whether a reducer writes this queue; no enqueue may go to such a queue.
    pub(super) fn writes(&self, queue: QueueId) -> bool {
        self.all.iter().any(|reducer| reducer.to.contains(&queue))
    }

    /// Ends the reducer of a queue that is about to be released. The sum that the reducer works on
    /// can be taken at once.
    pub(super) fn release(&mut self, queue: QueueId, storage: &mut Storage) {
        let ends = |reducer: &mut Reducer| reducer.from.contains(&queue) || reducer.to.contains(&queue);
        for ended in self.all.extract_if(.., ends).filter(|ended| ended.ready.is_some()) {
            ended.show(storage);
        }
    }

    /// Ends sums that are ready, and begins sums whose items are there. Returns whether a queue has
    /// changed.
    pub(super) fn run(&mut self, storage: &mut Storage, now: u64) -> bool {
        let mut changed = false;
        for reducer in &mut self.all {
            if reducer.ready.is_some_and(|ready| ready <= now) {
                reducer.ready = None;
                reducer.show(storage);
                changed = true;
            }
            let items = if reducer.ready.is_none() { reducer.begin(storage) } else { 0 };
            if items > 0 {
                reducer.ready = Some(now + self.cycles * items);
                changed = true;
            }
        }
        changed
    }

    /// Returns the time at which the next sum is ready.
    pub(super) fn next(&self) -> Option<u64> {
        self.all.iter().filter_map(|reducer| reducer.ready).min()
    }
}

impl Reducer {
    /// Makes a finished sum visible to dequeues.
    fn show(&self, storage: &mut Storage) {
        self.written.iter().for_each(|&slot| storage.tail_moves(slot));
    }

    /// Reads an item from each queue and writes the result, which can be taken when it is ready.
    /// Returns the number of items; 0 if an item or room is missing.
    fn begin(&mut self, storage: &mut Storage) -> u64 {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for ((&read, &write), left) in self.from.iter().zip(&self.to).zip(&self.left) {
            let (Some(read), Some(write)) = (storage.find(read), storage.find(write)) else { return 0 };
            let has = |slot: Slot, what: fn(&Queue) -> u32| storage.queue(slot).map_or(0, what) > 0;
            let (item, room) = (has(read, Queue::items), has(write, Queue::free));
            if !(*left || item && room) {
                return 0;
            }
            from.extend(item.then_some(read));
            to.extend(room.then_some(write));
        }
        let items: Vec<u64> = from.iter().filter_map(|&slot| storage.get(slot)).collect();
        from.iter().for_each(|&slot| storage.head_moves(slot));
        if let Some(result) = items.iter().copied().reduce(|a, b| self.by.of(a, b)) {
            to.iter().for_each(|&slot| {
                storage.put(slot, result);
            });
            self.written = to;
        }
        items.len() as u64
    }
}
