//! Regions and tasks whose bodies are Rust closures, for programs without a compiler that outlines
//! functions.

use crate::runtime::Runtime;
use crate::tasks::{Clauses, Kind};
use crate::team::Context;
use baton_machine::Machine;
use core::alloc::Layout;
use core::ffi::c_void;

/// The data that a region's function gets: the runtime and the closure.
struct Called<'a, M: Machine, F> {
    runtime: &'a Runtime<M>,
    body: &'a F,
}

unsafe extern "C-unwind" fn region<M: Machine, F: Fn(&Context<M>) + Sync>(data: *mut c_void) {
    // SAFETY: `Runtime::region` passes a pointer to a value of this type, which outlives the
    // region.
    let called = unsafe { &*data.cast::<Called<'_, M, F>>() };
    // SAFETY: the region ends after the body, which cannot end it by safe code.
    (called.body)(unsafe { called.runtime.context() });
}

unsafe extern "C-unwind" fn task<F: FnOnce() + Send>(data: *mut c_void) {
    // SAFETY: `Context::task` wrote a closure there, and a task runs once.
    unsafe { data.cast::<F>().read()() };
}

impl<M: Machine> Runtime<M> {
    /// Runs `body` in each thread of a team of `threads` (0: as many as the settings say) and
    /// returns when all threads have ended it. `body` must not panic.
    pub fn region<F: Fn(&Context<M>) + Sync>(&self, threads: u32, body: F) {
        let called = Called { runtime: self, body: &body };
        // SAFETY: the value and the closure stay until the region has ended, and threads may share
        // them, as `F` is `Sync`.
        unsafe { self.parallel(region::<M, F>, (&raw const called).cast_mut().cast(), threads, None) };
    }
}

impl<M: Machine> Context<M> {
    /// Makes a task that calls `body`, which must not panic. The task runs at once if the runtime
    /// leaves no task for later here.
    ///
    /// # Safety
    /// What `body` borrows stays until the task is done, at the latest at the region's end.
    #[inline]
    pub unsafe fn task<F: FnOnce() + Send>(&self, body: F) {
        if self.is_inline(Kind::Plain) {
            return self.run_at_once(false, body);
        }
        // SAFETY: the memory has the closure's size and alignment.
        let fill = |data: *mut c_void| unsafe { data.cast::<F>().write(body) };
        self.defer(task::<F>, Layout::new::<F>(), fill, Clauses::none());
    }
}
