//! The object files of the runtimes that calls have reached.

use crate::hooks::lookup::found;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Runtimes beyond this number are not noted.
const MOST: usize = 8;
/// The addresses of each runtime: from, to. Zeros stand where there is none.
static RANGES: [(AtomicUsize, AtomicUsize); MOST] = [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST];

/// Whether the address is one of a runtime's code.
pub(super) fn contain(address: usize) -> bool {
    // Acquire: with its end, a runtime's beginning is seen.
    RANGES.iter().any(|(from, to)| address < to.load(Ordering::Acquire) && address >= from.load(Ordering::Relaxed))
}

/// Notes the runtime that has the function at `at`.
#[cold]
pub(super) fn note(at: *mut ()) {
    let Some(range) = found::range_at(at.addr() as u64).filter(|_| !contain(at.addr())) else { return };
    for (from, to) in &RANGES {
        if from.compare_exchange(0, range.start, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            to.store(range.end, Ordering::Release);
            return;
        }
    }
}
