//! The state of the general loop, laid out for speed: flat arrays, with bit masks for what waits
//! and what is free. The numbering of channels and virtual channels is that of `wiring.rs`.

use super::super::flit::Flit;
use super::super::spec::Spec;
use super::super::table::Table;
use super::super::wheel::Wheel;
use super::super::wiring::Wiring;
use crate::allocator::{AllocatorKind, Bids, Islip, Wavefront};
use crate::arbiter::Arbiter;

/// Stands for "no owner" in `owner` and for "no virtual channel" in `given`.
pub(crate) const NONE: u16 = u16::MAX;
/// Set in `given` while a non-speculative allocation of more than one cycle is under way.
pub(crate) const PENDING: u16 = 1 << 8;

/// Routers, channels, and what travels between them.
#[derive(Clone, Debug)]
pub(crate) struct General<S> {
    pub(crate) arrivals: Wheel<u32>,
    pub(crate) credits: Wheel<u32>,
    /// A flit's arrival (high half) and its credit's arrival (low half), if both fall into the same
    /// cycle.
    pub(crate) moves: Wheel<u64>,
    pub(crate) wakes: Wheel<u32>,
    pub(crate) vcs: Table<Vc<S>>,
    pub(crate) flits: Table<Flit>,
    pub(crate) channels: Table<Channel<S>>,
    /// Bit set of the inputs whose head flit waits for an output virtual channel.
    pub(crate) wait: Table<u64>,
    /// Bit set of the inputs with an output virtual channel, a flit and a credit.
    pub(crate) ready: Table<u64>,
    pub(crate) matchers: Matchers,
}

impl<S: Clone> General<S> {
    /// Creates the state of an idle network; empty if the lean loop keeps the state instead.
    pub(crate) fn new<A: Arbiter<State = S>>(spec: &Spec<A>, wiring: &Wiring) -> General<S> {
        let channels = if spec.is_lean { 0 } else { wiring.links.len() };
        let routers = if spec.is_lean { 0 } else { wiring.routers.len() };
        let vcs: Vec<Vc<S>> = (0..channels)
            .flat_map(|c| {
                let requesters = wiring.inputs_before(c) << spec.shift;
                (0..1 << spec.shift).map(move |_| Vc::idle(spec, requesters))
            })
            .collect();
        let (horizon, inputs) = (wiring.horizon(), routers * spec.words * 64);
        General {
            arrivals: Wheel::new(horizon, channels),
            credits: Wheel::new(horizon, channels),
            moves: Wheel::new(horizon, channels),
            wakes: Wheel::new(spec.vc_alloc, inputs),
            flits: vec![Flit::default(); vcs.len() << spec.depth_shift].into(),
            vcs: vcs.into(),
            channels: (0..channels).map(|c| Channel::idle(spec, wiring, c)).collect::<Vec<_>>().into(),
            wait: vec![0; routers * spec.words].into(),
            ready: vec![0; routers * spec.words].into(),
            matchers: Matchers::new(spec.config.allocator, routers),
        }
    }
}

/// One virtual channel of a channel: the state of its buffer at the downstream end, and what the
/// upstream end knows of that buffer. Neither end reads what the other end wrote in the same cycle;
/// events carry the changes over.
#[derive(Clone, Debug)]
pub(crate) struct Vc<S> {
    /// Bit set of the output virtual channels that the head flit may be given.
    pub(crate) mask: u64,
    /// Position of the first flit in the ring buffer.
    pub(crate) head: u16,
    /// Number of flits that have arrived and not left.
    pub(crate) count: u16,
    /// The output port of the packet at the front.
    pub(crate) out: u16,
    /// Channel behind the output port `out`.
    pub(crate) output: u32,
    /// Virtual channel of the channel `output` that the packet was given, or `NONE` while it waits
    /// for one.
    pub(crate) given: u16,
    /// Where the next bid for an output virtual channel starts: `port << shift | v`.
    pub(crate) bid_from: u16,
    /// Credits that the upstream end has left for the virtual channel's private buffer. With shared
    /// buffers, the number is negative while shared credits are in use: by their count.
    pub(crate) credits: i16,
    /// Position in the ring buffer at which the upstream end puts the next flit.
    pub(crate) tail: u16,
    /// Input of the upstream router whose packet holds this virtual channel, or `NONE`.
    pub(crate) owner: u16,
    /// State of the upstream router's arbiter over the inputs that bid for this virtual channel.
    pub(crate) arbiter: S,
}

