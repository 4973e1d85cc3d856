//! Events of mutexes: the functions by which the hooks of mutexes record what happens.

use super::object::{Class, Mutex};
use crate::events::{self, Probe};
use crate::thread::Passed;
use baton_trace::{Address, How, Lock, Mode, What, notes};

/// A mutex as events name it.
#[inline(always)]
fn mutex(mutex: *const Mutex) -> Lock {
    Lock::mutex(mutex.addr() as Address)
}

/// Records that the mutex was free and that the thread has taken it. For a mutex that no recorded
/// call has initialised or taken before, records the callers of the call site too.
#[inline(always)]
pub fn acquire<P: Probe>(m: *const Mutex, at: usize) {
    // SAFETY: the caller has just taken the mutex, so it exists.
    if P::ON && unsafe { Mutex::kind_at(m) }.is_new() {
        return first_acquire::<P>(m, at);
    }
    acquire_seen::<P>(m, at);
}
/// Records that the thread has taken a free mutex, which a recorded call has initialised or taken
/// before.
#[inline(always)]
pub fn acquire_seen<P: Probe>(m: *const Mutex, at: usize) {
    events::lock_acquire::<P>(mutex(m), Mode::Exclusive, at);
}
/// Records that the acquisition or wait just recorded was a try, or has a deadline: see
/// [`events::lock_bounded`].
#[inline(always)]
pub fn bounded<P: Probe>(m: *const Mutex) {
    events::lock_bounded::<P>(mutex(m));
}
/// Records the first acquisition of a mutex that no recorded call has initialised, with the callers
/// of its site: they tell it apart from other mutexes that a wrapper takes at the same place.
#[cold]
fn first_acquire<P: Probe>(m: *const Mutex, at: usize) {
    // SAFETY: the calling thread holds the mutex, so it exists.
    unsafe { Mutex::note_seen(m) };
    events::lock_first_acquire::<P>(mutex(m), Mode::Exclusive, at);
}
/// Records that the thread begins to wait for a mutex that is taken.
#[inline(always)]
pub fn request<P: Probe>(m: *const Mutex, at: usize) {
    if P::ON {
        events::lock_request::<P>(mutex(m), Mode::Exclusive, at);
    }
}
/// Records that the wait is over and the thread has the mutex.
#[inline(always)]
pub fn acquired<P: Probe>(m: *const Mutex, how: How) {
    if P::ON {
        events::lock_acquired::<P>(mutex(m), Mode::Exclusive, how);
    }
}
/// Records that the wait's deadline passed before the thread got the mutex.
#[inline(always)]
pub fn timed_out<P: Probe>(m: *const Mutex) {
    if P::ON {
        events::lock_timed_out::<P>(mutex(m), Mode::Exclusive);
    }
}
/// Records that a try found the mutex taken.
#[inline(always)]
pub fn try_failed<P: Probe>(m: *const Mutex, at: usize) {
    events::lock_try_failed::<P>(mutex(m), Mode::Exclusive, at);
}
/// Records that the thread is about to release the mutex.
#[inline(always)]
pub fn release<P: Probe>(m: *const Mutex, at: usize) {
    events::lock_release::<P>(mutex(m), Mode::Exclusive, at);
}
/// Records that the thread released the mutex at an earlier time, `moment`.
#[inline(always)]
pub fn released_at<P: Probe>(m: *const Mutex, at: usize, moment: u64) {
    events::lock_released_at::<P>(mutex(m), at, moment);
}
/// Records that the mutex was initialised, and notes in the trace if the mutex is robust, has a
/// priority protocol or is process-shared: glibc serves such a mutex whatever `BATON_LOCK` says.
pub fn init<P: Probe>(m: *const Mutex, at: usize) {
    events::lock_init::<P>(mutex(m), at);
    if P::ON {
        // SAFETY: the mutex has just been initialised.
        unsafe { Mutex::note_seen(m) };
        // SAFETY: the mutex has just been initialised.
        let code = match unsafe { Mutex::kind_at(m) }.class() {
            Class::Passed(Passed::Robust) => notes::ROBUST,
            Class::Passed(Passed::Priority) => notes::PRIORITY_INHERIT,
            Class::Passed(Passed::ProcessShared) => return events::shared::<P>(m.addr(), true),
            _ => return,
        };
        events::post::<P>(|_| What::Note { address: m.addr() as Address, code });
    }
}
/// Notes in the trace that the mutex is process-shared, if it is. Another process may have initialised
/// it, so that no recorded call did.
pub fn shared_with_others<P: Probe>(m: *const Mutex) {
    // SAFETY: the program passes a mutex.
    if P::ON && unsafe { Mutex::kind_at(m) }.class() == Class::Passed(Passed::ProcessShared) {
        events::shared::<P>(m.addr(), false);
    }
}
/// Records that the mutex is about to be destroyed.
#[inline(always)]
pub fn destroy<P: Probe>(m: *const Mutex) {
    events::lock_destroy::<P>(mutex(m));
}
