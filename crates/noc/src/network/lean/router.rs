//! One router's state, in one piece.

use super::super::flit::Flit;
use std::ops::{Index, IndexMut};

/// Where a credit goes back to a source: the flag, and `node << 3 | v`.
pub(crate) const SOURCE: u32 = 1 << 31;
/// A flit that goes to the endpoint behind an output: the flag, and the output virtual channel.
pub(crate) const TO_ENDPOINT: u32 = 1 << 31;

/// A fixed array whose indices are right by construction: a port is below 8; an input is a bit of a word that is not
/// empty; both come from masks in which only existing ports and virtual channels are set. Checked in debug builds.
#[derive(Clone, Debug)]
pub(crate) struct Fixed<T, const N: usize>(pub(crate) [T; N]);

impl<T, const N: usize> Index<usize> for Fixed<T, N> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < N, "index {index} of {N}");
        // SAFETY: indices are below N, as the type's documentation says; the assertion above holds it in debug builds.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T, const N: usize> IndexMut<usize> for Fixed<T, N> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < N, "index {index} of {N}");
        // SAFETY: as for `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

/// One entry a port.
pub(crate) type Ports<T> = Fixed<T, 8>;
/// One entry a virtual channel of a port.
pub(crate) type Lanes<T> = Fixed<T, 64>;

/// Eight bits for each of eight ports: bit `port << 3 | v`. Written as a word, read as a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octets(u64);

impl Octets {
    /// Each port has `bits`.
    pub(crate) fn all(bits: u8) -> Octets {
        Octets(u64::from_ne_bytes([bits; 8]))
    }

    /// The bits of `port`.
    #[inline(always)]
    pub(crate) fn of(&self, port: usize) -> u8 {
        debug_assert!(port < 8, "port {port} of 8");
        let place = if cfg!(target_endian = "little") { port } else { 7 - port };
        // SAFETY: a word has eight bytes, and the port is below 8: it comes from the wiring or from a mask of ports that
        // exist. A load of one byte is what this buys; the assertion above holds it in debug builds.
        unsafe { *(&raw const self.0).cast::<u8>().add(place) }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, m: usize) {
        self.0 |= 1 << (m & 63);
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self, m: usize) {
        self.0 &= !(1 << (m & 63));
    }

    #[inline(always)]
    pub(crate) fn has(&self, m: usize) -> bool {
        self.0 >> (m & 63) & 1 == 1
    }
}

/// A router. What one flit touches lies together, as all routers do not fit into a host's nearest cache: the whole, a
/// port, a virtual channel. Fields say whether they belong to the inputs or to the outputs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Router<S> {
    /// Inputs whose head flit waits for an output virtual channel.
    pub(crate) wait: u64,
    /// Inputs with a channel, a flit and a credit.
    pub(crate) ready: u64,
    /// By output: virtual channels that no packet holds.
    pub(crate) free: Octets,
    /// By output: virtual channels with a credit.
    pub(crate) credit: Octets,
    /// First entry of its row in the routing table.
    pub(crate) route: usize,
    /// Which router.
    pub(crate) number: u32,
    /// By input: over its virtual channels.
    pub(crate) by_vc: Ports<S>,
    pub(crate) ports: Ports<Port<S>>,
    /// By output virtual channel: over the inputs that bid for it.
    pub(crate) by_head: Lanes<S>,
    pub(crate) lanes: Lanes<Lane>,
    /// By output: cycles from a grant to the flit's next bid.
    pub(crate) flit_delay: Ports<u16>,
    /// By input: cycles from a grant to the credit's use upstream.
    pub(crate) credit_delay: Ports<u16>,
    /// By output: cycles from an endpoint's taking a flit to the credit's use.
    pub(crate) return_delay: Ports<u16>,
    /// Ticks `clock.0` times in `clock.1` cycles.
    pub(crate) clock: (u32, u32),
}

/// One port, as an input and as an output. With states of two bytes it is half a cache line.
#[derive(Clone, Debug)]
pub(crate) struct Port<S> {
    /// Output: inputs whose packet at the front goes there.
    pub(crate) want: u64,
    /// Output: flits that were sent.
    pub(crate) sent: u64,
    /// Output: where its flits go, less the output's own number; an output virtual channel's number is added.
    pub(crate) down: u32,
    /// Input: where its credits go, less the port's own number; an input's number is added.
    pub(crate) up: u32,
    /// Input, by kind of bid: over the outputs that it bids for.
    pub(crate) by_output: [S; 2],
    /// Output, by kind of bid: over the inputs that bid for it.
    pub(crate) by_input: [S; 2],
}

/// One virtual channel of a port, as an input and as an output.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// Input: the front flit.
    pub(crate) front: Flit,
    /// Input: output of the packet at the front.
    pub(crate) out: u8,
    /// Input: flits that have arrived and not left.
    pub(crate) count: u8,
    /// Input: where its next bid for an output virtual channel starts.
    pub(crate) bid_from: u8,
    /// Input: output virtual channel that it was given.
    pub(crate) given: u8,
    /// Input: position of the second flit in its queue.
    pub(crate) head: u8,
    /// Input: virtual channels that the head flit may be given; not kept in plain networks.
    pub(crate) mask: u8,
    /// Output: input-buffer credits left.
    pub(crate) credits: u8,
    /// Output that is not free: the input that holds it.
    pub(crate) owner: u8,
}

/// A node's way into the network.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Virtual channels that no packet holds.
    pub(crate) free: u8,
    /// Virtual channels with a credit.
    pub(crate) credit: u8,
    /// Input-buffer credits left, by virtual channel.
    pub(crate) credits: Ports<u8>,
    /// Input of its router, without the virtual channel.
    pub(crate) to: u32,
    /// Cycles from sending to the first bid.
    pub(crate) delay: u32,
    /// Flits that were sent.
    pub(crate) sent: u64,
}

/// The lowest bit of a set that is not empty.
#[inline(always)]
pub(crate) fn lowest(set: u64) -> usize {
    debug_assert!(set != 0, "the set is not empty");
    // SAFETY: every caller has seen a member; the assertion above holds it in debug builds.
    unsafe { std::num::NonZeroU64::new_unchecked(set) }.trailing_zeros() as usize
}

/// The first of `set`, which is not empty, from `start` on, going round.
#[inline(always)]
pub(crate) fn next_of_eight(set: u8, start: u32) -> usize {
    let after = u64::from(set) & (u64::MAX << (start & 63));
    lowest(if after != 0 { after } else { u64::from(set) })
}

/// The bits of an input's port in a word.
#[inline(always)]
pub(crate) fn port_of(i: usize) -> u64 {
    0xff << (i & 56)
}

/// Where the turn over the virtual channels of `out` begins. The pointer counts over those of all outputs; for another
/// output it reads as that one's first.
#[inline(always)]
pub(crate) fn bid_start(bid_from: u8, out: usize) -> u32 {
    let v = u32::from(bid_from).wrapping_sub((out << 3) as u32);
    if v < 8 { v } else { 0 }
}
