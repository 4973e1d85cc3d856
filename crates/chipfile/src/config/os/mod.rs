//! The keys of the operating system, by what they price or control.
//!
//! | file | holds |
//! | --- | --- |
//! | `values` | values that are more than a number |
//! | `governing` | who decides the cores' clocks |

mod governing;
mod values;

pub use governing::{Governing, GovernorName};
pub use values::{FutexHome, IdleState, IdleStates, Ipi, OffCores, Percentile, SchedulerName, WakeEntry, WakeSpread};

use baton_sched::placement::Amp;
use baton_units::Cycles;

/// The operating system: the prices of calls, switches and interrupts, and the scheduling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Os {
    /// The calls that wait on a futex and that wake its sleepers.
    pub futex: Futex,
    /// The prices of CPUs without a thread.
    pub idle: Idle,
    /// The scheduling policy, and its parameters.
    pub sched: Scheduling,
    /// The governor of the cores' clocks.
    pub governing: Governing,
    /// Interrupts and ticks.
    pub interrupt: Interrupts,
    /// The numbers of kernel data lines in memory.
    pub lines: KernelLines,
    /// The prices of signals that a handler receives.
    pub signal: Handling,
    /// The price of kernel entry and exit, for a call without a price of its own.
    pub syscall: Cycles,
    /// The price of a switch from one thread to the next on a core.
    pub context_switch: Cycles,
    /// The additional price of a switch to a thread that last ran on another core.
    pub migrate: Cycles,
    /// The price of creating a thread, for the creator.
    pub thread_create: Cycles,
    /// The cores that are switched off at the start of a run.
    pub off: OffCores,
    /// The cores that count as fast, whatever their clocks; empty: the cores with the fastest
    /// clock.
    pub fast_cores: Vec<u32>,
}

/// Futex calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Futex {
    /// The price of a wait that sleeps, from the call to the moment at which the core is free.
    pub wait: Cycles,
    /// The price of a wait that finds the value changed and returns.
    pub wait_changed: Cycles,
    /// The price of a wake that finds no sleeper.
    pub wake_none: Cycles,
    /// The price of a wake of one sleeper, up to the return to the waker.
    pub wake: Cycles,
    /// The price of each further sleeper that the same call wakes.
    pub wake_more: Cycles,
    /// The price of a wake of one sleeper whose CPU still polls for work; `None`: as `wake`.
    pub wake_polling: Option<Cycles>,
    /// The homes of the kernel's hash buckets; `None`: the buckets are not in memory, and a call
    /// costs its price alone.
    pub home: Option<FutexHome>,
    /// What a wake-up does if no thread sleeps.
    pub entry: WakeEntry,
}

/// The prices of CPUs without a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle {
    /// Time from a wake-up to the first instruction of the thread, on a core that has been idle for
    /// longer than `poll`.
    pub wake: Cycles,
    /// Time from a wake-up to the first instruction of the thread, on a core that has been idle for
    /// less than `poll` and still polls.
    pub wake_polling: Cycles,
    /// The time for which an idle core polls before it halts.
    pub poll: Cycles,
    /// Deeper idle states.
    pub states: IdleStates,
    /// The distribution of wake-up latencies, in all these states.
    pub spread: WakeSpread,
}

/// The scheduling policy, and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scheduling {
    /// The scheduling policy.
    pub policy: SchedulerName,
    /// The time for which a thread runs before another thread that waits for the core runs.
    pub time_slice: Cycles,
    /// The lag in run time that a woken thread needs to preempt the running thread.
    pub wakeup_granularity: Cycles,
    /// The time between two balancings of the queues while all CPUs are busy; 0: no balancing.
    pub balance_interval: Cycles,
    /// The advance in run time that a thread which slept has over threads that did not sleep.
    pub sleeper_credit: Cycles,
    /// The share of threads that move to the waker's CPU, among threads that another CPU wakes
    /// while their own CPU is idle, if the waker's CPU with the thread has a load below 1.08 times
    /// that of their own.
    pub wake_pull: f64,
    /// The parameters of policies for chips with fast and slow cores.
    pub amp: Amp,
}

/// Interrupts and ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interrupts {
    /// The time that an interrupt from another CPU takes from the interrupted thread.
    pub cost: Cycles,
    /// The way in which an interrupt travels from CPU to CPU.
    pub ipi: Ipi,
    /// The period of the timer tick on a CPU that is not idle; 0: there is no tick.
    pub tick: Cycles,
    /// The time that a tick takes from the interrupted thread.
    pub tick_cost: Cycles,
}

/// The prices of a signal that a handler receives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Handling {
    /// Time from the kernel's look at the signal to the first instruction of the handler.
    pub deliver: Cycles,
    /// Time from the last instruction of the handler to the thread's next instruction.
    pub back: Cycles,
}

/// Numbers of lines of kernel data in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelLines {
    /// Number of lines of its CPU's kernel data that a system call reads.
    pub syscall: u32,
    /// Number of lines of its CPU's kernel data that an interrupt handler reads.
    pub interrupt: u32,
    /// Number of lines of a CPU's run queue that handlers, sleepers and wakers write.
    pub queue: u32,
}
