//! Mutexes whose acquisitions are the progress point of `baton try --for`. Such a mutex is served
//! by the lock that would serve it anyway, and each acquisition is counted once it has succeeded.

use super::functions::Functions;
use super::lock_by_place::uncounted;
use super::object::Mutex;
use crate::progress::passed;
use crate::thread;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::Relaxed;
use libc::{clockid_t, timespec};

/// The functions that serve a mutex whose acquisitions are counted.
pub const FUNCTIONS: Functions =
    Functions { init, destroy, lock, trylock, timedlock, clocklock, unlock, spare_at: None };

/// Counts an acquisition if `answer` says that it succeeded, and returns `answer`. An acquisition at
/// the end of a wait at a condition variable does not count: glibc makes it inside of the wait, where
/// no call shows it, and a point must count alike under every lock.
fn counted(answer: c_int, site: usize) -> c_int {
    let relocks = || thread::existing().is_some_and(|thread| thread.relocks.load(Relaxed));
    if (answer == 0 || answer == libc::EOWNERDEAD) && !relocks() {
        passed(site);
    }
    answer
}

unsafe extern "C-unwind" fn init(mutex: *mut Mutex, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (uncounted(mutex).init)(mutex, attributes, site) }
}

unsafe extern "C-unwind" fn destroy(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (uncounted(mutex).destroy)(mutex, site) }
}

unsafe extern "C-unwind" fn lock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    counted(unsafe { (uncounted(mutex).lock)(mutex, site) }, site)
}

unsafe extern "C-unwind" fn trylock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    counted(unsafe { (uncounted(mutex).trylock)(mutex, site) }, site)
}

unsafe extern "C-unwind" fn timedlock(mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    counted(unsafe { (uncounted(mutex).timedlock)(mutex, at, site) }, site)
}

unsafe extern "C-unwind" fn clocklock(mutex: *mut Mutex, clock: clockid_t, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    counted(unsafe { (uncounted(mutex).clocklock)(mutex, clock, at, site) }, site)
}

unsafe extern "C-unwind" fn unlock(mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { (uncounted(mutex).unlock)(mutex, site) }
}
