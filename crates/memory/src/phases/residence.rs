//! The lines that a thread has in the shared levels, and those that it fetches again after it has
//! moved to another core.

use super::held::Held;
use super::lru::decay;
use super::solve::{Common, Running, Solved};
use crate::base::thread::ThreadId;

/// The lines that a thread has in the shared levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Residence {
    /// The domain that has the lines; `None` if they are only in memory.
    domain: Option<usize>,
    /// The behaviour to which the lines belong.
    behaviour: usize,
    /// For each set, the share of what the shared level would keep that the thread has not fetched
    /// yet.
    cold: Vec<f64>,
}

impl Residence {
    /// Notes that the thread moves to a core of this domain. In another domain, or for another
    /// behaviour, none of its lines is in the shared level yet.
    pub(super) fn come(&mut self, domain: usize, behaviour: usize, sets: usize) {
        if self.domain != Some(domain) || self.behaviour != behaviour {
            *self = Residence { domain: Some(domain), behaviour, cold: vec![1.0; sets] };
        }
    }

    /// The cycles that the thread needs to fetch again what the next `instructions` instructions
    /// access: lines that the caches would hold, and that the core's private caches no longer have.
    pub(super) fn fetch(
        &mut self,
        (thread, held): (ThreadId, &mut Held),
        (phase, solved): (&Running<'_>, &Solved),
        common: &Common,
        instructions: f64,
    ) -> u64 {
        let whose = (thread, self.behaviour);
        let there = held.of(whose);
        let sets = phase.behaviour.sets.iter().zip(&solved.kept);
        // For each set: lines fetched into the private caches, the part of them that comes from
        // memory, and lines fetched into the shared level alone.
        let (mut fetched, mut brought) = (Vec::new(), Vec::new());
        for (at, ((set, kept), cold)) in sets.zip(&mut self.cold).enumerate() {
            let lines = set.bytes as f64 / common.line;
            // The share of the set's lines that the instructions do not access at all, because they
            // access the set's lines at random.
            let untouched = decay(instructions * set.accesses / 1000.0 / lines);
            let touched = 1.0 - untouched;
            let all = lines * kept.0;
            let gone = all - there.get(at).map_or(0.0, |there| there.min(all));
            let private = touched * gone;
            // The lines that the thread has never fetched here are the same ones for both levels:
            // of what the private caches lack, `all * cold` at most come from memory.
            let far = touched * gone.min(all * *cold);
            fetched.push((lines, private, far, touched * lines * (1.0 - kept.0) * kept.1 * *cold));
            brought.push(all - gone * untouched);
            *cold *= untouched;
        }
        held.bring(whose, brought, phase.private);
        let from_memory: f64 = fetched.iter().map(|(_, _, far, shared)| far + shared).sum();
        let cycle = |&(lines, private, far, shared): &(f64, f64, f64, f64)| {
            let open = if from_memory > 0.0 { common.finds_open(lines, (far + shared) / from_memory) } else { 0.0 };
            let further = phase.memory - common.saved * open - phase.bank;
            private * (phase.bank - phase.lookup) + (far + shared) * further
        };
        let cycles: f64 = fetched.iter().map(cycle).sum();
        // Accesses that are under way at once are to neighbouring lines, at a place drawn at random.
        // So they bring new lines among old ones: of `k` neighbours at random places, 2 / (k + 1) a
        // line bring the first of them.
        (cycles * 2.0 / (phase.overlap() + 1.0)).round() as u64
    }
}
