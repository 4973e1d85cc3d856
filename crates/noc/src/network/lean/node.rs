//! One router's state, in one piece.

use super::super::flit::Flit;
use std::ops::{Index, IndexMut};

/// Where a credit goes back to a source: the flag, and `node << 3 | v`.
pub(in super::super) const SOURCE: u32 = 1 << 31;
/// A flit that goes to the endpoint behind an output: the flag, and the output virtual channel.
pub(in super::super) const TO_ENDPOINT: u32 = 1 << 31;

/// A fixed array whose indices are right by construction: a port is below 8; an input is a bit of a word that is not
/// empty; both come from masks in which only existing ports and virtual channels are set. Checked in debug builds.
#[derive(Clone, Debug)]
pub(in super::super) struct Fixed<T, const N: usize>(pub(super) [T; N]);

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
pub(in super::super) type Ports<T> = Fixed<T, 8>;
/// One entry a virtual channel of a port.
pub(in super::super) type Lanes<T> = Fixed<T, 64>;

/// Eight bits for each of eight ports: bit `port << 3 | v`. Written as a word, read as a byte.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Octets(u64);

impl Octets {
    /// Each port has `bits`.
    pub(super) fn all(bits: u8) -> Octets {
        Octets(u64::from_ne_bytes([bits; 8]))
    }

    /// The bits of `port`.
    #[inline(always)]
    pub(in super::super) fn of(&self, port: usize) -> u8 {
        debug_assert!(port < 8, "port {port} of 8");
        let place = if cfg!(target_endian = "little") { port } else { 7 - port };
        // SAFETY: a word has eight bytes, and the port is below 8: it comes from the wiring or from a mask of ports that
        // exist. A load of one byte is what this buys; the assertion above holds it in debug builds.
        unsafe { *(&raw const self.0).cast::<u8>().add(place) }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, m: usize) {
        self.0 |= 1 << (m & 63);
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, m: usize) {
        self.0 &= !(1 << (m & 63));
    }

    #[inline(always)]
    pub(in super::super) fn has(&self, m: usize) -> bool {
        self.0 >> (m & 63) & 1 == 1
    }
}

/// A router. What one flit touches lies together, as all routers do not fit into a host's nearest cache: the whole, a
/// port, a virtual channel. Fields say whether they belong to the inputs or to the outputs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in super::super) struct Node<S> {
    /// Inputs whose head flit waits for an output virtual channel.
    pub(in super::super) wait: u64,
    /// Inputs with a channel, a flit and a credit.
    pub(in super::super) ready: u64,
    /// By output: virtual channels that no packet holds.
    pub(in super::super) free: Octets,
    /// By output: virtual channels with a credit.
    pub(in super::super) credit: Octets,
    /// First entry of its row in the routing table.
    pub(super) route: usize,
    /// Which router.
    pub(super) number: u32,
    /// By input: over its virtual channels.
    pub(super) by_vc: Ports<S>,
    pub(in super::super) ports: Ports<Port<S>>,
    /// By output virtual channel: over the inputs that bid for it.
    pub(super) by_head: Lanes<S>,
    pub(in super::super) lanes: Lanes<Lane>,
    /// By output: cycles from a grant to the flit's next bid.
    pub(super) flit_delay: Ports<u16>,
    /// By input: cycles from a grant to the credit's use upstream.
    pub(super) credit_delay: Ports<u16>,
    /// By output: cycles from an endpoint's taking a flit to the credit's use.
    pub(super) return_delay: Ports<u16>,
    /// Ticks `clock.0` times in `clock.1` cycles.
    pub(super) clock: (u32, u32),
}

/// One port, as an input and as an output. With states of two bytes it is half a cache line.
#[derive(Clone, Debug)]
pub(in super::super) struct Port<S> {
    /// Output: inputs whose packet at the front goes there.
    pub(super) want: u64,
    /// Output: flits that were sent.
    pub(in super::super) sent: u64,
    /// Output: where its flits go, less the output's own number; an output virtual channel's number is added.
    pub(super) down: u32,
    /// Input: where its credits go, less the port's own number; an input's number is added.
    pub(super) up: u32,
    /// Input, by kind of bid: over the outputs that it bids for.
    pub(super) by_output: [S; 2],
    /// Output, by kind of bid: over the inputs that bid for it.
    pub(super) by_input: [S; 2],
}

/// One virtual channel of a port, as an input and as an output.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in super::super) struct Lane {
    /// Input: the front flit.
    pub(in super::super) front: Flit,
    /// Input: output of the packet at the front.
    pub(in super::super) out: u8,
    /// Input: flits that have arrived and not left.
    pub(in super::super) count: u8,
    /// Input: where its next bid for an output virtual channel starts.
    pub(super) bid_from: u8,
    /// Input: output virtual channel that it was given.
    pub(in super::super) given: u8,
    /// Input: position of the second flit in its queue.
    pub(in super::super) head: u8,
    /// Input: virtual channels that the head flit may be given; not kept in plain networks.
    pub(in super::super) mask: u8,
    /// Output: free places behind it.
    pub(in super::super) credits: u8,
    /// Output that is not free: the input that holds it.
    pub(in super::super) owner: u8,
}

/// A node's way into the network.
#[derive(Clone, Debug)]
pub(in super::super) struct Source {
    /// Virtual channels that no packet holds.
    pub(in super::super) free: u8,
    /// Virtual channels with a credit.
    pub(in super::super) credit: u8,
    /// Free places behind each.
    pub(in super::super) credits: Ports<u8>,
    /// Input of its router, without the virtual channel.
    pub(super) to: u32,
    /// Cycles from sending to the first bid.
    pub(super) delay: u32,
    /// Flits that were sent.
    pub(in super::super) sent: u64,
}

/// The lowest bit of a set that is not empty.
#[inline(always)]
pub(super) fn lowest(set: u64) -> usize {
    debug_assert!(set != 0, "the set is not empty");
    // SAFETY: every caller has seen a member; the assertion above holds it in debug builds.
    unsafe { std::num::NonZeroU64::new_unchecked(set) }.trailing_zeros() as usize
}

/// The first of `set`, which is not empty, from `start` on, going round.
#[inline(always)]
pub(super) fn next_of_eight(set: u8, start: u32) -> usize {
    let after = u64::from(set) & (u64::MAX << (start & 63));
    lowest(if after != 0 { after } else { u64::from(set) })
}

/// The bits of an input's port in a word.
#[inline(always)]
pub(super) fn port_of(i: usize) -> u64 {
    0xff << (i & 56)
}
