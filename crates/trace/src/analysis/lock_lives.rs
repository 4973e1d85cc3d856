//! Where locks begin: the call that initialises a lock, or the one that first takes it. The call's
//! site has its callers, if the recorder has walked them.

use super::objects::AddressHasher;
use crate::event::{Address, SiteId, What};
use crate::process::ProcessIndex;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The beginnings of the locks that live at a moment of a trace.
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

    /// The beginning of the lock that an event releases; `None` if nothing is known of it.
    pub(super) fn released(&self, what: &What, process: ProcessIndex) -> Option<SiteId> {
        let What::Release { lock, .. } = *what else { return None };
        self.0.get(&(process, lock.address)).copied().filter(|site| *site != SiteId::UNKNOWN)
    }
}
