//! A flit in one word, which holds all that a router must know of it without looking at its packet.

/// Bit 0 is head, 1 tail, 2 phase, 3–5 virtual network, 6–25 destination node, 26–53 packet slot,
/// 54–63 routers passed. The count of routers is at the top, so that incrementing it is one
/// addition whose overflow touches nothing. The flags are lowest, where testing them takes one
/// instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flit(pub(crate) u64);

const HEAD: u64 = 1 << 0;
const TAIL: u64 = 1 << 1;
const PHASE: u64 = 1 << 2;
const NETWORK: u32 = 3;
const DEST: u32 = 6;
const SLOT: u32 = 26;
const HOPS: u32 = 54;

/// Largest number of packets in flight and in source queues together.
pub(crate) const MAX_PACKETS: usize = 1 << (HOPS - SLOT);
/// Largest number of nodes.
pub(crate) const MAX_NODES: usize = 1 << (SLOT - DEST);
/// Most routers that a flit can count.
pub(crate) const MAX_HOPS: u32 = (1 << 10) - 1;

impl Flit {
    #[inline]
    pub(crate) fn new(slot: u32, dest: u32, network: u8, head: bool, tail: bool) -> Flit {
        Flit(
            u64::from(slot) << SLOT
                | (u64::from(dest) << DEST)
                | (u64::from(network) << NETWORK)
                | (u64::from(head) * HEAD)
                | (u64::from(tail) * TAIL),
        )
    }

    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 >> SLOT) as usize & (MAX_PACKETS - 1)
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

    /// Returns the flit with one more router passed. The ten-bit count would wrap at 1,024 routers;
    /// no path is that long (`build.rs`).
    #[inline]
    pub(crate) fn one_hop_on(self) -> Flit {
        Flit(self.0.wrapping_add(1 << HOPS))
    }

    /// Returns the flit in its second phase, on its way to `dest`.
    pub(crate) fn turned(self, dest: u32) -> Flit {
        let clear = !(((MAX_NODES - 1) as u64) << DEST);
        Flit(self.0 & clear | u64::from(dest) << DEST | PHASE)
    }

    /// Returns the flit in its second phase, for a packet that is in the second phase from its
    /// source on.
    pub(crate) fn phased(self) -> Flit {
        Flit(self.0 | PHASE)
    }
}
