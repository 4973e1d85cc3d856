//! Threads, recorded: creation, join, names, affinities. A thread's end is recorded by the
//! destructor of a thread-local key ([`crate::thread`]), whether the thread returns, calls
//! `pthread_exit` or is cancelled.

use crate::events::{self, Recorded};
use crate::hooks::real::{self, Routine, ThreadStart};
use crate::hooks::{Code, slot};
use crate::thread;
use baton_trace::What;
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::{pthread_t, timespec};

pub(super) fn install() {
    slot::pthread_create.set(create as Code);
    slot::pthread_join.set(join as Code);
    slot::pthread_tryjoin_np.set(tryjoin as Code);
    slot::pthread_timedjoin_np.set(timedjoin as Code);
    slot::pthread_clockjoin_np.set(clockjoin as Code);
    slot::thrd_create.set(thrd_create as Code);
    slot::thrd_join.set(thrd_join as Code);
    slot::pthread_setname_np.set(setname as Code);
    slot::pthread_setaffinity_np.set(pthread_setaffinity as Code);
    slot::sched_setaffinity.set(sched_setaffinity as Code);
}

/// The function that the program gave a new thread, and its argument.
struct Work<F> {
    run: F,
    argument: *mut c_void,
}

impl<F> Work<F> {
    fn pack(run: F, argument: *mut c_void) -> *mut c_void {
        Box::into_raw(Box::new(Work { run, argument })).cast()
    }

    /// The function and the argument that were packed.
    ///
    /// # Safety
    /// `packed` came from `pack` with the same `F`.
    unsafe fn unpack(packed: *mut c_void) -> (F, *mut c_void) {
        // SAFETY: by contract.
        let work = unsafe { Box::from_raw(packed.cast::<Work<F>>()) };
        (work.run, work.argument)
    }
}

/// The first function of a recorded thread: makes its record, which writes its first event, and
/// then calls the program's function. Nothing in this frame has a destructor while that function
/// runs, because the thread's exit unwinds through the frame.
unsafe extern "C-unwind" fn begin(packed: *mut c_void) -> *mut c_void {
    let _ = thread::current();
    // SAFETY: `create` packed this pointer, for this thread alone.
    let (run, argument) = unsafe { Work::<Routine>::unpack(packed) };
    // SAFETY: calls the program's function with its argument, as the program asked.
    unsafe { run(argument) }
}

/// The first function of a C11 thread: does what [`begin`] does.
unsafe extern "C-unwind" fn thrd_begin(packed: *mut c_void) -> c_int {
    let _ = thread::current();
    // SAFETY: `thrd_create` packed this pointer, for this thread alone.
    let (run, argument) = unsafe { Work::<ThreadStart>::unpack(packed) };
    // SAFETY: calls the program's function with its argument, as the program asked.
    unsafe { run(argument) }
}

unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attributes: *const c_void,
    run: Routine,
    argument: *mut c_void,
    site: usize,
) -> c_int {
    let work = Work::pack(run, argument);
    events::create::<Recorded>(site);
    // SAFETY: passed on.
    let error = unsafe { real::pthread_create.get()(handle, attributes, begin, work) };
    if error != 0 {
        // SAFETY: no thread was created, so no other code unpacks the pointer.
        unsafe { Work::<Routine>::unpack(work) };
    }
    created(handle, error);
    error
}

unsafe extern "C-unwind" fn thrd_create(
    handle: *mut pthread_t,
    run: ThreadStart,
    argument: *mut c_void,
    site: usize,
) -> c_int {
    let work = Work::pack(run, argument);
    events::create::<Recorded>(site);
    // SAFETY: passed on.
    let answer = unsafe { real::thrd_create.get()(handle, thrd_begin, work) };
    if answer != 0 {
        // SAFETY: no thread was created, so no other code unpacks the pointer.
        unsafe { Work::<ThreadStart>::unpack(work) };
    }
    created(handle, if answer == 0 { 0 } else { libc::EAGAIN });
    answer
}

fn created(handle: *const pthread_t, error: c_int) {
    // SAFETY: the program passes a place for the handle, which glibc has just written.
    let handle = if error == 0 { unsafe { *handle } } else { 0 };
    events::post_ordered::<Recorded>(|_| What::Created { handle, error: error as u32 });
}

/// Calls `join` between its events. A join is a cancellation point, so nothing here has a
/// destructor. `until`: the join is a try or has a deadline.
fn joining(handle: pthread_t, site: usize, until: bool, join: impl FnOnce() -> c_int) -> c_int {
    events::join_begin::<Recorded>(handle, site);
    if until {
        events::bounded::<Recorded>(handle);
    }
    let error = join();
    events::post_ordered::<Recorded>(|_| What::JoinEnd { handle, error: error as u32 });
    events::waited::<Recorded>();
    error
}

unsafe extern "C-unwind" fn join(handle: pthread_t, out: *mut *mut c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    joining(handle, site, false, || unsafe { real::pthread_join.get()(handle, out) })
}

unsafe extern "C-unwind" fn tryjoin(handle: pthread_t, out: *mut *mut c_void, site: usize) -> c_int {
    // SAFETY: passed on.
    joining(handle, site, true, || unsafe { real::pthread_tryjoin_np.get()(handle, out) })
}

unsafe extern "C-unwind" fn timedjoin(
    handle: pthread_t,
    out: *mut *mut c_void,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    joining(handle, site, true, || unsafe { real::pthread_timedjoin_np.get()(handle, out, at) })
}

unsafe extern "C-unwind" fn clockjoin(
    handle: pthread_t,
    out: *mut *mut c_void,
    clock: libc::clockid_t,
    at: *const timespec,
    site: usize,
) -> c_int {
    // SAFETY: passed on.
    joining(handle, site, true, || unsafe { real::pthread_clockjoin_np.get()(handle, out, clock, at) })
}

unsafe extern "C-unwind" fn thrd_join(handle: pthread_t, out: *mut c_int, site: usize) -> c_int {
    // SAFETY: passed on.
    joining(handle, site, false, || unsafe { real::thrd_join.get()(handle, out) })
}

unsafe extern "C-unwind" fn setname(handle: pthread_t, name: *const c_char, _: usize) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_setname_np.get()(handle, name) };
    if error == 0 && handle as usize == thread::pointer() {
        // SAFETY: `name` is a string, which glibc has just read.
        events::name_current(unsafe { CStr::from_ptr(name) });
    }
    error
}

unsafe extern "C-unwind" fn pthread_setaffinity(
    handle: pthread_t,
    bytes: usize,
    cpus: *const c_void,
    _: usize,
) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { real::pthread_setaffinity_np.get()(handle, bytes, cpus) };
    if error == 0 {
        events::affinity::changed(handle as usize);
    }
    error
}

unsafe extern "C-unwind" fn sched_setaffinity(number: c_int, bytes: usize, cpus: *const c_void, _: usize) -> c_int {
    // SAFETY: passed on.
    let answer = unsafe { real::sched_setaffinity.get()(number, bytes, cpus) };
    if answer == 0 {
        events::affinity::changed_by_number(number);
    }
    answer
}
