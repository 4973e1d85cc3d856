//! Cancellation. Without OMP_CANCELLATION=true nothing is ever cancelled.

use crate::cancel::{GOMP_cancel, GOMP_cancellation_point};
use crate::kmp::dispatch::leave;
use crate::kmp::ident::{Ident, barrier_at};
use crate::ompt;
use crate::process::place;
use baton_omp::Why;

/// A kind of constructs, which LLVM's interface numbers from 1, as GCC's interface numbers it; 0: there
/// is none.
pub(crate) fn kind(number: i32) -> i32 {
    if (1..=4).contains(&number) { 1 << (number - 1) } else { 0 }
}

/// Returns 1 if the thread must go to the construct's end, and 0 if not. Its loop ends here.
fn told(number: i32, cancelled: bool) -> i32 {
    if cancelled && matches!(number, 2 | 3) {
        leave(place());
    }
    i32::from(cancelled)
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_cancel(_at: *const Ident, _thread: i32, number: i32) -> i32 {
    told(number, kind(number) != 0 && GOMP_cancel(kind(number), true))
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_cancellationpoint(_at: *const Ident, _thread: i32, number: i32) -> i32 {
    told(number, GOMP_cancellation_point(kind(number)))
}

#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_cancel_barrier(at: *const Ident, _thread: i32) -> i32 {
    let place = place();
    i32::from(ompt::sync(place, barrier_at(at), || place.barrier_or_cancelled(Why::Barrier)))
}
