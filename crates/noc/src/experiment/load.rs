//! Everything that sends packets into a network: flows, and endpoints that reply.

use super::endpoint::Endpoints;
use super::run::Experiment;
use crate::arbiter::Arbiter;
use crate::error::{NocError, bad};
use crate::network::Network;
use crate::packet::{Delivered, Header, Packet};
use crate::traffic::{Injector, Reply};

/// Lowest bit of a packet's tag. A tag is 0 if the load need not see the packet's delivery.
/// Otherwise it holds this bit and the number of the flow (from bit [`FLOW`]). A reply's tag also
/// holds the bit [`REPLY`] and the cycle of the request (from bit [`CYCLE`]).
const HEARD: u64 = 1;
/// Bit of a tag that marks a reply.
const REPLY: u64 = 2;
const FLOW: u32 = 2;
const CYCLE: u32 = 18;

/// Whether the load must see the delivery of a packet with this tag.
#[inline]
pub(crate) fn heard(tag: u64) -> bool {
    tag != 0
}

/// Returns the cycle in which the request of a reply was created; `None` if the packet is not a
/// reply.
pub(crate) fn asked_at(tag: u64) -> Option<u64> {
    (tag & REPLY != 0).then_some(tag >> CYCLE)
}

/// Memory that a packet takes in a source's queue.
const PACKET_BYTES: u64 = 80;

/// The flows and endpoints of a running experiment.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    injectors: Vec<Injector>,
    replies: Vec<Option<Reply>>,
    endpoints: Endpoints,
    batches: Vec<bool>,
    last_end: u64,
    listens: bool,
}

impl Load {
    /// Creates the load of `experiment` for its network. Fails if the flows or endpoints do not fit
    /// the network.
    pub(crate) fn new<A: Arbiter>(experiment: &Experiment, network: &Network<A>) -> Result<Load, NocError> {
        let config = network.config();
        let flows = &experiment.traffic;
        if flows.is_empty() || flows.len() > 1 << 12 {
            return Err(bad("traffic", format!("{} flows", flows.len()), "1 to 4096 flows"));
        }
        if experiment.endpoint_service > 10_000 {
            return Err(bad("endpoint_service", experiment.endpoint_service, "0 to 10000 cycles a packet"));
        }
        let mut injectors = (0u64..)
            .zip(flows)
            .map(|(i, flow)| Injector::new(flow, network.graph(), config.classes, experiment.seed, i))
            .collect::<Result<Vec<_>, _>>()?;
        let replies: Vec<Option<Reply>> = flows.iter().map(|f| f.reply).collect();
        if config.endpoint_places > 0
            && let Some(reply) = replies.iter().flatten().find(|r| u32::from(r.class) < config.response_class)
        {
            let expected = format!("at most the replies' class {}: an endpoint must always take them", reply.class);
            return Err(bad("response_class", config.response_class, expected));
        }
        let replied = |class: u32| replies.iter().flatten().any(|reply| u32::from(reply.class) == class);
        if let Some(i) = config.places.iter().position(|own| replied(own.class)) {
            let expected = "a class without replies: an endpoint must always take them";
            return Err(bad(&format!("places[{i}].class"), config.places[i].class, expected));
        }
        let endpoints = Endpoints::new(experiment.endpoint_service, network);
        let mut listens = false;
        for ((i, flow), injector) in (0u64..).zip(flows).zip(&mut injectors) {
            let closed = flow.outstanding > 0 || flow.batch > 0 || flow.reply.is_some();
            if closed || endpoints.listen() {
                injector.set_tag(HEARD | i << FLOW);
                listens = true;
            }
        }
        let batches = flows.iter().map(|f| f.batch > 0).collect();
        Ok(Load { injectors, replies, endpoints, batches, last_end: 0, listens })
    }

    /// Injects the packets of the current cycle: first replies to packets that arrived earlier,
    /// then the flows' new packets. Drains `inbox`. Returns the number of packets injected.
    #[inline]
    pub(crate) fn poll<A: Arbiter>(&mut self, network: &mut Network<A>, inbox: &mut Vec<Delivered>) -> u64 {
        let mut born = if self.listens { self.answer(network, inbox) } else { 0 };
        for injector in &mut self.injectors {
            born += injector.poll(network);
        }
        born
    }

    fn answer<A: Arbiter>(&mut self, network: &mut Network<A>, inbox: &mut Vec<Delivered>) -> u64 {
        let now = network.now().0;
        // Sorted by node, so that packet numbers do not depend on the order in which routers are
        // stepped.
        inbox.sort_unstable_by_key(|p| (p.arrived, p.dst, p.id));
        for packet in inbox.drain(..) {
            let flow = flow(packet.tag);
            let reply = packet.tag & REPLY != 0;
            if !reply {
                self.endpoints.arrive(&packet);
            }
            if reply || self.replies[flow].is_none() {
                let sender = if reply { packet.dst } else { packet.src };
                self.injectors[flow].ended(sender, now);
                if self.batches[flow] {
                    self.last_end = packet.arrived.0;
                }
            }
        }
        let mut born = 0;
        while let Some(request) = self.endpoints.next_done(now, network) {
            let Some(reply) = self.replies[flow(request.tag)] else { continue };
            let tag = request.tag | REPLY | request.created.0 << CYCLE;
            let header = Header { class: reply.class, ..request.header };
            network.enqueue(Packet { src: request.dst, dst: request.src, flits: reply.packet, header, tag });
            born += 1;
        }
        born
    }

    /// Whether some flow is a batch. The run then lasts until all batches have ended.
    pub(crate) fn has_batches(&self) -> bool {
        self.batches.contains(&true)
    }

    /// The last cycle in which a packet of a batch completed.
    pub(crate) fn last_end(&self) -> u64 {
        self.last_end
    }

    /// Number of packets of batches that have not completed.
    pub(crate) fn unfinished(&self) -> u64 {
        self.injectors.iter().map(Injector::unfinished).sum()
    }

    /// Whether the packets in flight take more than half of the memory that the network may use.
    /// Nearly all of them then wait in the sources' queues, which are unbounded.
    pub(crate) fn overflows<A: Arbiter>(network: &Network<A>) -> bool {
        let bytes = network.in_flight() as u64 * PACKET_BYTES;
        bytes >> 20 > network.config().memory_limit_mib / 2
    }

    /// Whether an endpoint has packets in service, so that a network in which nothing moves may yet
    /// move again.
    pub(crate) fn serving(&self) -> bool {
        self.endpoints.next().is_some()
    }
}

fn flow(tag: u64) -> usize {
    (tag >> FLOW) as usize & 0xffff
}
