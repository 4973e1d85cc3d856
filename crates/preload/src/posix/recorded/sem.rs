//! Semaphores, recorded. `sem_post` may be called by a signal handler, in the middle of another
//! event; the trace's writer allows that.

use crate::base::{errno, time};
use crate::events::{self, Recorded};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use baton_trace::{Address, How, Waitable, What};
use core::ffi::{c_int, c_uint, c_void};
use libc::{CLOCK_REALTIME, EAGAIN, clockid_t, timespec};

type Semaphore = *mut c_void;

pub(super) fn install() {
    slot::sem_init.set(init as Code);
    slot::sem_destroy.set(destroy as Code);
    slot::sem_wait.set(wait as Code);
    slot::sem_trywait.set(trywait as Code);
    slot::sem_timedwait.set(timedwait as Code);
    slot::sem_clockwait.set(clockwait as Code);
    slot::sem_post.set(post as Code);
}

fn name(semaphore: Semaphore) -> Address {
    semaphore.addr() as Address
}

unsafe extern "C-unwind" fn init(semaphore: Semaphore, shared: c_int, value: c_uint, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::sem_init.get()(semaphore, shared, value) };
    if answer == 0 {
        events::waitable_init::<Recorded>(Waitable::Semaphore, semaphore.addr(), site);
        events::attribute::<Recorded>(semaphore.addr(), value);
        if shared != 0 {
            events::shared::<Recorded>(semaphore.addr(), true);
        }
    }
    answer
}

unsafe extern "C-unwind" fn destroy(semaphore: Semaphore, _: usize) -> c_int {
    events::waitable_destroy::<Recorded>(Waitable::Semaphore, semaphore.addr());
    // SAFETY: passed on.
    unsafe { real::sem_destroy.get()(semaphore) }
}

/// Tries to take the semaphore, and if that fails calls `wait` between two events. `until`: the
/// wait has a deadline. Like glibc's function this is a cancellation point, at its beginning and in
/// `wait`, so nothing here has a destructor.
///
/// # Safety
/// As for `sem_wait`.
unsafe fn taking(semaphore: Semaphore, site: usize, until: bool, wait: impl FnOnce() -> c_int) -> c_int {
    let before = errno::get();
    // SAFETY: passed on.
    unsafe {
        real::pthread_testcancel.get()();
        if real::sem_trywait.get()(semaphore) == 0 {
            events::sem_take::<Recorded>(semaphore.addr(), site);
            return 0;
        }
    }
    errno::set(before);
    events::sem_wait::<Recorded>(semaphore.addr(), site);
    if until {
        events::bounded::<Recorded>(name(semaphore));
    }
    let answer = wait();
    match answer {
        0 => events::post_ordered::<Recorded>(|_| What::SemTaken { semaphore: name(semaphore), how: How::OPAQUE }),
        _ => events::post_ordered::<Recorded>(|_| What::SemTimeout { semaphore: name(semaphore) }),
    }
    events::waited::<Recorded>();
    answer
}

/// Does what [`taking`] does, if the time and the clock are valid. If not, glibc refuses even a
/// free semaphore, so no try is made.
///
/// # Safety
/// As for `sem_clockwait`.
unsafe fn timed(
    semaphore: Semaphore,
    site: usize,
    clock: clockid_t,
    at: *const timespec,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: passed on.
    unsafe { if time::is_valid(clock, at) { taking(semaphore, site, true, wait) } else { wait() } }
}

unsafe extern "C-unwind" fn wait(semaphore: Semaphore, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { taking(semaphore, site, false, || real::sem_wait.get()(semaphore)) }
}

unsafe extern "C-unwind" fn timedwait(semaphore: Semaphore, at: *const timespec, site: usize) -> c_int {
    // SAFETY: passed on.
    unsafe { timed(semaphore, site, CLOCK_REALTIME, at, || real::sem_timedwait.get()(semaphore, at)) }
}

unsafe extern "C-unwind" fn clockwait(
    semaphore: Semaphore,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    unsafe { timed(semaphore, site, clock, at, || real::sem_clockwait.get()(semaphore, clock, at)) }
}

unsafe extern "C-unwind" fn trywait(semaphore: Semaphore, site: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::sem_trywait.get()(semaphore) };
    if answer == 0 {
        events::sem_take::<Recorded>(semaphore.addr(), site);
    } else if errno::get() == EAGAIN {
        events::sem_try_failed::<Recorded>(semaphore.addr(), site);
    }
    answer
}

unsafe extern "C-unwind" fn post(semaphore: Semaphore, site: usize) -> c_int {
    events::sem_post::<Recorded>(semaphore.addr(), site);
    // SAFETY: passed on.
    unsafe { real::sem_post.get()(semaphore) }
}
