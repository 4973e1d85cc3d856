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
//! | `lean/` | the same cycle for small routers, much faster |
//! | `matching.rs` | switch allocation by the other allocators |
//! | `edge.rs`, `endpoint.rs` | sources and endpoints; bounded endpoints |
//! | `set.rs`, `view.rs` | which routers have something to do; the state as checks see it, whichever loop keeps it |
//! | `check.rs` | conservation, in debug builds |

mod arrive;
mod build;
mod check;
mod edge;
mod endpoint;
pub(crate) mod flit;
mod inspect;
mod lean;
mod matching;
mod router;
mod set;
mod state;
mod switch;
mod table;
mod vc_alloc;
mod view;
mod wheel;

pub use build::Loops;
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
use lean::Lean;
use matching::Matchers;
use set::Set;
use state::{Channel, Endpoint, Queue, Router, Scratch, Slot, Slots, Vc};
use table::Table;
use wheel::Wheel;

/// Cycles between two looks whether anything moves: far more than the longest link and the slowest clock's cycle together,
/// so that what set out before the first look has had its turn before the second.
const LOOK: u64 = 1 << 14;

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
    /// The state is in `lean`; `vcs`, `flits`, `wait`, `ready` and the wheels below are empty.
    is_lean: bool,
    shared: bool,
    bounded: bool,
    table_two: usize,
    lanes: usize,
    route: Table<u16>,
    masks: Table<u64>,
    // Wiring.
    routers: Table<Router>,
    /// Channel of each output port, by [`Router::outputs`].
    outputs: Table<u32>,
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
    active: Set,
    lean: Lean<A::State>,
    queues: Table<Queue>,
    turns: Table<u8>,
    /// By node: classes with a packet in their queue.
    pending: Table<u8>,
    sending: Set,
    endpoints: Vec<Endpoint>,
    receiving: Set,
    /// Nothing moves, and nothing will before a packet is put in or a place is given back.
    still: bool,
    /// [`Network::flit_hops`] when that was looked for last.
    sent_before: u64,
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
        self.pending[node] |= 1 << packet.header.class;
        self.stirs();
        self.sending.insert(node);
        PacketId(id)
    }

    /// Simulates the current cycle and moves on to the next one. Packets whose tail flit leaves the network in this
    /// cycle go to `sink`, with this cycle as their time of arrival.
    pub fn step<S: Sink>(&mut self, sink: &mut S) {
        if self.is_lean {
            self.advance_lean(sink);
        } else {
            self.arrive(sink);
            self.send_from_sources();
            self.step_routers();
        }
        if self.bounded {
            self.take_at_endpoints(sink);
            if self.now.is_multiple_of(LOOK) {
                self.look_for_stillness();
            }
        }
        #[cfg(debug_assertions)]
        self.check_conservation();
        self.now += 1;
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

    /// Steps until packets arrive or `last` was the last cycle, skipping cycles in which nothing can happen. Gives the last
    /// cycle that was simulated; `None` where nothing can happen up to `last`.
    pub fn run_to_arrival<S: Sink>(&mut self, last: Cycles, sink: &mut S) -> Option<Cycles> {
        let inside = self.in_flight();
        let mut stepped = None;
        while let Some(at) = self.next_activity().filter(|at| *at <= last) {
            self.now = at.0;
            self.step(sink);
            stepped = Some(at);
            if self.in_flight() != inside {
                break;
            }
        }
        stepped
    }

    /// The first cycle, from the current one on, in which something can happen without another injection; `None`
    /// when the network is empty, or when every packet in it has long stood still before endpoints that have no place.
    #[inline]
    pub fn next_activity(&self) -> Option<Cycles> {
        if self.still {
            return None;
        }
        if !(self.sending.is_empty() && self.active.is_empty() && self.receiving.is_empty()) {
            return Some(Cycles(self.now));
        }
        self.next_under_way().map(Cycles)
    }

    /// The first cycle, from the current one on, in which something that is under way arrives.
    #[inline]
    fn next_under_way(&self) -> Option<u64> {
        if self.is_lean {
            return self.lean.wheels.next(self.now);
        }
        let next = [self.arrivals.next(self.now), self.credits.next(self.now), self.moves.next(self.now)];
        next.into_iter().chain([self.wakes.next(self.now)]).flatten().min()
    }

    /// Something has come from outside: it is looked anew whether anything moves.
    #[inline]
    fn stirs(&mut self) {
        (self.still, self.sent_before) = (false, u64::MAX);
    }

    /// No router has sent a flit since the last look, and nothing is under way: all that is left waits for a place at an
    /// endpoint, or behind what does. Routers that bid in vain then keep nobody busy.
    #[cold]
    fn look_for_stillness(&mut self) {
        let sent = self.flit_hops();
        let moves = std::mem::replace(&mut self.sent_before, sent) != sent;
        self.still = !moves && self.receiving.is_empty() && self.next_under_way().is_none();
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
        if self.is_lean {
            return self.lean.flit_hops();
        }
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
        self.give_place(node.0 as usize, usize::from(class));
    }

    /// Steps routers in an order drawn anew each cycle. It must change no result: a test holds that.
    pub fn shuffle_step_order(&mut self, seed: u64) {
        self.lean.leave_kind(self.masks[0]);
        self.step_order = Some(Rng::new(seed, 0x6f72_6465, 0));
    }

    /// What the arbiter may know of the packet at the front of `vc`.
    #[inline]
    fn contender(&self, vc: usize) -> Contender {
        let flit = self.front(vc);
        let slot = self.slots.get(flit.slot());
        let draw = mix(self.config.seed ^ mix(self.now).wrapping_add((vc as u64) << 20));
        Contender { header: slot.header, created: slot.created, id: slot.id, draw }
    }

    #[inline]
    fn front(&self, vc: usize) -> Flit {
        self.flits[(vc << self.depth_shift) + usize::from(self.vcs[vc].head)]
    }
}
