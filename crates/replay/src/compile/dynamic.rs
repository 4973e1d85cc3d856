//! Work that threads share out among themselves at run time. If threads of one kind take the same
//! lock at the same place in the code, but not equally often, they take items from a common store
//! there. Under another lock, the threads would share the items out differently.

use super::stores::Sharing;
use baton_trace::{Address, Kinds, SiteId, ThreadIndex, Trace, What};
use std::collections::BTreeMap;

/// The threads' numbers of acquisitions are unequal only if the greatest and the least differ by
/// more than this share of their mean.
const UNEQUAL: f64 = 0.02;
/// The threads' numbers of acquisitions are unequal only if the greatest and the least differ by
/// more than this.
const LEAST: u64 = 8;

/// A place in the code at which threads of one kind take a lock, but not equally often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharingSite {
    pub(crate) lock: u32,
    pub(crate) site: Address,
    /// The threads of one kind that take the lock at this place.
    pub(crate) threads: Vec<u32>,
    /// The number of these threads' acquisitions at this place.
    pub(crate) acquisitions: u64,
    /// The number of this pair of lock and place in the code.
    pub(crate) number: u32,
}

/// The number of acquisitions, by lock, number of the place in the code, and thread.
pub(crate) type Sites = BTreeMap<(u32, u32, u32), u64>;

/// Returns all places at which threads share out work, and numbers them. `addresses` holds the
/// address of each numbered place in the code.
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

/// Whether the numbers of acquisitions differ by more than [`LEAST`] and by more than the share
/// [`UNEQUAL`] of their mean.
pub(crate) fn unequal(counts: impl Iterator<Item = u64> + Clone) -> bool {
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.clone().max().unwrap_or(0));
    let (sum, n) = counts.fold((0, 0u64), |(sum, n), count| (sum + count, n + 1));
    most - least > LEAST && (most - least) as f64 > UNEQUAL * sum as f64 / n.max(1) as f64
}

/// Returns the kind of each thread. Threads that one call site created are of one kind; any other
/// thread is of a kind of its own.
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
