//! C11's `mtx_*`. In glibc an `mtx_t` is a `pthread_mutex_t`, but the `mtx_*` functions call
//! glibc's inner functions, past every interposer. The functions of this file, but for `init`, call
//! what the pthread slots point to.

use super::object::Mutex;
use super::{events, lock_by_place};
use crate::events::Probe;
use crate::hooks::real;
use crate::hooks::{Code, call, slot};
use core::ffi::c_int;
use libc::timespec;

/// C11's results, as glibc numbers them.
pub mod answer {
    use core::ffi::c_int;

    const SUCCESS: c_int = 0;
    const BUSY: c_int = 1;
    const ERROR: c_int = 2;
    const NOMEM: c_int = 3;
    const TIMEDOUT: c_int = 4;

    /// The C11 result for a pthread error.
    pub fn of(error: c_int) -> c_int {
        match error {
            0 => SUCCESS,
            libc::EBUSY => BUSY,
            libc::ENOMEM => NOMEM,
            libc::ETIMEDOUT => TIMEDOUT,
            _ => ERROR,
        }
    }
}

/// Points the slots of `mtx_*` to the functions of this file.
pub fn install<P: Probe>() {
    slot::mtx_init.set(init::<P> as Code);
    slot::mtx_destroy.set(destroy as Code);
    slot::mtx_lock.set(lock as Code);
    slot::mtx_trylock.set(trylock as Code);
    slot::mtx_timedlock.set(timedlock as Code);
    slot::mtx_unlock.set(unlock as Code);
}

/// Initialises the mutex by glibc's function, which zeroes it and sets its kind.
unsafe extern "C-unwind" fn init<P: Probe>(mutex: *mut Mutex, sort: c_int, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::mtx_init.get()(mutex.cast(), sort) };
    if answer == 0 {
        events::init::<P>(mutex, site);
        // SAFETY: the program passes a mutex, which glibc has just initialised; no other thread
        // uses it yet.
        unsafe { lock_by_place::initialised(mutex, site) };
    }
    answer
}

unsafe extern "C-unwind" fn destroy(mutex: *mut Mutex, site: usize) {
    // SAFETY: the slot points to a function with these arguments.
    unsafe { call!(pthread_mutex_destroy(mutex: *mut Mutex, site: usize) -> c_int) };
}

unsafe extern "C-unwind" fn lock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the slot points to a function with these arguments.
    answer::of(unsafe { call!(pthread_mutex_lock(mutex: *mut Mutex, site: usize) -> c_int) })
}

unsafe extern "C-unwind" fn trylock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the slot points to a function with these arguments.
    answer::of(unsafe { call!(pthread_mutex_trylock(mutex: *mut Mutex, site: usize) -> c_int) })
}

unsafe extern "C-unwind" fn timedlock(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: the slot points to a function with these arguments.
    answer::of(unsafe { call!(pthread_mutex_timedlock(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int) })
}

unsafe extern "C-unwind" fn unlock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the slot points to a function with these arguments.
    answer::of(unsafe { call!(pthread_mutex_unlock(mutex: *mut Mutex, site: usize) -> c_int) })
}