impl<S> Vc<S> {
    fn idle<A: Arbiter<State = S>>(spec: &Spec<A>, requesters: usize) -> Vc<S> {
        Vc {
            mask: 0,
            head: 0,
            count: 0,
            out: 0,
            output: 0,
            given: NONE,
            bid_from: 0,
            credits: spec.config.buffer as i16,
            tail: 0,
            owner: NONE,
            arbiter: spec.arbiter.state(requesters),
        }
    }
}

/// One channel; [`super::super::wiring::Link`] says which routers it joins.
#[derive(Clone, Debug)]
pub(crate) struct Channel<S> {
    /// Bit set of the virtual channels that no packet holds; the upstream end keeps it.
    pub(crate) free: u64,
    /// Bit set of the virtual channels for which the upstream end has a credit.
    pub(crate) credit: u64,
    /// Number of flits that were sent over the channel.
    pub(crate) flits: u64,
    /// Credits that the upstream end has left for the buffer that the virtual channels share.
    pub(crate) shared: i32,
    /// State of the downstream router's arbiter over the virtual channels of this input of its
    /// switch.
    pub(crate) by_vc: S,
    /// States of the downstream router's arbiters over the outputs that this input bids for:
    /// non-speculative, then speculative.
    pub(crate) by_output: [S; 2],
    /// States of the upstream router's arbiters over the inputs that bid for this output of its
    /// switch: non-speculative, then speculative.
    pub(crate) by_input: [S; 2],
}

impl<S> Channel<S> {
    fn idle<A: Arbiter<State = S>>(spec: &Spec<A>, wiring: &Wiring, c: usize) -> Channel<S> {
        let (a, all) = (&spec.arbiter, spec.all_vcs());
        let (outputs, inputs) = (wiring.outputs_behind(c, spec.router_inputs), wiring.inputs_before(c));
        Channel {
            free: all,
            credit: all,
            flits: 0,
            shared: spec.config.shared_buffer as i32,
            by_vc: a.state(1 << spec.shift),
            by_output: [a.state(outputs), a.state(outputs)],
            by_input: [a.state(inputs), a.state(inputs)],
        }
    }
}

/// State of the allocators in `allocator/`, by router and kind of bid; empty if the input-first
/// allocator of `switch.rs` is used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matchers {
    pub(crate) bids: Bids,
    pub(crate) islip: Vec<[Islip; 2]>,
    pub(crate) wavefront: Vec<[Wavefront; 2]>,
}

impl Matchers {
    fn new(kind: AllocatorKind, routers: usize) -> Matchers {
        let count = |wanted: AllocatorKind| if wanted == kind { routers } else { 0 };
        Matchers {
            bids: Bids::default(),
            islip: vec![Default::default(); count(AllocatorKind::Islip)],
            wavefront: vec![Default::default(); count(AllocatorKind::Wavefront)],
        }
    }
}

/// Results of one router's allocation in one cycle; kept between cycles only to save allocating
/// memory.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    /// Bit set of the inputs whose head flit waits for an output virtual channel in this cycle.
    pub(crate) waiting: Table<u64>,
    /// Bit set of the inputs whose flit has an output virtual channel and bids for the switch in
    /// this cycle.
    pub(crate) ready: Table<u64>,
    /// Bit set of the inputs with a speculative bid for the switch.
    pub(crate) speculative: Table<u64>,
    /// Bit set of the output virtual channels with a bid, numbered `port << shift | v`.
    pub(crate) wanted: Table<u64>,
    /// For each output virtual channel in `wanted`, the input with the best bid so far.
    pub(crate) leader: Table<u16>,
    /// The winning input of each output of the switch: non-speculative, then speculative.
    pub(crate) winner: [[u16; 64]; 2],
    /// By output, the best virtual channel of the input port under arbitration.
    pub(crate) best: [u16; 64],
}

impl Scratch {
    pub(crate) fn new(words: usize) -> Scratch {
        Scratch {
            waiting: vec![0; words].into(),
            ready: vec![0; words].into(),
            speculative: vec![0; words].into(),
            wanted: vec![0; words].into(),
            leader: vec![0; words * 64].into(),
            winner: [[0; 64]; 2],
            best: [0; 64],
        }
    }
}
