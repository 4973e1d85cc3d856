//! The steps of a thread's script, packed into eight bytes each, because a long recording has
//! hundreds of millions of steps.

use baton_trace::What;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The thread computes for this many cycles.
    Work(u64),
    /// The thread leaves its core for this many cycles: it sleeps, or waits for input or output.
    Delay(u64),
    /// The thread acquires a lock.
    Lock(u32),
    /// The thread releases a lock.
    Unlock(u32),
    /// The thread acquires a reader-writer lock: as a writer if the flag is set, else as a reader.
    RwLock(u32, bool),
    /// The thread releases a reader-writer lock: as a writer if the flag is set, else as a reader.
    RwUnlock(u32, bool),
    /// The thread waits for a token, until one step of another thread has put it down: in the
    /// recording, the signal, futex wake or post that ended a wait, a task's creation or end, or
    /// another step that came first.
    TokenWait(u32),
    /// The thread puts a token down, for which another thread waits.
    TokenPost(u32),
    /// The thread takes a unit of a semaphore, and waits while there is none.
    SemTake(u32),
    /// The thread posts a unit of a semaphore.
    SemPost(u32),
    /// The thread waits at a barrier until all participants have come.
    Meet(u32),
    Spawn(u32),
    /// The thread waits for the end of another thread.
    Join(u32),
    /// The thread takes items of work from a store and does them, until the store is empty.
    Share(u32),
    /// The thread puts items into a queue, and waits while there is no room: the queue, and the number
    /// of items, at most [`MOST_ITEMS`].
    Put(u32, u32),
    /// The thread takes items out of a queue, and waits while there are none.
    Take(u32, u32),
    /// A turn of the background thread's loop ends, and the next turn begins.
    Turn,
}

/// The longest duration that fits beside the kind's bits. At a gigahertz it is 18 years.
const LONGEST: u64 = u64::MAX >> KIND_BITS;
const KIND_BITS: u32 = 5;

/// Most items that a step moves: as many as an event of the recording can hold.
pub(crate) const MOST_ITEMS: u32 = What::MOST_ITEMS;
/// The bits of a number of items.
const ITEM_BITS: u32 = 24;
const _: () = assert!(MOST_ITEMS < 1 << ITEM_BITS);

/// A queue and a number of items, as one number.
pub(crate) fn passing(queue: u32, items: u32) -> u64 {
    u64::from(queue) << ITEM_BITS | u64::from(items.min(MOST_ITEMS))
}

/// Takes [`passing`] apart.
pub(crate) fn passed(value: u64) -> (u32, u32) {
    ((value >> ITEM_BITS) as u32, value as u32 & MOST_ITEMS)
}

/// A packed [`Op`]: its kind in the low bits, and above them the duration or the object's number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed(u64);

impl Packed {
    fn of(op: Op) -> Packed {
        let about = |number: u32, exclusive: bool| u64::from(number) << 1 | u64::from(exclusive);
        let (kind, value) = match op {
            Op::Work(cycles) => (0, cycles.min(LONGEST)),
            Op::Delay(cycles) => (1, cycles.min(LONGEST)),
            Op::Lock(lock) => (2, u64::from(lock)),
            Op::Unlock(lock) => (3, u64::from(lock)),
            Op::RwLock(lock, exclusive) => (4, about(lock, exclusive)),
            Op::RwUnlock(lock, exclusive) => (5, about(lock, exclusive)),
            Op::TokenWait(token) => (6, u64::from(token)),
            Op::TokenPost(token) => (7, u64::from(token)),
            Op::SemTake(semaphore) => (8, u64::from(semaphore)),
            Op::SemPost(semaphore) => (9, u64::from(semaphore)),
            Op::Meet(barrier) => (10, u64::from(barrier)),
            Op::Spawn(thread) => (11, u64::from(thread)),
            Op::Join(thread) => (12, u64::from(thread)),
            Op::Share(store) => (13, u64::from(store)),
            Op::Turn => (14, 0),
            Op::Put(queue, items) => (15, passing(queue, items)),
            Op::Take(queue, items) => (16, passing(queue, items)),
        };
        Packed(value << KIND_BITS | kind)
    }

    fn op(self) -> Op {
        let value = self.0 >> KIND_BITS;
        let (number, exclusive) = (value as u32, value & 1 != 0);
        let about = (value >> 1) as u32;
        match self.0 & ((1 << KIND_BITS) - 1) {
            0 => Op::Work(value),
            1 => Op::Delay(value),
            2 => Op::Lock(number),
            3 => Op::Unlock(number),
            4 => Op::RwLock(about, exclusive),
            5 => Op::RwUnlock(about, exclusive),
            6 => Op::TokenWait(number),
            7 => Op::TokenPost(number),
            8 => Op::SemTake(number),
            9 => Op::SemPost(number),
            10 => Op::Meet(number),
            11 => Op::Spawn(number),
            12 => Op::Join(number),
            13 => Op::Share(number),
            15 => Op::Put(passed(value).0, passed(value).1),
            16 => Op::Take(passed(value).0, passed(value).1),
            _ => Op::Turn,
        }
    }
}

/// A list of steps. Clones share the list.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Ops(Arc<Vec<Packed>>);

