//! The functions that the compiler calls for parallel regions, barriers, critical sections,
//! `single` and `ordered`.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::process::{place, runtime};
use baton_machine::cell::Ptr;
use baton_machine::{Atomic, Machine, Native, Ordering};
use baton_omp::Why;
use baton_omp::objects::{AnyLock, lock};
use baton_omp::team::Function;
use core::ffi::c_void;
use std::sync::OnceLock;

/// Notes the binding of threads that a region's flags ask for.
pub(crate) fn bind(flags: u32) {
    if flags & 7 != 0 {
        runtime().proc_bind(flags & 7);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_parallel(function: Function, data: *mut c_void, threads: u32, flags: u32) {
    bind(flags);
    // SAFETY: the compiler outlined `function` for these data.
    unsafe { runtime().parallel(function, data, threads, None) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_parallel_start(function: Function, data: *mut c_void, threads: u32) {
    // SAFETY: the compiler outlined `function` for these data.
    unsafe { runtime().begin(function, data, threads, None) };
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_parallel_end() {
    runtime().end();
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier() {
    place().barrier(Why::Barrier);
}

/// A lock of the algorithm that the settings name.
pub(crate) type Lock = Box<dyn AnyLock<Native>>;

pub(crate) fn new_lock() -> Lock {
    lock::<Native>(&runtime().settings.lock).expect("the settings name a lock that there is")
}

fn enter(lock: &dyn AnyLock<Native>) {
    lock.lock(place().waits().of(Why::Lock));
}

fn leave(lock: &dyn AnyLock<Native>) {
    // SAFETY: the compiler ends each section in the thread that began it.
    unsafe { lock.unlock(place().waits().of(Why::Lock)) };
}

static CRITICAL: OnceLock<Lock> = OnceLock::new();
static ATOMIC: OnceLock<Lock> = OnceLock::new();

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_start() {
    enter(&**CRITICAL.get_or_init(new_lock));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_critical_end() {
    leave(&**CRITICAL.get_or_init(new_lock));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_start() {
    enter(&**ATOMIC.get_or_init(new_lock));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_atomic_end() {
    leave(&**ATOMIC.get_or_init(new_lock));
}

/// The word that the compiler reserves for the name of a critical section: null, then the address
/// of a lock that is never freed.
type Name = <Native as Machine>::Atomic<Ptr<Lock>>;

/// The lock of a critical section's name.
///
/// # Safety
/// `name` is the word of a critical section.
#[inline]
unsafe fn named(name: *mut *mut c_void) -> &'static Lock {
    // SAFETY: the caller says that this is the section's word, which is zero or holds what
    // `name_it` stored; a native cell has a pointer's layout.
    let word = unsafe { &*name.cast::<Name>() };
    // Acquire: the thread sees the lock to which the address leads.
    let known = word.load(Ordering::Acquire);
    if known.is_null() {
        return name_it(word);
    }
    // SAFETY: `name_it` stored the address of this lock, which is never freed.
    unsafe { &*known.0 }
}

#[cold]
#[inline(never)]
fn name_it(word: &Name) -> &'static Lock {
    let made = Box::into_raw(Box::new(new_lock()));
    // Release: other threads see the lock with its address. Acquire: if another thread was first,
    // this thread sees that thread's lock.
    match word.compare_exchange(Ptr::NULL, Ptr(made), Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the lock was published just now, and is never freed.
        Ok(_) => unsafe { &*made },
        Err(first) => {
            // SAFETY: `made` was made above, and no other thread has seen it; the lock of the
            // thread that was first is never freed.
            unsafe {
                drop(Box::from_raw(made));
                &*first.0
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_start(name: *mut *mut c_void) {
    // SAFETY: the compiler passes the section's word.
    enter(&**unsafe { named(name) });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_name_end(name: *mut *mut c_void) {
    // SAFETY: the compiler passes the section's word.
    leave(&**unsafe { named(name) });
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_start() -> bool {
    place().single()
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_start() -> *mut c_void {
    place().single_copy().map_or(core::ptr::null_mut(), core::ptr::with_exposed_provenance_mut)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_end(data: *mut c_void) {
    place().copy_out(data.expose_provenance());
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_start() {
    place().ordered();
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_end() {}
