//! Objects that lie in the caller's memory, begin as a constant, and never allocate: mutex,
//! reader-writer lock, condition variable, initialization, semaphore, barrier. All of their waiters
//! wait by the policy `adaptive`.

use crate::calls::calls;
use crate::{error, time::deadline};
use baton_machine::{Deadline, Native, Wait};
use baton_sync::barrier::{RawBarrier, central::Central};
use baton_sync::event::{RawEvent, chain::Chain};
use baton_sync::lock::{RawLock, TimedLock, TryLock, plain::Plain};
use baton_sync::nodes::Node;
use baton_sync::once::Once;
use baton_sync::rwlock::{Hold, RawRwLock, TurnsRwLock, phases::Phases};
use baton_sync::semaphore::{RawSemaphore, flagged::Flagged};
use std::ffi::{c_int, c_void};

pub(crate) const WAIT: Wait = Wait::Adaptive(10_000);

/// `struct baton_mutex` in C.
pub type BatonMutex = Plain<Native>;
/// `struct baton_rwlock` in C.
pub type BatonRwLock = Phases<Native>;
/// `struct baton_cond` in C.
pub type BatonCond = Chain<Native>;
/// `struct baton_once` in C.
pub type BatonOnce = Once<Native>;
/// `struct baton_semaphore` in C.
pub type BatonSemaphore = Flagged<Native>;
/// `struct baton_meeting` in C.
pub type BatonMeeting = Central<Native>;

/// The sizes that the header states.
const _: () = {
    assert!(size_of::<BatonMutex>() == 4 && size_of::<BatonRwLock>() == 4 && size_of::<BatonOnce>() == 4);
    assert!(size_of::<BatonSemaphore>() == 4 && size_of::<BatonCond>() == size_of::<usize>());
    assert!(size_of::<BatonMeeting>() == 256 && align_of::<BatonMeeting>() == 128);
};

/// Returns 0 if the object was taken, and `otherwise` if not.
fn or(taken: bool, otherwise: c_int) -> c_int {
    if taken { 0 } else { otherwise }
}

/// Calls `take` with the deadline `until` on `clock`. Returns 0, `ETIMEDOUT`, or `EINVAL` for
/// another clock or an invalid time.
///
/// # Safety
/// `until` is null or a time.
pub(crate) unsafe fn timed(
    clock: libc::clockid_t,
    until: *const libc::timespec,
    take: impl FnOnce(Deadline) -> bool,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    match unsafe { deadline(clock, until) } {
        Some(deadline) => or(take(deadline), libc::ETIMEDOUT),
        None => libc::EINVAL,
    }
}

