//! Tasks. A task that names dependences waits for all earlier children of its parent: correct, and less parallel than it could be.
#![allow(clippy::missing_safety_doc, reason = "the compiler calls these; GCC's libgomp documents the interface")]
#![allow(missing_docs, reason = "the names are GCC's")]

use crate::missing::missing;
use crate::process::place;
use baton_omp::tasks::Data;
use baton_omp::team::Function;
use core::ffi::c_void;

const FINAL: u32 = 1 << 1;
const DEPEND: u32 = 1 << 3;
const DETACH: u32 = 1 << 13;

type Copy = unsafe extern "C" fn(*mut c_void, *mut c_void);

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the interface is GCC's")]
pub unsafe extern "C" fn GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Option<Copy>,
    bytes: i64,
    align: i64,
    deferred: bool,
    flags: u32,
    _depend: *mut *mut c_void,
    _priority: i32,
    _detach: *mut c_void,
) {
    if flags & DETACH != 0 {
        missing("GOMP_task with detach");
    }
    let place = place();
    if place.task_cancelled() {
        return;
    }
    if flags & DEPEND != 0 {
        place.taskwait();
    }
    let is_final = flags & FINAL != 0 || place.task.borrow().is_final;
    let at_once = !deferred || is_final || place.is_inline();
    if at_once && copy.is_none() {
        // SAFETY: the compiler outlined the function for these data.
        return place.run_at_once(is_final, || unsafe { function(data) });
    }
    let mut own = Data::new(bytes.max(0) as usize, align.max(1) as usize);
    // SAFETY: the compiler tells the size of its data, and how they are copied.
    unsafe {
        match copy {
            Some(copy) => copy(own.as_ptr(), data),
            None => core::ptr::copy_nonoverlapping(data.cast::<u8>(), own.as_ptr().cast(), bytes.max(0) as usize),
        }
    }
    if at_once {
        // SAFETY: as above.
        place.run_at_once(is_final, || unsafe { function(own.as_ptr()) });
    } else {
        place.defer(function, own, is_final);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait() {
    place().taskwait();
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskwait_depend(_depend: *mut *mut c_void) {
    place().taskwait();
}

/// A scheduling point that takes no task.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskyield() {}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    place().begin_group();
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_end() {
    place().end_group();
}
