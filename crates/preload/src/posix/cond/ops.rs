//! The functions behind `pthread_cond_*` and `cnd_*` in a run with `BATON_LOCK`.

use super::object::{Cond, MONOTONIC, SHARED};
use crate::base::message::{self, Subject};
use crate::base::time::{self, Time};
use crate::events::{self, Probe, WakeReason};
use crate::hooks::real;
use crate::hooks::{Code, call, slot};
use crate::posix::mutex::c11::answer;
use crate::posix::mutex::{Class, Mutex, lock_by_place};
use crate::thread::Thread;
use crate::thread::waiter::Slept;
use crate::thread::{self, fork};
use baton_machine::{Clock, Deadline};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};
use libc::{EBUSY, EINVAL, ETIMEDOUT, clockid_t, timespec};

/// Points the slots of condition variables to the functions of this file.
pub fn install<P: Probe>() {
    slot::pthread_cond_init.set(init::<P> as Code);
    slot::pthread_cond_destroy.set(destroy::<P> as Code);
    slot::pthread_cond_wait.set(wait::<P> as Code);
    slot::pthread_cond_timedwait.set(timedwait::<P> as Code);
    slot::pthread_cond_clockwait.set(clockwait::<P> as Code);
    slot::pthread_cond_signal.set(signal::<P> as Code);
    slot::pthread_cond_broadcast.set(broadcast::<P> as Code);
    slot::cnd_init.set(cnd_init::<P> as Code);
    slot::cnd_destroy.set(cnd_destroy::<P> as Code);
    slot::cnd_wait.set(cnd_wait::<P> as Code);
    slot::cnd_timedwait.set(cnd_timedwait::<P> as Code);
    slot::cnd_signal.set(cnd_signal::<P> as Code);
    slot::cnd_broadcast.set(cnd_broadcast::<P> as Code);
    slot::pthread_cancel.set(cancel as Code);
}

unsafe extern "C-unwind" fn init<P: Probe>(cond: *mut Cond, attributes: *const c_void, site: usize) -> c_int {
    // SAFETY: passed on; glibc writes its own form, with the attributes' flags at offset 36.
    let error = unsafe { real::pthread_cond_init.get()(cond.cast(), attributes) };
    if error != 0 {
        return error;
    }
    // SAFETY: the program passes memory for a condition variable, which glibc has just filled.
    unsafe {
        let flags = (*cond).flags.load(Ordering::Relaxed) & (SHARED | MONOTONIC);
        if flags & SHARED == 0 {
            cond.write_bytes(0, 1);
            (*cond).flags.store(flags, Ordering::Relaxed);
            (*cond).generation.store(fork::generation(), Ordering::Relaxed);
        }
    }
    events::condition_init::<P>(cond.addr(), site);
    0
}

unsafe extern "C-unwind" fn destroy<P: Probe>(cond: *mut Cond, _: usize) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    let c = unsafe { &*cond };
    if c.is_shared() {
        // SAFETY: passed on.
        return unsafe { real::pthread_cond_destroy.get()(cond.cast()) };
    }
    if !c.drain() {
        return EBUSY;
    }
    events::condition_destroy::<P>(cond.addr());
    0
}

unsafe extern "C-unwind" fn wait<P: Probe>(cond: *mut Cond, mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    if unsafe { &*cond }.is_shared() {
        // SAFETY: passed on.
        return unsafe { shared(cond, mutex, || real::pthread_cond_wait.get()(cond.cast(), mutex.cast())) };
    }
    // SAFETY: passed on.
    unsafe { wait_until::<P>(cond, mutex, None, site) }
}

