//! Work-shares of a cancelled region that the ring has no room for.
//!
//! A thread that a cancelled region sends to its end enters no more work-shares, so the slot of the
//! next work-share that it would have entered is never free again. The region's other threads may
//! meet any number of work-shares before they come to a cancellation point. A thread that finds a
//! slot in use, with the region cancelled, closes the slot. From then on work-shares for that slot
//! are kept here, by their numbers.

use crate::objects::{AnyLock, lock};
use crate::settings::Settings;
use crate::share::Share;
use crate::waits::{Waits, Why};
use baton_machine::{Machine, Owned, Slot};
use std::collections::BTreeMap;

pub(crate) struct Beyond<M: Machine> {
    lock: Box<dyn AnyLock<M>>,
    shares: M::Slot<BTreeMap<u32, Owned<M, Share<M>>>>,
}

// SAFETY: the slot is touched with the lock held, or by a thread that has the team to itself.
unsafe impl<M: Machine> Sync for Beyond<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Beyond<M> {}

impl<M: Machine> Beyond<M> {
    pub(crate) fn new(settings: &Settings) -> Self {
        let lock = lock(&settings.lock).expect("the settings name a lock that there is");
        Beyond { lock, shares: M::Slot::new(BTreeMap::new()) }
    }

    /// Work-share `number` of a team of `threads`, which stays until the region has ended.
    pub(crate) fn share(&self, number: u32, threads: u32, waits: &Waits) -> *const Share<M> {
        let wait = waits.of(Why::Lock);
        self.lock.lock(wait);
        // SAFETY: the lock is held.
        let share = unsafe {
            self.shares.write(|at| {
                let share = (*at).entry(number).or_insert_with(|| Owned::new(Share::new(number, threads)));
                core::ptr::from_ref(&**share)
            })
        };
        // SAFETY: locked above, with the same policy.
        unsafe { self.lock.unlock(wait) };
        share
    }

    /// Gives back all work-shares.
    ///
    /// # Safety
    /// No thread is in a work-share of the team.
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: by contract no other thread touches it.
        let shares = unsafe { self.shares.write(|at| std::mem::take(&mut *at)) };
        shares.values().for_each(|share| share.close());
    }
}
