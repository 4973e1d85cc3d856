//! The barriers whose OpenMP construct the trace names already, so that each is written once.

use baton_trace::Address;
use core::sync::atomic::{AtomicU64, Ordering};

/// The addresses of barriers whose construct the trace names, by hash. The construct of a barrier
/// that finds no free cell is written again each time.
static TOLD: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Remembers the barrier. Returns whether its construct is still to be written: true at the first
/// call for this barrier, and at each call for a barrier that finds no free cell.
pub(super) fn is_new(barrier: Address) -> bool {
    let hash = (barrier.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    for step in 0..8 {
        let cell = &TOLD[(hash + step) % TOLD.len()];
        let known = match cell.load(Ordering::Relaxed) {
            0 => match cell.compare_exchange(0, barrier, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => other,
            },
            known => known,
        };
        if known == barrier {
            return false;
        }
    }
    true
}

/// Forgets all barriers in a fork's child, whose trace names none yet.
pub(super) fn after_fork() {
    TOLD.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
}
