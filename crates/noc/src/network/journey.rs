//! The way of the packets that are followed.

use super::flit::Flit;
use crate::packet::{Delivered, PacketId};
use baton_units::Cycles;

/// One step of a packet's journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JourneyStep {
    /// Cycle of the grant.
    pub cycle: Cycles,
    /// Which packet.
    pub packet: PacketId,
    /// Router that the head flit leaves.
    pub router: u32,
    /// Output port.
    pub port: u32,
}

/// Records of the packets that are followed: head flits only.
#[derive(Clone, Debug, Default)]
pub struct Journey {
    /// First and last packet to follow.
    pub packets: (u64, u64),
    /// Grants, in order.
    pub steps: Vec<JourneyStep>,
    /// Packets that have arrived.
    pub arrived: Vec<Delivered>,
}

impl Journey {
    /// Keeps a step of a head flit, if its packet is followed.
    pub(crate) fn note_hop(&mut self, flit: Flit, step: JourneyStep) {
        if flit.head() && (self.packets.0..=self.packets.1).contains(&step.packet.0) {
            self.steps.push(step);
        }
    }

    /// Keeps an arrival, if its packet is followed.
    pub(crate) fn note_arrival(&mut self, delivered: &Delivered) {
        if (self.packets.0..=self.packets.1).contains(&delivered.id.0) {
            self.arrived.push(*delivered);
        }
    }
}
