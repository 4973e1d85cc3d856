//! A cycle of the lean loop.

use super::super::whole::Network;
use super::data::Uniformity;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    /// Simulates the first three parts of a cycle: arrivals, sources, routers.
    #[inline]
    pub(crate) fn advance_lean<S: Sink>(&mut self, sink: &mut S) {
        match self.state.lean.uniformity {
            Uniformity::Plain => {
                self.arrive_lean::<true, true, S>(sink);
                if !self.state.sources.sending.is_empty() {
                    self.send_from_plain_sources();
                }
                if !self.state.active.is_empty() {
                    self.step_uniform_nodes::<true>();
                }
            }
            Uniformity::Uniform => {
                self.arrive_lean::<true, false, S>(sink);
                if !self.state.sources.sending.is_empty() {
                    self.send_from_lean_sources::<true>();
                }
                if !self.state.active.is_empty() {
                    self.step_uniform_nodes::<false>();
                }
            }
            Uniformity::Any => {
                self.arrive_lean::<false, false, S>(sink);
                self.send_from_lean_sources::<false>();
                self.step_other_nodes();
            }
        }
    }
}
