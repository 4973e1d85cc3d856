//! Looks into a network without disturbing it: loads of channels, one packet's journey, and which
//! packets wait for which.

use super::general::data::{NONE, PENDING};
use super::journey::Journey;
use super::whole::Network;
use crate::arbiter::Arbiter;
use crate::packet::PacketId;
use baton_units::Cycles;

/// The state of one channel, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView {
    /// Router at which the channel begins, or the node if `from_source`.
    pub from: u32,
    /// Router at which the channel ends, or the node if `to_endpoint`.
    pub to: u32,
    /// Whether the channel begins at a source.
    pub from_source: bool,
    /// Whether the channel ends at an endpoint.
    pub to_endpoint: bool,
    /// Length in tiles.
    pub length: u32,
    /// Number of flits sent over the channel so far.
    pub flits: u64,
    /// Number of flits in the channel's downstream buffers now.
    pub held: u32,
}

/// A packet that cannot move, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Number of the packet.
    pub packet: PacketId,
    /// Router in which the packet's front flit stands.
    pub router: u32,
    /// The input port and virtual channel in that router.
    pub at: (u32, u32),
    /// Output port that the packet wants.
    pub port: u32,
    /// Output virtual channel that the packet was given, if any.
    pub given: Option<u32>,
    /// Packets that hold what this one waits for: all virtual channels that it could be given, or
    /// the buffer behind the one that it was given.
    pub waits_for: Vec<PacketId>,
}

impl<A: Arbiter> Network<A> {
    /// Yields all channels, in a fixed order.
    pub fn channel_views(&self) -> impl Iterator<Item = ChannelView> + '_ {
        self.wiring.links.iter().enumerate().filter(|(c, _)| self.connected(*c)).map(|(c, link)| ChannelView {
            from: link.from,
            to: link.to,
            from_source: link.from_source,
            to_endpoint: c >= self.spec.router_inputs as usize,
            length: link.length,
            flits: self.flits_over(c),
            held: (0..self.spec.config.vcs as usize)
                .map(|v| u32::from(self.vc_view((c << self.spec.shift) + v).count))
                .sum(),
        })
    }

    /// Returns the cycle of creation of the oldest packet that has not arrived; `None` if there is
    /// none.
    pub fn oldest(&self) -> Option<Cycles> {
        self.state.slots.oldest().map(Cycles)
    }

    /// Whether channel `c` exists. Numbers between a router's last port and the next router's block
    /// belong to no channel.
    pub(crate) fn connected(&self, c: usize) -> bool {
        let channel = &self.wiring.links[c];
        c >= self.spec.router_inputs as usize
            || u16::from(channel.in_port) < self.wiring.routers[channel.to as usize].in_ports
    }

    /// Returns the bound of the numbers of virtual channels: all are below it.
    pub(crate) fn vc_numbers(&self) -> usize {
        self.wiring.links.len() << self.spec.shift
    }

    /// Records the journeys of packets `first` to `last` from now on.
    pub fn follow(&mut self, first: PacketId, last: PacketId) {
        self.state.lean.become_any(self.wiring.masks[0]);
        self.state.journeys = Some(Box::new(Journey { packets: (first.0, last.0), ..Journey::default() }));
    }

    /// Returns what was recorded of the packets that are followed.
    pub fn journey(&self) -> Option<&Journey> {
        self.state.journeys.as_deref()
    }

    /// Returns every packet at the front of a router's virtual channel that cannot go on, for lack
    /// of an output virtual channel or of a credit, with the packets that hold what it waits for.
    pub fn stuck(&self) -> Vec<Stuck> {
        let inputs = (self.spec.router_inputs as usize) << self.spec.shift;
        (0..inputs).filter(|n| self.vc_view(*n).count > 0).filter_map(|n| self.why_stuck(n)).collect()
    }

    fn why_stuck(&self, n: usize) -> Option<Stuck> {
        let state = self.vc_view(n);
        let channel = &self.wiring.links[n >> self.spec.shift];
        let output = state.output as usize;
        let out = &self.wiring.links[output];
        let (free, credit) = self.free_and_credit(output);
        let behind = |v: usize| {
            let target = (output << self.spec.shift) + v;
            // The packet whose flits fill the buffer, or otherwise the one that holds the virtual
            // channel upstream.
            let filling = self.held_flits(target).next().map(|f| f.slot());
            let owner = self.vc_view(target).owner;
            let owning = (owner != NONE && !out.from_source)
                .then(|| (channel.to as usize) << self.spec.block | usize::from(owner));
            let owning = owning.and_then(|o| self.held_flits(o).next()).map(|f| f.slot());
            filling.or(owning).map(|s| PacketId(self.state.slots.get(s).id))
        };
        let given = (state.given < PENDING).then_some(usize::from(state.given));
        let waits_for: Vec<PacketId> = match given {
            Some(v) if credit >> v & 1 == 1 => return None,
            Some(v) => behind(v).into_iter().collect(),
            None if state.given != NONE || free & state.mask != 0 => return None,
            None => {
                (0..self.spec.config.vcs as usize).filter(|v| state.mask >> v & 1 == 1).filter_map(behind).collect()
            }
        };
        Some(Stuck {
            packet: self.held_flits(n).next().map(|f| PacketId(self.state.slots.get(f.slot()).id))?,
            router: channel.to,
            at: (u32::from(channel.in_port), (n & ((1 << self.spec.shift) - 1)) as u32),
            port: u32::from(state.out),
            given: given.map(|v| v as u32),
            waits_for,
        })
    }
}
