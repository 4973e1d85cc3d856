//! Work that becomes a task without a task construct: asynchronous copies of memory, and a taskwait
//! with dependences and `nowait`.
#![allow(clippy::missing_safety_doc, reason = "programs call these; OpenMP's specification documents them")]

use crate::process::place;
use crate::target::{HOST_NUMBER, omp_target_memcpy, omp_target_memcpy_rect};
use crate::tasks::{begins_at_once, depends, object};
use baton_omp::tasks::{Clauses, Depend, Kind};
use core::alloc::Layout;
use core::ffi::c_void;

unsafe extern "C-unwind" fn run<F: FnOnce()>(data: *mut c_void) {
    // SAFETY: `later` wrote a closure there, and a task runs once.
    unsafe { data.cast::<F>().read()() };
}

/// Makes a task with these dependences that calls `body`. If such a task is to begin at once, waits
/// for the dependences and then calls `body`.
pub(crate) fn later<F: FnOnce()>(depends: Vec<Depend>, body: F) {
    let place = place();
    if begins_at_once(place, Kind::Plain, &depends) {
        place.await_dependences(&depends);
        return place.run_at_once(false, body);
    }
    // SAFETY: the memory has the closure's size and alignment.
    let fill = |data: *mut c_void| unsafe { data.cast::<F>().write(body) };
    place.defer(run::<F>, Layout::new::<F>(), fill, Clauses { depends, ..Clauses::none() });
}

/// The dependences of `count` `omp_depend_t` objects of the program, which have two words each.
///
/// # Safety
/// `list` has `count` objects.
unsafe fn objects(count: i32, list: *const [usize; 2]) -> Vec<Depend> {
    // SAFETY: by contract.
    (0..usize::try_from(count).unwrap_or(0)).map(|at| unsafe { object(list.add(at).cast()) }).collect()
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is OpenMP's")]
pub unsafe extern "C" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: i32,
    from_device: i32,
    count: i32,
    list: *const [usize; 2],
) -> i32 {
    if to_device != HOST_NUMBER || from_device != HOST_NUMBER {
        return libc::EINVAL;
    }
    // SAFETY: the program says how long both blocks are, and keeps them until the task is done.
    let copy = move || unsafe {
        omp_target_memcpy(to, from, bytes, to_offset, from_offset, to_device, from_device);
    };
    // SAFETY: the program passes `count` objects.
    later(unsafe { objects(count, list) }, copy);
    0
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is OpenMP's")]
pub unsafe extern "C" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: i32,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_sizes: *const usize,
    from_sizes: *const usize,
    to_device: i32,
    from_device: i32,
    count: i32,
    list: *const [usize; 2],
) -> i32 {
    if to.is_null() && from.is_null() {
        // The number of dimensions that can be copied, as `omp_target_memcpy_rect` returns it.
        return i32::MAX;
    }
    if to_device != HOST_NUMBER || from_device != HOST_NUMBER || dimensions <= 0 {
        return libc::EINVAL;
    }
    // SAFETY: the lists and both arrays are as long as the program says, and stay until the task is
    // done.
    let copy = move || unsafe {
        omp_target_memcpy_rect(
            to,
            from,
            element,
            dimensions,
            volume,
            to_offsets,
            from_offsets,
            to_sizes,
            from_sizes,
            to_device,
            from_device,
        );
    };
    // SAFETY: the program passes `count` objects.
    later(unsafe { objects(count, list) }, copy);
    0
}

/// A taskwait with dependences and `nowait`: an empty task with these dependences, which later
/// tasks may depend on in turn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskwait_depend_nowait(depend: *mut *mut c_void) {
    if !place().task_cancelled() {
        // SAFETY: the compiler built the list of dependences.
        later(unsafe { depends(depend.cast()) }, || ());
    }
}
