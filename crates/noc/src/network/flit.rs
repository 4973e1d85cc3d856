//! A flit in one word: what a router must know of it without looking at its packet.

/// Bits 0–27 packet slot, 28–47 destination node, 48 head, 49 tail, 50 phase, 51–53 virtual network, 54–63 routers
/// passed: at the top, so that counting one more is one addition that overflows into nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flit(pub(crate) u64);

const DEST: u32 = 28;
const HEAD: u64 = 1 << 48;
const TAIL: u64 = 1 << 49;
const PHASE: u64 = 1 << 50;
const NETWORK: u32 = 51;
const HOPS: u32 = 54;

/// Most packets in flight and in source queues together.
pub(crate) const MAX_PACKETS: usize = 1 << DEST;
/// Most nodes.
pub(crate) const MAX_NODES: usize = 1 << 20;
/// Most routers that a packet may pass before the count would overflow.
pub(crate) const MAX_HOPS: u32 = 1 << 10;

impl Flit {
    #[inline]
    pub(crate) fn new(slot: u32, dest: u32, network: u8, head: bool, tail: bool) -> Flit {
        Flit(
            u64::from(slot)
                | (u64::from(dest) << DEST)
                | (u64::from(network) << NETWORK)
                | (u64::from(head) * HEAD)
                | (u64::from(tail) * TAIL),
        )
    }

    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 & ((1 << DEST) - 1)) as usize
    }

    #[inline]
    pub(crate) fn dest(self) -> usize {
        (self.0 >> DEST) as usize & (MAX_NODES - 1)
    }

    #[inline]
    pub(crate) fn hops(self) -> u32 {
        (self.0 >> HOPS) as u32
    }

    #[inline]
    pub(crate) fn network(self) -> usize {
        (self.0 >> NETWORK) as usize & 7
    }

    #[inline]
    pub(crate) fn second_phase(self) -> bool {
        self.0 & PHASE != 0
    }

    #[inline]
    pub(crate) fn head(self) -> bool {
        self.0 & HEAD != 0
    }

    #[inline]
    pub(crate) fn tail(self) -> bool {
        self.0 & TAIL != 0
    }

    /// The flit after one more router. The count wraps within its ten bits at 1,024 routers.
    #[inline]
    pub(crate) fn one_hop_on(self) -> Flit {
        Flit(self.0.wrapping_add(1 << HOPS))
    }

    /// The flit in its second phase, toward `dest`.
    pub(crate) fn turned(self, dest: u32) -> Flit {
        let clear = !(((MAX_NODES - 1) as u64) << DEST);
        Flit(self.0 & clear | u64::from(dest) << DEST | PHASE)
    }

    /// The flit in its second phase from the start.
    pub(crate) fn phased(self) -> Flit {
        Flit(self.0 | PHASE)
    }
}
