//! Decides which locks the report shows as one class: locks that the analysis classed together,
//! locks of one global variable, and unnamed locks that the same places of the program take.
//! Sixteen shards of a cache are one class, whether they form an array or each was created by
//! `new`.

use super::names::Names;
use baton_trace::SiteId;
use baton_trace::analysis::{Analysis, ClassKey, ClassReport, LockReport, ObjectKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A place that takes less than one in [`RARE`] of a lock's acquisitions says nothing about which
/// lock it is.
const RARE: u64 = 20;

/// The key under which unnamed locks belong to one class.
type Alike = (String, ObjectKind, u32, BTreeSet<String>);

/// The classes with their names, the class with the most waiting first.
pub(super) fn classes(names: &mut Names, analysis: &Analysis) -> Vec<(String, ClassReport)> {
    let mut classes: Vec<(String, ClassReport)> = Vec::new();
    let mut alike: BTreeMap<Alike, usize> = BTreeMap::new();
    for class in &analysis.classes {
        let name = names.class(class, &analysis.locks);
        let mine = match (&class.key, class.locks.first()) {
            (ClassKey::Address(process, address, loaded), Some(lock)) => {
                let places = places(names, &analysis.locks[*lock]);
                let whole = names.global(*process, *address, *loaded).unwrap_or_else(|| name.clone());
                (!places.is_empty()).then_some((whole, class.kind, process.0, places))
            }
            _ => None,
        };
        let known = mine.as_ref().and_then(|mine| alike.get_key_value(mine)).map(|(alike, at)| (alike.0.clone(), *at));
        match known {
            Some((whole, at)) => {
                classes[at].0 = whole;
                classes[at].1.locks.extend(&class.locks);
                classes[at].1.stats.merge(&class.stats);
            }
            None => {
                alike.extend(mine.map(|mine| (mine, classes.len())));
                classes.push((name, class.clone()));
            }
        }
    }
    classes.sort_by_key(|(_, class)| Reverse(class.stats.blocked));
    classes
}

/// The places that take a lock, without rare ones.
fn places(names: &mut Names, lock: &LockReport) -> BTreeSet<String> {
    let often = |acquisitions: u64| acquisitions > 0 && acquisitions >= lock.stats.acquisitions / RARE;
    let mut by_place: BTreeMap<String, u64> = BTreeMap::new();
    for (site, stats) in lock.stats.sites.iter().filter(|(site, _)| **site != SiteId::UNKNOWN) {
        if let Some(place) = names.site_place(lock.object.process, *site) {
            *by_place.entry(place).or_default() += stats.acquisitions;
        }
    }
    by_place.into_iter().filter(|(_, acquisitions)| often(*acquisitions)).map(|(place, _)| place).collect()
}
