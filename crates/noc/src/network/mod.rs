//! The network: routers, channels, sources and endpoints, stepped a cycle at a time.
//!
//! A cycle has four parts. Flits and credits whose time has come arrive; sources send; routers that have something to
//! do allocate and send; bounded endpoints take. A router reads only what came before the cycle and writes only its
//! own state and the upstream half of its output channels, so routers may be stepped in any order.
//!
//! | file | holds |
//! | --- | --- |
//! | `state.rs` | the arrays |
//! | `build.rs` | configuration → network |
//! | `arrive.rs` | what the timing wheels bring |
//! | `router.rs` | one router's cycle, and the sending of a flit |
//! | `vc_alloc.rs`, `switch.rs` | the two allocations |
//! | `masks.rs` | the two of them at once, for routers whose inputs fit one word |
//! | `matching.rs` | switch allocation by the other allocators |
//! | `edge.rs` | sources and endpoints |
//! | `check.rs` | conservation, in debug builds |

mod arrive;
mod build;
mod check;
mod edge;
pub(crate) mod flit;
mod inspect;
mod masks;
mod matching;
mod router;
mod state;
mod switch;
mod table;
mod vc_alloc;
mod wheel;

pub use inspect::{ChannelView, Journey, JourneyStep, Stuck};

use crate::arbiter::{Arbiter, Contender};
use crate::config::Config;
use crate::error::{NocError, bad};
use crate::packet::{Packet, PacketId, Sink};
use crate::rng::{Rng, mix};
use crate::routing::Routes;
use crate::topology::Graph;
use baton_units::{Cycles, NodeId};
use flit::Flit;
use matching::Matchers;
use state::{Channel, Endpoint, Output, Queue, Router, Scratch, Slot, Slots, Vc};
use table::Table;
use wheel::Wheel;

/// Binary logarithm of the places of a port in networks of the common kind.
const FAST_SHIFT: u32 = 3;

/// A network whose routers arbitrate by `A`.
#[derive(Clone)]
pub struct Network<A: Arbiter> {
    // Configured.
    config: Config,
    graph: Graph,
    routes: Routes,
    arbiter: A,
    // Shape: `shift` and `depth_shift` are the binary logarithms of the places of a port and of a buffer.
    shift: u32,
    depth_shift: u32,
    depth_mask: u16,
    words: usize,
    block: u32,
    lane: u64,
    nodes: u32,
    classes: u32,
    vcs_a_class: u32,
    router_inputs: u32,
    speculative: bool,
    vc_alloc: u64,
    clocked: bool,
    fused: bool,
    simple: bool,
    /// Of the common kind, for which the inner loop is compiled with constants: eight places a port and at most eight
    /// ports, one class, deterministic routing, private buffers, one clock, endpoints that take every flit at once.
    fast: bool,
    lane_low: u64,
    lane_high: u64,
    shared: bool,
    bounded: bool,
    response_class: u32,
    table_two: usize,
    lanes: usize,
    route: Table<u16>,
    masks: Table<u64>,
    // Wiring.
    routers: Table<Router>,
    outputs: Table<Output>,
    sources: Table<u32>,
    // State.
    now: u64,
    next_id: u64,
    arrivals: Wheel<u32>,
    credits: Wheel<u32>,
    /// A flit's arrival (high half) and its credit's (low half), where both fall into one cycle.
    moves: Wheel<u64>,
    wakes: Wheel<u32>,
    vcs: Table<Vc<A::State>>,
    flits: Table<Flit>,
    channels: Table<Channel<A::State>>,
    wait: Table<u64>,
    ready: Table<u64>,
    active: Table<u64>,
    queues: Table<Queue>,
    turns: Table<u8>,
    sending: Table<u64>,
    endpoints: Vec<Endpoint>,
    receiving: Vec<u64>,
    slots: Slots,
    rng: Vec<Rng>,
    scratch: Scratch,
    matchers: Matchers,
    step_order: Option<Rng>,
    #[cfg(debug_assertions)]
    under_way: check::UnderWay,
    journeys: Option<Box<Journey>>,
}

impl<A: Arbiter> Network<A> {
    /// Puts a packet into its source's queue in the current cycle. The queue has no bound.
    ///
    /// Errors: a node that does not exist, a length of 0, a class that the configuration does not have.
    pub fn inject(&mut self, packet: Packet) -> Result<PacketId, NocError> {
        for (key, node) in [("src", packet.src), ("dst", packet.dst)] {
            if node.0 >= self.nodes {
                return Err(bad(key, node, format!("a node from 0 to {}", self.nodes - 1)));
            }
        }
        if u32::from(packet.header.class) >= self.classes {
            return Err(bad("class", packet.header.class, format!("a class from 0 to {}", self.classes - 1)));
        }
        if packet.flits == 0 {
            return Err(bad("flits", 0, "at least 1"));
        }
        if self.slots.used() >= flit::MAX_PACKETS {
            return Err(bad("packets", self.slots.used(), "at most 2^28 packets in flight and in source queues"));
        }
        Ok(self.enqueue(packet))
    }

    /// [`Network::inject`] for a packet that is known to be right.
    #[inline]
    pub(crate) fn enqueue(&mut self, packet: Packet) -> PacketId {
        let id = self.next_id;
        self.next_id += 1;
        let slot = self.slots.take(Slot {
            id,
            tag: packet.tag,
            created: self.now,
            entered: 0,
            src: packet.src.0,
            dst: packet.dst.0,
            flits: packet.flits,
            next: u32::MAX,
            header: packet.header,
        });
        let node = packet.src.0 as usize;
        let queue = &mut self.queues[node * self.classes as usize + usize::from(packet.header.class)];
        if queue.head == u32::MAX {
            queue.head = slot;
        } else {
            self.slots.get_mut(queue.tail as usize).next = slot;
        }
        queue.tail = slot;
        self.sending[node >> 6] |= 1 << (node & 63);
        PacketId(id)
    }

