//! The C library's mutexes, reader-writer locks, initializations and locks by name.
//!
//! The library does not say whether a call had to wait. A try is made first: if it succeeds, there was
//! no wait.

use super::behind::{self, Object, Until, is_time, outside, within};
use crate::events::library_locks::{EXCLUSIVE, MUTEX, SHARED, act, tell};
use crate::events::{self, Recorded};
use crate::hooks::{Code, slot};
use baton_trace::{Lock, LockKind};
use core::ffi::{c_char, c_int, c_void};
use libc::clockid_t;

pub(super) fn install() {
    slot::baton_mutex_lock.set(mutex_lock as Code);
    slot::baton_mutex_trylock.set(mutex_trylock as Code);
    slot::baton_mutex_timedlock.set(mutex_timedlock as Code);
    slot::baton_mutex_unlock.set(mutex_unlock as Code);
    slot::baton_lock_new.set(lock_new as Code);
    slot::baton_lock_new_named.set(lock_new_named as Code);
    slot::baton_lock_free.set(lock_free as Code);
    slot::baton_lock_lock.set(lock_lock as Code);
    slot::baton_lock_trylock.set(lock_trylock as Code);
    slot::baton_lock_timedlock.set(lock_timedlock as Code);
    slot::baton_lock_unlock.set(lock_unlock as Code);
    slot::baton_rwlock_rdlock.set(rdlock as Code);
    slot::baton_rwlock_tryrdlock.set(tryrdlock as Code);
    slot::baton_rwlock_timedrdlock.set(timedrdlock as Code);
    slot::baton_rwlock_rdlock_recursive.set(rdlock_recursive as Code);
    slot::baton_rwlock_rdunlock.set(rdunlock as Code);
    slot::baton_rwlock_wrlock.set(wrlock as Code);
    slot::baton_rwlock_trywrlock.set(trywrlock as Code);
    slot::baton_rwlock_timedwrlock.set(timedwrlock as Code);
    slot::baton_rwlock_wrunlock.set(wrunlock as Code);
    slot::baton_rwlock_uplock.set(uplock as Code);
    slot::baton_rwlock_tryuplock.set(tryuplock as Code);
    slot::baton_rwlock_upunlock.set(upunlock as Code);
    slot::baton_rwlock_upgrade.set(upgrade as Code);
    slot::baton_rwlock_tryupgrade.set(tryupgrade as Code);
    slot::baton_rwlock_downgrade.set(downgrade as Code);
    slot::baton_rwlock_downgrade_up.set(downgrade_up as Code);
    slot::baton_once_call.set(once_call as Code);
}

/// Takes a lock by `tries` or else by `wait`. Each returns 0 if it took the lock.
fn taking(lock: Object, mode: u64, site: usize, tries: impl FnOnce() -> c_int, wait: impl FnOnce() -> c_int) -> c_int {
    if within(tries) == 0 {
        tell(act::TAKEN, lock.addr(), mode, site);
        return 0;
    }
    tell(act::WAITS, lock.addr(), mode, site);
    let answer = within(wait);
    tell(if answer == 0 { act::GOT } else { act::GAVE_UP }, lock.addr(), mode, site);
    answer
}

/// Makes a try, which returns 0 if it took the lock.
fn tried(lock: Object, mode: u64, site: usize, tries: impl FnOnce() -> c_int) -> c_int {
    let answer = within(tries);
    match answer {
        0 => tell(act::TAKEN, lock.addr(), mode, site),
        libc::EBUSY => tell(act::TRIED, lock.addr(), mode, site),
        _ => {}
    }
    answer
}

fn releasing(lock: Object, mode: u64, site: usize, release: impl FnOnce()) {
    tell(act::RELEASES, lock.addr(), mode, site);
    within(release);
}