calls! {
    "The object is alive, began as a constant of `baton.h`, and the caller has what it releases or changes. Other \
     pointers are null or valid."

    /// Takes a mutex.
    baton_mutex_lock(mutex: BatonMutex) { mutex.lock(WAIT); }
    /// Takes a mutex if it is free. Returns 0 or `EBUSY`.
    baton_mutex_trylock(mutex: BatonMutex) -> c_int { or(mutex.try_lock().is_some(), libc::EBUSY) }
    /// Takes a mutex, or gives up at a time. Returns 0, `ETIMEDOUT` or `EINVAL`.
    baton_mutex_timedlock(mutex: BatonMutex, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        timed(clock, until, |deadline| mutex.lock_until(WAIT, deadline).is_some())
    }
    /// Releases a mutex.
    baton_mutex_unlock(mutex: BatonMutex) { mutex.unlock((), WAIT); }

    /// Waits until no thread writes or waits to write, and reads.
    baton_rwlock_rdlock(lock: BatonRwLock) { lock.lock_shared(WAIT); }
    /// Reads if no thread writes or waits to write. Returns 0 or `EBUSY`.
    baton_rwlock_tryrdlock(lock: BatonRwLock) -> c_int { or(lock.try_lock(Hold::Shared), libc::EBUSY) }
    /// Reads, or gives up at a time. Returns 0, `ETIMEDOUT` or `EINVAL`.
    baton_rwlock_timedrdlock(lock: BatonRwLock, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        timed(clock, until, |deadline| TurnsRwLock::lock(lock, Hold::Shared, WAIT, Some(deadline)))
    }
    /// Reads although a writer waits, because that writer may wait for a read of this thread.
    baton_rwlock_rdlock_recursive(lock: BatonRwLock) { TurnsRwLock::lock(lock, Hold::Recursive, WAIT, None); }
    /// Ends a read.
    baton_rwlock_rdunlock(lock: BatonRwLock) { lock.unlock_shared(WAIT); }
    /// Waits until no thread reads or writes, and writes.
    baton_rwlock_wrlock(lock: BatonRwLock) { lock.lock_exclusive(WAIT); }
    /// Writes if no thread reads or writes. Returns 0 or `EBUSY`.
    baton_rwlock_trywrlock(lock: BatonRwLock) -> c_int { or(lock.try_lock(Hold::Exclusive), libc::EBUSY) }
    /// Writes, or gives up at a time. Returns 0, `ETIMEDOUT` or `EINVAL`.
    baton_rwlock_timedwrlock(lock: BatonRwLock, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        timed(clock, until, |deadline| TurnsRwLock::lock(lock, Hold::Exclusive, WAIT, Some(deadline)))
    }
    /// Ends a write.
    baton_rwlock_wrunlock(lock: BatonRwLock) { lock.unlock_exclusive(WAIT); }
    /// Reads with the right to write later.
    baton_rwlock_uplock(lock: BatonRwLock) { TurnsRwLock::lock(lock, Hold::Upgradable, WAIT, None); }
    /// Reads with the right to write later, if no other thread writes or has that right. Returns 0
    /// or `EBUSY`.
    baton_rwlock_tryuplock(lock: BatonRwLock) -> c_int { or(lock.try_lock(Hold::Upgradable), libc::EBUSY) }
    /// Ends a read with the right to write.
    baton_rwlock_upunlock(lock: BatonRwLock) { lock.unlock_upgradable(WAIT); }
    /// Waits until the other readers have left, and writes.
    baton_rwlock_upgrade(lock: BatonRwLock) { lock.upgrade(WAIT, None); }
    /// Writes if there is no other reader. Returns 0, or `EBUSY` and the thread goes on reading.
    baton_rwlock_tryupgrade(lock: BatonRwLock) -> c_int { or(lock.try_upgrade(), libc::EBUSY) }
    /// Ends a write, and reads.
    baton_rwlock_downgrade(lock: BatonRwLock) { lock.downgrade(Hold::Shared, WAIT); }
    /// Ends a write, and reads with the right to write later.
    baton_rwlock_downgrade_up(lock: BatonRwLock) { lock.downgrade(Hold::Upgradable, WAIT); }

    /// Wakes the thread that has waited longest.
    baton_cond_signal(cond: BatonCond) { cond.notify_one(WAIT); }
    /// Wakes all waiting threads, one after another.
    baton_cond_broadcast(cond: BatonCond) { cond.notify_all(WAIT); }
    /// Releases a mutex, waits for a notification, and takes the mutex again.
    baton_cond_wait(cond: BatonCond, mutex: *const BatonMutex) { wait(cond, &*mutex, None); }
    /// Waits as above, until a time. Returns 0, `ETIMEDOUT` or `EINVAL`; with `EINVAL` the mutex was
    /// not released.
    baton_cond_timedwait(cond: BatonCond, mutex: *const BatonMutex, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        timed(clock, until, |deadline| wait(cond, &*mutex, Some(deadline)))
    }

    /// Calls `init` with `argument` if no thread has begun to, or waits until the thread that calls
    /// it has returned from it.
    baton_once_call(once: BatonOnce, init: extern "C" fn(*mut c_void), argument: *mut c_void) {
        // A function of C does not unwind, so nothing poisons the initialization.
        once.call_anyway(WAIT, |_| init(argument));
    }
    /// Whether the initialization is done.
    baton_once_done(once: BatonOnce) -> c_int { c_int::from(once.is_done()) }

    /// Takes a permit, waiting while there is none.
    baton_semaphore_take(semaphore: BatonSemaphore) { semaphore.take(WAIT); }
    /// Takes a permit if there is one. Returns 0 or `EAGAIN`.
    baton_semaphore_trytake(semaphore: BatonSemaphore) -> c_int { or(semaphore.try_take(), libc::EAGAIN) }
    /// Takes a permit, or gives up at a time. Returns 0, `ETIMEDOUT` or `EINVAL`.
    baton_semaphore_timedtake(semaphore: BatonSemaphore, clock: libc::clockid_t, until: *const libc::timespec) -> c_int {
        timed(clock, until, |deadline| semaphore.take_until(WAIT, Some(deadline)))
    }
    /// Adds a permit. Returns 0, or `EOVERFLOW` if there are 2^31 - 1.
    baton_semaphore_post(semaphore: BatonSemaphore) -> c_int { or(semaphore.try_post(WAIT), libc::EOVERFLOW) }

    /// Waits until all threads of a meeting wait. Returns 1 in one of them, 0 in the others, and -1
    /// if the meeting is for no threads.
    baton_meeting_wait(meeting: BatonMeeting) -> c_int {
        if meeting.participants() == 0 {
            error::set("a meeting needs at least one thread");
            return -1;
        }
        c_int::from(meeting.wait(0, WAIT))
    }
}

/// Releases the mutex, waits, and takes the mutex again. Returns whether a notification came.
pub(crate) fn wait(cond: &BatonCond, mutex: &BatonMutex, deadline: Option<Deadline>) -> bool {
    let node = Node::new();
    // SAFETY: the node is alive and used for nothing else until `leave`, which is called once. The
    // caller holds the mutex.
    let (notified, rest) = unsafe {
        cond.join(&node, WAIT);
        mutex.unlock((), WAIT);
        let _ = Chain::sleep_at(&node, WAIT, deadline);
        cond.leave(&node, WAIT)
    };
    mutex.lock(WAIT);
    Chain::wake_next(rest, WAIT);
    notified
}
