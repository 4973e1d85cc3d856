//! Measuring this machine: what each thing that synchronization is made of costs here.
//!
//! | file | measures |
//! | --- | --- |
//! | [`spread`] | (a sample of times, and how it is summed up) |
//! | [`chain`] | (a chain of dependent loads) |
//! | [`core`] | one core: cache hit, PAUSE, atomics, fences, clock, `Native::work`, memory latency |
//! | [`memory`] | memory's rate, the store buffer's depth |
//! | [`lines`] | two cores: handing a cache line over, invalidating a copy |
//! | [`futex`] | sleeping and waking in the kernel |
//! | [`gaps`] | ticks and interrupts, as gaps in a loop that reads the clock |
//! | [`moving`] | waking a thread on another CPU than its last |
//! | [`place`] | where woken threads go |
//! | [`sched`] | context switches, time slices, preemption, thread creation |
//! | [`instructions`] | wait instructions, tried in a child process |
//! | [`kernel`] | what the kernel grants: performance counters, tick, futexes |

pub(crate) mod chain;
pub(crate) mod core;
pub(crate) mod futex;
pub(crate) mod gaps;
pub(crate) mod instructions;
pub(crate) mod kernel;
pub(crate) mod lines;
pub(crate) mod memory;
pub(crate) mod moving;
pub(crate) mod place;
pub(crate) mod sched;
pub(crate) mod spread;

pub(crate) use spread::{Spread, batches};

use std::time::Duration;

/// How long to measure each thing: longer is steadier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// For what takes nanoseconds.
    pub(crate) short: Duration,
    /// For what involves the kernel.
    pub(crate) long: Duration,
}

impl Budget {
    /// A look, for `baton doctor`.
    pub(crate) const LOOK: Budget = Budget { short: Duration::from_millis(15), long: Duration::from_millis(100) };
    /// Numbers to predict with, for `--calibrate`.
    pub(crate) const CALIBRATE: Budget = Budget { short: Duration::from_millis(60), long: Duration::from_millis(500) };
}

/// Pins the calling thread; a machine that forbids it is measured all the same, with more spread.
pub(crate) fn pin(cpu: u32) {
    let _ = baton_machine::discover::pin(cpu);
}

/// Nanoseconds on the steady clock.
pub(crate) fn now() -> u64 {
    use baton_machine::{Clock, Machine, Native};
    Native::now(Clock::Monotonic).0
}

/// A value alone in its pair of cache lines.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Alone<T>(pub(crate) T);