    /// Simulates the current cycle and moves on to the next one. Packets whose tail flit leaves the network in this
    /// cycle go to `sink`, with this cycle as their time of arrival.
    pub fn step<S: Sink>(&mut self, sink: &mut S) {
        if self.fast && self.journeys.is_none() {
            self.advance::<true, S>(sink);
        } else {
            self.advance::<false, S>(sink);
        }
        if self.bounded {
            self.take_at_endpoints(sink);
        }
        #[cfg(debug_assertions)]
        self.check_conservation();
        self.now += 1;
    }

    /// The cycle's first three parts. `FAST`: see the field of that name.
    #[inline]
    fn advance<const FAST: bool, S: Sink>(&mut self, sink: &mut S) {
        self.arrive::<FAST, S>(sink);
        self.send_from_sources::<FAST>();
        self.step_routers::<FAST>();
    }

    // Shape and options as the inner loop reads them: constants where the network is of the common kind.

    #[inline(always)]
    fn shift<const FAST: bool>(&self) -> u32 {
        if FAST { FAST_SHIFT } else { self.shift }
    }

    #[inline(always)]
    fn block<const FAST: bool>(&self) -> u32 {
        if FAST { 6 } else { self.block }
    }

    /// Place of output `out` in the lists of a router's outputs; `vc` is any of the router's inputs.
    #[inline(always)]
    fn output_index<const FAST: bool>(&self, vc: usize, out: usize) -> usize {
        let block = self.block::<FAST>();
        (vc >> block << block >> self.shift::<FAST>()) + out
    }

    #[inline(always)]
    fn lane<const FAST: bool>(&self) -> u64 {
        if FAST { (1 << (1 << FAST_SHIFT)) - 1 } else { self.lane }
    }

    #[inline(always)]
    fn simple<const FAST: bool>(&self) -> bool {
        FAST || self.simple
    }

    #[inline(always)]
    fn shared<const FAST: bool>(&self) -> bool {
        !FAST && self.shared
    }

    #[inline(always)]
    fn clocked<const FAST: bool>(&self) -> bool {
        !FAST && self.clocked
    }

    #[inline(always)]
    fn bounded<const FAST: bool>(&self) -> bool {
        !FAST && self.bounded
    }

    /// Steps until the current cycle is `cycle`, skipping cycles in which nothing can happen.
    pub fn run_to<S: Sink>(&mut self, cycle: Cycles, sink: &mut S) {
        while self.now < cycle.0 {
            match self.next_activity() {
                Some(at) if at.0 < cycle.0 => {
                    self.now = at.0;
                    self.step(sink);
                }
                _ => self.now = cycle.0,
            }
        }
    }

    /// The first cycle, from the current one on, in which something can happen without another injection; `None`
    /// when the network is empty.
    pub fn next_activity(&self) -> Option<Cycles> {
        let busy = |mut set: std::slice::Iter<u64>| set.any(|w| *w != 0);
        if busy(self.sending.iter()) || busy(self.active.iter()) || busy(self.receiving.iter()) {
            return Some(Cycles(self.now));
        }
        let next = [self.arrivals.next(self.now), self.credits.next(self.now), self.moves.next(self.now)];
        next.into_iter().chain([self.wakes.next(self.now)]).flatten().min().map(Cycles)
    }

    /// The cycle that the next [`Network::step`] simulates.
    pub fn now(&self) -> Cycles {
        Cycles(self.now)
    }

    /// Packets in source queues and in the network, and those that a bounded endpoint has not yet taken.
    pub fn in_flight(&self) -> usize {
        self.slots.used()
    }

    /// One for each flit and router that it passed, since the beginning.
    pub fn flit_hops(&self) -> u64 {
        self.channels.iter().filter(|c| !c.from_source).map(|c| c.flits).sum()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The configuration that it was built of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its topology.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Gives a place of a bounded endpoint back: it may take one more packet of `class`. Without a bound, nothing.
    pub fn release(&mut self, node: NodeId, class: u8) {
        let n = node.0 as usize;
        if let Some(places) = self.endpoints.get_mut(n).and_then(|e| e.places.get_mut(usize::from(class))) {
            *places += 1;
            self.receiving[n >> 6] |= 1 << (n & 63);
        }
    }

    /// Steps routers in an order drawn anew each cycle. It must change no result: a test holds that.
    pub fn shuffle_step_order(&mut self, seed: u64) {
        self.step_order = Some(Rng::new(seed, 0x6f72_6465, 0));
    }

    /// What the arbiter may know of the packet at the front of `vc`.
    #[inline]
    fn contender<const FAST: bool>(&self, vc: usize) -> Contender {
        let flit = self.front::<FAST>(vc);
        let slot = self.slots.get(flit.slot());
        let draw = mix(self.config.seed ^ mix(self.now).wrapping_add((vc as u64) << 20));
        Contender { header: slot.header, created: slot.created, id: slot.id, draw }
    }

    #[inline]
    fn front<const FAST: bool>(&self, vc: usize) -> Flit {
        self.flits[(vc << self.depth_shift) + usize::from(self.vcs[vc].head)]
    }
}
