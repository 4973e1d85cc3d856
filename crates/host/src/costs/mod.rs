//! What each thing that synchronization is made of costs on this machine, measured.
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
//! | [`instructions`] | wait instructions, tried in a child process |
//! | [`kernel`] | what the kernel grants: performance counters, tick, futexes |

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

pub use spread::Spread;
use spread::batches;

use std::time::Duration;

/// How long to measure each thing: longer is steadier.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// For what takes nanoseconds.
    pub short: Duration,
    /// For what involves the kernel.
    pub long: Duration,
}

impl Budget {
    /// A quick look.
    pub const LOOK: Budget = Budget { short: Duration::from_millis(15), long: Duration::from_millis(100) };
    /// Numbers to predict with: the figures of a chip file.
    pub const CALIBRATE: Budget = Budget { short: Duration::from_millis(60), long: Duration::from_millis(500) };
}

/// Pins the calling thread; a machine that forbids it is measured all the same, with more spread.
fn pin(cpu: u32) {
    let _ = baton_machine::discover::pin(cpu);
}

/// Nanoseconds on the steady clock.
fn now() -> u64 {
    use baton_machine::{Clock, Machine, Native};
    Native::now(Clock::Monotonic).0
}

/// A value alone in its pair of cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Alone<T>(T);

/// For tests: measures alone, and anew with twice the budget while other programs keep it from an answer.
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
