//! The state of a network, laid out for the inner loop: flat arrays, bit masks for who waits and what is free.
//!
//! A *channel* is a link with its buffers: from a router or source to a router or endpoint. Virtual channel `v` of
//! channel `c` has the number `c << shift | v` everywhere, upstream (credits, owner) and downstream (flits, route), so
//! that one number names both ends in the timing wheels. Channels that end in a router are numbered router by router
//! and port by port; input `i = port << shift | v` of a router is then its first number plus `i`.

/// No owner, no virtual channel.
pub(crate) const NONE: u16 = u16::MAX;

/// One virtual channel: the downstream buffer's state and the upstream view of it. Neither end reads what the other
/// wrote in the same cycle: events carry it over.
#[derive(Clone, Debug)]
pub(crate) struct Vc<S> {
    /// Virtual channels that the head flit may be given.
    pub(crate) mask: u64,
    /// Position of the first flit in the ring.
    pub(crate) head: u16,
    /// Flits that have arrived and not left.
    pub(crate) count: u16,
    /// Output port of the packet at the front.
    pub(crate) out: u16,
    /// Virtual channel that it was given there, or `NONE` while it waits for one.
    pub(crate) given: u16,
    /// Where its next bid for an output virtual channel starts: `port << shift | v`.
    pub(crate) bid_from: u16,
    /// Upstream: free places of its own; with shared buffers below zero by the shared places in use.
    pub(crate) credits: i16,
    /// Upstream: position in the ring for the next flit.
    pub(crate) tail: u16,
    /// Upstream: input of the upstream router whose packet holds this channel, or `NONE`.
    pub(crate) owner: u16,
    /// Upstream: arbiter over the inputs that bid for this channel.
    pub(crate) arbiter: S,
}

/// One channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel<S> {
    /// Upstream: virtual channels that no packet holds.
    pub(crate) free: u64,
    /// Upstream: virtual channels with a credit.
    pub(crate) credit: u64,
    /// Flits that were sent over it.
    pub(crate) flits: u64,
    /// Downstream router, or node where the channel ends in an endpoint.
    pub(crate) to: u32,
    /// Upstream router, or node where it starts in a source.
    pub(crate) from: u32,
    /// First virtual-channel number of the downstream router.
    pub(crate) first: u32,
    /// Input port downstream.
    pub(crate) in_port: u8,
    /// Output port upstream.
    pub(crate) out_port: u8,
    /// Starts in a source.
    pub(crate) from_source: bool,
    /// Cycles from the grant upstream to the first bid downstream.
    pub(crate) flit_delay: u16,
    /// Cycles from the grant downstream to the credit's use upstream.
    pub(crate) credit_delay: u16,
    /// Length in tiles, for energy.
    pub(crate) length: u32,
    /// Upstream: places of the shared buffer that are free.
    pub(crate) shared: i32,
    /// Downstream, as an input of the switch: over its virtual channels.
    pub(crate) by_vc: S,
    /// Downstream, over the outputs that it bids for: non-speculative and speculative.
    pub(crate) by_output: [S; 2],
    /// Upstream, as an output of the switch: over the inputs that bid for it, non-speculative and speculative.
    pub(crate) by_input: [S; 2],
}

/// One router's place in the flat arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Router {
    /// First virtual-channel number of its inputs.
    pub(crate) first: u32,
    /// First of its output ports in the list of output channels.
    pub(crate) outputs: u32,
    /// First of its entries in the routing table.
    pub(crate) table: u32,
    /// Number of input ports.
    pub(crate) in_ports: u16,
    /// Number of output ports.
    pub(crate) out_ports: u16,
    /// Ticks `clock.0` times in `clock.1` cycles.
    pub(crate) clock: (u32, u32),
}

/// Results of one router's allocation in one cycle; kept to save their allocation.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// Speculative bids, by input.
    pub(crate) speculative: Vec<u64>,
    /// Output virtual channels that somebody bid for, by `port << shift | v`.
    pub(crate) wanted: Vec<u64>,
    /// The input that leads there so far.
    pub(crate) leader: Vec<u16>,
    /// Winner input of each output of the switch: non-speculative and speculative.
    pub(crate) winner: [[u16; 64]; 2],
    /// Best virtual channel of the port under arbitration, by output.
    pub(crate) best: [u16; 64],
}

/// One source queue: the packets of one class of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// Slot of the packet at the front, or `u32::MAX`.
    pub(crate) head: u32,
    /// Slot of the last packet.
    pub(crate) tail: u32,
    /// Flits of the front packet already sent.
    pub(crate) sent: u32,
    /// Virtual channel of the front packet, or that of the last one.
    pub(crate) vc: u32,
}

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
    /// Next packet of the source queue, or next free slot.
    pub(crate) next: u32,
    pub(crate) header: crate::packet::Header,
}

/// Packet slots with a free list: grows while the network fills, then never again.
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

    /// Takes a slot. The caller has checked [`Slots::used`] against `MAX_PACKETS`.
    #[inline]
    pub(crate) fn take(&mut self, value: Slot) -> u32 {
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

    #[inline]
    pub(crate) fn release(&mut self, slot: usize) {
        self.slots[slot].next = self.free;
        self.free = slot as u32;
        self.used -= 1;
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

/// One bounded endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Virtual channels of its ejection channel that hold flits.
    pub(crate) holding: u64,
    /// Virtual channel that it took a flit from last.
    pub(crate) last: u32,
    /// Free places by class.
    pub(crate) places: Vec<u32>,
}
