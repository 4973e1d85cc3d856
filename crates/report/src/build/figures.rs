//! Converts the analysis's figures, in ticks, to the report's, in nanoseconds.

use crate::model::{Bucket, Distribution, Entered, Overtaken, QueueLength, Starved, Usage};
use baton_trace::analysis::{self, Anomalies, LockStats, ObjectId};
use baton_trace::{Clock, ProcessIndex, Ticks, Trace};
use baton_units::Nanos;
use std::collections::BTreeMap;

pub(super) fn nanos(clock: &Clock, ticks: Ticks) -> Nanos {
    clock.nanos(ticks.0)
}

/// The index of each object in a list of the report.
pub(super) fn places(ids: impl Iterator<Item = ObjectId>) -> BTreeMap<ObjectId, u32> {
    (0..).zip(ids).map(|(place, id)| (id, place)).collect()
}

/// Rounds down to the report's histogram buckets, four per power of two. The analysis's own buckets
/// are finer than a plot can show.
fn floor(ns: u64) -> u64 {
    if ns < 4 {
        return ns;
    }
    let quarter = ns.ilog2() - 2;
    ns >> quarter << quarter
}

fn ceiling(floor: u64) -> u64 {
    if floor < 4 { floor + 1 } else { floor + (1 << (floor.ilog2() - 2)) }
}

pub(super) fn distribution(clock: &Clock, from: &analysis::Distribution) -> Distribution {
    let mut buckets: Vec<Bucket> = Vec::new();
    for (length, count) in from.buckets() {
        let from_ns = floor(nanos(clock, length).0);
        match buckets.last_mut() {
            Some(last) if last.from_ns.0 == from_ns => last.count += count,
            _ => buckets.push(Bucket { from_ns: Nanos(from_ns), to_ns: Nanos(ceiling(from_ns)), count }),
        }
    }
    let quantile = |share| nanos(clock, from.quantile(share));
    Distribution {
        count: from.count,
        total_ns: nanos(clock, from.sum),
        p50_ns: quantile(0.5),
        p90_ns: quantile(0.9),
        p99_ns: quantile(0.99),
        max_ns: nanos(clock, from.max),
        buckets,
    }
}

pub(super) fn usage(clock: &Clock, stats: &LockStats) -> Usage {
    let ns = |ticks| nanos(clock, ticks);
    Usage {
        acquisitions: stats.acquisitions,
        contended: stats.contended,
        shared: stats.shared,
        barged: stats.barged,
        failed_tries: stats.try_fails,
        timeouts: stats.timeouts,
        entered: Entered {
            spinning: stats.entered_spinning,
            sleeping: stats.entered_sleeping,
            unknown: stats.entered_unknown,
        },
        wait_ns: distribution(clock, &stats.wait),
        hold_ns: distribution(clock, &stats.hold),
        handoff_ns: distribution(clock, &stats.handoff),
        blocked_ns: ns(stats.blocked),
        sections_ns: ns(stats.sections),
        overhead_ns: ns(stats.overhead),
        busy_ns: ns(stats.busy),
        idle_contended_ns: ns(stats.idle_contended),
        starved: Starved {
            writers: overtaken(clock, &stats.starved.writers),
            readers: overtaken(clock, &stats.starved.readers),
        },
        blame_ns: ns(stats.sites.values().map(|s| s.blame).sum()),
        queue_lengths: stats
            .queue
            .iter()
            .map(|(waiters, time)| QueueLength { waiters: *waiters, total_ns: ns(*time) })
            .collect(),
    }
}

fn overtaken(clock: &Clock, from: &analysis::Overtaken) -> Overtaken {
    let analysis::Overtaken { waits, by, most, time, longest } = *from;
    Overtaken { waits, by, most, total_ns: nanos(clock, time), longest_ns: nanos(clock, longest) }
}

/// Contradictions within the trace, as sentences.
pub(super) fn doubts(anomalies: &Anomalies) -> Vec<String> {
    [
        (anomalies.overlaps, "acquired while another thread held it: a release was not seen"),
        (anomalies.unmatched_releases, "released while nobody held it: an acquisition was not seen"),
        (anomalies.foreign_releases, "released by a thread that did not hold it"),
        (anomalies.unmatched_waits, "waits whose beginning was not seen"),
        (anomalies.unfinished_waits, "waits whose end was not seen"),
    ]
    .into_iter()
    .filter(|(times, _)| *times > 0)
    .map(|(times, what)| format!("{times} × {what}"))
    .collect()
}

/// The kernel's number of a process.
pub(super) fn pid(trace: &Trace, process: ProcessIndex) -> u32 {
    trace.processes.get(process.0 as usize).map_or(0, |p| p.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_line() {
        let mut at = 0;
        while at < 1 << 40 {
            assert_eq!(floor(at), at, "each bucket begins where the last one ends");
            assert_eq!(floor(ceiling(at) - 1), at);
            at = ceiling(at);
        }
    }

    #[test]
    fn counts_and_sums_survive() {
        let mut lengths = analysis::Distribution::default();
        (1..1000u64).for_each(|i| lengths.add(Ticks(i * 7)));
        let found = distribution(&Clock::nanoseconds(), &lengths);
        assert_eq!(found.buckets.iter().map(|b| b.count).sum::<u64>(), found.count);
        assert_eq!(found.total_ns, Nanos(7 * 999 * 1000 / 2));
        assert!(found.p50_ns.0.abs_diff(3500) < 3500 / 8, "{}", found.p50_ns);
    }
}
