//! Where locks begin to live: the call site that initialises a lock, or, if none does, the one that
//! first takes the lock or begins to wait for it. The site includes the call's callers if the
//! recorder has walked the stack.

use super::objects::AddressHasher;
use crate::event::{Address, SiteId, What};
use crate::process::ProcessIndex;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// For each lock that lives at a moment of the trace, the call site at which it began to live.
#[derive(Default)]
pub(super) struct Lives(HashMap<(ProcessIndex, Address), SiteId, BuildHasherDefault<AddressHasher>>);

impl Lives {
    /// Follows the next event of a process.
    pub(super) fn follow(&mut self, what: &What, process: ProcessIndex) {
        match *what {
            What::LockInit { lock, site } => drop(self.0.insert((process, lock.address), site)),
            What::LockDestroy { lock } => drop(self.0.remove(&(process, lock.address))),
            What::Acquire { lock, site, .. } | What::Request { lock, site, .. } => {
                self.0.entry((process, lock.address)).or_insert(site);
            }
            _ => {}
        }
    }

    /// Returns the call site at which the lock that this event releases began to live; `None` if
    /// that is not known, or the event is no release.
    pub(super) fn released(&self, what: &What, process: ProcessIndex) -> Option<SiteId> {
        let What::Release { lock, .. } = *what else { return None };
        self.0.get(&(process, lock.address)).copied().filter(|site| *site != SiteId::UNKNOWN)
    }
}
