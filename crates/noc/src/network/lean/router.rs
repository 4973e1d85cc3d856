//! The state of one router, in one piece.

use super::super::flit::Flit;
use std::ops::{Index, IndexMut};

/// Flag of a credit that goes back to a source; the other bits are `node << 3 | v`.
pub(crate) const SOURCE: u32 = 1 << 31;
/// Flag of a flit that goes to the endpoint behind an output; the other bits are the number of the
/// output virtual channel.
pub(crate) const TO_ENDPOINT: u32 = 1 << 31;

/// A fixed array whose indices are in range by construction: a port is below 8, and an input is a
/// set bit of a non-zero word. Both come from masks in which only existing ports and virtual
/// channels are set. Debug builds check the range.
#[derive(Clone, Debug)]
pub(crate) struct Fixed<T, const N: usize>(pub(crate) [T; N]);

impl<T, const N: usize> Index<usize> for Fixed<T, N> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < N, "index {index} of {N}");
        // SAFETY: indices are below N, as the type's documentation says; the assertion above checks
        // it in debug builds.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T, const N: usize> IndexMut<usize> for Fixed<T, N> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < N, "index {index} of {N}");
        // SAFETY: the index is below N for the same reason as in `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

/// One entry per port.
pub(crate) type Ports<T> = Fixed<T, 8>;
/// One entry per virtual channel of each port.
pub(crate) type Lanes<T> = Fixed<T, 64>;

/// Eight bits for each of eight ports: bit `port << 3 | v`. It is written as a word and read as a
/// byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Octets(u64);

impl Octets {
    /// Sets the bits of each port to `bits`.
    pub(crate) fn all(bits: u8) -> Octets {
        Octets(u64::from_ne_bytes([bits; 8]))
    }

    /// Returns the bits of `port`.
    #[inline(always)]
    pub(crate) fn of(&self, port: usize) -> u8 {
        debug_assert!(port < 8, "port {port} of 8");
        let place = if cfg!(target_endian = "little") { port } else { 7 - port };
        // SAFETY: a word has eight bytes, and the port is below 8 because it comes from the wiring
        // or from a mask of existing ports; the assertion above checks it in debug builds. The
        // pointer makes this a load of one byte.
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

/// A router. Its memory is laid out so that what one flit touches lies together, because the
/// routers do not all fit into the host's nearest cache: fields of the whole router, of a port, of
/// a virtual channel. The comments say whether a field belongs to inputs or outputs.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Router<S> {
    /// Bit set of the inputs whose head flit waits for an output virtual channel.
    pub(crate) wait: u64,
    /// Bit set of the inputs with an output virtual channel, a flit and a credit.
    pub(crate) ready: u64,
    /// By output: bit set of the virtual channels that no packet holds.
    pub(crate) free: Octets,
    /// By output: bit set of the virtual channels with a credit.
    pub(crate) credit: Octets,
    /// The first entry of the router's row in the routing table.
    pub(crate) route: usize,
    /// Number of the router.
    pub(crate) number: u32,
    /// By input port: state of the arbiter over its virtual channels.
    pub(crate) by_vc: Ports<S>,
    pub(crate) ports: Ports<Port<S>>,
    /// By output virtual channel: state of the arbiter over the inputs that bid for it.
    pub(crate) by_head: Lanes<S>,
    pub(crate) lanes: Lanes<Lane>,
    /// By output: cycles from a grant until the flit may bid in the next router.
    pub(crate) flit_delay: Ports<u16>,
    /// By input: cycles from a grant until the upstream router can use the credit.
    pub(crate) credit_delay: Ports<u16>,
    /// By output: cycles from the endpoint's taking a flit until the credit can be used.
    pub(crate) return_delay: Ports<u16>,
    /// The clock ticks `clock.0` times in `clock.1` cycles.
    pub(crate) clock: (u32, u32),
}

/// One port, as an input and as an output. If arbiter states have two bytes, it takes half a cache
/// line.
#[derive(Clone, Debug)]
pub(crate) struct Port<S> {
    /// Bit set of the inputs whose front packet goes to this output.
    pub(crate) want: u64,
    /// Number of flits that were sent through this output.
    pub(crate) sent: u64,
    /// Where this output's flits arrive: the number of the input (or flagged output) minus the
    /// output's own number, so that adding the number of an output virtual channel gives the
    /// destination of its flits.
    pub(crate) down: u32,
    /// Where this input's credits go: the number of the output virtual channel (or flagged source)
    /// minus the port's own number, so that adding the number of an input gives the destination of
    /// its credits.
    pub(crate) up: u32,
    /// States of the arbiters over the outputs that this input bids for, by kind of bid
    /// (non-speculative, speculative).
    pub(crate) by_output: [S; 2],
    /// States of the arbiters over the inputs that bid for this output, by kind of bid.
    pub(crate) by_input: [S; 2],
}

/// One virtual channel of a port, as an input and as an output.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// The front flit of this input.
    pub(crate) front: Flit,
    /// The output port of the packet at this input's front.
    pub(crate) out: u8,
    /// Number of flits that have arrived in this input and not left.
    pub(crate) count: u8,
    /// Output virtual channel at which this input's next bid starts.
    pub(crate) bid_from: u8,
    /// Output virtual channel that the packet at this input's front was given.
    pub(crate) given: u8,
    /// Position of this input's second flit in the ring buffer.
    pub(crate) head: u8,
    /// Bit set of the virtual channels that this input's head flit may be given; not stored in
    /// plain networks.
    pub(crate) mask: u8,
    /// Credits left for the input buffer that this output virtual channel leads to.
    pub(crate) credits: u8,
    /// The input that holds this output virtual channel, if the channel is not free.
    pub(crate) owner: u8,
}

/// The channel from a node into the network.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Bit set of the virtual channels that no packet holds.
    pub(crate) free: u8,
    /// Bit set of the virtual channels with a credit.
    pub(crate) credit: u8,
    /// Input-buffer credits left, by virtual channel.
    pub(crate) credits: Ports<u8>,
    /// Number of the router's input, without the virtual channel.
    pub(crate) to: u32,
    /// Cycles from sending a flit until its first bid.
    pub(crate) delay: u32,
    /// Number of flits that were sent.
    pub(crate) sent: u64,
}

/// Returns the lowest bit of a set that is not empty.
#[inline(always)]
pub(crate) fn lowest(set: u64) -> usize {
    debug_assert!(set != 0, "the set is not empty");
    // SAFETY: every caller has checked that the set is not empty; the assertion above checks it in
    // debug builds.
    unsafe { std::num::NonZeroU64::new_unchecked(set) }.trailing_zeros() as usize
}

/// Returns the first member of `set` at or after `start`, wrapping round. `set` must not be empty.
#[inline(always)]
pub(crate) fn next_of_eight(set: u8, start: u32) -> usize {
    let after = u64::from(set) & (u64::MAX << (start & 63));
    lowest(if after != 0 { after } else { u64::from(set) })
}

/// Returns the eight bits of the port to which input `i` belongs.
#[inline(always)]
pub(crate) fn port_of(i: usize) -> u64 {
    0xff << (i & 56)
}

/// Returns the virtual channel of `out` at which the bids start. The pointer counts over the
/// virtual channels of all outputs; if it points into another output, the bids start at 0.
#[inline(always)]
pub(crate) fn bid_start(bid_from: u8, out: usize) -> u32 {
    let v = u32::from(bid_from).wrapping_sub((out << 3) as u32);
    if v < 8 { v } else { 0 }
}
