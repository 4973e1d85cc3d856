//! What an algorithm must do, as tests that are generic over the algorithm and the [`World`] in
//! which it runs.
//!
//! | room | holds |
//! | --- | --- |
//! | [`machine`] | contracts of every machine |
//! | [`lock`] | contracts of every lock |
//! | [`ability`] | contracts of locks that can be tried, whose waiters can give up, or that serve in order |
//! | [`barrier`] | contracts of every barrier |
//! | [`event`] | contracts of every event |
//! | [`queue`] | contracts of every queue |
//! | [`channel`] | contracts of queues that can be closed |
//! | [`watched`] | contracts of queues for which tasks and watchers wait |
//! | [`flow`] | contracts of queues with flows |
//! | [`deque`] | contracts of the work-stealing deque |
//! | [`rwlock`] | contracts of every reader-writer lock |
//! | [`turns`] | contracts of reader-writer locks for general use |
//! | [`semaphore`] | contracts of every semaphore |
//! | [`once`] | contracts of an initialization |
//! | [`omp`] | contracts of the OpenMP runtime |
//! | [`bulk`] | contracts of queues that move items in bulk |
//! | [`lend`] | contracts of queues that lend their places |

pub mod ability;
pub mod barrier;
pub mod bulk;
pub mod channel;
pub mod deque;
pub mod event;
pub mod flow;
pub mod lend;
pub mod lock;
pub mod machine;
mod mortal;
pub mod omp;
pub mod once;
pub mod queue;
pub mod rwlock;
pub mod semaphore;
pub mod turns;
pub mod watched;

use crate::world::{Crowd, Scenario, World};
use baton_machine::{Machine, Slot, Wait};
use baton_sync::lock::{LockInfo, RawLock, Waits};

/// A lock, and a count that it guards. If two guests are inside at once, they race on the slot, or
/// the count loses a step.
pub struct Guarded<M: Machine, L> {
    pub lock: L,
    count: M::Slot<u64>,
}

impl<M: Machine, L: RawLock<M>> Guarded<M, L> {
    /// Wraps `lock` with a count of 0.
    pub fn new(lock: L) -> Self {
        Guarded { lock, count: M::Slot::new(0) }
    }

    /// Counts one critical section. Returns how many there were before.
    ///
    /// # Safety
    /// The calling guest holds the lock.
    pub unsafe fn count(&self) -> u64 {
        // SAFETY: the caller holds the lock; that no other thread accesses the slot meanwhile is
        // what is tested.
        unsafe {
            let before = self.count.read(|count| *count);
            self.count.write(|count| *count = before + 1);
            before
        }
    }

    /// Runs one critical section.
    pub fn enter(&self, wait: Wait) {
        let token = self.lock.lock(wait);
        // SAFETY: the lock was taken just above, with the same policy.
        unsafe {
            self.count();
            self.lock.unlock(token, wait);
        }
    }

    /// Number of critical sections counted. Call it only after all guests have ended.
    pub fn total(&self) -> u64 {
        // SAFETY: the guests have ended.
        unsafe { self.count.read(|count| *count) }
    }
}

// SAFETY: the count is accessed only under the lock, or after the guests have ended.
unsafe impl<M: Machine, L: RawLock<M>> Sync for Guarded<M, L> {}
// SAFETY: a lock may move between threads, and the count is a number.
unsafe impl<M: Machine, L: RawLock<M>> Send for Guarded<M, L> {}

/// Runs a plan in which a crowd uses a lock: with fewer preemptions if the crowd has more than two
/// guests and the lock's threads take many steps at their start and end.
fn explore<W: World, L: RawLock<W::M>>(crowd: Crowd, plan: impl Fn() -> Scenario + Send + Sync + 'static) {
    if L::ENROLS && crowd.guests > 2 { W::glance(plan) } else { W::run(plan) }
}

/// Returns the policies with which to test a lock in a world.
pub fn waits<W: World>(info: &LockInfo) -> Vec<Wait> {
    match info.waits {
        Waits::Any => W::WAITS.to_vec(),
        Waits::Spinning => W::WAITS.iter().copied().filter(|wait| !wait.parks()).collect(),
        // A few tries exercise both spinning and sleeping; with one try, the path to sleep needs no
        // preemption.
        Waits::Fixed(Wait::SpinPark(_)) => vec![Wait::SpinPark(2), Wait::SpinPark(1)],
        Waits::Fixed(own) => vec![own],
    }
}
