//! Which locks are held and wanted, for a policy that listens. Threads write this down where the
//! kernel can read it.
//!
//! Writing it down is a store. A thread enters the kernel to say that it waits if it finds a lock
//! held, or wanted by another thread, or if it arrives at a barrier. The policy then receives all
//! notices since it was last called, in order. So the policy never acts on what the kernel could
//! not know.

use crate::base::thread::ThreadId;
use baton_machine::LockNotice;
use std::collections::BTreeMap;

/// A lock.
#[derive(Clone, Copy, Default)]
struct Lock {
    held: bool,
    /// The number of threads that want the lock and have not got it.
    wanted: u32,
}

/// All locks that are held or wanted, and the notices that the policy has not received yet.
#[derive(Default)]
pub(crate) struct Locks {
    locks: BTreeMap<usize, Lock>,
    /// The notices, in order.
    pub(crate) unheard: Vec<(ThreadId, LockNotice, usize)>,
}

impl Locks {
    /// A thread writes a notice down. Returns whether it enters the kernel to say so, because it is
    /// about to wait.
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
            // The thread has released the lock, or leaves a barrier, at which nothing is held.
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
