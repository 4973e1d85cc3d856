//! The contract between an operating system and a policy.
//!
//! The policy owns the run queues. The operating system owns the CPUs: it calls [`Scheduler::pick`]
//! when one is free, and carries out [`Decision`]s in their order before it tells the policy
//! anything else.

use crate::amp::Amp;
use crate::{Affinity, Nice};
use baton_units::{CpuId, Cycles};

/// A thread, by a dense number that is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// An application: a group of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// What is known of a thread when it is born.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Born {
    pub app: AppId,
    /// The CPUs on which the thread may run. At least one of them is on.
    pub affinity: Affinity,
    /// The CPU at which the search for a first place begins. It is in the affinity and is on.
    pub near: CpuId,
    /// How much of a CPU the thread gets beside others, under policies that use weights.
    pub nice: Nice,
    /// How much faster the thread is on a fast core than on a slow one, in thousandths, if that was
    /// measured.
    pub speedup: Option<u32>,
}

/// What a thread reports about itself (Saez and others, section 2.2: the run-time extensions,
/// PA-RTX).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The thread waits for another thread and only uses up its CPU's time.
    Spinning,
    /// The thread does useful work.
    Working,
    /// The thread runs a part of the program for which all others of its application wait.
    Master,
}

/// What a thread does with a lock or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNotice {
    /// The thread is about to take the lock, and waits if another thread has it.
    Wanted,
    /// The thread has taken the lock.
    Taken,
    /// The thread has released the lock, or no longer waits for it or at the barrier.
    Left,
    /// The thread has come to a barrier, and waits for those that have not.
    Arrived,
}

/// An application's use of fast and slow cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppUse {
    /// Cycles of its threads on fast cores.
    pub fast: u64,
    /// Cycles of its threads on slow cores.
    pub slow: u64,
    /// Number of times that one of its threads came to a CPU of another core than the one on which
    /// it ran last.
    pub migrations: u64,
    /// Number of times that one of its threads was swapped with another thread.
    pub swaps: u64,
    /// Number of times that it lost the class SP because its time was over.
    pub demotions: u64,
    /// Cycles in which it had runnable threads and the class SP.
    pub sp: u64,
    /// Cycles in which it had runnable threads and the class MP.
    pub mp: u64,
    /// Cycles in which it had runnable threads and the class HP.
    pub hp: u64,
}

/// What the operating system must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The CPU is idle and there is a thread for it: wake the CPU up and let it
    /// [`pick`](Scheduler::pick). If the CPU is no longer idle, the decision has no effect.
    Start(CpuId),
    /// Take the CPU from its thread as soon as possible, then call [`yields`](Scheduler::yields)
    /// and [`pick`](Scheduler::pick).
    Preempt(CpuId),
    /// Call [`tick`](Scheduler::tick) for the CPU at this moment, which replaces the CPU's earlier
    /// one. A system with a periodic tick may ignore this.
    Timer(CpuId, Cycles),
    /// Cancel the CPU's timer.
    NoTimer(CpuId),
    /// Call [`alarm`](Scheduler::alarm) at this moment, which replaces the earlier one, whatever
    /// the CPUs do and even if ticks are periodic.
    Alarm(Cycles),
    /// Cancel the alarm.
    NoAlarm,
}

/// The parameters that policies share; a policy uses those that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How long a thread runs before another thread that waits for its CPU gets it; at least 1.
    pub time_slice: Cycles,
    /// How far behind in run time a woken thread must be to preempt the running one.
    pub wakeup_granularity: Cycles,
    /// By how much run time a thread that slept may be ahead of those that did not; a longer sleep
    /// gives no more.
    pub sleeper_credit: Cycles,
    /// How often queues are balanced while all CPUs are busy; 0 for never.
    pub balance_interval: Cycles,
    /// The share, in thousandths, of woken threads that come to the waker's CPU. It applies to
    /// threads that are woken from another CPU while their own is idle, if the waker's CPU with the
    /// thread has a load below 1.08 times that of their own.
    pub wake_pull: u32,
    /// Parameters of policies for chips with fast and slow cores.
    pub amp: Amp,
}

