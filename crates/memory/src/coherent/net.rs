//! The network that messages travel on: `baton-noc`'s, behind one type for all its arbiters, in cycles of the core's clock.

use baton_noc::arbiter::{self, ArbiterKind, Registered, RoundRobin};
use baton_noc::{Config, Delivered, Header, Network, NocError, Packet, Sink, Stuck};
use baton_units::{Cycles, NodeId};

macro_rules! networks {
    ($($module:ident :: $Arbiter:ident,)*) => {
        /// The network by its arbiter.
        #[derive(Clone)]
        enum AnyNetwork {
            $($Arbiter(Network<arbiter::$Arbiter>),)*
            Added(Network<arbiter::Added>),
        }

        impl AnyNetwork {
            fn new(config: &Config) -> Result<AnyNetwork, NocError> {
                Ok(match config.arbiter {
                    $(ArbiterKind::$Arbiter => {
                        let arbiter = <arbiter::$Arbiter as Registered>::of(&config.ranked);
                        AnyNetwork::$Arbiter(Network::with_arbiter(config, arbiter)?)
                    })*
                    ArbiterKind::Added(added) => {
                        AnyNetwork::Added(Network::with_arbiter(config, added.of(&config.ranked))?)
                    }
                })
            }
        }
    };
}
baton_noc::every_arbiter!([networks]);

macro_rules! each {
    ($kind:expr, $network:ident => $body:expr) => {
        baton_noc::every_arbiter!([match_network] $kind, $network => $body;)
    };
}

macro_rules! match_network {
    ($kind:expr, $network:ident => $body:expr; $($module:ident :: $Arbiter:ident,)*) => {
        match $kind {
            $(AnyNetwork::$Arbiter($network) => $body,)*
            AnyNetwork::Added($network) => $body,
        }
    };
}

/// A packet that has arrived: the message that it carried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) message: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) flits: u32,
    pub(super) hops: u32,
    pub(super) marked: bool,
}

struct Arrivals<'a>(&'a mut Vec<Arrived>);

impl Sink for Arrivals<'_> {
    #[inline]
    fn delivered(&mut self, packet: &Delivered) {
        let Delivered { tag, src, dst, flits, hops, header, .. } = *packet;
        self.0.push(Arrived {
            message: tag as u32,
            src: src.0,
            dst: dst.0,
            flits,
            hops,
            marked: header.rank.is_some(),
        });
    }
}

/// The network.
#[derive(Clone)]
pub(super) struct Net {
    network: AnyNetwork,
    /// Cycles of the core's clock in one cycle of the network's clock.
    ratio: u64,
    /// How many cycles a packet takes that is alone in the network; 0 if that was not measured yet.
    /// The index is made of the number of routers and flits if every link has length 1 (`uniform`),
    /// otherwise of sender, receiver and flits.
    alone: Vec<u64>,
    longest: u32,
    uniform: bool,
    /// An empty network in which the times of `alone` are measured.
    empty: Option<Box<Network<RoundRobin>>>,
    config: Config,
    /// The time of the next event in the network, in cycles of the core's clock; [`u64::MAX`]:
    /// never.
    due: u64,
}

impl Net {
    pub(super) fn new(config: &Config, ratio: u64, longest: u32) -> Result<Net, NocError> {
        let network = AnyNetwork::new(config)?;
        let uniform = each!(&network, network => network.graph().links.iter().all(|link| link.length == 1));
        Ok(Net {
            network,
            due: u64::MAX,
            ratio,
            alone: Vec::new(),
            longest,
            uniform,
            empty: None,
            config: config.clone(),
        })
    }

    /// The time of the next event in the network, in cycles of the core's clock; [`u64::MAX`]:
    /// never.
    #[inline(always)]
    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// The time of the network's next event, in cycles of the core's clock.
    #[inline(always)]
    fn in_core_cycles(ratio: u64, next: Option<Cycles>) -> u64 {
        next.map_or(u64::MAX, |cycle| cycle.0 * ratio)
    }

    /// Sends a message at `now`, after the network's own events of that moment.
    #[inline]
    pub(super) fn send(&mut self, now: u64, src: u32, dst: u32, flits: u32, header: Header, message: u32) {
        let cycle = Cycles(now / self.ratio + 1);
        let packet = Packet { src: NodeId(src), dst: NodeId(dst), flits, header, tag: u64::from(message) };
        let (sent, next) = each!(&mut self.network, network => {
            if network.now() < cycle {
                // No event is due before `cycle`: the caller has let the network advance to `now`.
                network.run_to(cycle, &mut NoArrivals);
            }
            (network.inject(packet), network.next_activity())
        });
        if let Err(error) = sent {
            unreachable!("the plan of the chip has this node and class: {error}");
        }
        self.due = self.due.min(Net::in_core_cycles(self.ratio, next));
    }