/// Defines hooks of functions that take or release a lock in some mode, by the functions of `behind`.
macro_rules! hooks {
    ($($kind:ident $name:ident = $mode:ident $call:ident $($try:ident)?;)*) => {
        $(hooks! { @$kind $name $mode $call $($try)? })*
    };
    (@take $name:ident $mode:ident $call:ident $try:ident) => {
        unsafe extern "C-unwind" fn $name(lock: Object, site: usize) {
            // SAFETY: passed on.
            let tries = || unsafe { behind::$try.get()(lock) };
            taking(lock, $mode, site, tries, || {
                // SAFETY: passed on.
                unsafe { behind::$call.get()(lock) };
                0
            });
        }
    };
    (@timed $name:ident $mode:ident $call:ident $try:ident) => {
        unsafe extern "C-unwind" fn $name(lock: Object, clock: clockid_t, until: Until, site: usize) -> c_int {
            // SAFETY: passed on.
            unsafe {
                let wait = || behind::$call.get()(lock, clock, until);
                if is_time(clock, until) { taking(lock, $mode, site, || behind::$try.get()(lock), wait) } else { wait() }
            }
        }
    };
    (@try $name:ident $mode:ident $call:ident) => {
        unsafe extern "C-unwind" fn $name(lock: Object, site: usize) -> c_int {
            // SAFETY: passed on.
            tried(lock, $mode, site, || unsafe { behind::$call.get()(lock) })
        }
    };
    (@release $name:ident $mode:ident $call:ident) => {
        unsafe extern "C-unwind" fn $name(lock: Object, site: usize) {
            // SAFETY: passed on.
            releasing(lock, $mode, site, || unsafe { behind::$call.get()(lock) });
        }
    };
    // A writer's hold becomes a reader's.
    (@downgrade $name:ident $mode:ident $call:ident) => {
        unsafe extern "C-unwind" fn $name(lock: Object, site: usize) {
            // SAFETY: passed on.
            releasing(lock, EXCLUSIVE, site, || unsafe { behind::$call.get()(lock) });
            tell(act::TAKEN, lock.addr(), $mode, site);
        }
    };
}

hooks! {
    take mutex_lock = MUTEX baton_mutex_lock baton_mutex_trylock;
    try mutex_trylock = MUTEX baton_mutex_trylock;
    timed mutex_timedlock = MUTEX baton_mutex_timedlock baton_mutex_trylock;
    release mutex_unlock = MUTEX baton_mutex_unlock;
    take lock_lock = MUTEX baton_lock_lock baton_lock_trylock;
    try lock_trylock = MUTEX baton_lock_trylock;
    release lock_unlock = MUTEX baton_lock_unlock;
    take rdlock = SHARED baton_rwlock_rdlock baton_rwlock_tryrdlock;
    try tryrdlock = SHARED baton_rwlock_tryrdlock;
    timed timedrdlock = SHARED baton_rwlock_timedrdlock baton_rwlock_tryrdlock;
    take rdlock_recursive = SHARED baton_rwlock_rdlock_recursive baton_rwlock_tryrdlock;
    release rdunlock = SHARED baton_rwlock_rdunlock;
    take wrlock = EXCLUSIVE baton_rwlock_wrlock baton_rwlock_trywrlock;
    try trywrlock = EXCLUSIVE baton_rwlock_trywrlock;
    timed timedwrlock = EXCLUSIVE baton_rwlock_timedwrlock baton_rwlock_trywrlock;
    release wrunlock = EXCLUSIVE baton_rwlock_wrunlock;
    take uplock = SHARED baton_rwlock_uplock baton_rwlock_tryuplock;
    try tryuplock = SHARED baton_rwlock_tryuplock;
    release upunlock = SHARED baton_rwlock_upunlock;
    downgrade downgrade = SHARED baton_rwlock_downgrade;
    downgrade downgrade_up = SHARED baton_rwlock_downgrade_up;
}

