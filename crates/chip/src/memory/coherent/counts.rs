//! What the coherent memory system counts.

use crate::memory::MemoryCounts;
use baton_coherence::Kind;
use baton_coherence::cache::{Event, State};

#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) l2_hits: u64,
    pub(super) upgrades: u64,
    pub(super) misses: u64,
    pub(super) evictions: u64,
    pub(super) forwards: u64,
    pub(super) invalidations: u64,
    pub(super) shared_hits: u64,
    pub(super) memory_reads: u64,
    pub(super) memory_writes: u64,
    pub(super) row_hits: u64,
    pub(super) far_atomics: u64,
    pub(super) messages: u64,
}

impl Counts {
    /// A core's access begins a transaction.
    pub(super) fn note_miss(&mut self, event: Event, state: State) {
        match (event, state) {
            (Event::PushHome | Event::PushTo, _) => {}
            (_, State::I) => self.misses += 1,
            _ => self.upgrades += 1,
        }
    }

    /// A protocol message was taken.
    #[inline]
    pub(super) fn note_message(&mut self, kind: Kind) {
        self.messages += 1;
        match kind {
            Kind::FwdGetS | Kind::FwdGetM => self.forwards += 1,
            Kind::Inv | Kind::Recall => self.invalidations += 1,
            _ => {}
        }
    }

    pub(super) fn summary(&self, flit_hops: u64) -> MemoryCounts {
        MemoryCounts {
            hits: self.hits,
            transfers: self.forwards,
            upgrades: self.upgrades,
            fetches: self.memory_reads,
            l2_hits: self.l2_hits,
            misses: self.misses,
            shared_hits: self.shared_hits,
            invalidations: self.invalidations,
            evictions: self.evictions,
            memory_writes: self.memory_writes,
            row_hits: self.row_hits,
            far_atomics: self.far_atomics,
            messages: self.messages,
            flit_hops,
            ..MemoryCounts::default()
        }
    }
}
