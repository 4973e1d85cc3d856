//! Measures what the building blocks of synchronization cost on this machine.
//!
//! | file | measures |
//! | --- | --- |
//! | `spread` | (a sample of times, and how it is summed up) |
//! | `chain` | (a chain of dependent loads) |
//! | [`core`] | one core: cache hit, PAUSE, atomics, fences, clock, `Native::work`, memory latency |
//! | [`memory`] | memory's rate, the store buffer's depth |
//! | [`lines`] | two cores: handing a cache line over, invalidating a copy |
//! | [`futex`] | sleeping and waking in the kernel |
//! | [`gaps`] | ticks and interrupts, as gaps in a loop that reads the clock |
//! | [`moving`] | waking a thread on another CPU than its last |
//! | [`place`] | on which CPU woken threads run |
//! | [`sched`] | context switches, time slices, preemption, thread creation |
//! | [`waiting`] | a waiting thread under each wait policy: its wake-up, its way in, its sibling's loss |
//! | [`instructions`] | wait instructions, tried in a child process |
//! | [`kernel`] | what the kernel grants: performance events, tick, huge pages |

mod chain;
pub mod core;
pub mod futex;
pub mod gaps;
pub mod instructions;
pub mod kernel;
pub mod lines;
pub mod memory;
pub mod moving;
pub mod place;
pub mod sched;
mod spread;
pub mod waiting;

pub use spread::Spread;
use spread::batches;

use std::time::Duration;

/// How long to measure each cost: a longer budget gives a steadier figure.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The budget of an operation that takes nanoseconds.
    pub short: Duration,
    /// The budget of an operation that involves the kernel.
    pub long: Duration,
}

impl Budget {
    /// The budget of a quick look.
    pub const LOOK: Budget = Budget { short: Duration::from_millis(15), long: Duration::from_millis(100) };
    /// The budget of a calibration, whose figures go into a chip file.
    pub const CALIBRATE: Budget = Budget { short: Duration::from_millis(60), long: Duration::from_millis(500) };
}

/// Pins the calling thread to `cpu`. On a machine that forbids pinning, measurements go on with
/// more spread.
fn pin(cpu: u32) {
    let _ = baton_machine::discover::pin(cpu);
}

/// The steady clock in nanoseconds.
fn now() -> u64 {
    use baton_machine::{Clock, Machine, Native};
    Native::now(Clock::Monotonic).0
}

/// A value that has its pair of cache lines to itself.
#[repr(align(128))]
#[derive(Default)]
struct Alone<T>(T);

/// For tests: measures without other tests beside it, and again with twice the budget, eight times
/// at most, as long as other programs prevent a result.
#[cfg(test)]
fn measured<T>(mut budget: Budget, measure: impl Fn(Budget) -> Option<T>) -> T {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|failed| failed.into_inner());
    for _ in 0..8 {
        if let Some(found) = measure(budget) {
            return found;
        }
        budget = Budget { short: 2 * budget.short, long: 2 * budget.long };
    }
    panic!("no answer within {:?}", budget.long)
}
