//! What a router's cycle reads beside its own state.

use super::super::slots::Slots;
use super::super::spec::Spec;
use super::super::table::Reading;
use super::super::wiring::Wiring;
use super::data::Queues;
use super::router::Router;
use crate::arbiter::{Arbiter, Contender};
use crate::rng::mix;
use crate::routing::Choice;
use crate::topology::Graph;

/// What is needed to find the output of a head flit.
pub(crate) struct Way<'a> {
    pub(crate) route: Reading<'a, u16>,
    pub(crate) masks: Reading<'a, u64>,
    pub(crate) lanes: usize,
    pub(crate) table_two: usize,
    /// Whether packets turn at an intermediate router (Valiant routing).
    pub(crate) turns: bool,
    pub(crate) graph: &'a Graph,
}

impl<'a> Way<'a> {
    #[inline(always)]
    pub(crate) fn of(wiring: &'a Wiring) -> Way<'a> {
        Way {
            route: Reading(wiring.route.as_slice()),
            masks: Reading(wiring.masks.as_slice()),
            lanes: wiring.lanes,
            table_two: wiring.table_two,
            turns: wiring.routes.choice == Choice::Intermediate,
            graph: &wiring.graph,
        }
    }
}

/// What a router's cycle reads beside its own state.
pub(crate) struct Context<'a, A: Arbiter> {
    pub(crate) way: Way<'a>,
    pub(crate) arbiter: &'a A,
    pub(crate) slots: &'a Slots,
    pub(crate) queues: &'a Queues,
    pub(crate) now: u64,
    pub(crate) seed: u64,
    pub(crate) speculative: bool,
}

impl<'a, A: Arbiter> Context<'a, A> {
    #[inline(always)]
    pub(crate) fn of(
        spec: &'a Spec<A>,
        wiring: &'a Wiring,
        slots: &'a Slots,
        queues: &'a Queues,
        now: u64,
    ) -> Context<'a, A> {
        let (arbiter, seed, speculative) = (&spec.arbiter, spec.config.seed, spec.speculative);
        Context { way: Way::of(wiring), arbiter, slots, queues, now, seed, speculative }
    }

    /// Returns what the arbiter may know of the packet at the front of input `i` of router `r`.
    #[inline]
    pub(crate) fn contender(&self, router: &Router<A::State>, r: usize, i: usize) -> Contender {
        let slot = self.slots.get(router.lanes[i].front.slot());
        let draw = mix(self.seed ^ mix(self.now).wrapping_add(((r << 6 | i) as u64) << 20));
        Contender { header: slot.header, created: slot.created, id: slot.id, draw }
    }
}
