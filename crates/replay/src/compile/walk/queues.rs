//! Queues of items. The `n`-th item that leaves a queue is the `n`-th one that went in, and in a
//! queue with a capacity it makes room for the item that goes in a capacity later. So a queue is
//! replayed as two semaphores that signal: one counts its items, the other its free places. A wait
//! that the queue's close ended is a token that the close puts down.
//!
//! A queue that another one serves in the replay has steps of its own instead: puts and takes.

use super::{Mode, Walk};
use crate::compile::objects::room_of;
use crate::compile::track::Raw;
use crate::program::Op;
use crate::queues::price::QueuePrice;
use baton_trace::{Address, ProcessIndex, Stream, What};

impl Walk<'_> {
    pub(super) fn at_queue(&mut self, id: usize, t: u64, what: What, queue: (ProcessIndex, Address)) {
        if Stream::of(queue.1).is_some() {
            return self.at_stream(id, t, what, queue.1);
        }
        self.replayability.events += 1;
        let served = self.objects.served.at(queue.0, queue.1, t);
        if let Some((number, _)) = served {
            self.objects.at_queues.entry(number).or_default().step(what);
        }
        match what {
            What::QueueCapacity { capacity, .. } => {
                self.objects.queues += 1;
                self.objects.attribute(queue, 0);
                if capacity != 0 && capacity < What::MOST_ITEMS {
                    self.objects.attribute(room_of(queue), capacity);
                }
            }
            What::PutWait { .. } | What::TakeWait { .. } => {
                self.gap(id, t);
                self.tokens.wait(queue, id as u32);
                self.wait(id, t, Mode::QueueWait(t));
            }
            What::PutWaited { gave_up, .. } | What::TakeWaited { gave_up, .. } => self.goes_on(id, t, queue, gave_up),
            What::Put { items, .. } if let Some((number, price)) = served => {
                self.moves(id, t, (number, price), true, items);
                self.op(id, Op::Put(number, items));
            }
            What::Take { items, .. } if let Some((number, price)) = served => {
                self.moves(id, t, (number, price), false, items);
                self.op(id, Op::Take(number, items));
            }
            What::Put { items, .. } => {
                self.gap(id, t);
                for _ in 0..items {
                    self.take_unit(id, room_of(queue));
                    self.post_unit(id, queue);
                }
            }
            What::Take { items, .. } => {
                self.gap(id, t);
                for _ in 0..items {
                    self.take_unit(id, queue);
                    self.post_unit(id, room_of(queue));
                }
            }
            What::QueueClose { .. } => {
                self.gap(id, t);
                let (signal, _) = self.tokens.signal(queue, true);
                self.threads[id].track.push(Raw::Signal(signal));
            }
            _ => {}
        }
    }

    /// Ends the gap before items are moved, which contains what moving them cost. The gap behind may
    /// contain the wake-up of a thread that waits for them, or for their places.
    fn moves(&mut self, id: usize, t: u64, (number, price): (u32, QueuePrice), puts: bool, items: u32) {
        let at = self.objects.at_queues.entry(number).or_default();
        let awaited = (if puts { at.starving } else { at.blocked }) != 0;
        self.states[id].priced += price.of(puts, items, (at.depth, self.objects.served.capacity(number)), awaited);
        at.depth = if puts { at.depth + u64::from(items) } else { at.depth.saturating_sub(u64::from(items)) };
        self.gap(id, t);
        if awaited {
            self.states[id].woke = self.chip.os.futex.wake.0;
        }
    }

    /// Ends a wait. If the thread gave up, and the queue was not closed, it waits as long as it did.
    fn goes_on(&mut self, id: usize, t: u64, place: (ProcessIndex, Address), gave_up: bool) {
        let Mode::QueueWait(since) = self.states[id].mode else {
            self.tokens.gave_up(place, id as u32);
            self.gap(id, t);
            self.replayability.unmatched_waits += 1;
            return;
        };
        self.resume(id, t, Mode::Running);
        if !gave_up {
            return self.tokens.gave_up(place, id as u32);
        }
        match self.tokens.woken(place, id as u32) {
            Some(token) => self.op(id, Op::TokenWait(token)),
            None => {
                self.tokens.gave_up(place, id as u32);
                self.threads[id].track.push(Raw::Away(t - since));
                self.replayability.expired_waits += 1;
            }
        }
    }

    /// Takes an item or a free place, if their number is known.
    fn take_unit(&mut self, id: usize, place: (ProcessIndex, Address)) {
        let Some(number) = self.objects.counted(place) else { return };
        let unit = self.semaphores.take_counted(number, self.objects.initial(number), id as u32);
        self.threads[id].track.push(Raw::Take(unit));
    }

    /// Puts down an item or a free place, if their number is known.
    fn post_unit(&mut self, id: usize, place: (ProcessIndex, Address)) {
        let Some(number) = self.objects.counted(place) else { return };
        let unit = self.semaphores.post(number, self.objects.initial(number), id as u32);
        self.threads[id].track.push(Raw::Post(unit));
    }
}
