//! What travels: a packet with its header, as the users of a network see it.

use crate::ocor::Mark;
use crate::rank::Rank;
use baton_units::{Cycles, NodeId};
use serde::{Deserialize, Serialize};

/// The fields of a packet's header, which routers may read when they arbitrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Keys", into = "Keys")]
pub struct Header {
    /// Message class, which chooses the virtual network; less than [`crate::Config::classes`].
    pub class: u8,
    /// Rank of the packet, if the mechanism that writes headers gives it one.
    pub rank: Rank,
}

impl Header {
    /// Creates a header of `class` without a rank.
    pub fn of_class(class: u8) -> Header {
        Header { class, ..Header::default() }
    }
}

/// A header as it is written in files. The keys for its rank are those of OCOR, the first mechanism
/// that made ranks.
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
    /// Node of the sender.
    pub src: NodeId,
    /// Node of the receiver. It may be the sender; the packet then passes only the sender's own
    /// router.
    pub dst: NodeId,
    /// Length in flits, at least 1.
    pub flits: u32,
    /// What routers may read.
    pub header: Header,
    /// A number for the sender's own use. The network ignores it and returns it in [`Delivered`].
    pub tag: u64,
}

/// Number of a packet in the order of creation in its network, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PacketId(pub u64);

/// A packet whose tail flit has left the network at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Number of the packet.
    pub id: PacketId,
    /// The tag that the sender gave the packet.
    pub tag: u64,
    /// Node of the sender.
    pub src: NodeId,
    /// Node of the receiver.
    pub dst: NodeId,
    /// Header of the packet.
    pub header: Header,
    /// Length in flits.
    pub flits: u32,
    /// Number of routers passed, first and last included.
    pub hops: u32,
    /// Cycle in which the packet was put into its source queue.
    pub created: Cycles,
    /// Cycle in which the head flit entered the network.
    pub entered: Cycles,
    /// Cycle in which the tail flit left the network.
    pub arrived: Cycles,
}

impl Delivered {
    /// The packet latency in cycles, from creation at the source to the leaving of the tail.
    pub fn packet_latency(&self) -> Cycles {
        self.arrived - self.created
    }

    /// The network latency in cycles, from the entering of the head to the leaving of the tail.
    pub fn network_latency(&self) -> Cycles {
        self.arrived - self.entered
    }
}

/// Where a network puts the packets that arrive. It is statically dispatched, so that the inner
/// loop can inline it.
pub trait Sink {
    /// Called once for each packet, in the cycle in which its tail flit leaves the network.
    fn delivered(&mut self, packet: &Delivered);
}

impl Sink for Vec<Delivered> {
    fn delivered(&mut self, packet: &Delivered) {
        self.push(*packet);
    }
}
