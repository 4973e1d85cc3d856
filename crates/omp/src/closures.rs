//! Regions and tasks of closures, for programs that no compiler outlined.

use crate::runtime::Runtime;
use crate::tasks::{Clauses, Kind};
use crate::team::Context;
use baton_machine::Machine;
use core::alloc::Layout;
use core::ffi::c_void;

/// The data of a region's function.
struct Called<'a, M: Machine, F> {
    runtime: &'a Runtime<M>,
    body: &'a F,
}

unsafe extern "C-unwind" fn region<M: Machine, F: Fn(&Context<M>) + Sync>(data: *mut c_void) {
    // SAFETY: `region` passes its own, which outlives the region.
    let called = unsafe { &*data.cast::<Called<'_, M, F>>() };
    (called.body)(called.runtime.context());
}

unsafe extern "C-unwind" fn task<F: FnOnce() + Send>(data: *mut c_void) {
    // SAFETY: `task` left a closure there, and a task runs once.
    unsafe { data.cast::<F>().read()() };
}

impl<M: Machine> Runtime<M> {
    /// Runs `body` in each thread of a team of `threads` (0: as many as the settings say) and returns when all have ended.
    /// `body` must not panic.
    pub fn region<F: Fn(&Context<M>) + Sync>(&self, threads: u32, body: F) {
        let called = Called { runtime: self, body: &body };
        // SAFETY: what the pointer leads to stays until the region has ended, and threads share it.
        unsafe { self.parallel(region::<M, F>, (&raw const called).cast_mut().cast(), threads, None) };
    }
}

impl<M: Machine> Context<M> {
    /// Makes a task of `body`, which must not panic. It runs at once where the runtime says so.
    ///
    /// # Safety
    /// What `body` borrows stays until the task is done, at the latest at the region's end.
    #[inline]
    pub unsafe fn task<F: FnOnce() + Send>(&self, body: F) {
        if self.is_inline(Kind::Plain) {
            return self.run_at_once(false, body);
        }
        // SAFETY: the memory is a closure's, by size and alignment.
        let fill = |data: *mut c_void| unsafe { data.cast::<F>().write(body) };
        self.defer(task::<F>, Layout::new::<F>(), fill, Clauses::none());
    }
}
