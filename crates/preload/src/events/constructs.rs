//! The barriers whose OpenMP construct has been written down, so that each is told once.

use baton_trace::Address;
use core::sync::atomic::{AtomicU64, Ordering};

/// The barriers by a hash of their address. A barrier that finds no room is told of again and again.
static TOLD: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether this is the first time that a barrier is asked for; notes it.
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

/// In a fork's child, whose file knows of none.
pub(super) fn after_fork() {
    TOLD.iter().for_each(|cell| cell.store(0, Ordering::Relaxed));
}
