//! Locks that are taken inside of another lock's critical sections, and so make these sections
//! long.

use crate::format::lock_phrase;
use crate::model::{Report, Site};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// A class of locks that is taken inside of another class's sections.
pub(super) struct Inner<'a> {
    pub(super) name: String,
    /// The class's time on the critical path inside of the other class's sections.
    pub(super) time: Nanos,
    /// The site whose sections other threads waited for longest.
    pub(super) site: Option<&'a Site>,
    /// Whether splitting the outer lock alone would move the waits to these locks: there is only one,
    /// or threads wait for them already. Several locks that no thread waits for lie in the shards of
    /// the outer one.
    pub(super) takes_the_waits: bool,
}

/// The class that takes most of the path inside of the sections of class `outer`.
pub(super) fn inside(report: &Report, outer: u32) -> Option<Inner<'_>> {
    let class_of = |lock: u32| report.locks.get(lock as usize).map(|lock| lock.class);
    let mut times: BTreeMap<u32, Nanos> = BTreeMap::new();
    for part in report.critical_path.nested.iter().filter(|part| class_of(part.outer) == Some(outer)) {
        *times.entry(class_of(part.inner)?).or_default() += part.total_ns;
    }
    times.remove(&outer);
    let (number, time) = times.into_iter().max_by_key(|(_, time)| *time)?;
    let class = report.classes.get(number as usize)?;
    Some(Inner {
        name: lock_phrase(&class.name),
        time,
        site: most_awaited(report, number),
        takes_the_waits: class.locks == 1
            || class.usage.blame_ns.0.saturating_mul(100) >= class.usage.hold_ns.total_ns.0,
    })
}

/// The site of a class whose sections other threads waited for longest; if none did, the site with
/// the longest sections. The sites of one place (its acquisitions that waited, by stack, and those
/// that did not) count together, and the place is told by the site that knows its callers.
pub(super) fn most_awaited(report: &Report, class: u32) -> Option<&Site> {
    let mut places: BTreeMap<(u32, &str), (Nanos, Nanos)> = BTreeMap::new();
    let sites = || report.sites.iter().filter(|site| site.class == Some(class));
    for site in sites() {
        let (blame, hold) = places.entry((site.pid, &site.address)).or_default();
        *blame += site.blame_ns;
        *hold += site.hold_ns;
    }
    let (place, _) = places.into_iter().max_by_key(|(_, times)| *times)?;
    let there = sites().filter(|site| (site.pid, site.address.as_str()) == place);
    there.max_by_key(|site| (!site.through.is_empty(), site.blame_ns, site.hold_ns))
}
