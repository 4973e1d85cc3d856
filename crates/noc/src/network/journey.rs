//! The recorded journeys of the packets that are followed.

use super::flit::Flit;
use crate::packet::{Delivered, PacketId};
use baton_units::Cycles;

/// One step of a packet's journey: a grant of a router's switch to the head flit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JourneyStep {
    /// Cycle of the grant.
    pub cycle: Cycles,
    /// The packet to which the head flit belongs.
    pub packet: PacketId,
    /// Router that the head flit leaves.
    pub router: u32,
    /// Output port of that router.
    pub port: u32,
}

/// Record of the packets that are followed; only their head flits are recorded.
#[derive(Clone, Debug, Default)]
pub struct Journey {
    /// Numbers of the first and the last packet to follow.
    pub packets: (u64, u64),
    /// Grants, in order of time.
    pub steps: Vec<JourneyStep>,
    /// Followed packets that have arrived.
    pub arrived: Vec<Delivered>,
}

impl Journey {
    /// Records a step of `flit` if the flit is a head and its packet is followed.
    pub(crate) fn note_hop(&mut self, flit: Flit, step: JourneyStep) {
        if flit.head() && (self.packets.0..=self.packets.1).contains(&step.packet.0) {
            self.steps.push(step);
        }
    }

    /// Records an arrival if the packet is followed.
    pub(crate) fn note_arrival(&mut self, delivered: &Delivered) {
        if (self.packets.0..=self.packets.1).contains(&delivered.id.0) {
            self.arrived.push(*delivered);
        }
    }
}
