//! Barriers, at which a thread waits for those that have not arrived, and spin locks.

use super::stand_before;
use baton_machine::LockNotice;
use baton_machine::native::notices::{tell, wants};
use core::ffi::{c_int, c_void};

stand_before! {
    pthread_barrier_wait (*mut c_void) -> c_int;
    pthread_spin_lock (*mut c_void) -> c_int;
    pthread_spin_trylock (*mut c_void) -> c_int;
    pthread_spin_unlock (*mut c_void) -> c_int;
}

unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut c_void, site: usize) -> c_int {
    tell(LockNotice::Arrived, barrier.addr());
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_barrier_wait()(barrier, site) };
    tell(LockNotice::Left, barrier.addr());
    answer
}

unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut c_void, site: usize) -> c_int {
    wants(lock.addr(), true);
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_spin_lock()(lock, site) };
    tell(if answer == 0 { LockNotice::Taken } else { LockNotice::Left }, lock.addr());
    answer
}

unsafe extern "C-unwind" fn pthread_spin_trylock(lock: *mut c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_spin_trylock()(lock, site) };
    if answer == 0 {
        tell(LockNotice::Taken, lock.addr());
    }
    answer
}

unsafe extern "C-unwind" fn pthread_spin_unlock(lock: *mut c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { before::pthread_spin_unlock()(lock, site) };
    tell(LockNotice::Left, lock.addr());
    answer
}
