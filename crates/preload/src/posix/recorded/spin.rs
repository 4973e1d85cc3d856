//! Spin locks, recorded but not replaced: their four bytes are too small for most of Baton's locks,
//! and glibc's are quick enough.

use crate::events::{self, Recorded};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use baton_trace::{How, Lock, LockKind, Mode};
use core::ffi::{c_int, c_void};

type Spin = *mut c_void;

pub(super) fn install() {
    slot::pthread_spin_init.set(init as Code);
    slot::pthread_spin_destroy.set(destroy as Code);
    slot::pthread_spin_lock.set(lock as Code);
    slot::pthread_spin_trylock.set(trylock as Code);
    slot::pthread_spin_unlock.set(unlock as Code);
}

fn name(lock: Spin) -> Lock {
    events::lock(LockKind::Spin, lock.addr())
}

unsafe extern "C-unwind" fn init(at: Spin, shared: c_int, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_spin_init.get()(at, shared) };
    if error == 0 {
        events::lock_init::<Recorded>(name(at), site);
    }
    error
}

unsafe extern "C-unwind" fn destroy(at: Spin, _: usize) -> c_int {
    events::lock_destroy::<Recorded>(name(at));
    // SAFETY: passed on.
    unsafe { real::pthread_spin_destroy.get()(at) }
}

unsafe extern "C-unwind" fn lock(at: Spin, site: usize) -> c_int {
    // SAFETY: passed on.
    if unsafe { real::pthread_spin_trylock.get()(at) } == 0 {
        events::lock_acquire::<Recorded>(name(at), Mode::Exclusive, site);
        return 0;
    }
    events::lock_request::<Recorded>(name(at), Mode::Exclusive, site);
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_spin_lock.get()(at) };
    events::lock_acquired::<Recorded>(name(at), Mode::Exclusive, How::spinning(0));
    answer
}

unsafe extern "C-unwind" fn trylock(at: Spin, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_spin_trylock.get()(at) };
    match answer {
        0 => {
            events::lock_acquire::<Recorded>(name(at), Mode::Exclusive, site);
            events::lock_bounded::<Recorded>(name(at));
        }
        _ => events::lock_try_failed::<Recorded>(name(at), Mode::Exclusive, site),
    }
    answer
}

unsafe extern "C-unwind" fn unlock(at: Spin, site: usize) -> c_int {
    events::lock_release::<Recorded>(name(at), Mode::Exclusive, site);
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_spin_unlock.get()(at) };
    events::lock_released::<Recorded>();
    answer
}
