//! The state of virtual channels and channels as inspection and checks see it, whichever loop keeps
//! it.

use super::flit::Flit;
use super::general::data::NONE;
use super::lean::data::Uniformity;
use super::lean::router::{SOURCE, TO_ENDPOINT};
use super::whole::Network;
use crate::arbiter::Arbiter;

/// A virtual channel: the state of its buffer at the downstream end, and what the upstream end
/// knows of that buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VcView {
    /// Number of flits that have arrived and not left.
    pub(crate) count: u16,
    /// The output port of the packet at the front.
    pub(crate) out: u16,
    /// Channel behind the output port `out`.
    pub(crate) output: u32,
    /// Virtual channel of the channel `output` that the packet was given, or `NONE`. Before an
    /// endpoint, 0 says that the endpoint has taken part of the packet.
    pub(crate) given: u16,
    /// Bit set of the virtual channels that the packet may be given.
    pub(crate) mask: u64,
    /// Credits for this virtual channel's buffer that the upstream side has left.
    pub(crate) credits: i16,
    /// The input of the upstream router that holds this virtual channel, or `NONE`.
    pub(crate) owner: u16,
}

impl<A: Arbiter> Network<A> {
    /// Returns the state of virtual channel number `n` (`channel << shift | v`).
    pub(crate) fn vc_view(&self, n: usize) -> VcView {
        if !self.spec.is_lean {
            let s = &self.state.general.vcs[n];
            return VcView {
                count: s.count,
                out: s.out,
                output: s.output,
                given: if n >> self.spec.shift >= self.spec.router_inputs as usize {
                    self.begun_at(n)
                } else {
                    s.given
                },
                mask: s.mask,
                credits: s.credits,
                owner: s.owner,
            };
        }
        let (c, v) = (n >> 3, n & 7);
        let link = &self.wiring.links[c];
        let mut view = VcView { given: NONE, owner: NONE, ..VcView::default() };
        if link.from_source {
            view.credits = i16::from(self.state.lean.sources[link.from as usize].credits[v]);
        } else {
            let (up, m) = (&self.state.lean.routers[link.from as usize], usize::from(link.out_port) << 3 | v);
            view.credits = i16::from(up.lanes[m].credits);
            if !up.free.has(m) {
                view.owner = u16::from(up.lanes[m].owner);
            }
        }
        if c < self.spec.router_inputs as usize {
            let (node, i) = (&self.state.lean.routers[n >> 6], n & 63);
            (view.count, view.out) = (u16::from(node.lanes[i].count), u16::from(node.lanes[i].out));
            view.output = self.wiring.outputs[(n >> 6) << 3 | usize::from(node.lanes[i].out)];
            let holds = node.wait >> i & 1 == 0 && self.holder(view.output as usize, node.lanes[i].given) == Some(i);
            view.given = if holds { u16::from(node.lanes[i].given) } else { NONE };
            view.mask = if self.state.lean.uniformity == Uniformity::Plain {
                self.wiring.masks[0]
            } else {
                u64::from(node.lanes[i].mask)
            };
        }
        if c >= self.spec.router_inputs as usize {
            let end = n - ((self.spec.router_inputs as usize) << 3);
            view.count = u16::from(self.state.lean.ejected.count(end));
            view.given = self.begun_at(n);
        }
        view
    }

    /// Returns 0 if the endpoint has taken part of the packet at the front of `n`, otherwise
    /// `NONE`.
    fn begun_at(&self, n: usize) -> u16 {
        let v = n & ((1 << self.spec.shift) - 1);
        if self.state.endpoints.begun((n >> self.spec.shift) - self.spec.router_inputs as usize, v) { 0 } else { NONE }
    }

    /// Returns the input of the upstream router that holds virtual channel `v` of channel `c`, in
    /// the lean state.
    fn holder(&self, c: usize, v: u8) -> Option<usize> {
        let link = &self.wiring.links[c];
        let (up, out) = (&self.state.lean.routers[link.from as usize], usize::from(link.out_port));
        let m = out << 3 | usize::from(v);
        (!up.free.has(m)).then(|| usize::from(up.lanes[m].owner))
    }

