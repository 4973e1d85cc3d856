//! The figures of locks: what is counted and summed for a lock, for a thread at a lock, and for a
//! call site.

use super::slept::has_slept;
use super::starved::Starved;
use crate::clock::{Clock, Ticks};
use crate::event::{SiteId, ThreadIndex};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// A distribution of lengths: their count, sum and maximum, and a histogram with a resolution of
/// 1/16.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Number of lengths.
    pub count: u64,
    /// Sum of the lengths.
    pub sum: Ticks,
    /// The longest length.
    pub max: Ticks,
    buckets: BTreeMap<u16, u64>,
}

/// Number of bits that tell a bucket within its power of two: each power of two has 16 buckets, so
/// a bucket is at most 1/16 of its value wide.
const SUB_BITS: u32 = 4;

fn bucket(value: u64) -> u16 {
    if value < 1 << SUB_BITS {
        return value as u16;
    }
    let power = value.ilog2();
    (((power - SUB_BITS + 1) << SUB_BITS) as u64 + (value >> (power - SUB_BITS)) - (1 << SUB_BITS)) as u16
}

/// Returns the smallest value that falls into a bucket.
fn bucket_floor(bucket: u16) -> u64 {
    let (power, sub) = (u32::from(bucket) >> SUB_BITS, u64::from(bucket) & ((1 << SUB_BITS) - 1));
    if power == 0 { sub } else { (sub + (1 << SUB_BITS)) << (power - 1) }
}

impl Distribution {
    /// Adds one length.
    pub fn add(&mut self, length: Ticks) {
        self.count += 1;
        self.sum += length;
        self.max = self.max.max(length);
        *self.buckets.entry(bucket(length.0)).or_default() += 1;
    }

    /// Adds all lengths of `other`.
    pub fn merge(&mut self, other: &Distribution) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (bucket, n) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += n;
        }
    }

    /// Returns the length below which `share` (0 to 1) of all lengths lie, rounded down by at most
    /// 1/16.
    pub fn quantile(&self, share: f64) -> Ticks {
        let rank = ((self.count as f64 * share.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, n) in &self.buckets {
            seen += n;
            if seen >= rank {
                return Ticks(bucket_floor(*bucket));
            }
        }
        self.max
    }

    /// Returns the mean length; 0 if there is none.
    pub fn mean(&self) -> Ticks {
        Ticks(self.sum.0.checked_div(self.count).unwrap_or(0))
    }

    /// Returns each bucket that is not empty, in ascending order: its smallest length, and how many
    /// lengths fell into it.
    pub fn buckets(&self) -> impl Iterator<Item = (Ticks, u64)> {
        self.buckets.iter().map(|(bucket, n)| (Ticks(bucket_floor(*bucket)), *n))
    }
}

/// Counts of inconsistencies in a lock's events: an event was lost, or something began before the
/// trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Acquisitions while another thread held the lock: a release is missing, or the clocks of two
    /// cores disagree.
    pub overlaps: u64,
    /// Releases by a thread that did not hold the lock while no other thread held it exclusively.
    pub unmatched_releases: u64,
    /// Releases of a lock that another thread held exclusively.
    pub foreign_releases: u64,
    /// `Acquired` or `Timeout` events without a `Request`.
    pub unmatched_waits: u64,
    /// Waits that had not ended when their thread or the trace ended, or when their thread began to
    /// wait for the lock again.
    pub unfinished_waits: u64,
}

impl Anomalies {
    /// Whether there are no inconsistencies; unfinished waits do not count as inconsistencies.
    pub fn is_clean(&self) -> bool {
        self.overlaps + self.unmatched_releases + self.foreign_releases + self.unmatched_waits == 0
    }

    fn merge(&mut self, other: &Anomalies) {
        self.overlaps += other.overlaps;
        self.unmatched_releases += other.unmatched_releases;
        self.foreign_releases += other.foreign_releases;
        self.unmatched_waits += other.unmatched_waits;
        self.unfinished_waits += other.unfinished_waits;
    }
}