    /// Lets moments pass in which the network has events, until packets arrive or the next moment
    /// would be after `until`. Returns the last such moment, if there was one.
    #[inline]
    pub(super) fn run(&mut self, until: u64, arrived: &mut Vec<Arrived>) -> Option<u64> {
        let last = Cycles(until / self.ratio);
        let (stepped, next) = each!(&mut self.network, network => {
            (network.run_to_arrival(last, &mut Arrivals(arrived)), network.next_activity())
        });
        self.due = Net::in_core_cycles(self.ratio, next);
        stepped.map(|cycle| cycle.0 * self.ratio)
    }

    /// Notes that an endpoint has one more place for a class, from `now` on.
    #[inline]
    pub(super) fn release(&mut self, now: u64, node: u32, class: u8) {
        let cycle = Cycles(now / self.ratio + 1);
        let next = each!(&mut self.network, network => {
            if network.now() < cycle {
                network.run_to(cycle, &mut NoArrivals);
            }
            network.release(NodeId(node), class);
            network.next_activity()
        });
        self.due = Net::in_core_cycles(self.ratio, next);
    }

    /// Number of packets that have not arrived.
    pub(super) fn in_flight(&self) -> usize {
        each!(&self.network, network => network.in_flight())
    }

    /// Sum over all flits of the routers that each has passed.
    pub(super) fn flit_hops(&self) -> u64 {
        each!(&self.network, network => network.flit_hops())
    }

    /// The ring of packets that wait for each other, or, if there is none, the first packets that cannot move.
    pub(super) fn explain(&self) -> Vec<String> {
        each!(&self.network, network => {
            let ring = baton_noc::explain::waiting_ring(network);
            if ring.is_empty() { network.stuck().iter().take(STUCK_SHOWN).map(stuck).collect() } else { ring }
        })
    }

    /// The time of a packet that is alone, from its sending to its arrival, in cycles of the core's
    /// clock.
    #[inline]
    pub(super) fn alone(&mut self, arrived: &Arrived) -> u64 {
        let way = if self.uniform {
            arrived.hops
        } else {
            arrived.src * each!(&self.network, network => network.nodes()) + arrived.dst
        };
        let at = (way * (self.longest + 1) + arrived.flits) as usize;
        match self.alone.get(at) {
            Some(&known) if known != 0 => known,
            _ => self.measure(at, arrived),
        }
    }

    /// The time of a packet from `src` to `dst` that is alone in the network.
    pub(super) fn alone_between(&mut self, src: u32, dst: u32, flits: u32) -> u64 {
        // No packet has come from `src` to `dst`, so the number of routers between them is not
        // known; `alone` is indexed by sender and receiver from now on.
        self.uniform = false;
        self.alone(&Arrived { message: 0, src, dst, flits, hops: 0, marked: false })
    }

    /// Sends a packet like `arrived` through an empty network, and keeps its time in `alone`.
    #[cold]
    fn measure(&mut self, at: usize, arrived: &Arrived) -> u64 {
        if self.alone.len() <= at {
            self.alone.resize(at + 1, 0);
        }
        if self.empty.is_none() {
            let config = Config { endpoint_places: 0, places: Vec::new(), ..self.config.clone() };
            self.empty = Network::with_arbiter(&config, RoundRobin).ok().map(Box::new);
        }
        let mut took = 0;
        if let Some(empty) = &mut self.empty {
            let (src, dst) = (NodeId(arrived.src), NodeId(arrived.dst));
            let sent = empty.inject(Packet { src, dst, flits: arrived.flits, header: Header::default(), tag: 0 });
            debug_assert!(sent.is_ok());
            let mut came: Vec<Delivered> = Vec::new();
            while came.is_empty() {
                empty.step(&mut came);
            }
            took = came[0].packet_latency().0;
            // Lets the credits return, so that the network is idle again.
            while let Some(cycle) = empty.next_activity() {
                empty.run_to(Cycles(cycle.0 + 1), &mut came);
            }
        }
        // The packet is sent in the cycle before it enters the network.
        self.alone[at] = (took + 1) * self.ratio;
        self.alone[at]
    }
}

/// How many stuck packets a report of a hang shows.
const STUCK_SHOWN: usize = 8;

fn stuck(packet: &Stuck) -> String {
    let Stuck { packet, router, at: (input, vc), port, given, waits_for } = packet;
    let what = match given {
        Some(vc) => format!("a credit of virtual channel {vc}"),
        None => "a virtual channel".to_owned(),
    };
    let holder = waits_for.first().map_or(String::new(), |other| format!(", which packet {} holds", other.0));
    let packet = packet.0;
    format!(
        "packet {packet} in router {router}, input {input}, virtual channel {vc}, waits for {what} of output {port}{holder}"
    )
}

/// A receiver for times in which no packet arrives.
struct NoArrivals;

impl Sink for NoArrivals {
    fn delivered(&mut self, packet: &Delivered) {
        unreachable!("packet {} arrived in a cycle that was to be skipped", packet.id.0);
    }
}
