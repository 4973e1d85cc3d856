//! Looking into a network without disturbing it: load of channels, one packet's journey, and who waits for whom.

use super::Network;
use super::arrive::PENDING;
use super::flit::Flit;
use super::state::NONE;
use crate::arbiter::Arbiter;
use crate::packet::{Delivered, PacketId};
use baton_units::Cycles;

/// One channel, as reports see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView {
    /// Upstream router, or node if `from_source`.
    pub from: u32,
    /// Downstream router, or node if `to_endpoint`.
    pub to: u32,
    /// Starts in a source.
    pub from_source: bool,
    /// Ends in an endpoint.
    pub to_endpoint: bool,
    /// Length in tiles.
    pub length: u32,
    /// Flits sent so far.
    pub flits: u64,
    /// Flits in its downstream buffers now.
    pub held: u32,
}

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

/// A packet that cannot move, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The packet.
    pub packet: PacketId,
    /// Router where its front flit stands.
    pub router: u32,
    /// Input port and virtual channel there.
    pub at: (u32, u32),
    /// Output port that it wants.
    pub port: u32,
    /// Virtual channel that it was given, if any.
    pub given: Option<u32>,
    /// Packets that hold what it waits for: all virtual channels that it could be given, or the places behind the
    /// one that it was given.
    pub waits_for: Vec<PacketId>,
}

impl Journey {
    /// Keeps a step of a head flit, if its packet is followed.
    pub(super) fn note_hop(&mut self, flit: Flit, step: JourneyStep) {
        if flit.head() && (self.packets.0..=self.packets.1).contains(&step.packet.0) {
            self.steps.push(step);
        }
    }

    /// Keeps an arrival, if its packet is followed.
    pub(super) fn note_arrival(&mut self, delivered: &Delivered) {
        if (self.packets.0..=self.packets.1).contains(&delivered.id.0) {
            self.arrived.push(*delivered);
        }
    }
}

impl<A: Arbiter> Network<A> {
    /// All channels, in a fixed order.
    pub fn channel_views(&self) -> impl Iterator<Item = ChannelView> + '_ {
        self.channels.iter().enumerate().filter(|(c, _)| self.connected(*c)).map(|(c, channel)| ChannelView {
            from: channel.from,
            to: channel.to,
            from_source: channel.from_source,
            to_endpoint: c >= self.router_inputs as usize,
            length: channel.length,
            flits: self.flits_over(channel),
            held: (0..self.config.vcs as usize).map(|v| u32::from(self.vc_view((c << self.shift) + v).count)).sum(),
        })
    }

    /// Cycle of creation of the oldest packet that has not left the network yet.
    pub fn oldest(&self) -> Option<Cycles> {
        let waiting = self.queues.iter().filter(|q| q.head != u32::MAX).map(|q| q.head as usize);
        let inside = (0..self.vc_numbers()).flat_map(|n| self.held_flits(n)).map(|f| f.slot());
        waiting.chain(inside).map(|s| Cycles(self.slots.get(s).created)).min()
    }

    /// Whether channel `c` exists, rather than being a place between a router's last port and the next block.
    pub(super) fn connected(&self, c: usize) -> bool {
        let channel = &self.channels[c];
        c >= self.router_inputs as usize || u16::from(channel.in_port) < self.routers[channel.to as usize].in_ports
    }

    /// Virtual channels are numbered up to this.
    pub(super) fn vc_numbers(&self) -> usize {
        self.channels.len() << self.shift
    }

    /// Follows packets `first` to `last` from now on.
    pub fn follow(&mut self, first: PacketId, last: PacketId) {
        self.lean.leave_kind(self.masks[0]);
        self.journeys = Some(Box::new(Journey { packets: (first.0, last.0), ..Journey::default() }));
    }

    /// What was recorded of the packets that are followed.
    pub fn journey(&self) -> Option<&Journey> {
        self.journeys.as_deref()
    }

    #[cold]
    pub(super) fn note_hop(&mut self, flit: Flit, output: usize) {
        let packet = PacketId(self.slots.get(flit.slot()).id);
        let (router, port) = (self.channels[output].from, u32::from(self.channels[output].out_port));
        if let Some(j) = &mut self.journeys {
            j.note_hop(flit, JourneyStep { cycle: Cycles(self.now), packet, router, port });
        }
    }

    /// Every packet at the front of a router's virtual channel that has neither a channel nor a credit to go on, with
    /// the packets that hold what it waits for.
    pub fn stuck(&self) -> Vec<Stuck> {
        let inputs = (self.router_inputs as usize) << self.shift;
        (0..inputs).filter(|n| self.vc_view(*n).count > 0).filter_map(|n| self.why_stuck(n)).collect()
    }

    fn why_stuck(&self, n: usize) -> Option<Stuck> {
        let state = self.vc_view(n);
        let channel = &self.channels[n >> self.shift];
        let output = state.output as usize;
        let out = &self.channels[output];
        let (free, credit) = self.free_and_credit(output);
        let behind = |v: usize| {
            let target = (output << self.shift) + v;
            // The packet whose flits fill the buffer, or else the one that holds the channel upstream.
            let filling = self.held_flits(target).next().map(|f| f.slot());
            let owner = self.vc_view(target).owner;
            let owning =
                (owner != NONE && !out.from_source).then(|| (channel.to as usize) << self.block | usize::from(owner));
            let owning = owning.and_then(|o| self.held_flits(o).next()).map(|f| f.slot());
            filling.or(owning).map(|s| PacketId(self.slots.get(s).id))
        };
        let given = (state.given < PENDING).then_some(usize::from(state.given));
        let waits_for: Vec<PacketId> = match given {
            Some(v) if credit >> v & 1 == 1 => return None,
            Some(v) => behind(v).into_iter().collect(),
            None if state.given != NONE || free & state.mask != 0 => return None,
            None => (0..self.config.vcs as usize).filter(|v| state.mask >> v & 1 == 1).filter_map(behind).collect(),
        };
        Some(Stuck {
            packet: self.held_flits(n).next().map(|f| PacketId(self.slots.get(f.slot()).id))?,
            router: channel.to,
            at: (u32::from(channel.in_port), (n & ((1 << self.shift) - 1)) as u32),
            port: u32::from(state.out),
            given: given.map(|v| v as u32),
            waits_for,
        })
    }
}
