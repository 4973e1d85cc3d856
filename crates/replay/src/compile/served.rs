//! The queues of a recording that other queues serve in the replay.

use crate::change::Life;
use crate::queues::price::{QueuePrice, price};
use crate::queues::recorded::{QueueSpec, Queues};
use baton_chip::Chip;
use baton_trace::{Address, ProcessIndex, Trace, What};

/// The queues of a recording, and what a put and a take cost at those that other queues serve; none,
/// if all queues are replayed as messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Served {
    queues: Queues,
    prices: Vec<Option<QueuePrice>>,
}

impl Served {
    /// Other queues serve the ones that live at `lives`.
    pub(crate) fn of(trace: &Trace, chip: &Chip, lives: &[Life]) -> Served {
        if lives.is_empty() {
            return Served::default();
        }
        let mut queues = Queues::of(trace);
        for spec in &mut queues.all {
            spec.served = spec.complete && lives.iter().any(|life| life.has(spec));
        }
        let mut known = Vec::new();
        let mut of = |spec: &QueueSpec| {
            let kind = spec.assumed();
            if let Some((_, price)) = known.iter().find(|(other, _)| *other == kind) {
                return *price;
            }
            known.push((kind, price(kind, chip)));
            known[known.len() - 1].1
        };
        let prices = queues.all.iter().map(|spec| spec.served.then(|| of(spec))).collect();
        Served { queues, prices }
    }

    /// Returns the number of the queue at an address at a time, and the price of the recorded one, if
    /// another one serves it.
    pub(crate) fn at(&self, process: ProcessIndex, address: Address, time: u64) -> Option<(u32, QueuePrice)> {
        let number = self.queues.number(process, address, time)?;
        Some((number, self.prices[number as usize]?))
    }

    /// Returns how many items fit into the recorded queue.
    pub(crate) fn capacity(&self, number: u32) -> Option<u32> {
        self.queues.all[number as usize].capacity
    }

    /// Says how the recording's queues are replayed, of which there are `count`.
    pub(crate) fn note(&self, count: u32) -> Option<String> {
        let messages = "queues are replayed as messages, with their recorded capacities, unless `--queue` names a kind";
        let served = "queues are served by the library's code: each thread puts and takes as many items as it did, whichever \
                      it gets; items are words; a recorded queue is taken for `spsc` if one thread was on each side, for \
                      `segments` if it has no bound, else for `mpmc`";
        let any = self.prices.iter().any(Option::is_some);
        (count != 0).then(|| if any { served } else { messages }.to_owned())
    }

    /// Returns the queues.
    pub(crate) fn into_queues(self) -> Vec<QueueSpec> {
        self.queues.all
    }
}

/// What happens at a queue that another one serves in the replay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtQueue {
    /// The threads that wait for room.
    pub(crate) blocked: u32,
    /// The threads that wait for an item.
    pub(crate) starving: u32,
    /// The number of items in the recorded queue.
    pub(crate) depth: u64,
}

impl AtQueue {
    /// Counts the threads that wait.
    pub(crate) fn step(&mut self, what: What) {
        match what {
            What::PutWait { .. } => self.blocked += 1,
            What::PutWaited { .. } => self.blocked = self.blocked.saturating_sub(1),
            What::TakeWait { .. } => self.starving += 1,
            What::TakeWaited { .. } => self.starving = self.starving.saturating_sub(1),
            _ => {}
        }
    }
}
