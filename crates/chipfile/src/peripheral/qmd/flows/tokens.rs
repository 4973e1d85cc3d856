//! The table of items in hand: a token for each. A token is the number of its entry, in the low 16
//! bits, and the number of the entry's uses, so that a token that was used up is not one that the
//! entry has later. An entry knows its thread: a token is of no use to another.
//!
//! A token that has come from another device with its queue keeps its number, in any entry. All
//! entries are then as if they had been used as often as any entry there, so that a queue never has
//! the same token twice.

use super::super::storage::Slot;
use baton_machine::flows::Token;

/// An item in hand.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Held {
    token: Token,
    pub(in super::super) slot: Slot,
    pub(in super::super) thread: u32,
    /// The context that asked for the item.
    pub(in super::super) cpu: u32,
    pub(in super::super) flow: u16,
    pub(in super::super) item: u64,
    /// When the item was taken.
    pub(in super::super) since: u64,
    /// Whether the thread has been told that it has the item for too long.
    pub(in super::super) told: bool,
    /// Ordered: the place in the order in which items were taken.
    pub(in super::super) place: u64,
    /// Number of items that were taken before, of all queues.
    number: u64,
}

/// The table of the items in hand, of all queues.
#[derive(Default)]
pub(in super::super) struct Tokens {
    /// For each entry, the number of its uses and its item.
    table: Vec<(u32, Option<Held>)>,
    used: usize,
    taken: u64,
}

impl Tokens {
    pub(super) fn new(entries: usize) -> Tokens {
        Tokens { table: vec![(0, None); entries], used: 0, taken: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no item is in hand.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// A thread takes an item.
    ///
    /// # Panics
    /// The table is full: consumers had not reserved their tokens.
    pub(super) fn begin(
        &mut self,
        slot: Slot,
        [thread, cpu]: [u32; 2],
        (item, flow): (u64, u16),
        place: u64,
        now: u64,
    ) -> Token {
        let at = self.free();
        let (uses, held) = &mut self.table[at];
        // A token is never 0.
        *uses = uses.wrapping_add(1).max(1);
        let token = Token(at as u64 | u64::from(*uses) << 16);
        *held = Some(Held { token, slot, thread, cpu, flow, item, since: now, told: false, place, number: self.taken });
        self.taken += 1;
        self.used += 1;
        token
    }

    fn free(&self) -> usize {
        self.table.iter().position(|(_, held)| held.is_none()).expect("the table has room")
    }

    /// Adds a token that has come with its queue. Its item follows ([`Tokens::last_of`]).
    ///
    /// # Panics
    /// As [`Tokens::begin`].
    pub(super) fn restore(&mut self, token: Token, slot: Slot, [thread, cpu]: [u32; 2], flow: u16, now: u64) {
        let at = self.free();
        let held =
            Held { token, slot, thread, cpu, flow, item: 0, since: now, told: false, place: 0, number: self.taken };
        self.table[at].1 = Some(held);
        self.taken += 1;
        self.used += 1;
    }

    /// The item of a queue that was taken last, of those in hand.
    pub(super) fn last_of(&mut self, slot: Slot) -> Option<&mut Held> {
        let held = self.table.iter_mut().filter_map(|(_, held)| held.as_mut());
        held.filter(|held| held.slot == slot).max_by_key(|held| held.number)
    }

    /// The most uses that an entry has had.
    pub(super) fn most_uses(&self) -> u32 {
        self.table.iter().map(|(uses, _)| *uses).max().unwrap_or(0)
    }

    /// From now on each entry counts as used at least this often.
    pub(super) fn have_had(&mut self, uses: u32) {
        self.table.iter_mut().for_each(|(had, _)| *had = uses.max(*had));
    }

    /// The tokens of a queue with their items in hand, in the order in which these were taken.
    pub(super) fn of_slot(&self, slot: Slot) -> Vec<(Token, &Held)> {
        let mut all: Vec<&Held> = self.held().filter(|held| held.slot == slot).collect();
        all.sort_by_key(|held| held.number);
        all.into_iter().map(|held| (held.token, held)).collect()
    }

    /// The entry of a token that the thread may use, for a queue that `which` accepts.
    pub(super) fn find(&self, token: Token, thread: u32, which: impl Fn(Slot) -> bool) -> Option<usize> {
        let is_it = |(_, held): &(u32, Option<Held>)| {
            held.is_some_and(|held| held.token == token && held.thread == thread && which(held.slot))
        };
        let at = (token.0 & 0xffff) as usize;
        if self.table.get(at).is_some_and(is_it) { Some(at) } else { self.table.iter().position(is_it) }
    }

    pub(super) fn get(&self, at: usize) -> &Held {
        self.table[at].1.as_ref().expect("an entry that was found")
    }

    /// An item is in hand no more.
    pub(super) fn end(&mut self, at: usize) -> Held {
        self.used -= 1;
        self.table[at].1.take().expect("an entry that was found")
    }

    /// Items in hand.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        self.table.iter().filter_map(|(_, held)| held.as_ref())
    }

    /// The thread that has items of a flow in hand.
    pub(super) fn owner(&self, slot: Slot, flow: u16) -> Option<u32> {
        self.held().find(|held| held.slot == slot && held.flow == flow).map(|held| held.thread)
    }

    /// The entries of a thread, in the order in which it took its items.
    pub(super) fn of_thread(&self, thread: u32) -> Vec<usize> {
        let its = |at: &usize| self.table[*at].1.is_some_and(|held| held.thread == thread);
        let mut all: Vec<usize> = (0..self.table.len()).filter(its).collect();
        all.sort_by_key(|&at| self.get(at).number);
        all
    }

    /// Ends the tokens of a queue. Returns their number.
    pub(super) fn forget(&mut self, slot: Slot) -> u64 {
        let its = |at: &usize| self.table[*at].1.is_some_and(|held| held.slot == slot);
        let all: Vec<usize> = (0..self.table.len()).filter(its).collect();
        for &at in &all {
            self.end(at);
        }
        all.len() as u64
    }

    /// Notes that items which were taken at `until` or before, of open queues, are too old. Returns
    /// the context and thread of those that are so for the first time.
    pub(in super::super) fn too_old(&mut self, until: u64, is_open: impl Fn(Slot) -> bool) -> Vec<(u32, u32)> {
        let late = self.table.iter_mut().filter_map(|(_, held)| held.as_mut());
        let late = late.filter(|held| !held.told && held.since <= until && is_open(held.slot));
        late.map(|held| {
            held.told = true;
            (held.cpu, held.thread)
        })
        .collect()
    }

    /// When the oldest item of an open queue in hand, whose thread has not been told so, was taken.
    pub(in super::super) fn oldest(&self, is_open: impl Fn(Slot) -> bool) -> Option<u64> {
        self.held().filter(|held| !held.told && is_open(held.slot)).map(|held| held.since).min()
    }
}
