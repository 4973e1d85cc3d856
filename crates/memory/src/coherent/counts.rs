//! What the coherent memory system counts.

use crate::counts::{CoreCounts, MemoryCounts, NetworkCounts};
use baton_coherence::Kind;
use baton_coherence::cache::{Event, State};

/// What is counted.
#[derive(Clone)]
pub(super) struct Counts {
    /// What happened at each core's caches.
    pub(super) cores: Box<[CoreCounts]>,
    /// What happened beside that: at homes, in memory.
    pub(super) memory: MemoryCounts,
    /// Packets; flit hops are the network's own.
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
        self.memory.messages += 1;
        let counts = &mut self.cores[core as usize];
        match kind {
            Kind::FwdGetS | Kind::FwdGetM => counts.forwards += 1,
            Kind::Inv | Kind::Recall => counts.invalidations += 1,
            _ => {}
        }
    }

    /// A packet has arrived after so long.
    #[inline]
    pub(super) fn note_packet(&mut self, marked: bool, took: u64) {
        let network = &mut self.network;
        let longest = if marked { &mut network.longest_marked } else { &mut network.longest_unmarked };
        *longest = took.max(*longest);
    }

    /// The longest ways of packets so far do not count.
    pub(super) fn forget_longest(&mut self) {
        (self.network.longest_marked, self.network.longest_unmarked) = (0, 0);
    }

    /// The whole memory system's counters: what the cores counted is summed.
    pub(super) fn summary(&self) -> MemoryCounts {
        let mut cores = CoreCounts::default();
        self.cores.iter().for_each(|core| cores += *core);
        let CoreCounts { hits, l2_hits, misses, upgrades, forwards: transfers, invalidations } = cores;
        let mut whole = self.memory;
        whole += MemoryCounts { hits, l2_hits, misses, upgrades, transfers, invalidations, ..MemoryCounts::default() };
        whole
    }
}
