//! Finds the locks of a class that have most of its waiting, while the other locks have little.
//! Each of them gets a row of its own.

use baton_trace::analysis::LockStats;
use std::cmp::Reverse;

/// The most hot locks of a class.
const MOST: usize = 3;
/// At most one lock in this many of a class is hot, but one lock always may be.
const ONE_IN: usize = 8;
/// A hot lock has at least this many times the waiting of each lock of the class that is not hot.
const TIMES: u64 = 4;
/// A lock with fewer waits than this is not hot: they may be chance.
const WAITS: u64 = 8;

/// The hot locks among `locks`, the hottest first. Together they have at least half of the class's
/// waiting. `all` is the waiting at all locks of the program; a class with less than a hundredth of
/// it has no hot locks.
pub(super) fn hot<'a>(locks: &[usize], stats: impl Fn(usize) -> &'a LockStats, all: u64) -> Vec<usize> {
    let waiting = |lock: &usize| stats(*lock).blocked.0;
    let class: u64 = locks.iter().map(waiting).sum();
    if class == 0 || class < all / 100 {
        return Vec::new();
    }
    let mut sorted = locks.to_vec();
    sorted.sort_by_key(|lock| Reverse(waiting(lock)));
    let are_hot = |count: &usize| {
        let (hot, others) = sorted.split_at(*count);
        let next = others.first().map_or(0, waiting);
        !others.is_empty()
            && (*count == 1 || count * ONE_IN <= locks.len())
            && hot.iter().map(waiting).sum::<u64>() * 2 >= class
            && hot.iter().all(|lock| waiting(lock) >= TIMES * next && stats(*lock).contended >= WAITS)
    };
    let count = (1..=MOST.min(sorted.len())).find(are_hot).unwrap_or(0);
    sorted.truncate(count);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::Ticks;

    fn found(waiting: &[u64]) -> Vec<usize> {
        let stats =
            |blocked: &u64| LockStats { blocked: Ticks(*blocked), contended: blocked / 10, ..LockStats::default() };
        let stats: Vec<LockStats> = waiting.iter().map(stats).collect();
        hot(&(0..waiting.len()).collect::<Vec<_>>(), |lock| &stats[lock], 1000)
    }

    #[test]
    fn one_with_most_of_the_waiting_is_hot() {
        assert_eq!(found(&[10, 900, 20, 0]), [1]);
        assert_eq!(found(&[900, 100]), [0]);
        let mut shards = [5; 64];
        (shards[7], shards[9]) = (500, 700);
        assert_eq!(found(&shards), [9, 7], "two of 64");
    }

    #[test]
    fn sisters_that_share_the_waiting_are_not() {
        assert!(found(&[400, 500, 300, 200]).is_empty(), "no lock has most of it");
        assert!(found(&[600, 200, 200]).is_empty(), "the others have a third of it each");
        assert!(found(&[500, 500]).is_empty());
        assert!(found(&[9, 0, 0]).is_empty(), "less than a hundredth of the program's waiting, and too few waits");
        assert!(found(&[900]).is_empty(), "it has no sister");
        assert!(found(&[]).is_empty());
    }
}
