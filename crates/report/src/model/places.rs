//! Call sites by place. A site is a stack where a lock was contended, and a return address alone where it was free, so one place
//! of the program may be several sites: flame graphs want them apart, tables of places want them together.

use super::{Report, Site};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl Report {
    /// The sites of one return address and one object together, with the frames of the one that waited or made others wait most;
    /// the heaviest first.
    pub fn places(&self) -> Vec<Site> {
        let mut places: BTreeMap<_, Site> = BTreeMap::new();
        // The sites come heaviest first, so the first of a place lends its name and frames.
        for site in &self.sites {
            let key = (site.pid, site.address.as_str(), site.class, site.waitable);
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
        let mut places: Vec<Site> = places.into_values().collect();
        places.sort_by_key(|s| (Reverse(s.wait_ns.0 + s.blame_ns.0), Reverse(s.acquisitions)));
        places
    }
}
