//! Work that threads share out among themselves while they run. Threads of one kind that take one lock at one place in
//! the code, but not equally often, take from a common store there. Another lock would share it out otherwise.

use baton_trace::{Address, SiteId, ThreadIndex, Trace, What};
use std::collections::BTreeMap;

/// Shares that differ by more than this part of their mean are not equal.
const UNEQUAL: f64 = 0.02;
/// And by more than so many acquisitions.
const LEAST: u64 = 8;

/// A place in the code at which threads of one kind take a lock, not equally often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharingSite {
    pub(crate) lock: u32,
    pub(crate) site: Address,
    /// Threads of the kind that come there.
    pub(crate) threads: Vec<u32>,
}

/// All such places.
pub(crate) fn places(trace: &Trace, sites: &BTreeMap<(u32, Address), BTreeMap<u32, u64>>) -> Vec<SharingSite> {
    let kinds = kinds(trace);
    let mut places = Vec::new();
    for (&(lock, site), threads) in sites.iter().filter(|((_, site), _)| *site != 0) {
        let mut by_kind: BTreeMap<_, Vec<(u32, u64)>> = BTreeMap::new();
        for (&thread, &count) in threads {
            by_kind.entry(kinds[thread as usize]).or_default().push((thread, count));
        }
        for counts in by_kind.values().filter(|counts| unequal(counts.iter().map(|of| of.1))) {
            places.push(SharingSite { lock, site, threads: counts.iter().map(|of| of.0).collect() });
        }
    }
    places
}

/// Whether two or more threads differ in how often they come.
pub(crate) fn unequal(counts: impl Iterator<Item = u64> + Clone) -> bool {
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.clone().max().unwrap_or(0));
    let (sum, n) = counts.fold((0, 0u64), |(sum, n), count| (sum + count, n + 1));
    most - least > LEAST && (most - least) as f64 > UNEQUAL * sum as f64 / n.max(1) as f64
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
