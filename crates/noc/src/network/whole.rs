//! A network in three parts: what is configured, how it is wired, and what state it is in.

use super::endpoint::Endpoints;
use super::general::data::{General, Scratch};
use super::journey::Journey;
use super::lean::data::Lean;
use super::set::Set;
use super::slots::Slots;
use super::sources::Sources;
use super::spec::Spec;
use super::wiring::Wiring;
use crate::arbiter::Arbiter;
use crate::rng::Rng;

/// A network whose routers arbitrate by `A`.
#[derive(Clone)]
pub struct Network<A: Arbiter> {
    pub(crate) spec: Spec<A>,
    pub(crate) wiring: Wiring,
    /// Everything that changes from cycle to cycle.
    pub(crate) state: NetworkState<A::State>,
    /// Memory for the allocations of one cycle; nothing in it outlives the cycle.
    pub(crate) scratch: Scratch,
    /// Scratch memory of the checks in debug builds, kept so that the checks allocate nothing; no
    /// content outlives a check.
    #[cfg(debug_assertions)]
    pub(crate) under_way: UnderWay,
}

/// Everything that changes from cycle to cycle, as plain data. A network of the same configuration
/// that is given this state continues exactly like this one.
#[derive(Clone, Debug)]
pub(crate) struct NetworkState<S> {
    /// The cycle that the next step simulates.
    pub(crate) now: u64,
    pub(crate) next_id: u64,
    /// Whether nothing moves, and nothing will before a packet is injected or an endpoint's place
    /// is freed.
    pub(crate) still: bool,
    /// [`Network::flit_hops`] at the last check for stillness.
    pub(crate) sent_before: u64,
    pub(crate) slots: Slots,
    pub(crate) sources: Sources,
    pub(crate) endpoints: Endpoints,
    /// Routers that have something to do.
    pub(crate) active: Set,
    /// State of routers and channels, if the general loop steps them.
    pub(crate) general: General<S>,
    /// State of routers and of the sources' ends of their channels, if the lean loop steps them.
    pub(crate) lean: Lean<S>,
    /// Draws the order in which routers are stepped, if the order is to be random.
    pub(crate) step_order: Option<Rng>,
    /// Record of the packets that are followed, if any.
    pub(crate) journeys: Option<Box<Journey>>,
}

impl<S: Clone> NetworkState<S> {
    /// Creates the state of an empty network.
    pub(crate) fn new<A: Arbiter<State = S>>(spec: &Spec<A>, wiring: &Wiring) -> NetworkState<S> {
        NetworkState {
            now: 0,
            next_id: 0,
            still: false,
            sent_before: u64::MAX,
            slots: Slots::new(spec.nodes as usize * 16),
            sources: Sources::new(spec),
            endpoints: Endpoints::new(spec),
            active: Set::new(wiring.routers.len()),
            general: General::new(spec, wiring),
            lean: if spec.is_lean { Lean::new(spec, wiring) } else { Lean::absent() },
            step_order: None,
            journeys: None,
        }
    }
}

impl<S> NetworkState<S> {
    /// Returns the numbers of `routers` routers in a new random order, if the order is to be
    /// random.
    pub(crate) fn shuffled(&mut self, routers: usize) -> Option<Vec<usize>> {
        let rng = self.step_order.as_mut()?;
        let mut order: Vec<usize> = (0..routers).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        Some(order)
    }
}

/// Numbers of credits and flits in the timing wheels, by virtual channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay {
    pub(crate) credits: Vec<i32>,
    pub(crate) flits: Vec<i32>,
}
