//! Work that threads share out among themselves while they run. Threads of one kind that take one lock at one place in
//! the code, but not equally often, take from a common store there. Another lock would share it out otherwise.

use baton_trace::{Address, SiteId, ThreadIndex, Trace, What};
use std::collections::BTreeMap;

/// Shares that differ by more than this part of their mean are not equal.
const UNEQUAL: f64 = 0.02;
/// And by more than so many acquisitions.
const LEAST: u64 = 8;

/// Acquisitions at places where threads of one kind differ in how often they come.
pub(crate) fn count(trace: &Trace, sites: &BTreeMap<(u32, Address), BTreeMap<u32, u64>>) -> u64 {
    let kinds = kinds(trace);
    let mut dynamic = 0;
    for ((_, site), threads) in sites {
        if *site == 0 {
            continue;
        }
        let mut by_kind: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for (thread, &count) in threads {
            by_kind.entry(kinds[*thread as usize]).or_default().push(count);
        }
        for counts in by_kind.values().filter(|counts| counts.len() >= 2) {
            let (least, most) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
            let sum: u64 = counts.iter().sum();
            let mean = sum as f64 / counts.len() as f64;
            if most - least > LEAST && (most - least) as f64 > UNEQUAL * mean {
                dynamic += sum;
            }
        }
    }
    dynamic
}

/// Threads that were created at one call site are of one kind; others are alone in theirs.
fn kinds(trace: &Trace) -> Vec<(SiteId, u32)> {
    let mut kinds: Vec<(SiteId, u32)> = (0..trace.threads.len() as u32).map(|i| (SiteId::UNKNOWN, i)).collect();
    let mut creating: BTreeMap<ThreadIndex, SiteId> = BTreeMap::new();
    let mut made: BTreeMap<u64, SiteId> = BTreeMap::new();
    let mut born: BTreeMap<u64, ThreadIndex> = BTreeMap::new();
    for event in trace.events() {
        match event.what {
            What::Create { site } => {
                creating.insert(event.thread, site);
            }
            What::Created { handle, .. } => {
                if let Some(site) = creating.remove(&event.thread) {
                    match born.remove(&handle) {
                        Some(thread) => kinds[thread.index()] = (site, u32::MAX),
                        None => drop(made.insert(handle, site)),
                    }
                }
            }
            What::ThreadStart { handle } => match made.remove(&handle) {
                Some(site) => kinds[event.thread.index()] = (site, u32::MAX),
                None => drop(born.insert(handle, event.thread)),
            },
            _ => {}
        }
    }
    kinds
}
