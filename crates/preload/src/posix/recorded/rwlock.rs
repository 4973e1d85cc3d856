//! Reader-writer locks, which glibc serves, recorded.

use crate::base::time;
use crate::events::{self, Recorded};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use baton_trace::{How, Lock, LockKind, Mode};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};
use libc::{CLOCK_REALTIME, EBUSY, clockid_t, timespec};

type Rwlock = *mut c_void;

pub(super) fn install() {
    slot::pthread_rwlock_init.set(init as Code);
    slot::pthread_rwlock_destroy.set(destroy as Code);
    slot::pthread_rwlock_rdlock.set(rdlock as Code);
    slot::pthread_rwlock_wrlock.set(wrlock as Code);
    slot::pthread_rwlock_tryrdlock.set(tryrdlock as Code);
    slot::pthread_rwlock_trywrlock.set(trywrlock as Code);
    slot::pthread_rwlock_timedrdlock.set(timedrdlock as Code);
    slot::pthread_rwlock_timedwrlock.set(timedwrlock as Code);
    slot::pthread_rwlock_clockrdlock.set(clockrdlock as Code);
    slot::pthread_rwlock_clockwrlock.set(clockwrlock as Code);
    slot::pthread_rwlock_unlock.set(unlock as Code);
}

fn name(lock: Rwlock) -> Lock {
    events::lock(LockKind::RwLock, lock.addr())
}

unsafe extern "C-unwind" fn init(lock: Rwlock, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_rwlock_init.get()(lock, attributes) };
    if error == 0 {
        events::lock_init::<Recorded>(name(lock), site);
    }
    error
}

unsafe extern "C-unwind" fn destroy(lock: Rwlock, _: usize) -> c_int {
    events::lock_destroy::<Recorded>(name(lock));
    // SAFETY: passed on.
    unsafe { real::pthread_rwlock_destroy.get()(lock) }
}

/// Tries to take the lock; if the try finds it held, calls `wait` between two events. `until`: the
/// wait has a deadline.
///
/// # Safety
/// As for `pthread_rwlock_rdlock`.
unsafe fn taking(lock: Rwlock, mode: Mode, site: usize, until: bool, wait: impl FnOnce() -> c_int) -> c_int {
    let tried = match mode {
        // SAFETY: passed on.
        Mode::Shared => unsafe { real::pthread_rwlock_tryrdlock.get()(lock) },
        // SAFETY: passed on.
        Mode::Exclusive => unsafe { real::pthread_rwlock_trywrlock.get()(lock) },
    };
    let mark = || {
        if until {
            events::lock_bounded::<Recorded>(name(lock));
        }
    };
    match tried {
        0 => {
            events::lock_acquire::<Recorded>(name(lock), mode, site);
            mark();
        }
        EBUSY => {
            events::lock_request::<Recorded>(name(lock), mode, site);
            mark();
            let answer = wait();
            match answer {
                0 => events::lock_acquired::<Recorded>(name(lock), mode, How::OPAQUE),
                _ => events::lock_timed_out::<Recorded>(name(lock), mode),
            }
            return answer;
        }
        // The try failed for another reason, such as a deadlock: the call itself reports the right
        // error.
        _ => return wait(),
    }
    0
}

/// Does what [`taking`] does, if the time and the clock are valid. If not, glibc refuses even a
/// free lock, so no try is made.
///
/// # Safety
/// As for `pthread_rwlock_clockrdlock`.
unsafe fn timed(
    lock: Rwlock,
    mode: Mode,
    site: usize,
    clock: clockid_t,
    at: *const timespec,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe { if time::is_valid(clock, at) { taking(lock, mode, site, true, wait) } else { wait() } }
}

/// Records the result of a try.
///
/// # Safety
/// As for `pthread_rwlock_tryrdlock`.
unsafe fn tried(lock: Rwlock, mode: Mode, site: usize, answer: c_int) -> c_int {
    match answer {
        0 => {
            events::lock_acquire::<Recorded>(name(lock), mode, site);
            events::lock_bounded::<Recorded>(name(lock));
        }
        EBUSY => events::lock_try_failed::<Recorded>(name(lock), mode, site),
        _ => {}
    }
    answer
}

unsafe extern "C-unwind" fn rdlock(lock: Rwlock, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(lock, Mode::Shared, site, false, || real::pthread_rwlock_rdlock.get()(lock)) }
}

unsafe extern "C-unwind" fn wrlock(lock: Rwlock, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(lock, Mode::Exclusive, site, false, || real::pthread_rwlock_wrlock.get()(lock)) }
}

unsafe extern "C-unwind" fn tryrdlock(lock: Rwlock, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { tried(lock, Mode::Shared, site, real::pthread_rwlock_tryrdlock.get()(lock)) }
}

unsafe extern "C-unwind" fn trywrlock(lock: Rwlock, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { tried(lock, Mode::Exclusive, site, real::pthread_rwlock_trywrlock.get()(lock)) }
}

unsafe extern "C-unwind" fn timedrdlock(lock: Rwlock, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { timed(lock, Mode::Shared, site, CLOCK_REALTIME, at, || real::pthread_rwlock_timedrdlock.get()(lock, at)) }
}

unsafe extern "C-unwind" fn timedwrlock(lock: Rwlock, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe {
        timed(lock, Mode::Exclusive, site, CLOCK_REALTIME, at, || real::pthread_rwlock_timedwrlock.get()(lock, at))
    }
}

unsafe extern "C-unwind" fn clockrdlock(lock: Rwlock, clock: clockid_t, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { timed(lock, Mode::Shared, site, clock, at, || real::pthread_rwlock_clockrdlock.get()(lock, clock, at)) }
}

unsafe extern "C-unwind" fn clockwrlock(lock: Rwlock, clock: clockid_t, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { timed(lock, Mode::Exclusive, site, clock, at, || real::pthread_rwlock_clockwrlock.get()(lock, clock, at)) }
}

unsafe extern "C-unwind" fn unlock(lock: Rwlock, site: usize) -> c_int {
    /// Offset of `__cur_writer` in glibc's `struct __pthread_rwlock_arch_t` on x86-64. The field is
    /// zero while readers hold the lock.
    const WRITER: usize = 24;
    // SAFETY: the caller holds the lock, so no other thread changes its writer.
    let writer = unsafe { (*lock.byte_add(WRITER).cast::<AtomicU32>()).load(Ordering::Relaxed) };
    let mode = if writer == 0 { Mode::Shared } else { Mode::Exclusive };
    events::lock_release::<Recorded>(name(lock), mode, site);
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_rwlock_unlock.get()(lock) };
    events::lock_released::<Recorded>();
    answer
}
