//! Cancellation. Without OMP_CANCELLATION=true nothing is ever cancelled.

use crate::loops::GOMP_loop_end_nowait;
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
    if which & (LOOP | SECTIONS) != 0 {
        place.share_cancelled()
    } else if which & TASKGROUP != 0 {
        place.task_cancelled()
    } else {
        which & PARALLEL != 0 && place.region_cancelled()
    }
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
    place().barrier_or_cancelled(Why::Barrier)
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_loop_end_cancel() -> bool {
    GOMP_loop_end_nowait();
    GOMP_barrier_cancel()
}

#[unsafe(no_mangle)]
pub extern "C" fn GOMP_sections_end_cancel() -> bool {
    place().leave();
    GOMP_barrier_cancel()
}
