//! What an application had of fast and slow cores.

use serde::Serialize;

/// What an application had, in nanoseconds and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Had {
    /// Threads that began.
    pub threads: u64,
    /// Time of its threads on fast and on slow cores, and time in which they waited for a CPU.
    pub fast_ns: u64,
    pub slow_ns: u64,
    pub waits_ns: u64,
    /// Masks that were narrowed by a move and by a swap, and masks that were widened again.
    pub moves: u64,
    pub swaps: u64,
    pub widened: u64,
    /// Number of times that the application lost the class SP because its time was over.
    pub demotions: u64,
}