/// Figures of a lock, or of a class of locks. All times lie inside the window: a wait or hold that
/// crosses the window's border counts with its part inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Acquisitions, contended or not, without recursive ones.
    pub acquisitions: u64,
    /// Acquisitions in shared mode.
    pub shared: u64,
    /// Acquisitions that waited.
    pub contended: u64,
    /// Acquisitions that did not wait although other threads were waiting for the lock.
    pub barged: u64,
    /// Acquisitions by a thread that already held the lock.
    pub recursive: u64,
    /// Failed tries (`trylock`).
    pub try_fails: u64,
    /// Waits that ended without the lock: by a time-out, a cancellation or an error.
    pub timeouts: u64,
    /// Contended acquisitions whose thread did not sleep.
    pub entered_spinning: u64,
    /// Contended acquisitions whose thread slept before it got the lock.
    pub entered_sleeping: u64,
    /// Contended acquisitions for which it is not known whether the thread slept.
    pub entered_unknown: u64,
    /// Atomic tries of contended acquisitions, where the recorder counted them.
    pub tries: u64,
    /// BT: time that threads waited, summed over threads.
    pub blocked: Ticks,
    /// ΣCS: the part of `blocked` in which other threads held the lock.
    pub sections: Ticks,
    /// ΣCOH: the part of `blocked` in which no thread held the lock.
    pub overhead: Ticks,
    /// The part of `blocked` in which only the waiter itself held the lock (an upgrade).
    pub own: Ticks,
    /// CPU time in nanoseconds that waiters used while waiting, where it was recorded.
    pub wait_cpu_ns: u64,
    /// Time in which a thread held the lock.
    pub busy: Ticks,
    /// Time in which the lock was free while threads waited: its overhead, not summed over waiters.
    pub idle_contended: Ticks,
    /// Lengths of waits, one for each contended acquisition or time-out.
    pub wait: Distribution,
    /// Lengths of holds, from the outermost acquisition to its release.
    pub hold: Distribution,
    /// Lengths of hand-offs: from a release while a thread waited to the next acquisition.
    pub handoff: Distribution,
    /// For each number above 0, the time in which exactly that many threads waited for the lock.
    pub queue: BTreeMap<u32, Ticks>,
    /// For each pair of threads, how long the first waited while the second held the lock. Readers
    /// that hold the lock together share this time evenly.
    pub waited_for: BTreeMap<(ThreadIndex, ThreadIndex), Ticks>,
    /// Figures of each call site that took the lock or waited for it.
    pub sites: BTreeMap<SiteId, SiteStats>,
    /// Figures of each thread that took the lock or waited for it.
    pub threads: BTreeMap<ThreadIndex, ThreadLockStats>,
    /// Writers and readers that waited while others of the other mode overtook them.
    pub starved: Starved,
    /// Inconsistencies in the lock's events.
    pub anomalies: Anomalies,
}

impl LockStats {
    /// Counts the CPU time `used` in a wait. With `unknown`, it also decides whether the thread slept.
    pub(super) fn used(&mut self, clock: &Clock, waited: Ticks, used: Nanos, unknown: bool) {
        self.wait_cpu_ns += used.0;
        if unknown {
            let slept = has_slept(clock.nanos(waited.0), used);
            self.entered_sleeping += u64::from(slept);
            self.entered_spinning += u64::from(!slept);
            self.entered_unknown -= 1;
        }
    }

    /// Returns BT − ΣCS − ΣCOH − own: 0 if the two ways of accounting agree.
    pub fn residual(&self) -> i128 {
        i128::from(self.blocked.0) - i128::from(self.sections.0) - i128::from(self.overhead.0) - i128::from(self.own.0)
    }

    /// Number of acquisitions that were polls.
    pub fn polls(&self) -> u64 {
        self.sites.values().map(|site| site.polls).sum()
    }

