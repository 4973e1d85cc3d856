//! Mutexes and condition variables: which mutex a thread wants, takes and releases.

use super::stand_before;
use crate::posix::mutex::Mutex;
use baton_machine::LockNotice;
use baton_machine::native::notices::{tell, wants};
use core::ffi::{c_int, c_void};
use libc::{EDEADLK, EOWNERDEAD, clockid_t, timespec};

stand_before! {
    pthread_mutex_lock (*mut Mutex) -> c_int;
    pthread_mutex_trylock (*mut Mutex) -> c_int;
    pthread_mutex_timedlock (*mut Mutex, *const timespec) -> c_int;
    pthread_mutex_clocklock (*mut Mutex, clockid_t, *const timespec) -> c_int;
    pthread_mutex_unlock (*mut Mutex) -> c_int;
    pthread_cond_wait (*mut c_void, *mut Mutex) -> c_int;
    pthread_cond_timedwait (*mut c_void, *mut Mutex, *const timespec) -> c_int;
    pthread_cond_clockwait (*mut c_void, *mut Mutex, clockid_t, *const timespec) -> c_int;
}

/// Whether the mutex is told of: a recursive one would have to be counted, and a robust one may
/// belong to a thread that has died.
///
/// # Safety
/// `mutex` points to a mutex.
unsafe fn is_told(mutex: *const Mutex) -> bool {
    // SAFETY: by contract.
    let kind = unsafe { Mutex::kind_at(mutex) };
    !kind.is_recursive() && !kind.is_robust()
}

/// Whether the mutex seems to be held: then the time of the wait's begin is worth a look at the clock.
///
/// # Safety
/// `mutex` points to a mutex.
unsafe fn seems_held(mutex: *const Mutex) -> bool {
    // SAFETY: by contract; an unaligned mutex is not looked at.
    unsafe { mutex.is_aligned() && ((*mutex).is_owned() || Mutex::glibc_owner(mutex) != 0) }
}

/// Tells of a call that takes the mutex.
///
/// # Safety
/// `mutex` points to a mutex.
unsafe fn taking(mutex: *mut Mutex, take: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by contract.
    if unsafe { !is_told(mutex) } {
        return take();
    }
    // SAFETY: by contract.
    wants(mutex.addr(), unsafe { seems_held(mutex) });
    let answer = take();
    // With EDEADLK the thread holds the mutex already.
    let holds = matches!(answer, 0 | EOWNERDEAD | EDEADLK);
    tell(if holds { LockNotice::Taken } else { LockNotice::Left }, mutex.addr());
    answer
}

unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(mutex, || before::pthread_mutex_lock()(mutex, site)) }
}

unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_mutex_trylock()(mutex, site) };
    // SAFETY: the program passes a mutex, which this thread holds if the answer is 0.
    if answer == 0 && unsafe { is_told(mutex) } {
        tell(LockNotice::Taken, mutex.addr());
    }
    answer
}

unsafe extern "C-unwind" fn pthread_mutex_timedlock(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(mutex, || before::pthread_mutex_timedlock()(mutex, at, site)) }
}

unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(mutex, || before::pthread_mutex_clocklock()(mutex, clock, at, site)) }
}

unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut Mutex, site: usize) -> c_int {
    // The mutex may be destroyed as soon as it is released.
    // SAFETY: the program passes a mutex.
    let told = unsafe { is_told(mutex) };
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_mutex_unlock()(mutex, site) };
    if told && answer == 0 {
        tell(LockNotice::Left, mutex.addr());
    }
    answer
}

/// Tells of a wait at a condition variable, during which the thread does not hold the mutex. The wait
/// may unwind at a cancellation; nothing here has a destructor.
///
/// # Safety
/// `mutex` points to a mutex.
unsafe fn waiting(mutex: *mut Mutex, wait: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: by contract.
    let told = unsafe { is_told(mutex) };
    if told {
        tell(LockNotice::Left, mutex.addr());
    }
    let answer = wait();
    if told {
        tell(LockNotice::Taken, mutex.addr());
    }
    answer
}

unsafe extern "C-unwind" fn pthread_cond_wait(cond: *mut c_void, mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting(mutex, || before::pthread_cond_wait()(cond, mutex, site)) }
}

unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *mut c_void,
    mutex: *mut Mutex,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting(mutex, || before::pthread_cond_timedwait()(cond, mutex, at, site)) }
}

unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *mut c_void,
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting(mutex, || before::pthread_cond_clockwait()(cond, mutex, clock, at, site)) }
}
