//! Locks of any kind: taken, waited for, released.

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

/// The lock was free and has been taken.
#[inline(always)]
pub fn lock_acquire<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquire { lock, mode, site: site(thread, at) }
    });
}

/// The acquisition or wait that the thread has just recorded was a try, or has a deadline.
#[inline(always)]
pub fn lock_bounded<P: Probe>(lock: Lock) {
    bounded::<P>(lock.address);
}

/// A lock has been given up: what recording has to do now and then (making room, writing down context switches) is done here, where
/// the thread holds none, so that no critical section gets longer.
#[inline(always)]
pub fn lock_released<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_due()) {
            tidy_up(thread);
        }
    }
}

/// The lock is taken: a wait begins.
#[inline(never)]
pub fn lock_request<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::Request { lock, mode, site: contended(thread, at) });
    cpu_time::<P>();
}

/// A wait began at a moment before.
pub fn lock_requested_at<P: Probe>(lock: Lock, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        let what = What::Request { lock, mode: Mode::Exclusive, site: contended(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}

/// The wait ended with the lock. How it went is glibc's secret, if the lock is glibc's.
#[inline(never)]
pub fn lock_acquired<P: Probe>(lock: Lock, mode: Mode, how: How) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquired { lock, mode, how }
    });
    cpu_time::<P>();
}

/// Tells how a wait for a lock of ours went: does the thread sleep in the kernel between its begin and its end?
pub struct Watch(u64);

impl Watch {
    /// The wait begins.
    #[inline(always)]
    pub fn begin<P: Probe>() -> Watch {
        Watch(if P::ON { sleeps() } else { 0 })
    }

    /// The wait has ended. The locks do not count their tries on this machine.
    #[inline(always)]
    pub fn how<P: Probe>(self) -> How {
        if P::ON && sleeps() != self.0 { How::sleeping(0) } else { How::spinning(0) }
    }
}

/// The wait ended without it.
#[inline(never)]
pub fn lock_timed_out<P: Probe>(lock: Lock, mode: Mode) {
    post_ordered::<P>(|_| What::Timeout { lock, mode });
    cpu_time::<P>();
}

/// A try found it taken.
#[inline(always)]
pub fn lock_try_failed<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| What::TryFail { lock, mode, site: site(thread, at) });
}

/// It is about to be given up.
#[inline(always)]
pub fn lock_release<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| {
        thread.holds.give();
        What::Release { lock, mode, site: site(thread, at) }
    });
}

/// The lock, which no call has initialised, was free and has been taken for the first time.
#[cold]
#[inline(never)]
pub fn lock_first_acquire<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post_ordered::<P>(|thread| {
        let site = origin(thread, at);
        thread.holds.take();
        What::Acquire { lock, mode, site }
    });
}

/// It was initialised.
pub fn lock_init<P: Probe>(lock: Lock, at: usize) {
    post_ordered::<P>(|thread| What::LockInit { lock, site: origin(thread, at) });
}

/// It is about to be destroyed.
#[inline(always)]
pub fn lock_destroy<P: Probe>(lock: Lock) {
    post::<P>(|_| What::LockDestroy { lock });
}

/// As [`lock_release`], at a moment before.
#[inline(always)]
pub fn lock_released_at<P: Probe>(lock: Lock, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        thread.holds.give();
        let what = What::Release { lock, mode: Mode::Exclusive, site: site(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}
