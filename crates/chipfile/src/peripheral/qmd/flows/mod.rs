//! Queues with flows: items in hand and their tokens, and which item a thread gets. This module
//! knows neither time nor requests, apart from the times of tokens.
//!
//! | file | holds |
//! | --- | --- |
//! | [`queue`] | a queue: items, consumers, which item is next for whom; its tables as rows, to move |
//! | [`tokens`] | the table of items in hand |
//! | [`reorder`] | what is sent on out of turn waits for its turn |
//! | [`turns`] | a request's turn |
//!
//! The table of tokens is the flow table as well: the owner of a flow is the thread that holds a
//! token of the flow, and the number of such tokens is the number of its items in flight.

pub(super) mod queue;
mod reorder;
pub(super) mod tokens;
mod turns;

use super::storage::Slot;
use baton_machine::flows::{FlowOrder, InHand};
use queue::FlowQueue;
use tokens::Tokens;

/// Number of items that a thread can send on for a token of an ordered queue.
pub(super) const OUTPUTS: usize = 4;

/// All queues with flows of a device.
#[derive(Default)]
pub(super) struct Flows {
    /// The queue of each slot that has one.
    queues: Vec<Option<FlowQueue>>,
    /// Whether there is any.
    pub(super) any: bool,
    pub(super) tokens: Tokens,
    /// The slot from which the releaser looks for its next item.
    turn: usize,
    pub(super) counts: FlowCounts,
}

/// The counts of queues with flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowCounts {
    /// Number of requests with a token that is forged, used up or another thread's.
    pub(super) bad_tokens: u64,
    /// Number of items in hand that were lost with their threads or queues, and of items that were
    /// sent on to a queue that is gone.
    pub(super) given_up: u64,
    /// Number of items in hand that went back to their queues when their threads ended.
    pub(super) put_back: u64,
    /// Number of interrupts for items that were in hand for too long.
    pub(super) overdue: u64,
}

impl FlowCounts {
    /// The counts that are not zero, each with its name.
    pub(super) fn rows(self) -> impl Iterator<Item = (&'static str, u64)> {
        let FlowCounts { bad_tokens, given_up, put_back, overdue } = self;
        let rows = [("bad_tokens", bad_tokens), ("given_up", given_up), ("put_back", put_back), ("overdue", overdue)];
        rows.into_iter().filter(|(_, count)| *count > 0)
    }
}

impl Flows {
    pub(super) fn new(tokens: u64) -> Flows {
        Flows { tokens: Tokens::new(tokens as usize), ..Flows::default() }
    }

    pub(super) fn add(&mut self, slot: Slot, order: FlowOrder, window: u16, dead: InHand, entries: u32) {
        if self.queues.len() <= slot.0 {
            self.queues.resize_with(slot.0 + 1, || None);
        }
        self.queues[slot.0] = Some(FlowQueue::new(order, window.into(), dead, entries as usize));
        self.any = true;
    }

    /// Number of tokens that no consumer has for itself.
    fn free_tokens(&self) -> usize {
        self.tokens.len() - self.queues.iter().flatten().map(FlowQueue::reserved).sum::<usize>()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&FlowQueue> {
        self.queues.get(slot.0)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut FlowQueue> {
        self.queues.get_mut(slot.0)?.as_mut()
    }

    /// Removes a queue that is released, with the tokens of its items in hand. Returns the number of
    /// items that still waited.
    pub(super) fn remove(&mut self, slot: Slot) -> u64 {
        let Some(queue) = self.queues.get_mut(slot.0).and_then(Option::take) else { return 0 };
        self.any = self.queues.iter().any(Option::is_some);
        self.counts.given_up += self.tokens.forget(slot) + queue.reorder.waiting() as u64;
        queue.items() as u64
    }

    /// A thread ends, or may not use the queue `only` any more: its items in hand are given up or put
    /// back, and it is not bound any more. Returns whether anything has changed.
    pub(super) fn bury(&mut self, thread: u32, only: Option<Slot>) -> bool {
        let mut changed = false;
        let ends = |slot: Slot| only.is_none_or(|only| only == slot);
        // The one that was taken last goes to the front first.
        for held in self.tokens.of_thread(thread).into_iter().rev() {
            if !ends(self.tokens.get(held).slot) {
                continue;
            }
            let token = self.tokens.end(held);
            let Some(queue) = self.queues[token.slot.0].as_mut() else { continue };
            match queue.dead {
                InHand::GiveUp => self.counts.given_up += 1,
                InHand::PutBack => self.counts.put_back += 1,
            }
            queue.dies(token);
            changed = true;
        }
        for (slot, queue) in self.queues.iter_mut().enumerate() {
            if let Some(queue) = queue.as_mut().filter(|_| ends(Slot(slot))) {
                changed |= queue.unbind(thread);
            }
        }
        changed
    }

    /// Moves the next item that was sent on in its queue's turn to the queue that it is for, if its
    /// own queue is open. `put` appends an item there: `None` if there is no such queue, and false
    /// without room. Returns whether an item moved.
    pub(super) fn release_one(
        &mut self,
        is_open: impl Fn(Slot) -> bool,
        mut put: impl FnMut(&mut Flows, reorder::Output) -> Option<bool>,
    ) -> bool {
        let slots = self.queues.len();
        for at in (self.turn..self.turn + slots).map(|at| at % slots) {
            let Some(output) = self.queues[at].as_ref().and_then(|queue| queue.reorder.next()) else { continue };
            if !is_open(Slot(at)) {
                continue;
            }
            let put = put(self, output);
            if put == Some(false) {
                continue;
            }
            self.counts.given_up += u64::from(put.is_none());
            if let Some(queue) = &mut self.queues[at] {
                queue.reorder.leaves();
            }
            self.turn = at + 1;
            return true;
        }
        false
    }

    /// Whether an item that was sent on is in its queue's turn, and its queue is open; `room` says
    /// whether the queue that it is for has room, or is gone.
    pub(super) fn can_release(
        &self,
        is_open: impl Fn(Slot) -> bool,
        room: impl Fn(&Flows, reorder::Output) -> bool,
    ) -> bool {
        self.queues.iter().enumerate().any(|(slot, queue)| {
            let output = queue.as_ref().and_then(|queue| queue.reorder.next());
            output.is_some_and(|output| is_open(Slot(slot)) && room(self, output))
        })
    }

    /// Checks what the queues promise. A queue that moves is checked when it is open again.
    pub(super) fn check(&self, is_open: impl Fn(Slot) -> bool) {
        for (slot, queue) in self.queues.iter().enumerate() {
            if let Some(queue) = queue.as_ref().filter(|_| is_open(Slot(slot))) {
                queue.check(slot, &self.tokens);
            }
        }
    }
}
