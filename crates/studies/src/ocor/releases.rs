//! The experiment with releases in a virtual network of their own: its arms, as data. This file is part of what `frozen.rules`
//! hashes.

use super::experiments::Setting;

/// The group of releases in a virtual network of their own, and what its arms have.
pub(super) const RELEASES: &str = "releases in a network of their own";
pub(super) const RELEASE_ARMS: [(&str, bool, bool); 4] = [
    ("registers alone", false, false),
    ("marks in routers", true, false),
    ("releases alone", false, true),
    ("marks in routers, releases alone", true, true),
];
/// Seeds of a quick study and of a full one: four bring the intervals of 12 pairs near one percent.
pub(super) const SEEDS: [u64; 2] = [2, 4];
/// The numbers of requests that a home takes in, with which that is tried: as chosen, and 1, so that
/// all others wait in the network.
pub(super) const RELEASE_PLACES: [(&str, Option<u32>); 2] = [("as chosen", None), ("one", Some(1))];

/// The place in [`RELEASES`] of an arm.
pub(super) fn apart(places: &str, arm: &str) -> String {
    format!("home's places {places}: {arm}")
}

/// Each place of the group with its setting, with marks that routers heed and without. In all arms the registers are written and
/// paid for, as they tell what is a release.
pub(super) fn settings() -> Vec<(String, Setting)> {
    let mut all = Vec::new();
    for (name, places) in RELEASE_PLACES {
        for (arm, heeded, alone) in RELEASE_ARMS {
            let marked = ["ocor.where=network".to_owned(), format!("ocor.heeded={heeded}")].into_iter();
            let marked = marked.chain(alone.then(|| "ocor.release_network=true".to_owned())).collect();
            let both = places.iter().map(|places| format!("home.places={places}")).collect();
            all.push((apart(name, arm), Setting { both, marked, ..Setting::default() }));
        }
    }
    all
}
