//! What happens to packets that have arrived: an endpoint serves them one after another.
//!
//! Service takes a fixed number of cycles per packet, and a packet occupies its place in a bounded
//! endpoint until its service ends. A response is complete on arrival: it needs neither a place nor
//! service.

use crate::arbiter::Arbiter;
use crate::network::Network;
use crate::packet::Delivered;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All endpoints of a network. `service` is the number of cycles per packet.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    service: u64,
    /// Whether any packets occupy places that must be given back.
    bounded: bool,
    /// The first class whose packets need no service.
    response_class: u32,
    /// For each endpoint, the cycle in which it finishes the packets that it has.
    busy_until: Vec<u64>,
    /// Packets in service: cycle of completion, order of arrival, index in `served`.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    served: Vec<Delivered>,
    free: Vec<usize>,
    arrived: u64,
}

impl Endpoints {
    /// Creates the endpoints of `network`, which take `service` cycles per packet.
    pub(crate) fn new<A: Arbiter>(service: u32, network: &Network<A>) -> Endpoints {
        let config = network.config();
        Endpoints {
            service: service.into(),
            bounded: config.is_bounded(),
            response_class: config.response_class,
            busy_until: vec![0; network.nodes() as usize],
            due: BinaryHeap::new(),
            served: vec![],
            free: vec![],
            arrived: 0,
        }
    }

    /// Whether the endpoints need to hear of arriving packets: they do if service takes time or
    /// places are bounded.
    pub(crate) fn listen(&self) -> bool {
        self.service > 0 || self.bounded
    }

    /// Takes in a packet that has arrived and is not a reply.
    pub(crate) fn arrive(&mut self, packet: &Delivered) {
        let mut done = packet.arrived.0;
        if u32::from(packet.header.class) < self.response_class {
            let busy = &mut self.busy_until[packet.dst.0 as usize];
            *busy = done.max(*busy) + self.service;
            done = *busy;
        }
        let place = self.free.pop().unwrap_or(self.served.len());
        if place == self.served.len() {
            self.served.push(*packet);
        } else {
            self.served[place] = *packet;
        }
        self.due.push(Reverse((done, self.arrived, place)));
        self.arrived += 1;
    }

    /// Returns the next packet whose service was complete before `now`, and frees its place in the
    /// endpoint.
    pub(crate) fn next_done<A: Arbiter>(&mut self, now: u64, network: &mut Network<A>) -> Option<Delivered> {
        let Reverse((at, _, place)) = *self.due.peek()?;
        if at >= now {
            return None;
        }
        self.due.pop();
        self.free.push(place);
        let packet = self.served[place];
        if self.bounded && network.config().bounds(packet.dst.0, packet.header.class.into()) {
            network.release(packet.dst, packet.header.class);
        }
        Some(packet)
    }

    /// Returns the first cycle in which [`Endpoints::next_done`] returns a packet.
    pub(crate) fn next(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, ..))| at + 1)
    }
}
