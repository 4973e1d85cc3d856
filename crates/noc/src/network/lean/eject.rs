//! Bounded endpoints take flits.

use super::super::whole::Network;
use crate::arbiter::Arbiter;
use crate::packet::Sink;

impl<A: Arbiter> Network<A> {
    /// Lets every endpoint take one flit that it may take, by the rules of `general/eject.rs`.
    pub(crate) fn take_at_lean_endpoints<S: Sink>(&mut self, sink: &mut S) {
        let (now, a_class, by_rank) = (self.state.now, self.spec.vcs_a_class, self.spec.ejects_by_rank);
        let (lean, endpoints, slots) = (&mut self.state.lean, &mut self.state.endpoints.ends, &mut self.state.slots);
        let journeys = &mut self.state.journeys;
        self.state.endpoints.receiving.retain(|node| {
            let end = &mut endpoints[node];
            let chosen = match by_rank {
                None => end.choose(),
                Some(ranked_first) => {
                    let rank = |v| slots.get(lean.ejected.flit(node << 3 | v, 0).slot()).header.rank;
                    end.choose_by_rank(ranked_first, rank)
                }
            };
            let Some(v) = chosen else { return false };
            let (flit, m, more) = lean.ejected.take(node << 3 | v);
            lean.credit_from_endpoint(now, m);
            end.took(v, flit, more, a_class);
            if flit.tail() {
                let delivered = slots.deliver(flit, now);
                if let Some(j) = journeys {
                    j.note_arrival(&delivered);
                }
                sink.delivered(&delivered);
            }
            true
        });
    }
}
