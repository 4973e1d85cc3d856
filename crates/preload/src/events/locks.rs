//! Events of locks of any kind: acquisitions, waits and releases.

use super::post::{bounded, cpu_time, post, post_ordered, switched, tidy_up};
use super::session::{Probe, SESSION};
use super::sites::{contended, origin, site};
use crate::thread;
use baton_machine::native::thread::sleeps;
use baton_trace::{Address, How, Lock, LockKind, Mode, What};

/// A lock as events name it.
#[inline(always)]
pub fn lock(kind: LockKind, address: usize) -> Lock {
    Lock { address: address as Address, kind }
}

/// Records that the lock was free and that the thread has taken it.
#[inline(always)]
pub fn lock_acquire<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquire { lock, mode, site: site(thread, at) }
    });
}

/// Records that the acquisition or wait that the thread has just recorded was a try, or has a
/// deadline.
#[inline(always)]
pub fn lock_bounded<P: Probe>(lock: Lock) {
    bounded::<P>(lock.address);
}

/// Called after a release. Does the upkeep of the recording (making room, writing down context
/// switches) if the thread holds no lock now, so that no critical section gets longer.
#[inline(always)]
pub fn lock_released<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
            tidy_up(thread);
        }
    }
}

/// Records that the thread begins to wait for a lock that is taken.
#[inline(never)]
pub fn lock_request<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::Request { lock, mode, site: contended(thread, at) });
    cpu_time::<P>();
}

/// Records the beginning of a wait for the lock at an earlier time, `moment`.
pub fn lock_requested_at<P: Probe>(lock: Lock, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        let what = What::Request { lock, mode: Mode::Exclusive, site: contended(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}

/// Records that the wait is over and the thread has the lock. `how` is unknown for glibc's locks.
#[inline(never)]
pub fn lock_acquired<P: Probe>(lock: Lock, mode: Mode, how: How) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquired { lock, mode, how }
    });
    cpu_time::<P>();
}

/// Tells how a wait for one of Baton's locks went: compares how often the thread has slept in the
/// kernel before and after the wait.
pub struct Watch(u64);

impl Watch {
    /// Notes, at the beginning of a wait, how often the thread has slept in the kernel so far.
    #[inline(always)]
    pub fn begin<P: Probe>() -> Watch {
        Watch(if P::ON { sleeps() } else { 0 })
    }

    /// Ends the wait and says whether the thread slept in it. The count of tries is 0, because the
    /// locks do not count tries on this machine.
    #[inline(always)]
    pub fn how<P: Probe>(self) -> How {
        if P::ON && sleeps() != self.0 { How::sleeping(0) } else { How::spinning(0) }
    }
}

/// Records that the wait's deadline passed before the thread got the lock.
#[inline(never)]
pub fn lock_timed_out<P: Probe>(lock: Lock, mode: Mode) {
    post_ordered::<P>(|_| What::Timeout { lock, mode });
    cpu_time::<P>();
}

/// Records that a try found the lock taken.
#[inline(always)]
pub fn lock_try_failed<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| What::TryFail { lock, mode, site: site(thread, at) });
}

/// Records that the thread is about to release the lock.
#[inline(always)]
pub fn lock_release<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| {
        thread.holds.give();
        What::Release { lock, mode, site: site(thread, at) }
    });
}

/// Records the first acquisition of a free lock that no recorded call has initialised.
#[cold]
#[inline(never)]
pub fn lock_first_acquire<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post_ordered::<P>(|thread| {
        let site = origin(thread, at);
        thread.holds.take();
        What::Acquire { lock, mode, site }
    });
}

/// Records that the lock was initialised.
pub fn lock_init<P: Probe>(lock: Lock, at: usize) {
    post_ordered::<P>(|thread| What::LockInit { lock, site: origin(thread, at) });
}

/// Records that the lock is about to be destroyed.
#[inline(always)]
pub fn lock_destroy<P: Probe>(lock: Lock) {
    post::<P>(|_| What::LockDestroy { lock });
}

/// Records that the thread released the lock at an earlier time, `moment`.
#[inline(always)]
pub fn lock_released_at<P: Probe>(lock: Lock, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        thread.holds.give();
        let what = What::Release { lock, mode: Mode::Exclusive, site: site(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}
