//! Cancellation. Without OMP_CANCELLATION=true nothing is ever cancelled.

use crate::loops::{GOMP_loop_end_nowait, GOMP_sections_end_nowait};
use crate::ompt;
use crate::process::{place, runtime};
use baton_omp::Why;

const PARALLEL: i32 = 1;
const LOOP: i32 = 2;
const SECTIONS: i32 = 4;
const TASKGROUP: i32 = 8;

/// Whether the innermost construct of the kind `which` around the caller is cancelled, so that the
/// thread must go to that construct's end.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancellation_point(which: i32) -> bool {
    let place = place();
    let cancelled = if which & (LOOP | SECTIONS) != 0 {
        place.share_cancelled()
    } else if which & TASKGROUP != 0 {
        place.task_cancelled()
    } else {
        which & PARALLEL != 0 && place.region_cancelled()
    };
    if cancelled {
        ompt::constructs::cancels(place, flags(which) | DETECTED);
    }
    cancelled
}

/// What a tool is told: the construct is cancelled here, or is found cancelled.
const ACTIVATED: i32 = 0x10;
const DETECTED: i32 = 0x20;

/// The kinds of constructs as OMPT numbers them, which has loops and sections the other way round.
fn flags(which: i32) -> i32 {
    let swapped = if which & LOOP != 0 { SECTIONS } else { 0 } | if which & SECTIONS != 0 { LOOP } else { 0 };
    which & (PARALLEL | TASKGROUP) | swapped
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancel(which: i32, now: bool) -> bool {
    if !runtime().settings.cancellation {
        return false;
    }
    if !now {
        return GOMP_cancellation_point(which);
    }
    let place = place();
    ompt::constructs::cancels(place, flags(which) | ACTIVATED);
    if which & (LOOP | SECTIONS) != 0 {
        place.cancel_share();
    } else if which & TASKGROUP != 0 {
        place.cancel_group();
    } else {
        place.cancel_region();
    }
    true
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_barrier_cancel() -> bool {
    let place = place();
    ompt::sync(place, ompt::Sync::Barrier, || place.barrier_or_cancelled(Why::Barrier))
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end_cancel() -> bool {
    GOMP_loop_end_nowait();
    GOMP_barrier_cancel()
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end_cancel() -> bool {
    GOMP_sections_end_nowait();
    GOMP_barrier_cancel()
}
