//! Condition variables in a run whose mutexes are glibc's: glibc serves the variables, and their
//! waits are recorded.
//!
//! glibc's wait also takes the mutex again, in the same call, so the time that a thread waits for
//! the mutex there counts as waiting for the condition.

use crate::events::{self, Recorded, WakeReason};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use crate::posix::mutex::c11::answer;
use crate::posix::mutex::glibc;
use crate::posix::mutex::{Mutex, events as mutex_events};
use core::ffi::{c_int, c_void};
use libc::{ETIMEDOUT, clockid_t, timespec};

type Cond = *mut c_void;

/// Points the slots of condition variables to the functions of this file.
pub fn install() {
    slot::pthread_cond_init.set(init as Code);
    slot::pthread_cond_destroy.set(destroy as Code);
    slot::pthread_cond_wait.set(wait as Code);
    slot::pthread_cond_timedwait.set(timedwait as Code);
    slot::pthread_cond_clockwait.set(clockwait as Code);
    slot::pthread_cond_signal.set(signal as Code);
    slot::pthread_cond_broadcast.set(broadcast as Code);
    slot::cnd_init.set(cnd_init as Code);
    slot::cnd_destroy.set(cnd_destroy as Code);
    slot::cnd_wait.set(cnd_wait as Code);
    slot::cnd_timedwait.set(cnd_timedwait as Code);
    slot::cnd_signal.set(cnd_signal as Code);
    slot::cnd_broadcast.set(cnd_broadcast as Code);
}

unsafe extern "C-unwind" fn init(cond: Cond, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_cond_init.get()(cond, attributes) };
    if error == 0 {
        events::condition_init::<Recorded>(cond.addr(), site);
    }
    error
}

unsafe extern "C-unwind" fn destroy(cond: Cond, _: usize) -> c_int {
    events::condition_destroy::<Recorded>(cond.addr());
    // SAFETY: passed on.
    unsafe { real::pthread_cond_destroy.get()(cond) }
}

/// A recorded wait that goes on, for the clean-up handler that runs if it is cancelled.
struct Waiting {
    cond: Cond,
    mutex: *mut Mutex,
    site: usize,
}

/// Records the end of a wait: the thread holds the mutex again.
fn woken(waiting: &Waiting, reason: WakeReason) {
    events::condition_wake::<Recorded>(waiting.cond.addr(), reason);
    events::waited::<Recorded>();
    mutex_events::acquire::<Recorded>(waiting.mutex, waiting.site);
}

/// The clean-up handler of a cancelled wait: glibc has taken the mutex, and the program's own
/// handlers run next.
unsafe extern "C-unwind" fn cancelled(waiting: *mut c_void) {
    // SAFETY: `waiting_by` passed this pointer, and its frame still exists.
    woken(unsafe { &*waiting.cast::<Waiting>() }, WakeReason::Cancelled);
}

/// Waits by glibc's function, between the wait's events. `until`: the wait has a deadline.
///
/// # Safety
/// As for `pthread_cond_wait`.
unsafe fn waiting_by(cond: Cond, mutex: *mut Mutex, site: usize, until: bool, wait: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes a mutex.
    if unsafe { glibc::refuses_me(mutex) } {
        return wait();
    }
    let waiting = Waiting { cond, mutex, site };
    // glibc's old form of a clean-up handler: a record on the stack, run when an unwinding cancellation leaves its frame.
    let mut record = real::Cleanup::new();
    events::condition_wait::<Recorded>(cond.addr(), mutex.addr(), site);
    if until {
        events::condition_deadline::<Recorded>(cond.addr());
    }
    mutex_events::release::<Recorded>(mutex, site);
    // SAFETY: the record, and the value that it points to, outlive the wait; the record is popped
    // before this frame ends.
    let answer = unsafe {
        real::_pthread_cleanup_push.get()(&mut record, cancelled, (&raw const waiting).cast_mut().cast());
        let answer = wait();
        real::_pthread_cleanup_pop.get()(&mut record, 0);
        answer
    };
    let reason = match answer {
        0 => WakeReason::Woken,
        ETIMEDOUT => WakeReason::TimedOut,
        _ => WakeReason::Cancelled,
    };
    woken(&waiting, reason);
    answer
}

unsafe extern "C-unwind" fn wait(cond: Cond, mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting_by(cond, mutex, site, false, || real::pthread_cond_wait.get()(cond, mutex.cast())) }
}

unsafe extern "C-unwind" fn timedwait(cond: Cond, mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting_by(cond, mutex, site, true, || real::pthread_cond_timedwait.get()(cond, mutex.cast(), at)) }
}

unsafe extern "C-unwind" fn clockwait(
    cond: Cond,
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { waiting_by(cond, mutex, site, true, || real::pthread_cond_clockwait.get()(cond, mutex.cast(), clock, at)) }
}

unsafe extern "C-unwind" fn signal(cond: Cond, site: usize) -> c_int {
    events::condition_signal::<Recorded>(cond.addr(), site);
    // SAFETY: passed on.
    unsafe { real::pthread_cond_signal.get()(cond) }
}

unsafe extern "C-unwind" fn broadcast(cond: Cond, site: usize) -> c_int {
    events::condition_broadcast::<Recorded>(cond.addr(), site);
    // SAFETY: passed on.
    unsafe { real::pthread_cond_broadcast.get()(cond) }
}

unsafe extern "C-unwind" fn cnd_init(cond: Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { init(cond, core::ptr::null(), site) })
}

unsafe extern "C-unwind" fn cnd_destroy(cond: Cond, site: usize) {
    // SAFETY: passed on.
    unsafe { destroy(cond, site) };
}

unsafe extern "C-unwind" fn cnd_wait(cond: Cond, mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { wait(cond, mutex, site) })
}

unsafe extern "C-unwind" fn cnd_timedwait(cond: Cond, mutex: *mut Mutex, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { timedwait(cond, mutex, at, site) })
}

unsafe extern "C-unwind" fn cnd_signal(cond: Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { signal(cond, site) })
}

unsafe extern "C-unwind" fn cnd_broadcast(cond: Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { broadcast(cond, site) })
}
