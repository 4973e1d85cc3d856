//! The figures of a lock or of a class of locks.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// How a lock, or a class of locks, was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Acquisitions, all modes, recursive ones left out.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// Those in shared mode.
    pub shared: u64,
    /// Those that did not wait although others did.
    pub barged: u64,
    /// Tries that found it taken.
    pub failed_tries: u64,
    /// Waits that ended without it.
    pub timeouts: u64,
    /// How the waits ended.
    pub entered: Entered,
    /// Waits.
    pub wait_ns: Distribution,
    /// Holds.
    pub hold_ns: Distribution,
    /// From a release with waiters to the next acquisition.
    pub handoff_ns: Distribution,
    /// Time that threads waited, added over threads (BT).
    pub blocked_ns: Nanos,
    /// Of it, while others held the lock (ΣCS).
    pub sections_ns: Nanos,
    /// Of it, while no thread held the lock: competition overhead (ΣCOH).
    pub overhead_ns: Nanos,
    /// Time in which a thread held it, counted once.
    pub busy_ns: Nanos,
    /// Time in which it was free and a thread waited, counted once.
    pub idle_contended_ns: Nanos,
    /// Time that others waited while it was held, weighed by how many waited.
    pub blame_ns: Nanos,
    /// How long so many waited; times without waiters are left out.
    pub queue_lengths: Vec<QueueLength>,
}

/// A queue length and how long it lasted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLength {
    /// Number of waiters.
    pub waiters: u32,
    /// How long there were so many.
    pub total_ns: Nanos,
}

impl Usage {
    /// Share of the acquisitions that had to wait, 0 to 1.
    pub fn contended_share(&self) -> f64 {
        ratio(self.contended, self.acquisitions)
    }

    /// Whether anything was done with it but making and destroying it.
    pub fn was_used(&self) -> bool {
        self.acquisitions > 0 || self.failed_tries > 0 || self.timeouts > 0 || self.blocked_ns > Nanos(0)
    }

    /// Greatest number of waiters.
    pub fn queue_max(&self) -> u32 {
        self.queue_lengths.iter().map(|q| q.waiters).max().unwrap_or(0)
    }

    /// Mean number of waiters while there were any.
    pub fn queue_mean(&self) -> f64 {
        let time: u64 = self.queue_lengths.iter().map(|q| q.total_ns.0).sum();
        let weighed: u64 = self.queue_lengths.iter().map(|q| q.total_ns.0.saturating_mul(u64::from(q.waiters))).sum();
        ratio(weighed, time)
    }
}

/// How contended acquisitions entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// While spinning.
    pub spinning: u64,
    /// After sleeping in the kernel.
    pub sleeping: u64,
    /// Not known.
    pub unknown: u64,
}

impl Entered {
    /// Share that entered while spinning, of those of which it is known.
    pub fn spinning_share(&self) -> Option<f64> {
        let known = self.spinning + self.sleeping;
        (known > 0).then(|| ratio(self.spinning, known))
    }
}

/// Durations, summed up. Quantiles come from the buckets and are true to within one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub total_ns: Nanos,
    /// Median.
    pub p50_ns: Nanos,
    /// Nine in ten are shorter.
    pub p90_ns: Nanos,
    /// Ninety-nine in a hundred are shorter.
    pub p99_ns: Nanos,
    /// The longest.
    pub max_ns: Nanos,
    /// Counts by length; empty buckets are left out.
    pub buckets: Vec<Bucket>,
}

/// Durations of about the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The shortest that counts here.
    pub from_ns: Nanos,
    /// The first that no longer does.
    pub to_ns: Nanos,
    /// How many.
    pub count: u64,
}

impl Distribution {
    /// Arithmetic mean; zero if there are none.
    pub fn mean(&self) -> Nanos {
        Nanos(self.total_ns.0.checked_div(self.count).unwrap_or(0))
    }
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