impl Ops {
    /// Returns an empty list with room for `steps` steps.
    pub(crate) fn with_room(steps: usize) -> Ops {
        Ops(Arc::new(Vec::with_capacity(steps)))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the step at an index.
    ///
    /// # Panics
    /// If the index is out of bounds.
    pub fn at(&self, place: usize) -> Op {
        self.0[place].op()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Op> + ExactSizeIterator + '_ {
        self.between(0, self.len())
    }

    /// Returns the steps from index `from` on, up to but without index `to`.
    ///
    /// # Panics
    /// If an index is out of bounds.
    pub fn between(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = Op> + ExactSizeIterator + '_ {
        self.0[from..to].iter().map(|packed| packed.op())
    }

    pub fn to_vec(&self) -> Vec<Op> {
        self.iter().collect()
    }

    /// Appends steps.
    pub(crate) fn append(&mut self, ops: impl Iterator<Item = Op>) {
        let own = self.own();
        ops.for_each(|op| push(own, Packed::of(op)));
    }

    /// Inserts steps before the step at an index.
    pub(crate) fn insert(&mut self, place: usize, ops: impl Iterator<Item = Op>) {
        self.own().splice(place..place, ops.map(Packed::of));
    }

    /// Replaces parts of the list, each given by the index of its first step, the index after its
    /// last, and the step to put in its place. The parts must ascend. If a part is empty, its step
    /// is inserted.
    pub(crate) fn replace(&mut self, stretches: &[(usize, usize, Op)]) {
        let own = self.own();
        // Replaced steps make room as the others move towards the beginning, so more room is needed
        // for insertions only.
        let more = stretches.iter().filter(|(first, last, _)| first == last).count();
        let length = own.len();
        own.reserve_exact(more);
        own.splice(0..0, std::iter::repeat_n(Packed(0), more));
        let (mut to, mut from) = (0, 0);
        for &(first, last, op) in stretches {
            own.copy_within(from + more..first + more, to);
            to += first - from;
            own[to] = Packed::of(op);
            (to, from) = (to + 1, last);
        }
        own.copy_within(from + more.., to);
        own.truncate(to + length - from);
        own.shrink_to_fit();
    }

    fn own(&mut self) -> &mut Vec<Packed> {
        Arc::make_mut(&mut self.0)
    }
}

/// A list of steps that is being built.
#[derive(Default)]
pub(crate) struct Gathered(Vec<Packed>);

impl Gathered {
    pub(crate) fn push(&mut self, op: Op) {
        push(&mut self.0, Packed::of(op));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the finished list, without spare capacity.
    pub(crate) fn done(mut self) -> Ops {
        self.0.shrink_to_fit();
        Ops(Arc::new(self.0))
    }
}

impl std::fmt::Debug for Ops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Op> for Ops {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Ops {
        Ops(Arc::new(ops.into_iter().map(Packed::of).collect()))
    }
}

impl From<Vec<Op>> for Ops {
    fn from(ops: Vec<Op>) -> Ops {
        ops.into_iter().collect()
    }
}

/// Appends an element to a long list.
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, one: T) {
    room(list, 1);
    list.push(one);
}

/// Reserves room for `more` elements in a long list, which grows by an eighth. If it doubled, it
/// could take twice the memory of its content.
#[inline]
pub(crate) fn room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        grow(list);
    }
}

#[cold]
fn grow<T>(list: &mut Vec<T>) {
    list.reserve_exact(list.len() / 8 + 16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_comes_out_as_it_went_in() {
        const M: u32 = u32::MAX;
        let all = vec![
            Op::Work(LONGEST),
            Op::Delay(1),
            Op::Lock(M),
            Op::Unlock(0),
            Op::RwLock(M, true),
            Op::RwLock(M, false),
            Op::RwUnlock(1, true),
            Op::RwUnlock(0, false),
            Op::TokenWait(M),
            Op::TokenPost(M),
            Op::SemTake(M),
            Op::SemPost(M),
            Op::Meet(M),
            Op::Spawn(M),
            Op::Join(M),
            Op::Share(M),
            Op::Turn,
            Op::Put(M, MOST_ITEMS),
            Op::Take(0, 1),
        ];
        assert_eq!(Ops::from(all.clone()).to_vec(), all);
        assert_eq!(Ops::from(vec![Op::Work(u64::MAX)]).at(0), Op::Work(LONGEST), "cut to what can be held");
    }

    #[test]
    fn stretches_are_replaced_and_what_lies_between_stays() {
        let mut ops: Ops = (0..10).map(Op::Work).collect();
        ops.replace(&[(1, 3, Op::Share(0)), (5, 9, Op::Share(1))]);
        let left = [Op::Work(0), Op::Share(0), Op::Work(3), Op::Work(4), Op::Share(1), Op::Work(9)];
        assert_eq!(ops.to_vec(), left);
        let mut few: Ops = (0..3).map(Op::Work).collect();
        few.replace(&[(0, 0, Op::Share(0)), (1, 1, Op::Share(1)), (3, 3, Op::Share(2))]);
        let all = [Op::Share(0), Op::Work(0), Op::Share(1), Op::Work(1), Op::Work(2), Op::Share(2)];
        assert_eq!(few.to_vec(), all, "an empty stretch takes nothing away");
        ops.insert(6, [Op::Join(1)].into_iter());
        ops.insert(0, [Op::Spawn(1)].into_iter());
        assert_eq!((ops.len(), ops.at(0), ops.at(7)), (8, Op::Spawn(1), Op::Join(1)));
    }
}
