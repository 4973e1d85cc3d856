//! The figures of a lock, or of a class of locks.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// How a lock, or a class of locks, was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Acquisitions in all modes, without recursive ones.
    pub acquisitions: u64,
    /// Acquisitions that had to wait.
    pub contended: u64,
    /// Acquisitions in shared mode.
    pub shared: u64,
    /// Acquisitions that did not wait although other threads were waiting.
    pub barged: u64,
    /// Tries that found the lock taken.
    pub failed_tries: u64,
    /// Waits that ended without the lock.
    pub timeouts: u64,
    /// How the waits ended.
    pub entered: Entered,
    /// The durations of waits.
    pub wait_ns: Distribution,
    /// The durations of holds.
    pub hold_ns: Distribution,
    /// The times from a release with waiters to the next acquisition.
    pub handoff_ns: Distribution,
    /// Time that threads waited, added over threads (BT).
    pub blocked_ns: Nanos,
    /// The part of `blocked_ns` during which other threads held the lock (ΣCS).
    pub sections_ns: Nanos,
    /// The part of `blocked_ns` during which no thread held the lock: competition overhead (ΣCOH).
    pub overhead_ns: Nanos,
    /// Time during which a thread held the lock. Simultaneous holders count once.
    pub busy_ns: Nanos,
    /// Time during which the lock was free and a thread waited. Simultaneous waiters count once.
    pub idle_contended_ns: Nanos,
    /// For a reader-writer lock: writers that readers overtook, and readers that writers overtook.
    #[serde(default)]
    pub starved: Starved,
    /// Time that other threads waited while the lock was held, weighted by the number of waiters.
    pub blame_ns: Nanos,
    /// For each number of waiters, how long there were that many. Time without waiters is left out.
    pub queue_lengths: Vec<QueueLength>,
}

/// Waits for a reader-writer lock during which threads of the other mode came later and got the
/// lock first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starved {
    /// Waits of writers that readers overtook.
    pub writers: Overtaken,
    /// Waits of readers that writers overtook.
    pub readers: Overtaken,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overtaken {
    /// The number of waits that were overtaken.
    pub waits: u64,
    /// Acquisitions that came later than a wait and got the lock first, added over waits.
    pub by: u64,
    /// The greatest number of such acquisitions during one wait.
    pub most: u64,
    /// Time from the first such acquisition to the wait's end, added over waits.
    pub total_ns: Nanos,
    /// The longest time from the first such acquisition to the wait's end.
    pub longest_ns: Nanos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLength {
    pub waiters: u32,
    /// The time during which there were that many waiters.
    pub total_ns: Nanos,
}

impl Usage {
    /// The share of acquisitions that had to wait, 0 to 1.
    pub fn contended_share(&self) -> f64 {
        ratio(self.contended, self.acquisitions)
    }

    /// Whether the program did anything with the lock besides creating and destroying it.
    pub fn was_used(&self) -> bool {
        self.acquisitions > 0 || self.failed_tries > 0 || self.timeouts > 0 || self.blocked_ns > Nanos(0)
    }

    /// The greatest number of waiters.
    pub fn queue_max(&self) -> u32 {
        self.queue_lengths.iter().map(|q| q.waiters).max().unwrap_or(0)
    }

    /// The mean number of waiters over the time in which there were any.
    pub fn queue_mean(&self) -> f64 {
        let time: u64 = self.queue_lengths.iter().map(|q| q.total_ns.0).sum();
        let weighed: u64 = self.queue_lengths.iter().map(|q| q.total_ns.0.saturating_mul(u64::from(q.waiters))).sum();
        ratio(weighed, time)
    }
}

/// How contended acquisitions got the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// Contended acquisitions whose thread spun and did not sleep.
    pub spinning: u64,
    /// Contended acquisitions whose thread slept in the kernel before it got the lock.
    pub sleeping: u64,
    /// Contended acquisitions for which the trace does not say whether the thread slept.
    pub unknown: u64,
}

impl Entered {
    /// The share of acquisitions that got the lock while spinning, among those whose way is known.
    pub fn spinning_share(&self) -> Option<f64> {
        let known = self.spinning + self.sleeping;
        (known > 0).then(|| ratio(self.spinning, known))
    }
}

/// A distribution of durations. The quantiles come from the analysis's buckets, which are finer
/// than `buckets`, and are too low by at most 1/16.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The number of durations.
    pub count: u64,
    /// The sum of the durations.
    pub total_ns: Nanos,
    /// The median.
    pub p50_ns: Nanos,
    /// The 90th percentile.
    pub p90_ns: Nanos,
    /// The 99th percentile.
    pub p99_ns: Nanos,
    pub max_ns: Nanos,
    /// Counts by duration, without empty buckets.
    pub buckets: Vec<Bucket>,
}

/// The number of durations within a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The lower end of the range, inclusive.
    pub from_ns: Nanos,
    /// The upper end of the range, exclusive.
    pub to_ns: Nanos,
    pub count: u64,
}

impl Distribution {
    /// The arithmetic mean, or zero if there are no durations.
    pub fn mean(&self) -> Nanos {
        Nanos(self.total_ns.0.checked_div(self.count).unwrap_or(0))
    }
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
