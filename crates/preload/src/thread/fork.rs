//! Forks. A fork's child has one thread, and memory that the parent's other threads left in the
//! middle of what they did.
//!
//! A lock that the forking thread holds must be usable in the child, whatever queue had formed
//! behind it. So every process counts the forks that it comes from (its generation), a mutex's
//! owner is stored with that count (`posix::mutex::me`), and a lock of an earlier generation is put
//! in order when its owner unlocks it. A condition variable of an earlier generation is put in
//! order at its next use.

use super::pointer::pointer;
use super::{callbacks, pool};
use crate::hooks::real;
use baton_trace::sys;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// Number of forks between the first process and this one: 0 in the first process, then from 1 to
/// 65,535 and again from 1.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// This process's number.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The thread of the parent that forked this process, by its thread pointer.
static FORKER: AtomicUsize = AtomicUsize::new(0);

/// This process's generation.
#[inline(always)]
pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Whether this process was forked by a process that had this library loaded.
#[inline(always)]
pub fn in_child() -> bool {
    generation() != 0
}

/// Whether the calling thread is the one that called fork, which alone exists in the child from the
/// start.
pub fn is_forker() -> bool {
    FORKER.load(Relaxed) == pointer()
}

/// Whether the calling process owns this memory. A `vfork` child, which only shares its parent's
/// memory for a while, does not.
pub fn is_process() -> bool {
    PROCESS.load(Relaxed) == sys::pid()
}

/// Registers the library's fork handlers before any others: glibc runs the first ones last before
/// the fork and first after it, so that in the child the program's own handlers find locks that
/// work.
pub fn start() {
    PROCESS.store(sys::pid(), Relaxed);
    // SAFETY: the functions stay loaded; no object owns the registration, so that no `dlclose`
    // removes it.
    unsafe { real::__register_atfork.get()(Some(before), Some(in_parent), Some(after), core::ptr::null_mut()) };
}

/// `_Fork`, which runs no handlers of the program; the library's handlers run all the same.
pub unsafe extern "C-unwind" fn bare_fork(_: usize) -> c_int {
    // SAFETY: the library's handlers may run in any thread, even in a signal handler.
    unsafe {
        before();
        let child = real::_Fork.get()();
        if child == 0 {
            after();
        } else {
            in_parent();
        }
        child
    }
}

unsafe extern "C" fn before() {
    callbacks::before_fork();
}

unsafe extern "C" fn in_parent() {
    callbacks::after_fork_in_parent();
}

unsafe extern "C" fn after() {
    GENERATION.store(generation() % 0xffff + 1, Relaxed);
    FORKER.store(pointer(), Relaxed);
    PROCESS.store(sys::pid(), Relaxed);
    pool::after_fork();
    callbacks::after_fork_in_child();
}
