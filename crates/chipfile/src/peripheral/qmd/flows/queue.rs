//! A queue with flows: its items, its consumers, and which item is next for whom.

use super::super::storage::Slot;
use super::OUTPUTS;
use super::reorder::Reorder;
use super::tokens::{Held, Tokens};
use baton_machine::flows::{FlowOrder, InHand};
use baton_machine::queues::QueueRefusal;
use std::collections::VecDeque;

pub(in super::super) mod carried;

#[derive(Clone, Copy, Debug)]
struct Item {
    item: u64,
    flow: u16,
    /// Ordered: the slot that an item has which was put back.
    place: Option<u64>,
}

/// A thread that receives from the queue.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Consumer {
    pub(in super::super) thread: u32,
    weight: u16,
    /// Number of items that it may still take in this round.
    pub(in super::super) left: u16,
    most: usize,
    /// Number of items that it has in hand.
    held: usize,
}

/// A queue.
pub(in super::super) struct FlowQueue {
    order: FlowOrder,
    /// Atomic: number of entries that are looked at. Ordered: number of slots.
    window: usize,
    pub(in super::super) dead: InHand,
    entries: usize,
    items: VecDeque<Item>,
    /// Number of the last items whose access to the SRAM is not done.
    coming: usize,
    /// Number of entries whose items were taken, and that are not free yet.
    going: usize,
    consumers: Vec<Consumer>,
    held: usize,
    pub(super) reorder: Reorder,
}

impl FlowQueue {
    pub(super) fn new(order: FlowOrder, window: usize, dead: InHand, entries: usize) -> FlowQueue {
        let (items, consumers, reorder) = Default::default();
        FlowQueue { order, window, dead, entries, items, coming: 0, going: 0, consumers, held: 0, reorder }
    }

    /// Number of entries of eight bytes that a queue takes in the SRAM.
    pub(super) fn sram(order: FlowOrder, window: u16, entries: u32) -> Option<u32> {
        let outputs = if order == FlowOrder::Ordered { u32::from(window) * OUTPUTS as u32 } else { 0 };
        entries.checked_add(outputs)
    }

    /// Number of items that wait.
    pub(in super::super) fn items(&self) -> usize {
        self.items.len()
    }

    pub(in super::super) fn has_room(&self) -> bool {
        let kept = if self.dead == InHand::PutBack { self.held } else { 0 };
        self.items.len() + self.going + kept < self.entries
    }

    /// Appends an item, for which there is room. It can be taken from [`FlowQueue::comes`] on.
    pub(super) fn put(&mut self, item: u64, flow: u16) {
        self.items.push_back(Item { item, flow, place: None });
        self.coming += 1;
    }

    /// The oldest item that was put can be taken from now on.
    pub(in super::super) fn comes(&mut self) {
        self.coming -= 1;
    }

    /// The entry of the oldest item that was taken is free.
    pub(in super::super) fn goes(&mut self) {
        self.going -= 1;
    }

    /// Binds a thread, or binds it anew, if `free` tokens suffice that no consumer has for itself.
    /// Each consumer has as many tokens as it may have items in hand, so that no queue's consumers
    /// wait for those of another.
    pub(super) fn bind(&mut self, thread: u32, weight: u16, most: u16, free: usize) -> Result<(), QueueRefusal> {
        let new = Consumer { thread, weight, left: weight, most: most.into(), held: 0 };
        let is_taken = self.order == FlowOrder::Directed && !self.consumers.is_empty();
        let bound = self.consumers.iter_mut().find(|bound| bound.thread == thread);
        if new.most > free + bound.as_ref().map_or(0, |bound| bound.most) {
            return Err(QueueRefusal::NoRoom);
        }
        match bound {
            Some(bound) if bound.held > new.most => return Err(QueueRefusal::Refused),
            Some(bound) => *bound = Consumer { held: bound.held, ..new },
            None if is_taken => return Err(QueueRefusal::NoRoom),
            None => self.consumers.push(new),
        }
        Ok(())
    }

    /// Number of tokens that its consumers have for themselves.
    pub(super) fn reserved(&self) -> usize {
        self.consumers.iter().map(|bound| bound.most).sum()
    }

    /// A thread ends. Returns whether it was bound.
    pub(super) fn unbind(&mut self, thread: u32) -> bool {
        let before = self.consumers.len();
        self.consumers.retain(|bound| bound.thread != thread);
        self.consumers.len() < before
    }

