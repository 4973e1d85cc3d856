//! Mutexes that glibc serves: all of them in a run without `BATON_LOCK`, else those that cannot be
//! replaced, and those that `BATON_LOCK` leaves to glibc.
//!
//! glibc does not say whether a lock had to wait. So a recorded lock is tried first: a try that
//! succeeds is an acquisition without a wait, and a try that fails is the beginning of a wait. A
//! robust mutex is not tried, because a try leaves an unrecoverable mutex locked (in glibc 2.36),
//! and the lock after it would hang. The first word of a robust mutex says whether it is free.

use super::events;
use super::functions::Functions;
use super::object::Mutex;
use crate::events::{Probe, lock_released, moment};
use crate::hooks::real;
use crate::thread::{self, Passed};
use baton_trace::How;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use libc::{EBUSY, EOWNERDEAD, clockid_t, timespec};

/// glibc's functions, with events if `P` records; acquisitions are counted either way.
pub fn functions<P: Probe>() -> Functions {
    Functions {
        init: init::<P>,
        destroy: destroy::<P>,
        lock: lock_slot::<P>,
        trylock: trylock_slot::<P>,
        timedlock: timedlock_slot::<P>,
        clocklock: clocklock_slot::<P>,
        unlock: unlock::<P>,
        spare_at: None,
    }
}

unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_mutex_init.get()(mutex.cast(), attributes) };
    if error == 0 {
        events::init::<P>(mutex, site);
    }
    error
}

unsafe extern "C-unwind" fn destroy<P: Probe>(mutex: *mut Mutex, _: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_mutex_destroy.get()(mutex.cast()) };
    if error == 0 {
        events::destroy::<P>(mutex);
    }
    error
}

/// Whether `answer` says that the caller has the lock now (EOWNERDEAD: the last owner died with
/// it).
fn is_held(answer: c_int) -> bool {
    answer == 0 || answer == EOWNERDEAD
}

/// Whether the owner of a recursive mutex has taken it more than once: the inner acquisitions have
/// no events, because the thread holds the mutex anyway. Called by the owner only, which alone
/// changes the count.
fn is_nested(mutex: *const Mutex) -> bool {
    /// Offset of `__count` in glibc's `struct __pthread_mutex_s`.
    const COUNT: usize = 4;
    // SAFETY: the caller holds the mutex; the kind says whether the count means anything.
    unsafe {
        Mutex::kind_at(mutex).is_recursive() && (*mutex.byte_add(COUNT).cast::<AtomicU32>()).load(Ordering::Relaxed) > 1
    }
}

/// Whether glibc will refuse a condition wait with this mutex, because the mutex checks its owner,
/// and the owner is not the calling thread.
///
/// # Safety
/// `mutex` is a mutex that glibc serves.
pub unsafe fn refuses_me(mutex: *const Mutex) -> bool {
    // SAFETY: the caller says that `mutex` is a mutex of glibc's.
    unsafe { Mutex::kind_at(mutex).checks_unlock() && Mutex::glibc_owner(mutex) != baton_trace::sys::tid() }
}

/// Takes the mutex by glibc's `pthread_mutex_lock`, with events if `P` records. Counts the call
/// under `why`, the reason for which glibc serves the mutex.
///
/// # Safety
/// As `pthread_mutex_lock`.
pub unsafe fn lock<P: Probe>(mutex: *mut Mutex, site: usize, why: Passed) -> c_int {
    thread::current().count_passed(why);
    let real = real::pthread_mutex_lock.get();
    if !P::ON {
        // SAFETY: passed on.
        return unsafe { real(mutex.cast()) };
    }
    // SAFETY: passed on.
    unsafe { waiting::<P>(mutex, site, false, || real(mutex.cast())) }
}

/// Tries to take the mutex; if the try finds it held, calls `wait` between two events. `until`: the
/// wait has a deadline.
///
/// # Safety
/// As for `pthread_mutex_lock`.
#[inline(always)]
unsafe fn waiting<P: Probe>(mutex: *mut Mutex, site: usize, until: bool, wait: impl Fn() -> c_int) -> c_int {
    // SAFETY: the program passes a mutex.
    if !unsafe { Mutex::kind_at(mutex) }.is_normal_and_seen() {
        // SAFETY: passed on.
        return unsafe { waiting_for_other::<P>(mutex, site, until, wait) };
    }
    // SAFETY: passed on.
    let tried = unsafe { real::pthread_mutex_trylock.get()(mutex.cast()) };
    if tried == 0 {
        events::acquire_seen::<P>(mutex, site);
        if until {
            events::bounded::<P>(mutex);
        }
    }
    if tried == EBUSY { contended::<P>(mutex, site, until, wait) } else { tried }
}

/// Does what [`waiting`] does for a mutex that is taken for the first time, or is robust, recursive
/// or of another special kind.
///
/// # Safety
/// As for `pthread_mutex_lock`.
#[inline(never)]
unsafe fn waiting_for_other<P: Probe>(mutex: *mut Mutex, site: usize, until: bool, wait: impl Fn() -> c_int) -> c_int {
    // SAFETY: the program passes a mutex.
    let tried = if unsafe { Mutex::kind_at(mutex) }.is_robust() {
        // SAFETY: `__lock` is the first word of glibc's `struct __pthread_mutex_s`; in a robust
        // mutex it holds the owner's number.
        let owner = unsafe { (*mutex.cast::<AtomicU32>()).load(Ordering::Relaxed) } & libc::FUTEX_TID_MASK;
        if owner == 0 || owner == baton_trace::sys::tid() { wait() } else { EBUSY }
    } else {
        // SAFETY: passed on.
        unsafe { real::pthread_mutex_trylock.get()(mutex.cast()) }
    };
    if tried == EBUSY {
        return contended::<P>(mutex, site, until, || {
            events::shared_with_others::<P>(mutex);
            wait()
        });
    }
    if is_held(tried) && !is_nested(mutex) {
        events::acquire::<P>(mutex, site);
        if until {
            events::bounded::<P>(mutex);
        }
    }
    tried
}

