//! The packets of a network, in numbered slots; a flit holds the slot number of its packet.

use super::flit::{Flit, MAX_PACKETS};
use crate::packet::{Delivered, Header, PacketId};
use baton_units::{Cycles, NodeId};

/// A packet in the network or in a source queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) id: u64,
    pub(crate) tag: u64,
    pub(crate) created: u64,
    pub(crate) entered: u64,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) flits: u32,
    /// Slot of the next packet in the source queue, or the next free slot.
    pub(crate) next: u32,
    pub(crate) header: Header,
}

/// Packet slots with a free list. It grows while the network fills up; later it allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: u32,
    used: usize,
}

impl Slots {
    pub(crate) fn new(capacity: usize) -> Slots {
        Slots { slots: Vec::with_capacity(capacity), free: u32::MAX, used: 0 }
    }

    /// Takes a slot for `value` and returns its number.
    ///
    /// # Panics
    /// If `MAX_PACKETS` slots are in use: a flit cannot hold a greater number. `Network::inject`
    /// returns an error instead.
    #[inline]
    pub(crate) fn take(&mut self, value: Slot) -> u32 {
        self.used += 1;
        if self.free == u32::MAX {
            assert!(self.slots.len() < MAX_PACKETS, "the network holds 2^28 packets, and cannot hold more");
            self.slots.push(value);
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next;
        self.slots[slot as usize] = value;
        slot
    }

    /// Frees the slot of the packet whose tail flit `flit` has left the network. Returns the
    /// delivered packet.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, flit: Flit, now: u64) -> Delivered {
        let slot = &mut self.slots[flit.slot()];
        let delivered = Delivered {
            id: PacketId(slot.id),
            tag: slot.tag,
            src: NodeId(slot.src),
            dst: NodeId(slot.dst),
            header: slot.header,
            flits: slot.flits,
            hops: flit.hops(),
            created: Cycles(slot.created),
            entered: Cycles(slot.entered),
            arrived: Cycles(now),
        };
        slot.next = self.free;
        self.free = flit.slot() as u32;
        self.used -= 1;
        delivered
    }

    /// Returns the cycle in which the oldest packet that has a slot was created.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let mut is_free = vec![false; self.slots.len()];
        let mut free = self.free;
        while free != u32::MAX {
            is_free[free as usize] = true;
            free = self.slots[free as usize].next;
        }
        let used = self.slots.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        used.map(|(slot, _)| slot.created).min()
    }

    pub(crate) fn used(&self) -> usize {
        self.used
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Slot {
        &mut self.slots[slot]
    }
}
