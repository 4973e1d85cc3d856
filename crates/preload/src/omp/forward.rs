//! OpenMP's critical sections and locks, served by the program's own runtime, recorded or not.

use super::late::{self, OmpLock};
use crate::events::{self, Probe};
use crate::hooks::{Code, slot};
use baton_trace::{How, Lock, LockKind, Mode};
use core::ffi::{c_int, c_uint};

/// Points the slots of critical sections and locks to the functions of this file.
pub(super) fn install<P: Probe>() {
    slot::GOMP_critical_start.set(critical_start::<P> as Code);
    slot::GOMP_critical_end.set(critical_end::<P> as Code);
    slot::GOMP_critical_name_start.set(critical_name_start::<P> as Code);
    slot::GOMP_critical_name_end.set(critical_name_end::<P> as Code);
    slot::omp_init_lock.set(init::<P, false> as Code);
    slot::omp_init_lock_with_hint.set(init_with_hint::<P, false> as Code);
    slot::omp_init_nest_lock_with_hint.set(init_with_hint::<P, true> as Code);
    slot::omp_destroy_lock.set(destroy::<P, false> as Code);
    slot::omp_set_lock.set(set::<P, false> as Code);
    slot::omp_unset_lock.set(unset::<P, false> as Code);
    slot::omp_test_lock.set(test::<P, false> as Code);
    slot::omp_init_nest_lock.set(init::<P, true> as Code);
    slot::omp_destroy_nest_lock.set(destroy::<P, true> as Code);
    slot::omp_set_nest_lock.set(set::<P, true> as Code);
    slot::omp_unset_nest_lock.set(unset::<P, true> as Code);
    slot::omp_test_nest_lock.set(test::<P, true> as Code);
}

/// The address of this static stands, in events, for the critical section without a name.
static UNNAMED: u8 = 0;

/// A critical section as events name it: by the cell of its name, or by [`UNNAMED`].
pub(super) fn critical(name: Option<*mut *mut ()>) -> Lock {
    let address = name.map_or((&raw const UNNAMED).addr(), |name| name.addr());
    events::lock(LockKind::OmpCritical, address)
}

/// An OpenMP lock as events name it.
pub(super) fn lock(at: OmpLock) -> Lock {
    events::lock(LockKind::OmpLock, at.addr())
}

/// Ticks within which an entered critical section counts as not contended. The runtime offers no
/// try for critical sections, so only the time tells.
const AT_ONCE: u64 = 1000;

/// Enters a critical section by `enter`, and records whether the thread had to wait for it.
pub(super) fn entering<P: Probe>(lock: Lock, site: usize, enter: impl FnOnce()) {
    let before = events::moment::<P>();
    enter();
    if P::ON {
        if events::moment::<P>().saturating_sub(before) <= AT_ONCE {
            events::lock_acquire::<P>(lock, Mode::Exclusive, site);
        } else {
            events::lock_requested_at::<P>(lock, site, before);
            events::lock_acquired::<P>(lock, Mode::Exclusive, How::OPAQUE);
        }
    }
}

unsafe extern "C-unwind" fn critical_start<P: Probe>(site: usize) {
    // SAFETY: passed on.
    entering::<P>(critical(None), site, || unsafe { late::GOMP_critical_start.get()() });
}

unsafe extern "C-unwind" fn critical_end<P: Probe>(site: usize) {
    events::lock_release::<P>(critical(None), Mode::Exclusive, site);
    // SAFETY: passed on.
    unsafe { late::GOMP_critical_end.get()() };
    events::lock_released::<P>();
}

unsafe extern "C-unwind" fn critical_name_start<P: Probe>(name: *mut *mut (), site: usize) {
    // SAFETY: passed on.
    entering::<P>(critical(Some(name)), site, || unsafe { late::GOMP_critical_name_start.get()(name) });
}

