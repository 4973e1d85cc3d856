//! What the coherent memory system counts.

use crate::memory::counts::{CoreCounts, MemoryCounts};
use baton_coherence::Kind;
use baton_coherence::cache::{Event, State};

/// What is counted.
#[derive(Clone)]
pub(super) struct Counts {
    /// What happened at each core's caches; the whole chip's are their sums.
    pub(super) cores: Box<[CoreCounts]>,
    pub(super) evictions: u64,
    pub(super) shared_hits: u64,
    pub(super) memory_reads: u64,
    pub(super) memory_writes: u64,
    pub(super) row_hits: u64,
    pub(super) far_atomics: u64,
    pub(super) messages: u64,
    /// Packets that were given to the network, and those of them that carry a lock or wake-up request.
    pub(super) packets: u64,
    pub(super) lock_packets: u64,
    /// The longest that a packet took, marked and not.
    pub(super) longest: [u64; 2],
}

impl Counts {
    pub(super) fn new(cores: u32) -> Counts {
        Counts {
            cores: vec![CoreCounts::default(); cores as usize].into(),
            evictions: 0,
            shared_hits: 0,
            memory_reads: 0,
            memory_writes: 0,
            row_hits: 0,
            far_atomics: 0,
            messages: 0,
            packets: 0,
            lock_packets: 0,
            longest: [0; 2],
        }
    }

    /// A core's access begins a transaction.
    pub(super) fn note_miss(&mut self, core: u32, event: Event, state: State) {
        let counts = &mut self.cores[core as usize];
        match (event, state) {
            (Event::PushHome | Event::PushTo, _) => {}
            (_, State::I) => counts.misses += 1,
            _ => counts.upgrades += 1,
        }
    }

    /// A protocol message was taken by a core.
    #[inline]
    pub(super) fn note_message(&mut self, core: u32, kind: Kind) {
        self.messages += 1;
        let counts = &mut self.cores[core as usize];
        match kind {
            Kind::FwdGetS | Kind::FwdGetM => counts.forwards += 1,
            Kind::Inv | Kind::Recall => counts.invalidations += 1,
            _ => {}
        }
    }

    pub(super) fn summary(&self, flit_hops: u64) -> MemoryCounts {
        let sum = |what: fn(&CoreCounts) -> u64| self.cores.iter().map(what).sum();
        MemoryCounts {
            hits: sum(|core| core.hits),
            transfers: sum(|core| core.forwards),
            upgrades: sum(|core| core.upgrades),
            fetches: self.memory_reads,
            l2_hits: sum(|core| core.l2_hits),
            misses: sum(|core| core.misses),
            shared_hits: self.shared_hits,
            invalidations: sum(|core| core.invalidations),
            evictions: self.evictions,
            memory_writes: self.memory_writes,
            row_hits: self.row_hits,
            far_atomics: self.far_atomics,
            messages: self.messages,
            flit_hops,
            packets: self.packets,
            lock_packets: self.lock_packets,
            longest_marked: self.longest[1],
            longest_unmarked: self.longest[0],
            ..MemoryCounts::default()
        }
    }
}
