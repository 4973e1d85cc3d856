//! The figures: what is counted and added up for a lock, for a thread at a lock, for a call site.

use crate::clock::Ticks;
use crate::event::{SiteId, ThreadIndex};
use std::collections::BTreeMap;

/// Lengths of something: how many, their sum, and how they are spread (to 1/16 of a power of two).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: Ticks,
    /// The longest.
    pub max: Ticks,
    buckets: BTreeMap<u16, u64>,
}

/// Buckets a power of two: 16, so a bucket is at most 1/16 wide.
const SUB_BITS: u32 = 4;

fn bucket(value: u64) -> u16 {
    if value < 1 << SUB_BITS {
        return value as u16;
    }
    let power = value.ilog2();
    (((power - SUB_BITS + 1) << SUB_BITS) as u64 + (value >> (power - SUB_BITS)) - (1 << SUB_BITS)) as u16
}

/// Least value of a bucket.
fn bucket_floor(bucket: u16) -> u64 {
    let (power, sub) = (u32::from(bucket) >> SUB_BITS, u64::from(bucket) & ((1 << SUB_BITS) - 1));
    if power == 0 { sub } else { (sub + (1 << SUB_BITS)) << (power - 1) }
}

impl Distribution {
    /// Adds one.
    pub fn add(&mut self, length: Ticks) {
        self.count += 1;
        self.sum += length;
        self.max = self.max.max(length);
        *self.buckets.entry(bucket(length.0)).or_default() += 1;
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Distribution) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (bucket, n) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += n;
        }
    }

    /// The length below which `share` (0 to 1) of all lie, rounded down by at most 1/16.
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

    /// Mean length; 0 of none.
    pub fn mean(&self) -> Ticks {
        Ticks(self.sum.0.checked_div(self.count).unwrap_or(0))
    }

    /// Least length and count of each bucket that is not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Ticks, u64)> {
        self.buckets.iter().map(|(bucket, n)| (Ticks(bucket_floor(*bucket)), *n))
    }
}

/// What does not fit together in a lock's events: something was lost, or began before the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    /// Acquired while another thread held it: a release is missing, or the clocks of two cores disagree.
    pub overlaps: u64,
    /// Released by a thread that did not hold it, while no thread did.
    pub unmatched_releases: u64,
    /// Released by a thread other than its holder.
    pub foreign_releases: u64,
    /// An `Acquired` or `Timeout` without a `Request`.
    pub unmatched_waits: u64,
    /// Waits that had not ended when the thread or the trace did.
    pub unfinished_waits: u64,
}

impl Anomalies {
    /// None at all.
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

/// A lock's figures, or a class's. All times lie inside the window; what crosses its border counts with the part inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Acquisitions, contended ones too; not the recursive ones.
    pub acquisitions: u64,
    /// Of these, in shared mode.
    pub shared: u64,
    /// Of these, those that waited.
    pub contended: u64,
    /// Of these, those that did not wait although others did.
    pub barged: u64,
    /// Acquisitions by a thread that already held it.
    pub recursive: u64,
    /// Failed tries (`trylock`).
    pub try_fails: u64,
    /// Waits that ended without the lock.
    pub timeouts: u64,
    /// Contended acquisitions that entered while spinning.
    pub entered_spinning: u64,
    /// Contended acquisitions that entered after sleeping.
    pub entered_sleeping: u64,
    /// Contended acquisitions of which neither is known.
    pub entered_unknown: u64,
    /// Atomic tries of contended acquisitions, where they were counted.
    pub tries: u64,
    /// BT: time that threads waited, added over threads.
    pub blocked: Ticks,
    /// ΣCS: of this, while others held the lock.
    pub sections: Ticks,
    /// ΣCOH: of this, while no thread did.
    pub overhead: Ticks,
    /// Of this, while only the waiter itself held it (an upgrade).
    pub own: Ticks,
    /// CPU time that waiters used while waiting, where it was recorded.
    pub wait_cpu_ns: u64,
    /// Time in which a thread held it.
    pub busy: Ticks,
    /// Time in which it was free and a thread waited: the overhead of the lock itself, not added over waiters.
    pub idle_contended: Ticks,
    /// Waits, one a contended acquisition or time-out.
    pub wait: Distribution,
    /// Holds, from the outermost acquisition to its release.
    pub hold: Distribution,
    /// Hand-offs: from a release with a thread waiting to the next acquisition.
    pub handoff: Distribution,
    /// Time with so many waiters (0 left out).
    pub queue: BTreeMap<u32, Ticks>,
    /// How long the first thread waited while the second held.
    pub waited_for: BTreeMap<(ThreadIndex, ThreadIndex), Ticks>,
    /// By the call site that acquires.
    pub sites: BTreeMap<SiteId, SiteStats>,
    /// By thread.
    pub threads: BTreeMap<ThreadIndex, ThreadLockStats>,
    /// What does not fit together.
    pub anomalies: Anomalies,
}

impl LockStats {
    /// BT − ΣCS − ΣCOH − own: 0 if the two ways of accounting agree.
    pub fn residual(&self) -> i128 {
        i128::from(self.blocked.0) - i128::from(self.sections.0) - i128::from(self.overhead.0) - i128::from(self.own.0)
    }

    /// Adds another lock's figures: for classes.
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

/// A call site's figures at one lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteStats {
    /// Acquisitions from here.
    pub acquisitions: u64,
    /// Of these, those that waited.
    pub contended: u64,
    /// Of these, those of a loop that takes the lock again and again until another thread changes a value
    /// (`polls.rs`).
    pub polls: u64,
    /// Time waited here.
    pub blocked: Ticks,
    /// Of this, while others held the lock.
    pub sections: Ticks,
    /// Of this, while no thread did.
    pub overhead: Ticks,
    /// Time that the lock was held, acquired from here.
    pub held: Ticks,
    /// **Blame**: time that others waited while this call site held the lock, once for each waiter. Readers that hold it together
    /// share it evenly. The sum over a lock's sites is its `sections`.
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

/// A thread's figures at one lock, or at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadLockStats {
    /// Its acquisitions.
    pub acquisitions: u64,
    /// Of these, those that waited.
    pub contended: u64,
    /// Time it waited.
    pub blocked: Ticks,
    /// Of this, while others held the lock.
    pub sections: Ticks,
    /// Of this, while no thread did.
    pub overhead: Ticks,
    /// Time it held the lock.
    pub held: Ticks,
    /// Time others waited while it held the lock.
    pub blame: Ticks,
    /// Its longest wait.
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