unsafe extern "C-unwind" fn timedwait<P: Probe>(
    cond: *mut Cond,
    mutex: *mut Mutex,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    let c = unsafe { &*cond };
    if c.is_shared() {
        // SAFETY: passed on.
        return unsafe { shared(cond, mutex, || real::pthread_cond_timedwait.get()(cond.cast(), mutex.cast(), at)) };
    }
    let monotonic = c.flags.load(Ordering::Relaxed) & MONOTONIC != 0;
    let clock = if monotonic { Clock::Monotonic } else { Clock::Realtime };
    // SAFETY: the program passes a pointer to a time.
    let Some(deadline) = Time(unsafe { *at }).on(clock) else { return EINVAL };
    // SAFETY: passed on.
    unsafe { wait_until::<P>(cond, mutex, Some(deadline), site) }
}

unsafe extern "C-unwind" fn clockwait<P: Probe>(
    cond: *mut Cond,
    mutex: *mut Mutex,
    clock: clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    if unsafe { &*cond }.is_shared() {
        let real = real::pthread_cond_clockwait.get();
        // SAFETY: passed on.
        return unsafe { shared(cond, mutex, || real(cond.cast(), mutex.cast(), clock, at)) };
    }
    let Some(clock) = time::clock(clock) else { return EINVAL };
    // SAFETY: the program passes a pointer to a time.
    let Some(deadline) = Time(unsafe { *at }).on(clock) else { return EINVAL };
    // SAFETY: passed on.
    unsafe { wait_until::<P>(cond, mutex, Some(deadline), site) }
}

/// Waits for a process-shared variable by `wait`, which calls glibc's function. That works only
/// with a mutex that glibc serves too; for any other mutex returns EINVAL without a wait.
///
/// # Safety
/// As for `wait`, which is called.
unsafe fn shared(cond: *mut Cond, mutex: *mut Mutex, wait: impl FnOnce() -> c_int) -> c_int {
    static SAID: AtomicBool = AtomicBool::new(false);
    // SAFETY: the program passes a mutex, which the calling thread holds.
    if unsafe { matches!(Mutex::class_at(mutex), Class::Passed(_)) || lock_by_place::is_glibcs(mutex) } {
        return wait();
    }
    thread::current().counts.refused_waits.add_one();
    if !SAID.swap(true, Ordering::Relaxed) {
        message::tell(
            Subject::Condition,
            format_args!(""),
            format_args!(
                "the process-shared condition variable at {cond:p} cannot wait with the replaced mutex at {mutex:p}: EINVAL; make the mutex process-shared too"
            ),
        );
    }
    EINVAL
}

/// Waits for the variable until it is signalled, or until the deadline. Nothing in this frame has a
/// destructor, because a cancellation may unwind through the frame at its beginning and at its end,
/// where the mutex is held and the thread is in no list.
///
/// # Safety
/// As for `pthread_cond_timedwait`.
unsafe fn wait_until<P: Probe>(cond: *mut Cond, mutex: *mut Mutex, deadline: Option<Deadline>, site: usize) -> c_int {
    // SAFETY: acts on a cancellation that is pending already, while the thread holds the mutex, as
    // its caller did.
    unsafe { real::pthread_testcancel.get()() };
    // SAFETY: the program passes an initialised condition variable. It may be destroyed once this
    // thread has been woken.
    let c = unsafe { &*cond };
    let me = thread::current();
    act_on_cancellation(me);
    me.counts.condition_waits.add_one();
    events::condition_wait::<P>(cond.addr(), mutex.addr(), site);
    if deadline.is_some() {
        events::condition_deadline::<P>(cond.addr());
    }
    c.enter(&me.waiter, mutex);
    // SAFETY: the slot points to a function with these arguments, and the thread holds the mutex.
    let error = unsafe { call!(pthread_mutex_unlock(mutex: *mut Mutex, site: usize) -> c_int) };
    if error != 0 {
        // The unlock failed, so the thread cannot wait with this mutex. If a signal has taken the
        // waiter meanwhile, the signal goes on to another waiter.
        if !c.leave(&me.waiter) {
            me.waiter.await_signal();
            c.wake_one();
        }
        events::condition_wake::<P>(cond.addr(), WakeReason::Cancelled);
        return error;
    }
    let mut slept = me.waiter.sleep(deadline);
    if slept != Slept::Signalled && !c.leave(&me.waiter) {
        // A signal was faster than the deadline or cancellation, so it counts; a cancellation stays
        // pending until the next cancellation point.
        me.waiter.await_signal();
        slept = Slept::Signalled;
    }
    let (answer, reason) = match slept {
        Slept::Signalled => (0, WakeReason::Woken),
        Slept::Expired => (ETIMEDOUT, WakeReason::TimedOut),
        Slept::Cancelled => (0, WakeReason::Cancelled),
    };
    events::condition_wake::<P>(cond.addr(), reason);
    events::waited::<P>();
    me.relocks.store(true, Ordering::Relaxed);
    // SAFETY: the slot points to a function with these arguments; the mutex is alive while threads
    // wait with it.
    let error = unsafe { call!(pthread_mutex_lock(mutex: *mut Mutex, site: usize) -> c_int) };
    me.relocks.store(false, Ordering::Relaxed);
    if slept == Slept::Cancelled {
        // Usually unwinds, with the mutex held. If it returns, the thread has woken up for no
        // reason, which POSIX allows.
        act_on_cancellation(me);
    }
    if error != 0 { error } else { answer }
}

