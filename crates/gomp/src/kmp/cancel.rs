//! Cancellation. Without OMP_CANCELLATION=true nothing is ever cancelled.

use crate::cancel::{GOMP_cancel, GOMP_cancellation_point};
use crate::kmp::dispatch::leave;
use crate::kmp::ident::Ident;
use crate::process::place;
use baton_omp::Why;

/// The kinds of constructs, from 1 as LLVM's interface numbers them, each as GCC's interface
/// numbers it.
const KINDS: [i32; 4] = [1, 2, 4, 8];

fn kind(number: i32) -> i32 {
    usize::try_from(number - 1).ok().and_then(|at| KINDS.get(at)).copied().unwrap_or(0)
}

/// Returns 1 if the thread must go to the construct's end, and 0 if not. Its loop ends here.
fn told(number: i32, cancelled: bool) -> i32 {
    if cancelled && kind(number) & (KINDS[1] | KINDS[2]) != 0 {
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
pub extern "C" fn __kmpc_cancel_barrier(_at: *const Ident, _thread: i32) -> i32 {
    i32::from(place().barrier_or_cancelled(Why::Barrier))
}
