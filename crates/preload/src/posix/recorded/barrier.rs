//! Barriers that glibc serves, recorded.

use crate::events::{self, Recorded};
use crate::hooks::real;
use crate::hooks::{Code, slot};
use baton_trace::{Address, Waitable, What};
use core::ffi::{c_int, c_uint, c_void};

type Barrier = *mut c_void;

pub(super) fn install() {
    slot::pthread_barrier_init.set(init as Code);
    slot::pthread_barrier_destroy.set(destroy as Code);
    slot::pthread_barrier_wait.set(wait as Code);
}

unsafe extern "C-unwind" fn init(barrier: Barrier, attributes: *const c_void, count: c_uint, site: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_barrier_init.get()(barrier, attributes, count) };
    if error == 0 {
        events::waitable_init::<Recorded>(Waitable::Barrier, barrier.addr(), site);
        events::attribute::<Recorded>(barrier.addr(), count);
    }
    error
}

unsafe extern "C-unwind" fn destroy(barrier: Barrier, _: usize) -> c_int {
    events::waitable_destroy::<Recorded>(Waitable::Barrier, barrier.addr());
    // SAFETY: passed on.
    unsafe { real::pthread_barrier_destroy.get()(barrier) }
}

unsafe extern "C-unwind" fn wait(barrier: Barrier, site: usize) -> c_int {
    events::barrier_arrive::<Recorded>(barrier.addr(), site);
    // SAFETY: passed on.
    let answer = unsafe { real::pthread_barrier_wait.get()(barrier) };
    let serial = answer == libc::PTHREAD_BARRIER_SERIAL_THREAD;
    events::post_ordered::<Recorded>(|_| What::BarrierLeave { barrier: barrier.addr() as Address, serial });
    events::waited::<Recorded>();
    answer
}
