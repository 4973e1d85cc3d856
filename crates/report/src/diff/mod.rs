//! Compares two profiles. Locks are matched by the name and kind of their class; changes are stated
//! with their noise.
//!
//! The stated noise is the noise within the runs (batch means): how much a mean would scatter if
//! the same program ran on for as long again. Differences between starts (placement of memory and
//! threads, other load) are not included; only repeated runs show those.

mod batch;

pub use batch::Change;

use crate::Profile;
use crate::intervals::Doing;
use crate::model::Report;
use batch::Batches;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Name and version of the JSON.
pub const SCHEMA: &str = "baton-diff/1";

/// The comparison of two profiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// [`SCHEMA`].
    pub schema: String,
    /// The first profile.
    pub before: Side,
    /// The second profile.
    pub after: Side,
    /// Classes of locks in both profiles, the greatest change of waiting first.
    pub locks: Vec<LockDiff>,
    /// Classes of locks that only the first profile has.
    pub only_before: Vec<String>,
    /// Classes of locks that only the second profile has.
    pub only_after: Vec<String>,
    /// What the noise does and does not include, and what makes the two profiles hard to compare.
    pub remarks: Vec<String>,
}

/// One of the two profiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    pub command: Vec<String>,
    /// The lock that served the program's mutexes; `None` for the C library's.
    pub lock: Option<String>,
    pub elapsed_ns: Nanos,
    pub acquisitions: u64,
    /// Time spent waiting for locks, added over threads.
    pub blocked_ns: Nanos,
    /// Competition overhead, added over threads.
    pub overhead_ns: Nanos,
}

/// A class of locks that both profiles have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockDiff {
    pub name: String,
    pub kind: String,
    /// The acquisitions before and after.
    pub acquisitions: (u64, u64),
    /// The time spent waiting before and after, added over threads.
    pub blocked_ns: (Nanos, Nanos),
    /// Waiting time per acquisition.
    pub wait_each_ns: Change,
    /// Competition overhead per acquisition.
    pub overhead_each_ns: Change,
    /// Hold time per acquisition.
    pub hold_each_ns: Change,
}

type Key = (String, String);

#[derive(Default)]
struct Class {
    wait: Batches,
    overhead: Batches,
    hold: Batches,
}

/// Compares two profiles. The function walks over both traces again.
pub fn diff(before: &Profile, after: &Profile) -> Diff {
    let (mut first, mut second) = (classes(before), classes(after));
    let only = |a: &BTreeMap<Key, Class>, b: &BTreeMap<Key, Class>| -> Vec<String> {
        a.keys().filter(|k| !b.contains_key(*k)).map(|(name, _)| name.clone()).collect()
    };
    let (only_before, only_after) = (only(&first, &second), only(&second, &first));
    first.retain(|key, _| second.contains_key(key));
    let mut locks: Vec<LockDiff> = first
        .into_iter()
        .filter_map(|((name, kind), a)| {
            let b = second.remove(&(name.clone(), kind.clone()))?;
            Some(LockDiff {
                acquisitions: (a.hold.count(), b.hold.count()),
                blocked_ns: (Nanos(a.wait.sum()), Nanos(b.wait.sum())),
                wait_each_ns: Change::between(&a.wait, &b.wait),
                overhead_each_ns: Change::between(&a.overhead, &b.overhead),
                hold_each_ns: Change::between(&a.hold, &b.hold),
                name,
                kind,
            })
        })
        .collect();
    locks.sort_by_key(|l| (std::cmp::Reverse(l.blocked_ns.0.0.abs_diff(l.blocked_ns.1.0)), l.name.clone()));
    Diff {
        schema: SCHEMA.to_owned(),
        before: side(&before.report),
        after: side(&after.report),
        locks,
        remarks: remarks(&before.report, &after.report),
        only_before,
        only_after,
    }
}

fn side(report: &Report) -> Side {
    Side {
        command: report.run.command.clone(),
        lock: report.run.lock.clone(),
        elapsed_ns: report.run.elapsed_ns.unwrap_or(report.totals.span_ns),
        acquisitions: report.totals.acquisitions,
        blocked_ns: report.totals.blocked_ns,
        overhead_ns: report.totals.overhead_ns,
    }
}

/// Waits, overhead and holds of each class, in batches of time.
fn classes(profile: &Profile) -> BTreeMap<Key, Class> {
    let report = &profile.report;
    let key = |lock: u32| {
        let class = &report.classes[report.locks[lock as usize].class as usize];
        (class.name.clone(), class.kind.clone())
    };
    let mut numbers: BTreeMap<Key, usize> = BTreeMap::new();
    let of_lock: Vec<usize> = (0..report.locks.len() as u32)
        .map(|lock| {
            let next = numbers.len();
            *numbers.entry(key(lock)).or_insert(next)
        })
        .collect();
    let start = report.threads.iter().map(|t| t.first_ns.0).min().unwrap_or(0);
    let end = report.threads.iter().map(|t| t.last_ns.0).max().unwrap_or(0);
    let mut found: Vec<Class> = numbers.iter().map(|_| Class::default()).collect();
    let Ok(()) = profile.intervals(|interval| {
        let lock = interval.object.filter(|_| interval.doing.is_of_lock());
        let Some(class) = lock.and_then(|l| of_lock.get(l as usize)).map(|c| &mut found[*c]) else {
            return Ok::<(), Infallible>(());
        };
        let share = (interval.end.0 - start.min(interval.end.0)) as f64 / (end - start).max(1) as f64;
        let length = interval.length().0;
        match interval.doing {
            Doing::Wait(_) => class.wait.add_sum(share, length),
            Doing::Overhead => class.overhead.add_sum(share, length),
            Doing::Hold(_) => {
                class.hold.add_sum(share, length);
                for batches in [&mut class.wait, &mut class.overhead, &mut class.hold] {
                    batches.add_one(share);
                }
            }
            _ => {}
        }
        Ok(())
    });
    let mut by_number: Vec<(usize, Key)> = numbers.into_iter().map(|(key, number)| (number, key)).collect();
    by_number.sort_unstable();
    by_number.into_iter().map(|(_, key)| key).zip(found).collect()
}

fn remarks(before: &Report, after: &Report) -> Vec<String> {
    let mut out = vec![
        "Noise: half the width of a 95% interval, from the scatter of 16 stretches inside each run. Differences from start to start \
         (placement, other load) are not in it: repeat the runs to see those."
            .to_owned(),
    ];
    if before.run.command != after.run.command {
        out.push("The commands differ.".to_owned());
    }
    if before.run.host != after.run.host {
        out.push("The machines differ.".to_owned());
    }
    for (which, report) in [("first", before), ("second", after)] {
        if !report.limits.lost.is_empty() {
            out.push(format!("The {which} trace is not whole: {}", report.limits.lost[0]));
        }
    }
    out
}