    /// Yields the flits in virtual channel `n`, the front one first.
    pub(crate) fn held_flits(&self, n: usize) -> impl Iterator<Item = Flit> + '_ {
        let count = self.vc_view(n).count;
        (0..count).map(move |k| self.held_flit(n, k))
    }

    fn held_flit(&self, n: usize, k: u16) -> Flit {
        if !self.spec.is_lean {
            let place = (self.state.general.vcs[n].head + k) & self.spec.depth_mask;
            return self.state.general.flits[(n << self.spec.depth_shift) + usize::from(place)];
        }
        let inputs = (self.spec.router_inputs as usize) << 3;
        if n >= inputs {
            return self.state.lean.ejected.flit(n - inputs, k as u8);
        }
        let (node, i) = (&self.state.lean.routers[n >> 6], n & 63);
        if k == 0 {
            return node.lanes[i].front;
        }
        let queues = &self.state.lean.queues;
        let place = node.lanes[i].head.wrapping_add(k as u8 - 1) & queues.depth_mask;
        queues.flits[(n << queues.depth_shift) + usize::from(place)]
    }

    /// Number of flits that were sent over channel `c`.
    pub(crate) fn flits_over(&self, c: usize) -> u64 {
        let link = &self.wiring.links[c];
        match (self.spec.is_lean, link.from_source) {
            (false, _) => self.state.general.channels[c].flits,
            (true, true) => self.state.lean.sources[link.from as usize].sent,
            (true, false) => self.state.lean.routers[link.from as usize].ports[usize::from(link.out_port)].sent,
        }
    }

    /// Number of free flits in the shared buffer of channel `c`.
    pub(crate) fn shared_free(&self, c: usize) -> i32 {
        // The lean loop supports no shared buffers.
        if self.spec.is_lean { 0 } else { self.state.general.channels[c].shared }
    }

    /// Returns two bit sets of virtual channels of channel `c`: those that no packet holds, and
    /// those with a credit.
    pub(crate) fn free_and_credit(&self, c: usize) -> (u64, u64) {
        let link = &self.wiring.links[c];
        if !self.spec.is_lean {
            let channel = &self.state.general.channels[c];
            return (channel.free, channel.credit);
        }
        if link.from_source {
            let source = &self.state.lean.sources[link.from as usize];
            return (u64::from(source.free), u64::from(source.credit));
        }
        let (up, out) = (&self.state.lean.routers[link.from as usize], usize::from(link.out_port));
        (u64::from(up.free.of(out)), u64::from(up.credit.of(out)))
    }

    /// Calls `flit` for each flit and `credit` for each credit that travels, with the number of its
    /// virtual channel.
    pub(crate) fn each_under_way(&self, mut flit: impl FnMut(usize), mut credit: impl FnMut(usize)) {
        if !self.spec.is_lean {
            self.state.general.credits.iter().for_each(|vc| credit(vc as usize));
            self.state.general.moves.iter().for_each(|pair| credit(pair as u32 as usize));
            self.state.general.arrivals.iter().for_each(|vc| flit(vc as usize));
            self.state.general.moves.iter().for_each(|pair| flit((pair >> 32) as usize));
            return;
        }
        let behind = |m: u32| (self.wiring.outputs[(m >> 3) as usize] << 3 | m & 7) as usize;
        let to = |to: u32| if to & TO_ENDPOINT == 0 { to as usize } else { behind(to & !TO_ENDPOINT) };
        let back = |m: u32| {
            let source = |s: u32| (self.wiring.sources[(s >> 3) as usize] << 3 | s & 7) as usize;
            if m & SOURCE == 0 { behind(m) } else { source(m & !SOURCE) }
        };
        let io = &self.state.lean.wheels;
        io.credits.iter().chain(io.returned.iter()).for_each(|m| credit(back(m)));
        io.moves.iter().for_each(|m| credit(back(m.credit)));
        io.moves.iter().for_each(|m| flit(to(m.to)));
        io.arrivals.iter().chain(io.injected.iter()).for_each(|a| flit(to(a.to)));
    }
}
