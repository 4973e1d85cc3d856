//! What an algorithm must do, as tests generic over the algorithm and the [`World`] it runs in.
//!
//! | room | holds |
//! | --- | --- |
//! | [`machine`] | the verbs themselves |
//! | [`lock`] | what every lock must do |
//! | [`ability`] | what a lock must do that can be tried, can give up, or serves in order |
//! | [`barrier`] | what every barrier must do |
//! | [`event`] | what every event must do |
//! | [`queue`] | what every queue must do |
//! | [`deque`] | what the work-stealing deque must do |
//! | [`rwlock`] | what every reader-writer lock must do |
//! | [`semaphore`] | what every semaphore must do |
//! | [`omp`] | what the OpenMP runtime must do |
//! | [`bulk`] | what a queue must do that moves items in bulk |

pub mod ability;
pub mod barrier;
pub mod bulk;
pub mod deque;
pub mod event;
pub mod lock;
pub mod machine;
mod mortal;
pub mod omp;
pub mod queue;
pub mod rwlock;
pub mod semaphore;

use crate::world::{Crowd, Scenario, World};
use baton_machine::{Machine, Slot, Wait};
use baton_sync::lock::{LockInfo, RawLock, Waits};

/// A lock and a count that it guards. Two guests inside at a time race on the slot or lose a step of the count.
pub struct Guarded<M: Machine, L> {
    /// The lock.
    pub lock: L,
    count: M::Slot<u64>,
}

impl<M: Machine, L: RawLock<M>> Guarded<M, L> {
    /// Nothing counted yet.
    pub fn new(lock: L) -> Self {
        Guarded { lock, count: M::Slot::new(0) }
    }

    /// Counts one critical section and returns how many there were before.
    ///
    /// # Safety
    /// The calling guest holds the lock.
    pub unsafe fn count(&self) -> u64 {
        // SAFETY: the caller holds the lock; that no other thread accesses the slot meanwhile is what is tested.
        unsafe {
            let before = self.count.read(|count| *count);
            self.count.write(|count| *count = before + 1);
            before
        }
    }

    /// One critical section.
    pub fn enter(&self, wait: Wait) {
        let token = self.lock.lock(wait);
        // SAFETY: locked just above, with the same policy.
        unsafe {
            self.count();
            self.lock.unlock(token, wait);
        }
    }

    /// Critical sections counted, when all guests have ended.
    pub fn total(&self) -> u64 {
        // SAFETY: the guests have ended.
        unsafe { self.count.read(|count| *count) }
    }
}

// SAFETY: the count is accessed under the lock only, or when the guests have ended.
unsafe impl<M: Machine, L: RawLock<M>> Sync for Guarded<M, L> {}
// SAFETY: a lock may go where it likes, the count is a number.
unsafe impl<M: Machine, L: RawLock<M>> Send for Guarded<M, L> {}

/// Runs a plan of a crowd that uses a lock, with fewer preemptions if the lock's threads take many steps at their start and end.
fn explore<W: World, L: RawLock<W::M>>(crowd: Crowd, plan: impl Fn() -> Scenario + Send + Sync + 'static) {
    if L::ENROLS && crowd.guests > 2 { W::glance(plan) } else { W::run(plan) }
}

/// The policies to try a lock with in a world.
pub fn waits<W: World>(info: &LockInfo) -> Vec<Wait> {
    match info.waits {
        Waits::Any => W::WAITS.to_vec(),
        Waits::Spinning => W::WAITS.iter().copied().filter(|wait| !wait.parks()).collect(),
        // A few tries show both of its sides, spinning and sleeping; with one the way to sleep takes no preemption.
        Waits::Fixed(Wait::SpinPark(_)) => vec![Wait::SpinPark(2), Wait::SpinPark(1)],
        Waits::Fixed(own) => vec![own],
    }
}