    /// Adds the figures of `other`, another lock of the class.
    pub fn merge(&mut self, other: &LockStats) {
        for (into, from) in [
            (&mut self.acquisitions, other.acquisitions),
            (&mut self.shared, other.shared),
            (&mut self.contended, other.contended),
            (&mut self.barged, other.barged),
            (&mut self.recursive, other.recursive),
            (&mut self.try_fails, other.try_fails),
            (&mut self.timeouts, other.timeouts),
            (&mut self.entered_spinning, other.entered_spinning),
            (&mut self.entered_sleeping, other.entered_sleeping),
            (&mut self.entered_unknown, other.entered_unknown),
            (&mut self.tries, other.tries),
            (&mut self.wait_cpu_ns, other.wait_cpu_ns),
        ] {
            *into += from;
        }
        for (into, from) in [
            (&mut self.blocked, other.blocked),
            (&mut self.sections, other.sections),
            (&mut self.overhead, other.overhead),
            (&mut self.own, other.own),
            (&mut self.busy, other.busy),
            (&mut self.idle_contended, other.idle_contended),
        ] {
            *into += from;
        }
        self.wait.merge(&other.wait);
        self.hold.merge(&other.hold);
        self.handoff.merge(&other.handoff);
        self.anomalies.merge(&other.anomalies);
        self.starved.merge(&other.starved);
        for (waiters, time) in &other.queue {
            *self.queue.entry(*waiters).or_default() += *time;
        }
        for (pair, time) in &other.waited_for {
            *self.waited_for.entry(*pair).or_default() += *time;
        }
        for (site, stats) in &other.sites {
            self.sites.entry(*site).or_default().merge(stats);
        }
        for (thread, stats) in &other.threads {
            self.threads.entry(*thread).or_default().merge(stats);
        }
    }
}

/// Figures of a call site at one lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteStats {
    /// Acquisitions from this call site.
    pub acquisitions: u64,
    /// Acquisitions that waited.
    pub contended: u64,
    /// Acquisitions by a loop that takes the lock again and again until another thread changes a
    /// value (`polls.rs`).
    pub polls: u64,
    /// Time waited at this call site.
    pub blocked: Ticks,
    /// The part of `blocked` in which other threads held the lock.
    pub sections: Ticks,
    /// The part of `blocked` in which no thread held the lock.
    pub overhead: Ticks,
    /// Time in which the lock was held by acquisitions from this call site.
    pub held: Ticks,
    /// **Blame**: time in which other threads waited while an acquisition from this call site held
    /// the lock, summed over the waiting threads. Readers that hold the lock together share the
    /// blame evenly. The blame of a lock's sites sums up to the lock's `sections`.
    pub blame: Ticks,
}

impl SiteStats {
    fn merge(&mut self, other: &SiteStats) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.polls += other.polls;
        self.blocked += other.blocked;
        self.sections += other.sections;
        self.overhead += other.overhead;
        self.held += other.held;
        self.blame += other.blame;
    }
}

/// Figures of a thread at one lock, or at all locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadLockStats {
    /// Acquisitions by the thread.
    pub acquisitions: u64,
    /// Acquisitions that waited.
    pub contended: u64,
    /// Time that the thread waited.
    pub blocked: Ticks,
    /// The part of `blocked` in which other threads held the lock.
    pub sections: Ticks,
    /// The part of `blocked` in which no thread held the lock.
    pub overhead: Ticks,
    /// Time that the thread held the lock.
    pub held: Ticks,
    /// Time in which other threads waited while this thread held the lock, summed over the waiting
    /// threads. Readers that hold the lock together share this time evenly.
    pub blame: Ticks,
    /// The thread's longest wait.
    pub longest_wait: Ticks,
}

impl ThreadLockStats {
    pub(crate) fn merge(&mut self, other: &ThreadLockStats) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.blocked += other.blocked;
        self.sections += other.sections;
        self.overhead += other.overhead;
        self.held += other.held;
        self.blame += other.blame;
        self.longest_wait = self.longest_wait.max(other.longest_wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_contains_its_values_and_is_narrow() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) | (1u64 << shift) >> 1, (1u64 << shift).wrapping_sub(1)] {
                let floor = bucket_floor(bucket(value));
                assert!(floor <= value && value - floor <= value / 16, "{value}: {floor}");
            }
        }
    }

    #[test]
    fn quantiles_rank() {
        let mut d = Distribution::default();
        (1..=100).for_each(|i| d.add(Ticks(i * 16)));
        assert_eq!(d.quantile(0.0), Ticks(16));
        assert_eq!(d.quantile(0.5), Ticks(800));
        assert!(d.quantile(1.0) <= d.max && d.quantile(1.0).0 >= 1500);
        assert_eq!(d.mean(), Ticks(808));
        assert_eq!(Distribution::default().quantile(0.5), Ticks(0));
    }
}
