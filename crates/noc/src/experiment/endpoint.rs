//! What becomes of packets that have arrived: an endpoint serves them one after another.
//!
//! Service takes a fixed number of cycles a packet; a bounded endpoint keeps the packet's place until then. A
//! response is complete when it has arrived: it needs neither a place nor service.

use crate::arbiter::Arbiter;
use crate::network::Network;
use crate::packet::Delivered;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All endpoints of a network.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    service: u64,
    /// Some packets hold a place.
    bounded: bool,
    /// Packets of classes from this one on need no service.
    response_class: u32,
    /// Cycle in which each endpoint is done with what it has.
    busy_until: Vec<u64>,
    /// (cycle of completion, order of arrival, place in `served`).
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    served: Vec<Delivered>,
    free: Vec<usize>,
    arrived: u64,
}

impl Endpoints {
    /// Endpoints of `network` that take `service` cycles for a packet.
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

    /// Whether they have anything to do with packets that arrive.
    pub(crate) fn listen(&self) -> bool {
        self.service > 0 || self.bounded
    }

    /// A packet has arrived that is no reply.
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

    /// The next packet whose service was complete before `now`; its place is given back.
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

    /// The first cycle from which [`Endpoints::next_done`] gives something.
    pub(crate) fn next(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, ..))| at + 1)
    }
}
