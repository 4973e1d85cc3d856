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
    /// The site that holds locks of the class longest.
    pub(super) site: Option<&'a Site>,
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
    let sites = report.sites.iter().filter(|site| site.class == Some(number));
    Some(Inner {
        name: lock_phrase(&report.classes.get(number as usize)?.name),
        time,
        site: sites.max_by_key(|site| site.hold_ns),
    })
}
