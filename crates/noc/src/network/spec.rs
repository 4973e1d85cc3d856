//! What is configured: the configuration, the arbiter, and numbers that follow from these and from
//! the size of the graph. It does not change while a network runs.

use super::wiring::ports_a_block;
use crate::allocator::AllocatorKind;
use crate::arbiter::Arbiter;
use crate::config::{Config, Pipeline};
use crate::topology::Graph;

/// What is configured. The inner loops read the fields of this type instead of [`Config`].
#[derive(Clone, Debug)]
pub(crate) struct Spec<A> {
    pub(crate) config: Config,
    pub(crate) arbiter: A,
    /// Binary logarithm of the number of virtual channels that a port has numbers for.
    pub(crate) shift: u32,
    /// The binary logarithm of the flits in the ring buffer of a virtual channel.
    pub(crate) depth_shift: u32,
    pub(crate) depth_mask: u16,
    /// Number of words in a router's bit masks.
    pub(crate) words: usize,
    /// Binary logarithm of the number of inputs that a router has numbers for.
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
    /// Whether some router runs slower than the fastest clock.
    pub(crate) clocked: bool,
    /// Whether the switch is allocated input first, by the allocator in `switch.rs`.
    pub(crate) fused: bool,
    /// Whether the lean loop keeps the state of routers and sources;
    /// [`super::general::data::General`] is then empty.
    pub(crate) is_lean: bool,
    /// Whether virtual channels share buffers.
    pub(crate) shared: bool,
    /// Whether some endpoint may refuse packets of some class.
    pub(crate) bounded: bool,
    /// Whether bounded endpoints take flits by rank. If `Some`, the value says whether ranked
    /// packets go before unranked ones.
    pub(crate) ejects_by_rank: Option<bool>,
}

impl<A: Arbiter> Spec<A> {
    pub(crate) fn new(config: &Config, arbiter: A, graph: &Graph, is_lean: bool) -> Spec<A> {
        let mut shift = config.vcs.next_power_of_two().trailing_zeros();
        // A port gets eight numbers wherever they fit into one word: the lean loop needs that, and
        // with the same numbers both loops draw the same random numbers.
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

    /// Bit set of the virtual channels of a port that the configuration has.
    pub(crate) fn all_vcs(&self) -> u64 {
        if self.config.vcs == 64 { u64::MAX } else { (1 << self.config.vcs) - 1 }
    }
}
