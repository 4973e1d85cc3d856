//! What is counted during a run.

use super::histogram::Histogram;
use super::interval::BatchMeans;
use super::load;
use crate::packet::{Delivered, Sink};

/// Sums and histograms of the packets that arrive during a run.
#[derive(Default)]
pub(super) struct Measure {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) batch: u64,
    pub(super) packet: Histogram,
    pub(super) network: Histogram,
    pub(super) means: BatchMeans,
    pub(super) network_means: BatchMeans,
    pub(super) by_class: Vec<Option<Box<(Histogram, BatchMeans)>>>,
    pub(super) hops: u64,
    pub(super) flits: u64,
    pub(super) round_trips: Option<Box<RoundTripSums>>,
    // Delivered packets that the load has still to see, to answer them or to end a transaction.
    pub(super) inbox: Vec<Delivered>,
    // Number of the packets that arrived in the current window of the warm-up, and the sum of their
    // latencies.
    pub(super) window: (u64, u64),
}

#[derive(Default)]
pub(super) struct RoundTripSums {
    pub(super) latency: Histogram,
    pub(super) means: BatchMeans,
    pub(super) arrived: u64,
}

impl Sink for Measure {
    #[inline]
    fn delivered(&mut self, p: &Delivered) {
        let latency = p.arrived.0 - p.created.0;
        self.window.0 += 1;
        self.window.1 += latency;
        if p.arrived.0.wrapping_sub(self.from) < self.to - self.from {
            self.flits += u64::from(p.flits);
        }
        if load::heard(p.tag) {
            self.heard(p);
        }
        if p.created.0.wrapping_sub(self.from) >= self.to - self.from {
            return;
        }
        let batch = ((p.created.0 - self.from) / self.batch) as usize;
        self.packet.add(latency);
        self.means.add(batch, latency);
        self.network.add(p.arrived.0 - p.entered.0);
        self.network_means.add(batch, p.arrived.0 - p.entered.0);
        self.hops += u64::from(p.hops);
        if self.by_class.len() > 1 {
            self.add_to_class(p.header.class, batch, latency);
        }
    }
}

impl Measure {
    fn heard(&mut self, p: &Delivered) {
        self.inbox.push(*p);
        let sums = self.round_trips.get_or_insert_default();
        let Some(asked) = load::asked_at(p.tag) else { return };
        let inside = |cycle: u64| (self.from..self.to).contains(&cycle);
        sums.arrived += u64::from(inside(p.arrived.0));
        if inside(p.created.0) {
            sums.latency.add(p.arrived.0 - asked);
            sums.means.add(((p.created.0 - self.from) / self.batch) as usize, p.arrived.0 - asked);
        }
    }

    fn add_to_class(&mut self, class: u8, batch: usize, latency: u64) {
        let (histogram, means) = &mut **self.by_class[usize::from(class)].get_or_insert_default();
        histogram.add(latency);
        means.add(batch, latency);
    }
}
