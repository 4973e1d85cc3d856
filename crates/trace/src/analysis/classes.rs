//! Locks that belong together: those that one call site initialised are instances of one lock of the program's text.

use super::locks::LockReport;
use super::objects::ObjectKind;
use super::stats::LockStats;
use crate::clock::Ticks;
use crate::event::{Address, SiteId};
use crate::trace::ProcessIndex;
use std::collections::BTreeMap;

/// What makes a class.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassKey {
    /// The program gave them one name.
    Name(String),
    /// One call site initialised them.
    InitSite(ProcessIndex, SiteId),
    /// Not initialised by a call: a class of one address, so of one global or one field; and of one object file there, by when it was
    /// loaded.
    Address(ProcessIndex, Address, Ticks),
}

/// A class of locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReport {
    /// What they have in common.
    pub key: ClassKey,
    /// What they are.
    pub kind: ObjectKind,
    /// Places of its locks in [`Analysis::locks`](super::Analysis::locks).
    pub locks: Vec<usize>,
    /// Their figures together.
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
