//! Packets under way. The network is a bag: any packet may be the next to arrive. Under the
//! non-blocking policy, forwards of one line to one core stay in order.

use super::{Age, World};
use crate::{Agent, Class, Message};
use std::cmp::Ordering;

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packet {
    /// Number of the line that the message concerns.
    pub line: u8,
    pub to: Agent,
    pub class: Class,
    pub message: Message,
    /// The data, if the message carries any.
    pub data: Age,
}

impl Packet {
    /// What packets that stay in order have in common.
    fn channel(&self) -> (u8, Agent, Class) {
        (self.line, self.to, self.class)
    }

    /// The canonical order of packets, which compares everything. Packets that stay in order are
    /// compared only by their channel.
    fn order(&self, other: &Packet, ordered: bool) -> Ordering {
        let fifo = ordered && self.class == Class::Forward && other.class == Class::Forward;
        if fifo { self.channel().cmp(&other.channel()) } else { self.cmp(other) }
    }
}

impl World {
    /// Puts `packet` into the network.
    pub(super) fn post(&mut self, packet: Packet, ordered: bool) {
        let place = self.network.partition_point(|other| other.order(&packet, ordered) != Ordering::Greater);
        self.network.insert(place, packet);
    }

    /// Restores the canonical order, in which equal bags are equal lists.
    pub(super) fn sort_network(&mut self, ordered: bool) {
        self.network.sort_by(|a, b| a.order(b, ordered));
    }

    /// Positions of the packets that may arrive next; of equal packets, only one.
    pub(super) fn arrivals(&self, ordered: bool, places: usize) -> impl Iterator<Item = usize> + '_ {
        let full = self.waiting.len() >= places;
        (0..self.network.len()).filter(move |&i| {
            let packet = &self.network[i];
            let before = i.checked_sub(1).map(|before| &self.network[before]);
            match packet.class {
                Class::Request if full => false,
                Class::Forward if ordered => before.is_none_or(|before| before.channel() != packet.channel()),
                _ => before != Some(packet),
            }
        })
    }
}
