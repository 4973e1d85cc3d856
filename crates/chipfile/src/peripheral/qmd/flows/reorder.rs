//! The reorder buffer of an ordered queue: a slot for each item that was taken, in the order in
//! which items were taken. What a thread sends on for an item waits in the item's slot until all
//! slots before are empty and complete.

use super::OUTPUTS;
use baton_machine::queues::QueueId;
use std::collections::VecDeque;

/// An item that was sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Output {
    pub(in super::super) to: QueueId,
    pub(in super::super) item: u64,
    pub(in super::super) flow: u16,
}

#[derive(Debug, Default)]
struct ReorderSlot {
    outputs: VecDeque<Output>,
    /// Number of items that were sent on for the item so far.
    sent: usize,
    complete: bool,
}

/// The slots, from that of the oldest item on.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    places: VecDeque<ReorderSlot>,
    /// The number of the first slot.
    first: u64,
}

impl Reorder {
    /// Number of slots in use.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Reserves the next slot. Returns its number.
    pub(super) fn reserve(&mut self) -> u64 {
        self.places.push_back(ReorderSlot::default());
        self.first + self.places.len() as u64 - 1
    }

    fn place(&mut self, number: u64) -> &mut ReorderSlot {
        &mut self.places[(number - self.first) as usize]
    }

    /// An item is sent on for the item with this slot. Returns false if it has as many already as a
    /// slot has room for.
    pub(super) fn send(&mut self, number: u64, output: Output) -> bool {
        let place = self.place(number);
        let has_room = place.sent < OUTPUTS;
        if has_room {
            place.outputs.push_back(output);
            place.sent += 1;
        }
        has_room
    }

    /// Nothing more is sent on for the item with this slot.
    pub(super) fn complete(&mut self, number: u64) {
        self.place(number).complete = true;
        self.drop_empty();
    }

    /// The item with this slot will be taken again: what was sent on for it, and has not left, is
    /// void.
    pub(super) fn begin_again(&mut self, number: u64) {
        let place = self.place(number);
        place.outputs.clear();
        place.sent = 0;
    }

    /// The item whose turn it is to leave.
    pub(super) fn next(&self) -> Option<Output> {
        self.places.front()?.outputs.front().copied()
    }

    /// The item whose turn it is leaves.
    pub(super) fn leaves(&mut self) {
        if let Some(first) = self.places.front_mut() {
            first.outputs.pop_front();
        }
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        while self.places.front().is_some_and(|place| place.complete && place.outputs.is_empty()) {
            self.places.pop_front();
            self.first += 1;
        }
    }

    /// The number of the first slot.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The slots, to move: the number of items that were sent on, whether it is complete, and the
    /// items that wait.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, bool, impl Iterator<Item = &Output>)> {
        self.places.iter().map(|place| (place.sent, place.complete, place.outputs.iter()))
    }

    /// Adds a slot of a queue that has come here.
    pub(super) fn restore(&mut self, sent: usize, complete: bool) {
        self.places.push_back(ReorderSlot { outputs: VecDeque::new(), sent, complete });
    }

    /// Adds an item to the last slot of a queue that has come here.
    pub(super) fn restore_output(&mut self, output: Output) {
        if let Some(place) = self.places.back_mut() {
            place.outputs.push_back(output);
        }
    }

    /// Number of items that were sent on and have not left.
    pub(super) fn waiting(&self) -> usize {
        self.places.iter().map(|place| place.outputs.len()).sum()
    }

    /// Number of slots that are not complete.
    pub(super) fn open(&self) -> usize {
        self.places.iter().filter(|place| !place.complete).count()
    }
}
