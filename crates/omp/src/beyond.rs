//! Work-shares of a cancelled region for which the ring has no room.
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

// SAFETY: `shares` is accessed with the lock held, or by a thread that has the team to itself.
unsafe impl<M: Machine> Sync for Beyond<M> {}
// SAFETY: as above.
unsafe impl<M: Machine> Send for Beyond<M> {}

impl<M: Machine> Beyond<M> {
    pub(crate) fn new(settings: &Settings) -> Self {
        let lock = lock(&settings.lock).expect("the settings name a lock that there is");
        Beyond { lock, shares: M::Slot::new(BTreeMap::new()) }
    }

    /// Returns work-share `number` of a team of `threads`, which is made at the first call and
    /// stays until the region has ended.
    pub(crate) fn share(&self, number: u32, threads: u32, waits: &Waits) -> *const Share<M> {
        let wait = waits.of(Why::Lock);
        self.lock.lock(wait);
        // SAFETY: the lock is held, so no other thread accesses `shares`.
        let share = unsafe {
            self.shares.write(|at| {
                let share = (*at).entry(number).or_insert_with(|| Owned::new(Share::new(number, threads)));
                core::ptr::from_ref(&**share)
            })
        };
        // SAFETY: this thread took the lock above, with the same policy.
        unsafe { self.lock.unlock(wait) };
        share
    }

    /// Frees all work-shares.
    ///
    /// # Safety
    /// No thread is in a work-share of the team.
    pub(crate) unsafe fn clear(&self) {
        // SAFETY: the caller says that no thread is in a work-share, so no other thread accesses
        // `shares`.
        let shares = unsafe { self.shares.write(|at| std::mem::take(&mut *at)) };
        shares.values().for_each(|share| share.close());
    }
}
