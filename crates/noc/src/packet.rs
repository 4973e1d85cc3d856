//! What travels: a packet with its header, as the network's users see it.

use crate::ocor::Mark;
use crate::rank::Rank;
use baton_units::{Cycles, NodeId};
use serde::{Deserialize, Serialize};

/// The fields of a packet's header that routers may read when they arbitrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Keys", into = "Keys")]
pub struct Header {
    /// Message class: chooses the virtual network. Below [`crate::Config::classes`].
    pub class: u8,
    /// How urgent the packet is, as the mechanism that writes headers has it.
    pub rank: Rank,
}

impl Header {
    /// A header of `class` without a rank.
    pub fn of_class(class: u8) -> Header {
        Header { class, ..Header::default() }
    }
}

/// A header in a file. The keys of its rank are those of the first mechanism that made ranks.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename = "Header")]
struct Keys {
    class: u8,
    marked: bool,
    level: u8,
    progress: u16,
}

impl From<Keys> for Header {
    fn from(Keys { class, marked, level, progress }: Keys) -> Header {
        Header { class, rank: if marked { Mark { level, progress }.rank() } else { Rank::NONE } }
    }
}

impl From<Header> for Keys {
    fn from(Header { class, rank }: Header) -> Keys {
        let mark = Mark::of(rank);
        let Mark { level, progress } = mark.unwrap_or(Mark { level: 0, progress: 0 });
        Keys { class, marked: mark.is_some(), level, progress }
    }
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Sender. Must be a node of the network.
    pub src: NodeId,
    /// Receiver. May be the sender: the packet then passes its own router only.
    pub dst: NodeId,
    /// Length in flits, at least 1.
    pub flits: u32,
    /// What routers may read.
    pub header: Header,
    /// The sender's own mark; comes back with the delivery and is not looked at by the network.
    pub tag: u64,
}

/// The number of a packet in the order of creation in its network, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PacketId(pub u64);

/// A packet whose tail flit has left the network at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Which packet.
    pub id: PacketId,
    /// The sender's mark.
    pub tag: u64,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Its header.
    pub header: Header,
    /// Length in flits.
    pub flits: u32,
    /// Routers passed, both ends counted.
    pub hops: u32,
    /// Cycle of its creation at the source queue.
    pub created: Cycles,
    /// Cycle in which its head flit entered the network.
    pub entered: Cycles,
    /// Cycle in which its tail flit left the network.
    pub arrived: Cycles,
}

impl Delivered {
    /// Packet latency: creation at the source to the tail's leaving.
    pub fn packet_latency(&self) -> Cycles {
        self.arrived - self.created
    }

    /// Network latency: the head's entering to the tail's leaving.
    pub fn network_latency(&self) -> Cycles {
        self.arrived - self.entered
    }
}

/// Where a network puts the packets that arrive, statically dispatched so that the hot loop inlines it.
pub trait Sink {
    /// Called once a packet, in the cycle in which its tail flit leaves the network.
    fn delivered(&mut self, packet: &Delivered);
}

impl Sink for Vec<Delivered> {
    fn delivered(&mut self, packet: &Delivered) {
        self.push(*packet);
    }
}