/// A lock of a kind whose waiters cannot give up refuses the call, even if it is free.
unsafe extern "C-unwind" fn lock_timedlock(lock: Object, clock: clockid_t, until: Until, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = within(|| unsafe { behind::baton_lock_timedlock.get()(lock, clock, until) });
    match answer {
        0 => tell(act::TAKEN, lock.addr(), MUTEX, site),
        libc::ETIMEDOUT => tell(act::TRIED, lock.addr(), MUTEX, site),
        _ => {}
    }
    answer
}

/// An upgrade is a release of the read, and a wait for the lock.
unsafe extern "C-unwind" fn upgrade(lock: Object, site: usize) {
    tell(act::RELEASES, lock.addr(), SHARED, site);
    // SAFETY: passed on.
    let tries = || unsafe { behind::baton_rwlock_tryupgrade.get()(lock) };
    taking(lock, EXCLUSIVE, site, tries, || {
        // SAFETY: passed on.
        unsafe { behind::baton_rwlock_upgrade.get()(lock) };
        0
    });
}

unsafe extern "C-unwind" fn tryupgrade(lock: Object, site: usize) -> c_int {
    tell(act::RELEASES, lock.addr(), SHARED, site);
    // SAFETY: passed on.
    let answer = tried(lock, EXCLUSIVE, site, || unsafe { behind::baton_rwlock_tryupgrade.get()(lock) });
    if answer != 0 {
        tell(act::TAKEN, lock.addr(), SHARED, site);
    }
    answer
}

fn named(lock: Object) -> Lock {
    events::lock(LockKind::Other, lock.addr())
}

fn made(lock: Object, site: usize) -> Object {
    if !lock.is_null() {
        events::lock_init::<Recorded>(named(lock), site);
    }
    lock
}

unsafe extern "C-unwind" fn lock_new(kind: c_int, wait: *const c_char, site: usize) -> Object {
    // SAFETY: passed on.
    made(within(|| unsafe { behind::baton_lock_new.get()(kind, wait) }), site)
}

unsafe extern "C-unwind" fn lock_new_named(name: *const c_char, wait: *const c_char, site: usize) -> Object {
    // SAFETY: passed on.
    made(within(|| unsafe { behind::baton_lock_new_named.get()(name, wait) }), site)
}

unsafe extern "C-unwind" fn lock_free(lock: Object, _: usize) {
    if !lock.is_null() {
        events::lock_destroy::<Recorded>(named(lock));
    }
    // SAFETY: passed on.
    within(|| unsafe { behind::baton_lock_free.get()(lock) });
}

/// An initialization that may begin in a call.
struct Init {
    once: Object,
    site: usize,
    init: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    ran: bool,
}

/// The initialization begins, in the thread that holds it from now on.
unsafe extern "C-unwind" fn begin(call: *mut c_void) {
    // SAFETY: `once_call` passes its own value, which nothing else uses until the call returns.
    let call = unsafe { &mut *call.cast::<Init>() };
    tell(act::GOT, call.once.addr(), MUTEX, call.site);
    call.ran = true;
    // SAFETY: the program's function and argument.
    outside(|| unsafe { (call.init)(call.argument) });
    tell(act::RELEASES, call.once.addr(), MUTEX, call.site);
}

/// An initialization is told as a lock that the thread which runs it holds, and for which others wait.
unsafe extern "C-unwind" fn once_call(
    once: Object,
    init: unsafe extern "C-unwind" fn(*mut c_void),
    argument: *mut c_void,
    site: usize,
) {
    // SAFETY: passed on.
    if unsafe { behind::baton_once_done.get()(once) } != 0 {
        return;
    }
    tell(act::WAITS, once.addr(), MUTEX, site);
    let mut call = Init { once, site, init, argument, ran: false };
    // SAFETY: the function takes the value, which outlives the call.
    within(|| unsafe { behind::baton_once_call.get()(once, begin, (&raw mut call).cast()) });
    if !call.ran {
        tell(act::GOT, once.addr(), MUTEX, site);
        tell(act::RELEASES, once.addr(), MUTEX, site);
    }
}
