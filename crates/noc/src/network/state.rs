//! The state of a network, laid out for the inner loop: flat arrays, bit masks for who waits and what is free.
//!
//! A *channel* is a link with its buffers: from a router or source to a router or endpoint. Virtual channel `v` of
//! channel `c` has the number `c << shift | v` everywhere, upstream (credits, owner) and downstream (flits, route), so
//! that one number names both ends in the timing wheels. A router's inputs fill a block of whole words: input
//! `i = port << shift | v` of router `r` has the number `r << block | i`, and its bit in the masks `wait` and `ready` is
//! that number's. Channels that end in endpoints follow. Numbers between a router's last port and the next block are
//! never used.

use super::flit::Flit;
use super::table::Table;
use crate::packet::{Delivered, PacketId};
use baton_units::{Cycles, NodeId};

/// Most classes that a configuration can have.
pub(super) const MAX_CLASSES: usize = 8;
/// No owner, no virtual channel.
pub(super) const NONE: u16 = u16::MAX;

/// One virtual channel: the downstream buffer's state and the upstream view of it. Neither end reads what the other
/// wrote in the same cycle: events carry it over.
#[derive(Clone, Debug)]
pub(super) struct Vc<S> {
    /// Virtual channels that the head flit may be given.
    pub(super) mask: u64,
    /// Position of the first flit in the ring.
    pub(super) head: u16,
    /// Flits that have arrived and not left.
    pub(super) count: u16,
    /// Output port of the packet at the front.
    pub(super) out: u16,
    /// Channel of that port.
    pub(super) output: u32,
    /// Virtual channel that it was given there, or `NONE` while it waits for one.
    pub(super) given: u16,
    /// Where its next bid for an output virtual channel starts: `port << shift | v`.
    pub(super) bid_from: u16,
    /// Upstream: free places of its own; with shared buffers below zero by the shared places in use.
    pub(super) credits: i16,
    /// Upstream: position in the ring for the next flit.
    pub(super) tail: u16,
    /// Upstream: input of the upstream router whose packet holds this channel, or `NONE`.
    pub(super) owner: u16,
    /// Upstream: arbiter over the inputs that bid for this channel.
    pub(super) arbiter: S,
}

/// One channel.
#[derive(Clone, Debug)]
pub(super) struct Channel<S> {
    /// Upstream: virtual channels that no packet holds.
    pub(super) free: u64,
    /// Upstream: virtual channels with a credit.
    pub(super) credit: u64,
    /// Flits that were sent over it.
    pub(super) flits: u64,
    /// Downstream router, or node where the channel ends in an endpoint.
    pub(super) to: u32,
    /// Upstream router, or node where it starts in a source.
    pub(super) from: u32,
    /// Input port downstream.
    pub(super) in_port: u8,
    /// Output port upstream.
    pub(super) out_port: u8,
    /// Starts in a source.
    pub(super) from_source: bool,
    /// Cycles from the grant upstream to the first bid downstream.
    pub(super) flit_delay: u16,
    /// Cycles from the grant downstream to the credit's use upstream.
    pub(super) credit_delay: u16,
    /// Length in tiles, for energy.
    pub(super) length: u32,
    /// Upstream: places of the shared buffer that are free.
    pub(super) shared: i32,
    /// Downstream, as an input of the switch: over its virtual channels.
    pub(super) by_vc: S,
    /// Downstream, over the outputs that it bids for: non-speculative and speculative.
    pub(super) by_output: [S; 2],
    /// Upstream, as an output of the switch: over the inputs that bid for it, non-speculative and speculative.
    pub(super) by_input: [S; 2],
}

/// One router's place in the flat arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Router {
    /// First of its output ports in the list of output channels.
    pub(super) outputs: u32,
    /// Number of input ports.
    pub(super) in_ports: u16,
    /// Number of output ports.
    pub(super) out_ports: u16,
    /// Ticks `clock.0` times in `clock.1` cycles.
    pub(super) clock: (u32, u32),
}

/// Results of one router's allocation in one cycle; kept to save their allocation.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    /// Head flits that take part, by input.
    pub(super) waiting: Table<u64>,
    /// Flits with a channel that take part, by input.
    pub(super) ready: Table<u64>,
    /// Speculative bids, by input.
    pub(super) speculative: Table<u64>,
    /// Output virtual channels that somebody bid for, by `port << shift | v`.
    pub(super) wanted: Table<u64>,
    /// The input that leads there so far.
    pub(super) leader: Table<u16>,
    /// Winner input of each output of the switch: non-speculative and speculative.
    pub(super) winner: [[u16; 64]; 2],
    /// Best virtual channel of the port under arbitration, by output.
    pub(super) best: [u16; 64],
}

/// One source queue: the packets of one class of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// Slot of the packet at the front, or `u32::MAX`.
    pub(super) head: u32,
    /// Slot of the last packet.
    pub(super) tail: u32,
    /// Flits of the front packet already sent.
    pub(super) sent: u32,
    /// Virtual channel of the front packet, or that of the last one.
    pub(super) vc: u32,
}

/// A packet in the network or in a source queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) id: u64,
    pub(super) tag: u64,
    pub(super) created: u64,
    pub(super) entered: u64,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) flits: u32,
    /// Next packet of the source queue, or next free slot.
    pub(super) next: u32,
    pub(super) header: crate::packet::Header,
}

/// Packet slots with a free list: grows while the network fills, then never again.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: u32,
    used: usize,
}

impl Slots {
    pub(super) fn new(capacity: usize) -> Slots {
        Slots { slots: Vec::with_capacity(capacity), free: u32::MAX, used: 0 }
    }

    /// Takes a slot. The caller has checked [`Slots::used`] against `MAX_PACKETS`.
    #[inline]
    pub(super) fn take(&mut self, value: Slot) -> u32 {
        self.used += 1;
        if self.free == u32::MAX {
            self.slots.push(value);
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next;
        self.slots[slot as usize] = value;
        slot
    }

    /// The packet whose tail flit has left the network; its slot is free again.
    #[inline(always)]
    pub(super) fn deliver(&mut self, flit: Flit, now: u64) -> Delivered {
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

    pub(super) fn used(&self) -> usize {
        self.used
    }

    #[inline]
    pub(super) fn get(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: usize) -> &mut Slot {
        &mut self.slots[slot]
    }
}

/// One bounded endpoint.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Virtual channels of its ejection channel that hold flits.
    pub(super) holding: u64,
    /// Those whose packet was begun: it is taken to its end.
    pub(super) open: u64,
    /// Those of classes that have a place, or need none.
    pub(super) may: u64,
    /// Virtual channel that it took a flit from last.
    pub(super) last: u32,
    /// Classes whose packets need a place, a bit each.
    pub(super) bounded: u8,
    /// Free places by class.
    pub(super) places: [u32; MAX_CLASSES],
}
