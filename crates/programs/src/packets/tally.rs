//! What a firewall's threads count.

use super::{buffers::sum, flow::a_packet, rules::Rules};
use baton_workloads::timing::Figure;
use baton_workloads::work::{Measured, mix};
use std::sync::{Mutex, PoisonError};

/// The result of a firewall. The threads' results are added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Number of packets that passed.
    pub allowed: u64,
    /// Number of packets that were dropped without inspection.
    pub denied: u64,
    /// Number of packets that were inspected, and dropped.
    pub inspected: u64,
    /// Bytes on the wire of the packets that passed.
    pub bytes: u64,
    /// By rule: the number of packets that the rule decided; last, the number of packets that no
    /// rule decided.
    pub hits: Vec<u64>,
    /// A digest of what the sink and the analyser read.
    pub digest: u64,
    /// Packets that came to the sink or the analyser behind a later packet of their flow. Only a
    /// queue with flows counts them.
    pub late: Option<u64>,
    /// Nanoseconds from the beginning of the first thread to the end of the last.
    pub nanoseconds: u64,
}

impl Measured for Outcome {
    fn figures(&self) -> Vec<Figure> {
        let packets = self.allowed + self.denied + self.inspected;
        let count = |name, packets: u64| Figure { name, value: packets as f64 };
        let counts =
            [("packets_allowed", self.allowed), ("packets_denied", self.denied), ("packets_inspected", self.inspected)];
        let late = self.late.map(|late| count("packets_late", late));
        let counts = counts.map(|(name, n)| count(name, n)).into_iter().chain(late);
        [a_packet(self.nanoseconds, packets)].into_iter().chain(counts).collect()
    }
}

impl Outcome {
    pub(super) fn new(rules: &Rules) -> Outcome {
        Outcome { hits: vec![0; rules.count() + 1], ..Outcome::default() }
    }

    /// Counts a packet that the sink has read.
    pub(super) fn passed(&mut self, number: u64, length: u32, bytes: &[u8]) {
        self.allowed += 1;
        self.bytes += u64::from(length);
        self.digest = self.digest.wrapping_add(mix(number, sum(bytes)));
    }

    /// Counts a packet that the analyser has dropped; with the packet's bytes if the analyser
    /// inspected them.
    pub(super) fn dropped(&mut self, number: u64, inspected: Option<&[u8]>) {
        *(if inspected.is_some() { &mut self.inspected } else { &mut self.denied }) += 1;
        self.digest = self.digest.wrapping_add(mix(!number, inspected.map_or(0, sum)));
    }

    fn add(&mut self, other: &Outcome) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.inspected += other.inspected;
        self.bytes += other.bytes;
        self.hits.iter_mut().zip(&other.hits).for_each(|(sum, one)| *sum += one);
        self.digest = self.digest.wrapping_add(other.digest);
        if let Some(late) = other.late {
            *self.late.get_or_insert(0) += late;
        }
    }

    pub(super) fn put(self, total: &Mutex<Outcome>) {
        total.lock().unwrap_or_else(PoisonError::into_inner).add(&self);
    }
}