    pub(in super::super) fn consumer(&self, thread: u32) -> Option<&Consumer> {
        self.consumers.iter().find(|bound| bound.thread == thread)
    }

    /// Begins another round: each consumer may take as many items as its weight says.
    pub(super) fn new_round(&mut self) {
        self.consumers.iter_mut().for_each(|bound| bound.left = bound.weight);
    }

    /// The place of the item that a thread would get now.
    pub(in super::super) fn next_for(&self, slot: Slot, thread: u32, tokens: &Tokens) -> Option<usize> {
        let may = self.consumer(thread).is_some_and(|bound| bound.held < bound.most);
        let there = self.items.len() - self.coming;
        if !may || there == 0 {
            return None;
        }
        match self.order {
            FlowOrder::Directed | FlowOrder::Parallel => Some(0),
            FlowOrder::Ordered => (self.items[0].place.is_some() || self.reorder.len() < self.window).then_some(0),
            // The first item of a flow decides: if it cannot be taken, its flow is another's, and so
            // no later item of the flow can be taken either.
            FlowOrder::Atomic => (0..there.min(self.window))
                .find(|&at| tokens.owner(slot, self.items[at].flow).is_none_or(|owner| owner == thread)),
        }
    }

    /// Takes an item. Returns it with its flow and, in an ordered queue, its slot.
    pub(super) fn take(&mut self, at: usize, thread: u32) -> (u64, u16, u64) {
        let Item { item, flow, place } = self.items.remove(at).expect("an item that was found");
        let ordered = self.order == FlowOrder::Ordered;
        let place = place.or_else(|| ordered.then(|| self.reorder.reserve())).unwrap_or(0);
        if let Some(bound) = self.consumers.iter_mut().find(|bound| bound.thread == thread) {
            bound.left = bound.left.saturating_sub(1);
            bound.held += 1;
        }
        self.held += 1;
        self.going += 1;
        (item, flow, place)
    }

    fn leaves_hand(&mut self, held: &Held) {
        self.held -= 1;
        if let Some(bound) = self.consumers.iter_mut().find(|bound| bound.thread == held.thread) {
            bound.held -= 1;
        }
    }

    /// A token is complete.
    pub(super) fn completes(&mut self, held: &Held) {
        self.leaves_hand(held);
        if self.order == FlowOrder::Ordered {
            self.reorder.complete(held.place);
        }
    }

    /// The thread of a token has ended.
    pub(super) fn dies(&mut self, held: Held) {
        match self.dead {
            InHand::GiveUp => self.completes(&held),
            InHand::PutBack => {
                self.leaves_hand(&held);
                let place = (self.order == FlowOrder::Ordered).then_some(held.place);
                if let Some(place) = place {
                    self.reorder.begin_again(place);
                }
                self.items.push_front(Item { item: held.item, flow: held.flow, place });
            }
        }
    }

    /// Whether what consumers send on waits for its turn.
    pub(super) fn reorders(&self) -> bool {
        self.order == FlowOrder::Ordered
    }

    /// Checks what the queue promises: see `docs/reference/qmd.md`.
    pub(super) fn check(&self, slot: usize, tokens: &Tokens) {
        let held: Vec<&Held> = tokens.held().filter(|held| held.slot.0 == slot).collect();
        assert_eq!(held.len(), self.held, "items in hand, queue {slot}");
        let kept = if self.dead == InHand::PutBack { self.held } else { 0 };
        assert!(self.items.len() + kept <= self.entries, "entries of queue {slot}");
        assert!(self.coming <= self.items.len(), "items on their way, queue {slot}");
        for bound in &self.consumers {
            let its = held.iter().filter(|held| held.thread == bound.thread).count();
            assert_eq!(its, bound.held, "items in hand of thread {}, queue {slot}", bound.thread);
        }
        if self.order == FlowOrder::Atomic {
            let two = |one: &&Held| held.iter().any(|other| other.flow == one.flow && other.thread != one.thread);
            assert!(!held.iter().copied().any(|one| two(&one)), "two threads hold a flow of queue {slot}");
        }
        if self.order == FlowOrder::Ordered {
            let back = self.items.iter().filter(|item| item.place.is_some()).count();
            assert_eq!(self.reorder.open(), self.held + back, "slots of the reorder buffer, queue {slot}");
            assert!(self.reorder.len() <= self.window, "slots of the reorder buffer, queue {slot}");
        }
    }
}
