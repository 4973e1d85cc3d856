//! The C library's condition variables, semaphores and barriers.

use super::behind::{self, Object, Until, is_time, within};
use crate::events::library_locks::{self, MUTEX};
use crate::events::library_objects::{act, tell};
use crate::hooks::{Code, slot};
use core::ffi::c_int;
use libc::clockid_t;

pub(super) fn install() {
    slot::baton_cond_wait.set(cond_wait as Code);
    slot::baton_cond_timedwait.set(cond_timedwait as Code);
    slot::baton_cond_signal.set(cond_signal as Code);
    slot::baton_cond_broadcast.set(cond_broadcast as Code);
    slot::baton_semaphore_take.set(semaphore_take as Code);
    slot::baton_semaphore_trytake.set(semaphore_trytake as Code);
    slot::baton_semaphore_timedtake.set(semaphore_timedtake as Code);
    slot::baton_semaphore_post.set(semaphore_post as Code);
    slot::baton_meeting_wait.set(meeting_wait as Code);
    slot::baton_barrier_wait.set(barrier_wait as Code);
}

/// Waits for a condition by `wait`, which returns 0 if a notification came. The library takes the mutex
/// again in the same call: that wait counts as one for the condition.
fn waiting(cond: Object, mutex: Object, site: usize, wait: impl FnOnce() -> c_int) -> c_int {
    tell(act::CONDITION_WAITS, cond.addr(), mutex.addr() as u64, site);
    library_locks::tell(library_locks::act::RELEASES, mutex.addr(), MUTEX, site);
    let answer = within(wait);
    tell(if answer == 0 { act::CONDITION_WOKEN } else { act::CONDITION_EXPIRED }, cond.addr(), 0, site);
    library_locks::tell(library_locks::act::TAKEN, mutex.addr(), MUTEX, site);
    answer
}

unsafe extern "C-unwind" fn cond_wait(cond: Object, mutex: Object, site: usize) {
    waiting(cond, mutex, site, || {
        // SAFETY: passed on.
        unsafe { behind::baton_cond_wait.get()(cond, mutex) };
        0
    });
}

unsafe extern "C-unwind" fn cond_timedwait(
    cond: Object,
    mutex: Object,
    clock: clockid_t,
    until: Until,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    let wait = || unsafe { behind::baton_cond_timedwait.get()(cond, mutex, clock, until) };
    // SAFETY: a pointer that is not null is the program's to a time.
    if !unsafe { is_time(clock, until) } {
        return wait();
    }
    waiting(cond, mutex, site, wait)
}

unsafe extern "C-unwind" fn cond_signal(cond: Object, site: usize) {
    tell(act::NOTIFIES, cond.addr(), 0, site);
    // SAFETY: passed on.
    within(|| unsafe { behind::baton_cond_signal.get()(cond) });
}

unsafe extern "C-unwind" fn cond_broadcast(cond: Object, site: usize) {
    tell(act::NOTIFIES_ALL, cond.addr(), 0, site);
    // SAFETY: passed on.
    within(|| unsafe { behind::baton_cond_broadcast.get()(cond) });
}

/// Takes a permit by a try, or else by `wait`.
///
/// # Safety
/// `semaphore` is a semaphore.
unsafe fn taking(semaphore: Object, site: usize, wait: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: guaranteed by the caller.
    if within(|| unsafe { behind::baton_semaphore_trytake.get()(semaphore) }) == 0 {
        tell(act::PERMIT_TAKEN, semaphore.addr(), 0, site);
        return 0;
    }
    tell(act::PERMIT_WAITS, semaphore.addr(), 0, site);
    let answer = within(wait);
    tell(if answer == 0 { act::PERMIT_GOT } else { act::PERMIT_GAVE_UP }, semaphore.addr(), 0, site);
    answer
}

unsafe extern "C-unwind" fn semaphore_take(semaphore: Object, site: usize) {
    let wait = || {
        // SAFETY: passed on.
        unsafe { behind::baton_semaphore_take.get()(semaphore) };
        0
    };
    // SAFETY: passed on.
    unsafe { taking(semaphore, site, wait) };
}

unsafe extern "C-unwind" fn semaphore_trytake(semaphore: Object, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = within(|| unsafe { behind::baton_semaphore_trytake.get()(semaphore) });
    tell(if answer == 0 { act::PERMIT_TAKEN } else { act::PERMIT_TRIED }, semaphore.addr(), 0, site);
    answer
}

unsafe extern "C-unwind" fn semaphore_timedtake(
    semaphore: Object,
    clock: clockid_t,
    until: Until,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    let wait = || unsafe { behind::baton_semaphore_timedtake.get()(semaphore, clock, until) };
    // SAFETY: a pointer that is not null is the program's to a time.
    if !unsafe { is_time(clock, until) } {
        return wait();
    }
    // SAFETY: passed on.
    unsafe { taking(semaphore, site, wait) }
}

unsafe extern "C-unwind" fn semaphore_post(semaphore: Object, site: usize) -> c_int {
    tell(act::PERMIT_GIVEN, semaphore.addr(), 0, site);
    // SAFETY: passed on.
    let answer = within(|| unsafe { behind::baton_semaphore_post.get()(semaphore) });
    tell(act::PERMIT_WAS_GIVEN, semaphore.addr(), 0, site);
    answer
}

/// Waits at a barrier by `wait`, which returns 1 in one of the threads.
fn meeting(barrier: Object, site: usize, wait: impl FnOnce() -> c_int) -> c_int {
    tell(act::ARRIVES, barrier.addr(), 0, site);
    let answer = within(wait);
    tell(act::LEAVES, barrier.addr(), u64::from(answer == 1), site);
    answer
}

unsafe extern "C-unwind" fn meeting_wait(barrier: Object, site: usize) -> c_int {
    // SAFETY: passed on.
    meeting(barrier, site, || unsafe { behind::baton_meeting_wait.get()(barrier) })
}

unsafe extern "C-unwind" fn barrier_wait(barrier: Object, index: u32, site: usize) -> c_int {
    // SAFETY: passed on.
    meeting(barrier, site, || unsafe { behind::baton_barrier_wait.get()(barrier, index) })
}
