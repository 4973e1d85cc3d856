//! Merges call sites by place. A contended site is a call stack and an uncontended one is only a
//! return address, so one place in the program may be several sites. Flame graphs need them apart;
//! tables of places need them merged.

use super::{Report, Site};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl Report {
    /// The sites merged by return address and object, the heaviest first. The merged site takes its
    /// frames from the one with the most waiting and blame.
    pub fn places(&self) -> Vec<Site> {
        let mut places: BTreeMap<_, Site> = BTreeMap::new();
        let mut ways: BTreeMap<_, BTreeMap<&str, u64>> = BTreeMap::new();
        // Sites come heaviest first, so the first site of a place provides the name and the frames.
        for site in &self.sites {
            let key = (site.pid, site.address.as_str(), site.class, site.waitable);
            *ways.entry(key).or_default().entry(site.through.as_str()).or_default() += site.wait_ns.0;
            match places.get_mut(&key) {
                None => {
                    places.insert(key, site.clone());
                }
                Some(place) => {
                    place.acquisitions += site.acquisitions;
                    place.contended += site.contended;
                    place.polls += site.polls;
                    place.wait_ns += site.wait_ns;
                    place.overhead_ns += site.overhead_ns;
                    place.hold_ns += site.hold_ns;
                    place.blame_ns += site.blame_ns;
                }
            }
        }
        for (key, place) in &mut places {
            place.through = ways.get(key).map_or_else(String::new, most);
        }
        let mut places: Vec<Site> = places.into_values().collect();
        places.sort_by_key(|s| (Reverse(s.wait_ns.0 + s.blame_ns.0), Reverse(s.acquisitions)));
        places
    }
}

/// The callers with the most waiting, and their share if it is not nearly all.
fn most(ways: &BTreeMap<&str, u64>) -> String {
    let all: u64 = ways.values().sum();
    let most = ways
        .iter()
        .filter(|(callers, _)| !callers.is_empty())
        .max_by_key(|(callers, wait)| (**wait, Reverse(*callers)));
    let Some((callers, wait)) = most else { return String::new() };
    let share = super::ratio(*wait, all);
    if share >= NEARLY_ALL || all == 0 {
        (*callers).to_owned()
    } else {
        format!("{callers} ({})", crate::format::percent(share))
    }
}

/// The share of a place's waiting from which on its callers stand for all of them.
const NEARLY_ALL: f64 = 0.9;
