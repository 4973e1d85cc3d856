//! The contract between an operating system and a policy.
//!
//! The policy owns the run queues. The operating system owns the CPUs: it calls [`Scheduler::pick`] when one is free,
//! and carries [`Decision`]s out in their order, before it says anything else to the policy.

use crate::placement::{Amp, AppUse};
use crate::{Affinity, Nice};
use baton_units::{CpuId, Cycles};

/// A thread, by a dense number that is never given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

/// An application: a group of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// What is known of a thread when it is born.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Born {
    /// Its application.
    pub app: AppId,
    /// Where it may run. At least one of these CPUs is on.
    pub affinity: Affinity,
    /// A CPU to begin the search for a first place at: the affinity has it, and it is on.
    pub near: CpuId,
    /// How much of a CPU it gets beside others, on policies that know weights.
    pub nice: Nice,
    /// How much faster it is on a fast core than on a slow one, in thousandths, where that was measured.
    pub speedup: Option<u32>,
}

/// What a thread says of itself (Saez and others, section 2.2: the run-time extensions, PA-RTX).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It waits for another thread and only burns its CPU.
    Spinning,
    /// It does work that counts.
    Working,
    /// It runs a part of the program that all others of its application wait for.
    Master,
}

/// What a thread has to do with a lock or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNotice {
    /// It is about to take the lock, and waits if another thread has it.
    Wanted,
    /// It has taken the lock.
    Taken,
    /// It has released the lock, or waits for it or at the barrier no more.
    Left,
    /// It has come to a barrier, and waits for those that have not.
    Arrived,
}

/// What the operating system is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The CPU idles and a thread is there for it (if it does not idle any more, this says nothing): rouse it and have it [`pick`](Scheduler::pick).
    Start(CpuId),
    /// Take the CPU from its thread as soon as that can be, then say [`yields`](Scheduler::yields) and
    /// [`pick`](Scheduler::pick).
    Preempt(CpuId),
    /// Call [`tick`](Scheduler::tick) for the CPU at this moment; it replaces the CPU's earlier one. A system with a
    /// periodic tick may leave it out.
    Timer(CpuId, Cycles),
    /// Forget the CPU's timer.
    NoTimer(CpuId),
    /// Call [`alarm`](Scheduler::alarm) at this moment, whatever CPUs do and whether ticks are periodic; it replaces the earlier one.
    Alarm(Cycles),
    /// Forget the alarm.
    NoAlarm,
}

/// The parameters that policies share; a policy uses the ones that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How long a thread runs before another that waits for its CPU gets it. At least 1.
    pub time_slice: Cycles,
    /// How far behind in run time a woken thread must be to preempt the running one.
    pub wakeup_granularity: Cycles,
    /// How much run time a thread that slept is ahead of those that did not; a longer sleep is forgiven.
    pub sleeper_credit: Cycles,
    /// How often queues are balanced while all CPUs are busy; 0: never.
    pub balance_interval: Cycles,
    /// Of a thousand threads that are woken from another CPU while theirs idles and has had more to do of late, so many come to the
    /// waker's CPU.
    pub wake_pull: u32,
    /// Of policies for chips with fast and slow cores.
    pub amp: Amp,
}

/// A scheduling policy. Times never go back. Every thread that is born wakes once before it blocks, runs or exits.
pub trait Scheduler {
    /// A thread is born. It is not runnable yet: [`Scheduler::wake`] follows.
    fn fork(&mut self, now: Cycles, thread: ThreadId, born: &Born);

    /// The next thread that wakes is woken by the one that runs on this CPU.
    fn waker(&mut self, _cpu: CpuId) {}

    /// A thread that was blocked or newly born can run.
    fn wake(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// The thread, which ran on its CPU or was being switched to, waits; the CPU is free.
    fn block(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// The thread, which ran on its CPU, has ended; the CPU is free.
    fn exit(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// The thread has lost or given up its CPU and can run on; the CPU is free.
    fn yields(&mut self, now: Cycles, thread: ThreadId, out: &mut Vec<Decision>);

    /// The CPU, which is on, is free: who gets it? Nobody: it idles until [`Decision::Start`].
    fn pick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>) -> Option<ThreadId>;

    /// The CPU has switched to the thread that was picked: its run time counts from now.
    fn runs(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>);

    /// The CPU's timer or its periodic tick has come; a thread runs there.
    fn tick(&mut self, now: Cycles, cpu: CpuId, out: &mut Vec<Decision>);

    /// The moment of the newest [`Decision::Alarm`] has come.
    fn alarm(&mut self, _now: Cycles, _out: &mut Vec<Decision>) {}

    /// From now on the thread may run here only; at least one of these CPUs is on.
    fn set_affinity(&mut self, now: Cycles, thread: ThreadId, affinity: &Affinity, out: &mut Vec<Decision>);

    /// The CPU is switched on or off. No living thread is left without a CPU that is on.
    fn set_online(&mut self, now: Cycles, cpu: CpuId, online: bool, out: &mut Vec<Decision>);

    /// The CPU's core has another clock from now on: `speed` is what [`Cpu::speed`](crate::Cpu::speed) was before. Told of each CPU
    /// of the core, whether it is on or not.
    fn set_speed(&mut self, _now: Cycles, _cpu: CpuId, _speed: u32, _out: &mut Vec<Decision>) {}

    /// A thread says something of itself. `lock` and `holder` are what it waits for, where it knows.
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

    /// Whether it listens to [`Scheduler::notify_lock`].
    fn hears_locks(&self) -> bool {
        false
    }

    /// A thread says what it has to do with a lock or a barrier, which is known by a number. Of what has happened since the
    /// operating system was last entered it may hear late, in order, before anything else.
    fn notify_lock(
        &mut self,
        _now: Cycles,
        _thread: ThreadId,
        _notice: LockNotice,
        _lock: u64,
        _out: &mut Vec<Decision>,
    ) {
    }

    /// How many threads the CPU has taken from other queues when it ran dry; 0 under a policy that does not.
    fn steals(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// What an application has had of fast and slow cores up to now, if the policy tells them apart.
    fn app_use(&self, _now: Cycles, _app: AppId) -> Option<AppUse> {
        None
    }

    /// The CPU in whose queue the thread is, that it runs on, or that it ran on last.
    fn place(&self, thread: ThreadId) -> CpuId;
}
