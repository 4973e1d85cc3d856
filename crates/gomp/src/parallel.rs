//! The functions that the compiler calls for parallel regions, barriers, `single` and `ordered`.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]

use crate::ompt;
use crate::process::{known_place, place, runtime};
use baton_machine::Native;
use baton_omp::Why;
use baton_omp::team::{Context, Function};
use core::ffi::c_void;

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
    // SAFETY: the compiler ends the region that it began, and no place of it is in use.
    unsafe { runtime().end() };
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier() {
    let place = place();
    ompt::sync(place, ompt::Sync::Barrier, || place.barrier(Why::Barrier));
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_start() -> bool {
    let place = place();
    let executes = place.single();
    ompt::constructs::single(place, executes, false);
    executes
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_start() -> *mut c_void {
    let place = place();
    let copy = place.single_copy();
    ompt::constructs::single(place, copy.is_none(), false);
    copy.map_or(core::ptr::null_mut(), core::ptr::with_exposed_provenance_mut)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_single_copy_end(data: *mut c_void) {
    ompt::constructs::single_ends(place());
    place().copy_out(data.expose_provenance());
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_start() {
    // A thread that has no place in a team is in no loop.
    if let Some(place) = known_place() {
        ordered(place);
    }
}

/// Waits for the turn of the thread's chunk.
#[inline(always)]
pub(crate) fn ordered(place: &Context<Native>) {
    #[cold]
    #[inline(never)]
    fn told(place: &Context<Native>) {
        ompt::locks::acquire(ompt::LockKind::Ordered, 0, turn_of(place), || {
            place.ordered();
            true
        });
    }
    if ompt::is_on() { told(place) } else { place.ordered() }
}

/// Tells a tool, if there is one, that an ordered block ends.
#[inline(always)]
pub(crate) fn ordered_ends(place: &Context<Native>) {
    if ompt::is_on() {
        ompt::locks::released(ompt::LockKind::Ordered, turn_of(place));
    }
}

/// By what a tool knows the turn of an ordered loop.
fn turn_of(place: &Context<Native>) -> usize {
    place.team.addr()
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_ordered_end() {
    if ompt::is_on() {
        known_place().into_iter().for_each(ordered_ends);
    }
}
