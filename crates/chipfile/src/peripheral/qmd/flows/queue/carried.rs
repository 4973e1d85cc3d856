//! The tables of a queue with flows as rows of two words and a half, in which they travel when the
//! queue moves to another device.

use super::super::Flows;
use super::super::reorder::Output;
use super::super::tokens::{Held, Tokens};
use super::{Consumer, FlowQueue, Item};
use crate::peripheral::qmd::storage::Slot;
use baton_machine::flows::{FlowOrder, Token};
use baton_machine::queues::{QueueId, QueueRefusal};

/// A row of the tables of a queue with flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The most uses that an entry of the device's table of tokens has had. The new device gives no
    /// token with as few uses, so that no token of the queue has a number that an earlier one had.
    Uses(u32),
    /// A consumer.
    Consumer {
        /// The thread.
        thread: u32,
        /// The weight.
        weight: u16,
        /// Number of items that it may still take in this round.
        left: u16,
        /// Most items that it may have in hand.
        most: u16,
    },
    /// An item that waits.
    Item {
        /// The item.
        item: u64,
        /// The item's flow.
        flow: u16,
        /// Ordered: the slot that an item has which was put back.
        place: Option<u16>,
    },
    /// A token. The item in hand follows in the next row.
    Token {
        /// The token.
        token: Token,
        /// The flow of the item in hand.
        flow: u16,
        /// The thread that has the item.
        thread: u32,
        /// The context that asked for the item.
        cpu: u32,
    },
    /// The item in hand for the token of the row before.
    InHand {
        /// The item.
        item: u64,
        /// Ordered: the item's slot.
        place: u16,
        /// Whether the thread has been told that it has the item for too long.
        told: bool,
    },
    /// A slot of the reorder buffer.
    Slot {
        /// Number of items that were sent on for the slot's item.
        sent: u8,
        /// Whether no more will be sent on.
        complete: bool,
    },
    /// An item that waits in the slot of the rows before.
    Output {
        /// The queue that the item is for.
        to: QueueId,
        /// The item.
        item: u64,
        /// The item's flow.
        flow: u16,
    },
}

const USES: u32 = 0;
const CONSUMER: u32 = 1;
const ITEM: u32 = 2;
const TOKEN: u32 = 3;
const IN_HAND: u32 = 4;
const SLOT: u32 = 5;
const OUTPUT: u32 = 6;

/// Marks an item that has a slot.
const HAS_PLACE: u64 = 1 << 32;

