//! What is configured: the configuration, the arbiter, and the numbers that follow from the two and from the graph's size.
//! Nothing here changes while a network runs.

use super::wiring::ports_a_block;
use crate::allocator::AllocatorKind;
use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::topology::Graph;

/// What is configured. The inner loops read its fields, not [`Config`]'s.
#[derive(Clone, Debug)]
pub(crate) struct Spec<A> {
    pub(crate) config: Config,
    pub(crate) arbiter: A,
    /// Binary logarithm of the virtual-channel numbers of a port.
    pub(crate) shift: u32,
    /// Binary logarithm of the flits of a virtual channel's ring.
    pub(crate) depth_shift: u32,
    pub(crate) depth_mask: u16,
    /// Words of a router's masks.
    pub(crate) words: usize,
    /// Binary logarithm of the input numbers of a router.
    pub(crate) block: u32,
    /// The bits of port 0 in a word.
    pub(crate) lane: u64,
    pub(crate) nodes: u32,
    pub(crate) classes: u32,
    pub(crate) vcs_a_class: u32,
    /// Channels below this number end in routers, the others in endpoints.
    pub(crate) router_inputs: u32,
    pub(crate) speculative: bool,
    pub(crate) vc_alloc: u64,
    /// Some router runs slower than the fastest clock.
    pub(crate) clocked: bool,
    /// The switch is allocated input first.
    pub(crate) fused: bool,
    /// The lean loop keeps the state of routers and sources; [`super::general::data::General`] is empty.
    pub(crate) is_lean: bool,
    /// Virtual channels share buffers.
    pub(crate) shared: bool,
    /// Some endpoint may refuse some class.
    pub(crate) bounded: bool,
    /// Bounded endpoints take flits by rank; the value says whether ranked packets go before those without.
    pub(crate) ejects_by_rank: Option<bool>,
}

impl<A: Arbiter> Spec<A> {
    pub(crate) fn new(config: &Config, arbiter: A, graph: &Graph, is_lean: bool) -> Spec<A> {
        let mut shift = config.vcs.next_power_of_two().trailing_zeros();
        // Eight numbers a port wherever they fit one word: the lean loop needs it, and both loops then draw alike.
        if shift < 3 && graph.max_ports() <= 8 {
            shift = 3;
        }
        let words = ((graph.max_ports() as usize) << shift).div_ceil(64).next_power_of_two();
        let capacity = (config.buffer + config.shared_buffer) as usize;
        let depth_shift = capacity.next_power_of_two().trailing_zeros();
        let slow = |router: &u32| *router < graph.routers;
        Spec {
            arbiter,
            shift,
            depth_shift,
            depth_mask: (1 << depth_shift) - 1,
            words,
            block: words.trailing_zeros() + 6,
            lane: if shift == 6 { u64::MAX } else { (1u64 << (1u32 << shift)) - 1 },
            nodes: graph.nodes.len() as u32,
            classes: config.classes,
            vcs_a_class: config.vcs / config.classes,
            router_inputs: graph.routers * ports_a_block(words, shift),
            speculative: config.pipeline == Pipeline::Speculative,
            vc_alloc: u64::from(config.latency.vc_alloc),
            clocked: config.clocks.iter().any(|d| d.numerator != d.denominator && d.routers.iter().any(slow)),
            fused: config.allocator == AllocatorKind::InputFirst,
            is_lean,
            shared: config.shared_buffer > 0,
            bounded: config.is_bounded(),
            ejects_by_rank: config.ranked_ejection.then_some(config.ranked.ranked_first),
            config: config.clone(),
        }
    }

    /// Virtual channels of a port that the configuration has, a bit each.
    pub(crate) fn all_vcs(&self) -> u64 {
        if self.config.vcs == 64 { u64::MAX } else { (1 << self.config.vcs) - 1 }
    }
}
