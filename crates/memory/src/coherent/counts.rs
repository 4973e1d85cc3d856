//! The counters of the coherent memory system.

use crate::counts::{CoreCounts, MemoryCounts, NetworkCounts};
use baton_coherence::Kind;
use baton_coherence::cache::{Event, State};

/// What is counted.
#[derive(Clone)]
pub(super) struct Counts {
    /// The counters of each core's caches.
    pub(super) cores: Box<[CoreCounts]>,
    /// The counters of homes and memory.
    pub(super) memory: MemoryCounts,
    /// The counters of packets; the network itself counts flit hops.
    pub(super) network: NetworkCounts,
}

impl Counts {
    pub(super) fn new(cores: u32) -> Counts {
        Counts {
            cores: vec![CoreCounts::default(); cores as usize].into(),
            memory: MemoryCounts::default(),
            network: NetworkCounts::default(),
        }
    }

    /// Counts an access of a core that begins a transaction.
    pub(super) fn note_miss(&mut self, core: u32, event: Event, state: State) {
        let counts = &mut self.cores[core as usize];
        match (event, state) {
            (Event::PushHome | Event::PushTo, _) => {}
            (_, State::I) => counts.misses += 1,
            _ => counts.upgrades += 1,
        }
    }

    /// Counts a protocol message that a core has taken.
    #[inline]
    pub(super) fn note_message(&mut self, core: u32, kind: Kind) {
        self.memory.messages += 1;
        let counts = &mut self.cores[core as usize];
        match kind {
            Kind::FwdGetS | Kind::FwdGetM => counts.forwards += 1,
            Kind::Inv | Kind::Recall => counts.invalidations += 1,
            _ => {}
        }
    }

    /// Counts a packet that has arrived after `took` cycles.
    #[inline]
    pub(super) fn note_packet(&mut self, marked: bool, took: u64) {
        let network = &mut self.network;
        let longest = if marked { &mut network.longest_marked } else { &mut network.longest_unmarked };
        *longest = took.max(*longest);
    }

    /// Forgets the longest packet so far.
    pub(super) fn forget_longest(&mut self) {
        (self.network.longest_marked, self.network.longest_unmarked) = (0, 0);
    }

    /// The counters of the whole memory system, for which the cores' counters are summed.
    pub(super) fn summary(&self) -> MemoryCounts {
        let mut cores = CoreCounts::default();
        self.cores.iter().for_each(|core| cores += *core);
        let CoreCounts { hits, l2_hits, misses, upgrades, forwards: transfers, invalidations } = cores;
        let mut whole = self.memory;
        whole += MemoryCounts { hits, l2_hits, misses, upgrades, transfers, invalidations, ..MemoryCounts::default() };
        whole
    }
}
