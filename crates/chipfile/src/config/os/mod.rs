//! The operating system's keys, by what they price or govern.
//!
//! | file | holds |
//! | --- | --- |
//! | `values` | values that are more than a number |
//! | `governing` | who decides the cores' clocks |

mod governing;
mod values;

pub use governing::{Governing, GovernorName};
pub use values::{FutexHome, IdleState, IdleStates, Ipi, OffCores, Percentile, SchedulerName, WakeSpread};

use baton_sched::placement::Amp;
use baton_units::Cycles;

/// Operating system: what its calls, switches and interrupts cost, and how it schedules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Os {
    /// Calls to wait on a futex and to wake its sleepers.
    pub futex: Futex,
    /// CPUs without a thread.
    pub idle: Idle,
    /// The scheduling policy, and its parameters.
    pub sched: Scheduling,
    /// The governor of the cores' clocks.
    pub governing: Governing,
    /// Interrupts and ticks.
    pub interrupt: Interrupts,
    /// Lines of kernel data in memory.
    pub lines: KernelLines,
    /// Signals that are handled.
    pub signal: Handling,
    /// Kernel entry and exit of a call that has no price of its own.
    pub syscall: Cycles,
    /// From one thread to the next on a core.
    pub context_switch: Cycles,
    /// What a switch to a thread that ran on another core costs more.
    pub migrate: Cycles,
    /// Creating a thread, at its creator.
    pub thread_create: Cycles,
    /// Cores that are switched off when the run begins.
    pub off: OffCores,
    /// Cores that count as fast, whatever their clocks; none: those with the fastest clock.
    pub fast_cores: Vec<u32>,
}

/// Futex calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Futex {
    /// A wait that sleeps: from the call to the moment when the core is free.
    pub wait: Cycles,
    /// A wait that finds the value changed and returns.
    pub wait_changed: Cycles,
    /// A wake that finds no sleeper.
    pub wake_none: Cycles,
    /// A wake of one sleeper, up to its return to the waker.
    pub wake: Cycles,
    /// Each further sleeper woken by the same call.
    pub wake_more: Cycles,
    /// Where the kernel's hash buckets have their homes; `None`: they are not in memory, and a call costs its price.
    pub home: Option<FutexHome>,
}

/// CPUs without a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle {
    /// From a wake-up to the first instruction of the thread, on a core that has been idle for long.
    pub wake: Cycles,
    /// The same on a core that became idle less than `poll` ago and still polls.
    pub wake_polling: Cycles,
    /// How long an idle core polls before it halts.
    pub poll: Cycles,
    /// Deeper idle states.
    pub states: IdleStates,
    /// How the latency of a wake-up varies, in any of these states.
    pub spread: WakeSpread,
}

/// The scheduling policy, and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scheduling {
    /// The policy that decides.
    pub policy: SchedulerName,
    /// How long a thread runs before another that waits for the core gets it.
    pub time_slice: Cycles,
    /// How far behind in run time a woken thread must be to preempt the running one.
    pub wakeup_granularity: Cycles,
    /// How often queues are balanced while all CPUs are busy; 0: never.
    pub balance_interval: Cycles,
    /// How much run time a thread that slept is ahead of those that did not.
    pub sleeper_credit: Cycles,
    /// The share of threads woken from another CPU while theirs idles that come to the waker's CPU.
    pub wake_pull: f64,
    /// The parameters of policies for chips with fast and slow cores.
    pub amp: Amp,
}

/// Interrupts and ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interrupts {
    /// What an interrupt from another CPU takes from the thread that it hits.
    pub cost: Cycles,
    /// How an interrupt goes from CPU to CPU.
    pub ipi: Ipi,
    /// Period of the timer tick on a CPU that is not idle; 0: none.
    pub tick: Cycles,
    /// What a tick takes from the thread that it hits.
    pub tick_cost: Cycles,
}

/// A signal that is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handling {
    /// From the kernel's look at the signal to the handler's first instruction.
    pub deliver: Cycles,
    /// From the handler's last instruction to the one that the thread goes on with.
    pub back: Cycles,
}

/// Lines of kernel data in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelLines {
    /// Lines of its CPU's kernel data that a system call reads.
    pub syscall: u32,
    /// Lines of its CPU's kernel data that an interrupt's handler reads.
    pub interrupt: u32,
    /// Lines of a CPU's run queue that handlers, sleepers and wakers write.
    pub queue: u32,
}
