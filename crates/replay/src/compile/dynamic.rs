//! Work that threads share out among themselves while they run. Threads of one kind that take one lock at one place in
//! the code, but not equally often, take from a common store there. Another lock would share it out otherwise.

use super::stores::Sharing;
use baton_trace::{Address, Kinds, SiteId, ThreadIndex, Trace, What};
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
    /// How often they do.
    pub(crate) acquisitions: u64,
    /// Of the lock and the place in the code together.
    pub(crate) number: u32,
}

/// Acquisitions by lock, number of the place in the code, and thread.
pub(crate) type Sites = BTreeMap<(u32, u32, u32), u64>;

/// All such places, and their numbers; `addresses` has those of the places in the code by theirs.
pub(crate) fn places(trace: &Trace, sites: &Sites, addresses: &[Address]) -> (Vec<SharingSite>, Sharing) {
    let kinds = kinds(trace);
    let (mut places, mut sharing) = (Vec::new(), Sharing::new());
    let all: Vec<_> = sites.iter().map(|(&key, &count)| (key, count)).collect();
    for one in all.chunk_by(|((lock, place, _), _), ((other, there, _), _)| (lock, place) == (other, there)) {
        let ((lock, place, _), _) = one[0];
        let site = addresses[place as usize];
        let mut by_kind: BTreeMap<_, Vec<(u32, u64)>> = BTreeMap::new();
        for &((_, _, thread), count) in one.iter().filter(|_| site != 0) {
            by_kind.entry(kinds[thread as usize]).or_default().push((thread, count));
        }
        for counts in by_kind.values().filter(|counts| unequal(counts.iter().map(|of| of.1))) {
            let (threads, acquisitions) = (counts.iter().map(|of| of.0).collect(), counts.iter().map(|of| of.1).sum());
            let next = sharing.len() as u32;
            let number = *sharing.entry((lock, place)).or_insert(next);
            places.push(SharingSite { lock, site, threads, acquisitions, number });
        }
    }
    (places, sharing)
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
    for event in trace.events_of(Kinds::BIRTHS) {
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