/// Calls `wait` for a mutex that another thread holds, between two events.
fn contended<P: Probe>(mutex: *mut Mutex, site: usize, until: bool, wait: impl Fn() -> c_int) -> c_int {
    events::request::<P>(mutex, site);
    if until {
        events::bounded::<P>(mutex);
    }
    let answer = wait();
    if is_held(answer) {
        events::acquired::<P>(mutex, How::OPAQUE);
    } else {
        events::timed_out::<P>(mutex);
    }
    answer
}

/// Takes the mutex by glibc's `pthread_mutex_trylock`, with events if `P` records. Counts an
/// acquisition under `why`, the reason for which glibc serves the mutex.
///
/// # Safety
/// As `pthread_mutex_trylock`.
pub unsafe fn trylock<P: Probe>(mutex: *mut Mutex, site: usize, why: Passed) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_mutex_trylock.get()(mutex.cast()) };
    if is_held(answer) {
        thread::current().count_passed(why);
        // SAFETY: the calling thread holds the mutex, so it exists.
        if P::ON && unsafe { Mutex::kind_at(mutex) }.is_normal_and_seen() {
            events::acquire_seen::<P>(mutex, site);
            events::bounded::<P>(mutex);
        } else if P::ON && !is_nested(mutex) {
            events::acquire::<P>(mutex, site);
            events::bounded::<P>(mutex);
        }
    } else if answer == EBUSY {
        events::try_failed::<P>(mutex, site);
    }
    answer
}

/// Takes the mutex by glibc's `pthread_mutex_timedlock`, with events if `P` records. Counts an
/// acquisition under `why`, the reason for which glibc serves the mutex.
///
/// # Safety
/// As `pthread_mutex_timedlock`.
pub unsafe fn timedlock<P: Probe>(
    mutex: *mut Mutex,
    _: clockid_t,
    at: *const timespec,
    site: usize,
    why: Passed,
) -> c_int {
    let real = real::pthread_mutex_timedlock.get();
    // SAFETY: passed on.
    let answer = unsafe {
        if P::ON { waiting::<P>(mutex, site, true, || real(mutex.cast(), at)) } else { real(mutex.cast(), at) }
    };
    if is_held(answer) {
        thread::current().count_passed(why);
    }
    answer
}

/// Takes the mutex by glibc's `pthread_mutex_clocklock`, with events if `P` records. Counts an
/// acquisition under `why`, the reason for which glibc serves the mutex.
///
/// # Safety
/// As `pthread_mutex_clocklock`.
pub unsafe fn clocklock<P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
    why: Passed,
) -> c_int {
    let real = real::pthread_mutex_clocklock.get();
    // SAFETY: passed on.
    let answer = unsafe {
        if P::ON && crate::base::time::clock(clock).is_some() {
            waiting::<P>(mutex, site, true, || real(mutex.cast(), clock, at))
        } else {
            real(mutex.cast(), clock, at)
        }
    };
    if is_held(answer) {
        thread::current().count_passed(why);
    }
    answer
}

/// Releases the mutex by glibc's `pthread_mutex_unlock`, with an event if `P` records and the mutex
/// is free then.
///
/// # Safety
/// As `pthread_mutex_unlock`.
pub unsafe extern "C-unwind" fn unlock<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    let real = real::pthread_mutex_unlock.get();
    if !P::ON {
        // SAFETY: passed on.
        return unsafe { real(mutex.cast()) };
    }
    // SAFETY: the program passes a mutex.
    if !unsafe { Mutex::kind_at(mutex) }.checks_unlock() {
        events::release::<P>(mutex, site);
        // SAFETY: passed on.
        let answer = unsafe { real(mutex.cast()) };
        lock_released::<P>();
        return answer;
    }
    // The unlock may fail, or be an inner one of a recursive mutex. So the time is read before it,
    // and the event is written after it.
    let (before, nested) = (moment::<P>(), is_nested(mutex));
    // SAFETY: passed on.
    let answer = unsafe { real(mutex.cast()) };
    if answer == 0 && !nested {
        events::released_at::<P>(mutex, site, before);
        lock_released::<P>();
    }
    answer
}

unsafe extern "C-unwind" fn lock_slot<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { lock::<P>(mutex, site, Passed::Glibc) }
}

unsafe extern "C-unwind" fn trylock_slot<P: Probe>(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { trylock::<P>(mutex, site, Passed::Glibc) }
}

unsafe extern "C-unwind" fn timedlock_slot<P: Probe>(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { timedlock::<P>(mutex, libc::CLOCK_REALTIME, at, site, Passed::Glibc) }
}

unsafe extern "C-unwind" fn clocklock_slot<P: Probe>(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { clocklock::<P>(mutex, clock, at, site, Passed::Glibc) }
}
