//! Which locks are held and wanted, as the threads have put it down where the kernel can read it, for a policy that listens.
//!
//! To put it down is a store. A thread that finds the lock held enters the kernel to say that it waits; the policy then hears of all that
//! has happened since it last was told anything, in order. So it never acts on what the kernel could not know.

use crate::base::thread::ThreadId;
use baton_machine::LockNotice;
use std::collections::BTreeMap;

/// A lock.
#[derive(Clone, Copy, Default)]
struct Lock {
    held: bool,
    /// Threads that want it and have not got it.
    wanted: u32,
}

/// All locks that are held or wanted, and what the policy has not heard yet.
#[derive(Default)]
pub(crate) struct Locks {
    locks: BTreeMap<usize, Lock>,
    /// In order.
    pub(crate) unheard: Vec<(ThreadId, LockNotice, usize)>,
}

impl Locks {
    /// A thread puts something down. Whether it enters the kernel to say so: it is about to wait.
    pub(crate) fn put(&mut self, thread: ThreadId, notice: LockNotice, address: usize) -> bool {
        self.unheard.push((thread, notice, address));
        let lock = self.locks.entry(address).or_default();
        let waits = match notice {
            LockNotice::Wanted => {
                lock.wanted += 1;
                lock.held || lock.wanted > 1
            }
            LockNotice::Taken => {
                (lock.held, lock.wanted) = (true, lock.wanted.saturating_sub(1));
                false
            }
            // At a barrier nothing is held.
            LockNotice::Left => {
                lock.held = false;
                false
            }
            LockNotice::Arrived => true,
        };
        if !lock.held && lock.wanted == 0 {
            self.locks.remove(&address);
        }
        waits
    }
}
