//! Classes of locks: locks with one name, or else locks that one call site initialised, count as
//! instances of one lock in the program's text.

use super::locks::LockReport;
use super::objects::ObjectKind;
use super::stats::LockStats;
use crate::clock::Ticks;
use crate::event::{Address, SiteId};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// The property that the locks of a class share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassKey {
    /// The program gave all locks of the class this name.
    Name(String),
    /// This call site of the process initialised all locks of the class.
    InitSite(ProcessIndex, SiteId),
    /// No call is known to have initialised the locks. They share an address, so that the class is
    /// one global variable or field, and the time at which the object file there was loaded.
    Address(ProcessIndex, Address, Ticks),
}

/// A class of locks and its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReport {
    /// The property that the locks of the class share.
    pub key: ClassKey,
    /// The kind of the class's locks.
    pub kind: ObjectKind,
    /// Indices of the class's locks in [`Analysis::locks`](super::Analysis::locks).
    pub locks: Vec<usize>,
    /// The figures of all locks of the class, merged.
    pub stats: LockStats,
}

pub(super) fn classes(locks: &[LockReport]) -> Vec<ClassReport> {
    let mut classes: BTreeMap<(ClassKey, ObjectKind), ClassReport> = BTreeMap::new();
    for (i, lock) in locks.iter().enumerate() {
        let object = &lock.object;
        let key = match (&object.name, object.init_site) {
            (Some(name), _) => ClassKey::Name(name.clone()),
            (None, Some(site)) if site != SiteId::UNKNOWN => ClassKey::InitSite(object.process, site),
            _ => ClassKey::Address(object.process, object.address, object.loaded),
        };
        let class = classes.entry((key.clone(), object.kind)).or_insert_with(|| ClassReport {
            key,
            kind: object.kind,
            locks: Vec::new(),
            stats: LockStats::default(),
        });
        class.locks.push(i);
        class.stats.merge(&lock.stats);
    }
    let mut classes: Vec<ClassReport> = classes.into_values().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.stats.blocked));
    classes
}