unsafe extern "C-unwind" fn critical_name_end<P: Probe>(name: *mut *mut (), site: usize) {
    events::lock_release::<P>(critical(Some(name)), Mode::Exclusive, site);
    // SAFETY: passed on.
    unsafe { late::GOMP_critical_name_end.get()(name) };
    events::lock_released::<P>();
}

unsafe extern "C-unwind" fn init<P: Probe, const NEST: bool>(at: OmpLock, site: usize) {
    // SAFETY: passed on.
    unsafe { if NEST { late::omp_init_nest_lock.get()(at) } else { late::omp_init_lock.get()(at) } };
    events::lock_init::<P>(lock(at), site);
}

unsafe extern "C-unwind" fn init_with_hint<P: Probe, const NEST: bool>(at: OmpLock, hint: c_uint, site: usize) {
    // SAFETY: passed on.
    unsafe {
        if NEST {
            late::omp_init_nest_lock_with_hint.get()(at, hint)
        } else {
            late::omp_init_lock_with_hint.get()(at, hint)
        }
    };
    events::lock_init::<P>(lock(at), site);
}

unsafe extern "C-unwind" fn destroy<P: Probe, const NEST: bool>(at: OmpLock, _: usize) {
    events::lock_destroy::<P>(lock(at));
    // SAFETY: passed on.
    unsafe { if NEST { late::omp_destroy_nest_lock.get()(at) } else { late::omp_destroy_lock.get()(at) } };
}

/// Tries the lock by the runtime's function. Returns how often the calling thread holds the lock
/// now; 0 if another thread holds it.
unsafe fn runtime_test<const NEST: bool>(at: OmpLock) -> c_int {
    // SAFETY: passed on.
    unsafe { if NEST { late::omp_test_nest_lock.get()(at) } else { late::omp_test_lock.get()(at) } }
}

unsafe extern "C-unwind" fn set<P: Probe, const NEST: bool>(at: OmpLock, site: usize) {
    if P::ON {
        // SAFETY: passed on.
        let held = unsafe { runtime_test::<NEST>(at) };
        if held == 1 {
            events::lock_acquire::<P>(lock(at), Mode::Exclusive, site);
        }
        if held != 0 {
            return;
        }
        events::lock_request::<P>(lock(at), Mode::Exclusive, site);
    }
    // SAFETY: passed on.
    unsafe { if NEST { late::omp_set_nest_lock.get()(at) } else { late::omp_set_lock.get()(at) } };
    if P::ON {
        events::lock_acquired::<P>(lock(at), Mode::Exclusive, How::OPAQUE);
    }
}

unsafe extern "C-unwind" fn unset<P: Probe, const NEST: bool>(at: OmpLock, site: usize) {
    if NEST {
        let mut released = false;
        if P::ON {
            // Learns how often the lock is held: the try, which cannot fail for the lock's owner,
            // adds one, and the first unset takes it away again.
            // SAFETY: passed on.
            let held = unsafe { runtime_test::<true>(at) };
            // SAFETY: passed on.
            unsafe { late::omp_unset_nest_lock.get()(at) };
            released = held == 2;
        }
        if released {
            events::lock_release::<P>(lock(at), Mode::Exclusive, site);
        }
        // SAFETY: passed on.
        unsafe { late::omp_unset_nest_lock.get()(at) };
        if released {
            events::lock_released::<P>();
        }
        return;
    }
    events::lock_release::<P>(lock(at), Mode::Exclusive, site);
    // SAFETY: passed on.
    unsafe { late::omp_unset_lock.get()(at) };
    events::lock_released::<P>();
}

unsafe extern "C-unwind" fn test<P: Probe, const NEST: bool>(at: OmpLock, site: usize) -> c_int {
    // SAFETY: passed on.
    let held = unsafe { runtime_test::<NEST>(at) };
    match held {
        0 => events::lock_try_failed::<P>(lock(at), Mode::Exclusive, site),
        1 => {
            events::lock_acquire::<P>(lock(at), Mode::Exclusive, site);
            events::lock_bounded::<P>(lock(at));
        }
        _ => {}
    }
    held
}