/// Lets glibc act on a cancellation. If the thread is ending already, it goes on, and no later wait
/// of it ends because of this cancellation.
fn act_on_cancellation(me: &'static Thread) {
    // glibc marks the thread before the waiter learns of the cancellation, so a thread that runs on
    // behind `pthread_testcancel` is ending already.
    if me.waiter.is_cancelled() {
        // SAFETY: the call may unwind; no frame of this library has a destructor here, and the
        // mutex is held.
        unsafe { real::pthread_testcancel.get()() };
        me.waiter.outlived_cancellation();
    }
}

unsafe extern "C-unwind" fn signal<P: Probe>(cond: *mut Cond, site: usize) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    let c = unsafe { &*cond };
    events::condition_signal::<P>(cond.addr(), site);
    if c.is_shared() {
        // SAFETY: passed on.
        return unsafe { real::pthread_cond_signal.get()(cond.cast()) };
    }
    c.renew();
    c.wake_one();
    0
}

unsafe extern "C-unwind" fn broadcast<P: Probe>(cond: *mut Cond, site: usize) -> c_int {
    // SAFETY: the program passes an initialised condition variable.
    let c = unsafe { &*cond };
    events::condition_broadcast::<P>(cond.addr(), site);
    if c.is_shared() {
        // SAFETY: passed on.
        return unsafe { real::pthread_cond_broadcast.get()(cond.cast()) };
    }
    c.renew();
    c.wake_all();
    0
}

unsafe extern "C-unwind" fn cancel(handle: libc::pthread_t, _: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_cancel.get()(handle) };
    if let Some(thread) = thread::find(handle as usize) {
        thread.waiter.cancel();
    }
    error
}

unsafe extern "C-unwind" fn cnd_init<P: Probe>(cond: *mut Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { init::<P>(cond, core::ptr::null(), site) })
}

unsafe extern "C-unwind" fn cnd_destroy<P: Probe>(cond: *mut Cond, site: usize) {
    // SAFETY: passed on.
    unsafe { destroy::<P>(cond, site) };
}

unsafe extern "C-unwind" fn cnd_wait<P: Probe>(cond: *mut Cond, mutex: *mut Mutex, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { wait::<P>(cond, mutex, site) })
}

unsafe extern "C-unwind" fn cnd_timedwait<P: Probe>(
    cond: *mut Cond,
    mutex: *mut Mutex,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { timedwait::<P>(cond, mutex, at, site) })
}

unsafe extern "C-unwind" fn cnd_signal<P: Probe>(cond: *mut Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { signal::<P>(cond, site) })
}

unsafe extern "C-unwind" fn cnd_broadcast<P: Probe>(cond: *mut Cond, site: usize) -> c_int {
    // SAFETY: passed on.
    answer::of(unsafe { broadcast::<P>(cond, site) })
}
