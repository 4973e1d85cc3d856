//! One cycle of the general loop: what it reads and what it writes.

use super::super::endpoint::Endpoints;
use super::super::journey::Journey;
use super::super::set::Set;
use super::super::slots::Slots;
use super::super::sources::Sources;
use super::super::spec::Spec;
use super::super::whole::Network;
use super::super::wiring::Wiring;
use super::data::{General, Scratch};
use crate::arbiter::Arbiter;

/// One cycle of a network. Its methods are the parts of a cycle, one file for each.
pub(crate) struct Cycle<'a, A: Arbiter> {
    pub(crate) spec: &'a Spec<A>,
    pub(crate) wiring: &'a Wiring,
    /// Number of the cycle.
    pub(crate) now: u64,
    /// State of the routers and channels.
    pub(crate) routers: &'a mut General<A::State>,
    /// Routers that have something to do.
    pub(crate) active: &'a mut Set,
    pub(crate) sources: &'a mut Sources,
    pub(crate) endpoints: &'a mut Endpoints,
    pub(crate) slots: &'a mut Slots,
    pub(crate) journeys: Option<&'a mut Journey>,
    pub(crate) scratch: &'a mut Scratch,
}

impl<'a, A: Arbiter> Cycle<'a, A> {
    /// Borrows from `network` what its next cycle needs.
    pub(crate) fn of(network: &'a mut Network<A>) -> Cycle<'a, A> {
        let state = &mut network.state;
        Cycle {
            spec: &network.spec,
            wiring: &network.wiring,
            now: state.now,
            routers: &mut state.general,
            active: &mut state.active,
            sources: &mut state.sources,
            endpoints: &mut state.endpoints,
            slots: &mut state.slots,
            journeys: state.journeys.as_deref_mut(),
            scratch: &mut network.scratch,
        }
    }
}