fn two(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

impl Carried {
    /// The row as two words, and the kind of the row.
    pub fn to_words(self) -> ([u64; 2], u32) {
        match self {
            Carried::Uses(uses) => ([uses.into(), 0], USES),
            Carried::Consumer { thread, weight, left, most } => {
                ([two(thread, u32::from(weight) | u32::from(left) << 16), most.into()], CONSUMER)
            }
            Carried::Item { item, flow, place } => {
                let place = place.map_or(0, |place| HAS_PLACE | u64::from(place) << 16);
                ([item, u64::from(flow) | place], ITEM)
            }
            Carried::Token { token, flow, thread, cpu } => ([token.0 | u64::from(flow) << 48, two(thread, cpu)], TOKEN),
            Carried::InHand { item, place, told } => ([item, two(place.into(), told.into())], IN_HAND),
            Carried::Slot { sent, complete } => ([sent.into(), complete.into()], SLOT),
            Carried::Output { to, item, flow } => ([item, two(to.0, flow.into())], OUTPUT),
        }
    }

    /// The row of these words; `None` if there is no such kind of row.
    pub fn from_words([first, second]: [u64; 2], kind: u32) -> Option<Carried> {
        let (low, high) = (second as u32, (second >> 32) as u32);
        Some(match kind {
            USES => Carried::Uses(first as u32),
            CONSUMER => Carried::Consumer {
                thread: first as u32,
                weight: (first >> 32) as u16,
                left: (first >> 48) as u16,
                most: second as u16,
            },
            ITEM => Carried::Item {
                item: first,
                flow: second as u16,
                place: (second & HAS_PLACE != 0).then_some((second >> 16) as u16),
            },
            TOKEN => Carried::Token {
                token: Token(first & ((1 << 48) - 1)),
                flow: (first >> 48) as u16,
                thread: low,
                cpu: high,
            },
            IN_HAND => Carried::InHand { item: first, place: low as u16, told: high != 0 },
            SLOT => Carried::Slot { sent: first as u8, complete: second != 0 },
            OUTPUT => Carried::Output { to: QueueId(low), item: first, flow: high as u16 },
            _ => return None,
        })
    }
}

impl FlowQueue {
    /// The queue's tables.
    fn carried(&self, slot: Slot, tokens: &Tokens) -> Vec<Carried> {
        let first = self.reorder.first();
        let near = |place: u64| (place - first) as u16;
        let mut rows = vec![Carried::Uses(tokens.most_uses())];
        rows.extend(self.consumers.iter().map(|&Consumer { thread, weight, left, most, .. }| Carried::Consumer {
            thread,
            weight,
            left,
            most: most as u16,
        }));
        rows.extend(self.items.iter().map(|&Item { item, flow, place }| Carried::Item {
            item,
            flow,
            place: place.map(near),
        }));
        for (token, held) in tokens.of_slot(slot) {
            let &Held { thread, cpu, flow, item, place, told, .. } = held;
            let place = if self.order == FlowOrder::Ordered { near(place) } else { 0 };
            rows.extend([Carried::Token { token, flow, thread, cpu }, Carried::InHand { item, place, told }]);
        }
        for (sent, complete, outputs) in self.reorder.slots() {
            rows.push(Carried::Slot { sent: sent as u8, complete });
            rows.extend(outputs.map(|&Output { to, item, flow }| Carried::Output { to, item, flow }));
        }
        rows
    }
}

impl Flows {
    /// The row with this number of a queue's tables.
    pub(in super::super::super) fn row(&self, slot: Slot, number: u64) -> Option<Carried> {
        self.rows(slot).get(number as usize).copied()
    }

    /// The rows of a queue's tables.
    pub(in super::super::super) fn rows(&self, slot: Slot) -> Vec<Carried> {
        self.get(slot).map_or_else(Vec::new, |queue| queue.carried(slot, &self.tokens))
    }

    /// Adds a row to the tables of a queue that has come here. The ages of items in hand begin anew.
    pub(in super::super::super) fn restore(&mut self, slot: Slot, row: Carried, now: u64) -> Result<(), QueueRefusal> {
        let free = self.free_tokens();
        let (tokens, queue) = (&mut self.tokens, self.queues.get_mut(slot.0).and_then(Option::as_mut));
        let queue = queue.ok_or(QueueRefusal::Refused)?;
        match row {
            Carried::Uses(uses) => tokens.have_had(uses),
            Carried::Consumer { thread, weight, left, most } => {
                queue.bind(thread, weight, most, free)?;
                queue.consumers.iter_mut().filter(|bound| bound.thread == thread).for_each(|bound| bound.left = left);
            }
            Carried::Item { item, flow, place } => {
                queue.items.push_back(Item { item, flow, place: place.map(u64::from) })
            }
            Carried::Token { token, flow, thread, cpu } => {
                tokens.restore(token, slot, [thread, cpu], flow, now);
                queue.held += 1;
                queue.consumers.iter_mut().filter(|bound| bound.thread == thread).for_each(|bound| bound.held += 1);
            }
            Carried::InHand { item, place, told } => {
                let last = tokens.last_of(slot).ok_or(QueueRefusal::Refused)?;
                (last.item, last.place, last.told) = (item, place.into(), told);
            }
            Carried::Slot { sent, complete } => queue.reorder.restore(sent.into(), complete),
            Carried::Output { to, item, flow } => queue.reorder.restore_output(Output { to, item, flow }),
        }
        Ok(())
    }

    /// A queue has gone to another device, with its tokens.
    pub(in super::super::super) fn depart(&mut self, slot: Slot) {
        if let Some(queue) = self.queues.get_mut(slot.0) {
            *queue = None;
        }
        self.tokens.forget(slot);
        self.any = self.queues.iter().any(Option::is_some);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_arrives_as_it_was_sent() {
        let token = Token((1 << 48) - 5);
        for row in [
            Carried::Uses(7),
            Carried::Consumer { thread: 9, weight: 3, left: u16::MAX, most: 4 },
            Carried::Item { item: u64::MAX, flow: u16::MAX, place: None },
            Carried::Item { item: 5, flow: 2, place: Some(63) },
            Carried::Token { token, flow: 0xabcd, thread: u32::MAX, cpu: 63 },
            Carried::InHand { item: u64::MAX, place: 63, told: true },
            Carried::Slot { sent: 4, complete: false },
            Carried::Output { to: QueueId(u32::MAX), item: 1, flow: u16::MAX },
        ] {
            let (words, kind) = row.to_words();
            assert_eq!(Carried::from_words(words, kind), Some(row));
        }
        assert_eq!(Carried::from_words([0; 2], OUTPUT + 1), None);
    }
}
