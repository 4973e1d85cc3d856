//! The input units: which flit is at the front of a virtual channel's buffer, and whether it can go
//! on.

use super::super::flit::Flit;
use super::cycle::Cycle;
use super::data::{NONE, PENDING};
use crate::arbiter::{Arbiter, Contender};
use crate::rng::mix;
use crate::routing::Choice;

impl<A: Arbiter> Cycle<'_, A> {
    /// Returns what the arbiter may know of the packet at the front of `vc`.
    #[inline]
    pub(crate) fn contender(&self, vc: usize) -> Contender {
        let flit = self.front(vc);
        let slot = self.slots.get(flit.slot());
        let draw = mix(self.spec.config.seed ^ mix(self.now).wrapping_add((vc as u64) << 20));
        Contender { header: slot.header, created: slot.created, id: slot.id, draw }
    }

    #[inline]
    pub(crate) fn front(&self, vc: usize) -> Flit {
        self.routers.flits[(vc << self.spec.depth_shift) + usize::from(self.routers.vcs[vc].head)]
    }

    /// Returns the input whose packet holds virtual channel `vc`; `None` if no packet or a source's
    /// packet holds it.
    #[inline]
    pub(crate) fn holding_input(&self, vc: usize) -> Option<usize> {
        let (owner, link) = (self.routers.vcs[vc].owner, &self.wiring.links[vc >> self.spec.shift]);
        (owner != NONE && !link.from_source).then(|| (link.from as usize) << self.spec.block | usize::from(owner))
    }

    /// Routes a packet whose head flit has reached the front of `vc`; from now on it bids for an
    /// output virtual channel.
    #[inline(always)]
    pub(crate) fn head_at_front(&mut self, vc: usize) {
        let r = vc >> self.spec.block;
        let mut flit = self.front(vc);
        debug_assert!(flit.head(), "the first flit of a packet is its head");
        if self.wiring.routes.choice == Choice::Intermediate && !flit.second_phase() {
            flit = self.turn_at_intermediate(vc, r, flit);
        }
        let table = r * self.spec.nodes as usize + if flit.second_phase() { self.wiring.table_two } else { 0 };
        let entry = self.wiring.route[table + flit.dest()];
        let class = usize::from(entry >> 8);
        let out = entry & 0xff;
        let output = self.wiring.outputs[self.wiring.routers[r].outputs as usize + usize::from(out)];
        let state = &mut self.routers.vcs[vc];
        (state.out, state.output) = (out, output);
        state.mask = self.wiring.masks[flit.network() * self.wiring.lanes + class];
        self.routers.wait[vc >> 6] |= 1 << (vc & 63);
        self.active.insert(r);
    }

    /// Valiant routing: turns a packet toward its destination once it stands in its intermediate
    /// node's router. Returns the flit, changed or not.
    #[cold]
    fn turn_at_intermediate(&mut self, vc: usize, r: usize, flit: Flit) -> Flit {
        if self.wiring.graph.nodes[flit.dest()].to_router as usize != r {
            return flit;
        }
        let turned = flit.turned(self.slots.get(flit.slot()).dst);
        let at = (vc << self.spec.depth_shift) + usize::from(self.routers.vcs[vc].head);
        self.routers.flits[at] = turned;
        turned
    }

    /// Marks `vc` ready for the switch if it has an output virtual channel, a flit and a credit.
    #[inline]
    pub(crate) fn ready_if_possible(&mut self, vc: usize) {
        let state = &self.routers.vcs[vc];
        if state.count == 0 || state.given >= PENDING {
            return;
        }
        if self.routers.channels[state.output as usize].credit >> state.given & 1 == 1 {
            let r = vc >> self.spec.block;
            self.routers.ready[vc >> 6] |= 1 << (vc & 63);
            self.active.insert(r);
        }
    }
}