/// A scheduling policy. Times never go back. Every thread that is born wakes once before it blocks,
/// runs or exits.
pub trait Scheduler {
    /// Tells the policy that a thread is born. It is not runnable yet: [`Scheduler::wake`] follows.
    fn fork(&mut self, now: Cycles, thread: ThreadId, born: &Born);

    /// Tells the policy that the thread that runs on this CPU wakes the next thread that wakes.
    fn waker(&mut self, _cpu: CpuId) {}

    /// Tells the policy that a thread that was blocked or newly born can run.
    fn wake(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// Tells the policy that the thread, which ran on its CPU or to which the CPU was switching,
    /// waits; the CPU is free.
    fn block(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// Tells the policy that the thread, which ran on its CPU, has ended; the CPU is free.
    fn exit(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// Tells the policy that the thread has lost or given up its CPU but can run on; the CPU is
    /// free.
    fn yields(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// Asks which thread gets the CPU, which is on and free. With `None`, the CPU stays idle until
    /// [`Decision::Start`].
    fn pick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) -> Option<ThreadId>;

    /// Tells the policy that the CPU has switched to the picked thread, whose run time counts from
    /// now.
    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>);

    /// Tells the policy that the CPU's timer or its periodic tick has come while a thread runs
    /// there.
    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>);

    /// Tells the policy that the moment of the newest [`Decision::Alarm`] has come.
    fn alarm(&mut self, _now: Cycles, _out: &mut Vec<Decision>) {}

    /// Tells the policy that the thread may run only on these CPUs from now on; at least one of
    /// them is on.
    fn set_affinity(&mut self, now: Cycles, thread: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>);

    /// Tells the policy that the CPU is switched on or off. Every living thread still has a CPU
    /// that is on.
    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>);

    /// Tells the policy that the CPU's core has a new clock: `speed` replaces
    /// [`Cpu::speed`](crate::Cpu::speed). It is called for each CPU of the core, whether the CPU is
    /// on or not.
    fn set_speed(&mut self, _now: Cycles, _cpu: CpuId, _speed: u32, _out: &mut Vec<Decision>) {}

    /// Tells the policy what a thread reports about itself. `lock` and `holder` are what the thread
    /// waits for, if it knows.
    fn notify(
        &mut self,
        _now: Cycles,
        _thread: ThreadId,
        _notice: Notice,
        _lock: Option<u64>,
        _holder: Option<ThreadId>,
        _out: &mut Vec<Decision>,
    ) {
    }

    /// Whether the policy uses [`Scheduler::notify_lock`].
    fn hears_locks(&self) -> bool {
        false
    }

    /// Whether the policy uses [`Scheduler::notify_lock`] for what a kernel sees of futexes by itself.
    /// The threads then pay nothing for it.
    fn sees_futexes(&self) -> bool {
        false
    }

    /// Tells the policy what a thread does with a lock or a barrier, which has a number. Reports of
    /// what happened since the operating system was last entered may come late, but in order and
    /// before any other call.
    fn notify_lock(
        &mut self,
        _now: Cycles,
        _thread: ThreadId,
        _notice: LockNotice,
        _lock: u64,
        _out: &mut Vec<Decision>,
    ) {
    }

    /// Number of threads that the CPU has taken from other queues when it ran out of threads; 0
    /// under a policy that never does that.
    fn steals(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// An application's use of fast and slow cores up to now, if the policy tells these apart.
    fn app_use(&self, _now: Cycles, _app: AppId) -> Option<AppUse> {
        None
    }

    /// The CPU in whose queue the thread is, on which it runs, or on which it ran last.
    fn place(&self, thread: ThreadId) -> CpuId;
}
