//! One function for each thing that happens. Each is nothing in code that does not record.

use super::sites::site;
use super::{Probe, SESSION};
use crate::mutex::{Class, Mutex, Passed};
use crate::thread::{self, Thread};
use baton_machine::native::thread::sleeps;
use baton_trace::{Address, Construct, How, Lock, LockKind, Mode, Waitable, WakeReason, What, clock, notes, sys};

/// A lock as events name it.
#[inline(always)]
fn mutex(mutex: *const Mutex) -> Lock {
    Lock::mutex(mutex.addr() as Address)
}

/// Records an act, stamped now: before it gives something away.
#[inline(always)]
pub fn post<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post(&SESSION, what(thread));
    }
}

/// Records an act, stamped when everything before is done: after it took something.
#[inline(always)]
pub fn post_ordered<P: Probe>(what: impl FnOnce(&Thread) -> What) {
    if P::ON {
        let thread = thread::current();
        thread.pen.post_ordered(&SESSION, what(thread));
    }
}

/// The thread's CPU time, to tell spinning from sleeping.
#[inline(always)]
fn cpu_time<P: Probe>() {
    post::<P>(|_| What::CpuTime { ns: sys::thread_cpu_ns() });
}

/// A moment, to be written down later; 0 in code that does not record.
#[inline(always)]
pub fn moment<P: Probe>() -> u64 {
    if P::ON { clock::now(SESSION.source()) } else { 0 }
}

// Calls that may wait for something outside of locks.

/// Before such a call: what the kernel has told of the thread's switches, and when that was.
#[derive(Clone, Copy)]
pub struct OnCpu(Option<(u64, u64)>);

/// The thread is about to make such a call. A thread that is not known yet does nothing that is recorded.
pub fn on_cpu() -> OnCpu {
    let told = thread::existing().and_then(|thread| thread.switches.told());
    OnCpu(told.map(|told| (told, clock::now(SESSION.source()))))
}

/// It has returned: an event, if the thread was off its CPU meanwhile.
pub fn called(before: OnCpu, at: usize) {
    let OnCpu(Some((told, began))) = before else { return };
    let Some(thread) = thread::existing().filter(|thread| thread.switches.told().is_some_and(|now| now != told)) else {
        return;
    };
    crate::errno::kept(|| {
        let site = super::sites::contended(thread, at);
        let ticks = clock::now(SESSION.source()).saturating_sub(began);
        thread.pen.post_ordered(&SESSION, What::Blocked { site, ticks });
    });
}

// Locks of any kind.

/// The lock was free and has been taken.
#[inline(always)]
pub fn lock_acquire<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquire { lock, mode, site: site(thread, at) }
    });
}

/// A lock has been given up: what recording has to do now and then (making room, writing down context switches) is done here, where
/// the thread holds none, so that no critical section gets longer.
#[inline(always)]
pub fn lock_released<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_filling()) {
            tidy_up(thread);
        }
    }
}

#[cold]
#[inline(never)]
fn tidy_up(thread: &Thread) {
    thread.switches.empty(thread);
    thread.pen.prepare(&SESSION);
}

/// Writes down the context switches since the last time. Where no lock is held, so that no critical section gets longer.
#[cold]
fn switched<P: Probe>() {
    if P::ON {
        let thread = thread::current();
        thread.switches.empty(thread);
    }
}

/// The lock is taken: a wait begins.
#[inline(never)]
pub fn lock_request<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    switched::<P>();
    post::<P>(|thread| What::Request { lock, mode, site: super::sites::contended(thread, at) });
    cpu_time::<P>();
}

/// A wait began at a moment before.
pub fn lock_requested_at<P: Probe>(lock: Lock, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        let what = What::Request { lock, mode: Mode::Exclusive, site: super::sites::contended(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}

/// The wait ended with the lock. How it went is glibc's secret, if the lock is glibc's.
#[inline(never)]
pub fn lock_acquired<P: Probe>(lock: Lock, mode: Mode, how: How) {
    post_ordered::<P>(|thread| {
        thread.holds.take();
        What::Acquired { lock, mode, how }
    });
    cpu_time::<P>();
}

/// Tells how a wait for a lock of ours went: does the thread sleep in the kernel between its begin and its end?
pub struct Watch(u64);

impl Watch {
    /// The wait begins.
    #[inline(always)]
    pub fn begin<P: Probe>() -> Watch {
        Watch(if P::ON { sleeps() } else { 0 })
    }

    /// The wait has ended. The locks do not count their tries on this machine.
    #[inline(always)]
    pub fn how<P: Probe>(self) -> How {
        if P::ON && sleeps() != self.0 { How::sleeping(0) } else { How::spinning(0) }
    }
}

/// The wait ended without it.
#[inline(never)]
pub fn lock_timed_out<P: Probe>(lock: Lock, mode: Mode) {
    post_ordered::<P>(|_| What::Timeout { lock, mode });
    cpu_time::<P>();
}

/// A try found it taken.
#[inline(always)]
pub fn lock_try_failed<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| What::TryFail { lock, mode, site: site(thread, at) });
}

/// It is about to be given up.
#[inline(always)]
pub fn lock_release<P: Probe>(lock: Lock, mode: Mode, at: usize) {
    post::<P>(|thread| {
        thread.holds.give();
        What::Release { lock, mode, site: site(thread, at) }
    });
}

/// It was initialised.
#[inline(always)]
pub fn lock_init<P: Probe>(lock: Lock, at: usize) {
    post_ordered::<P>(|thread| What::LockInit { lock, site: site(thread, at) });
}

/// It is about to be destroyed.
#[inline(always)]
pub fn lock_destroy<P: Probe>(lock: Lock) {
    post::<P>(|_| What::LockDestroy { lock });
}

// Mutexes, in the words of their hooks.

/// As [`lock_acquire`].
#[inline(always)]
pub fn acquire<P: Probe>(m: *const Mutex, at: usize) {
    lock_acquire::<P>(mutex(m), Mode::Exclusive, at);
}
/// As [`lock_request`].
#[inline(always)]
pub fn request<P: Probe>(m: *const Mutex, at: usize) {
    if P::ON {
        lock_request::<P>(mutex(m), Mode::Exclusive, at);
    }
}
/// As [`lock_acquired`].
#[inline(always)]
pub fn acquired<P: Probe>(m: *const Mutex, how: How) {
    if P::ON {
        lock_acquired::<P>(mutex(m), Mode::Exclusive, how);
    }
}
/// As [`lock_timed_out`].
#[inline(always)]
pub fn timed_out<P: Probe>(m: *const Mutex) {
    if P::ON {
        lock_timed_out::<P>(mutex(m), Mode::Exclusive);
    }
}
/// As [`lock_try_failed`].
#[inline(always)]
pub fn try_failed<P: Probe>(m: *const Mutex, at: usize) {
    lock_try_failed::<P>(mutex(m), Mode::Exclusive, at);
}
/// As [`lock_release`].
#[inline(always)]
pub fn release<P: Probe>(m: *const Mutex, at: usize) {
    lock_release::<P>(mutex(m), Mode::Exclusive, at);
}
/// As [`lock_release`], at a moment before.
#[inline(always)]
pub fn released_at<P: Probe>(m: *const Mutex, at: usize, moment: u64) {
    if P::ON {
        let thread = thread::current();
        thread.holds.give();
        let what = What::Release { lock: mutex(m), mode: Mode::Exclusive, site: site(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
    }
}
/// As [`lock_init`]; says too if the mutex stays glibc's.
pub fn mutex_init<P: Probe>(m: *const Mutex, at: usize) {
    lock_init::<P>(mutex(m), at);
    if P::ON {
        // SAFETY: it has just been initialised.
        let code = match unsafe { Mutex::kind_at(m) }.class() {
            Class::Passed(Passed::Robust) => notes::ROBUST,
            Class::Passed(Passed::Priority) => notes::PRIORITY_INHERIT,
            Class::Passed(Passed::ProcessShared) => notes::PROCESS_SHARED,
            _ => return,
        };
        post::<P>(|_| What::Note { address: m.addr() as Address, code });
    }
}
/// As [`lock_destroy`].
#[inline(always)]
pub fn mutex_destroy<P: Probe>(m: *const Mutex) {
    lock_destroy::<P>(mutex(m));
}

// Condition variables.

/// It was initialised.
pub fn condition_init<P: Probe>(condition: usize, at: usize) {
    waitable_init::<P>(Waitable::Condition, condition, at);
}

/// It is destroyed.
pub fn condition_destroy<P: Probe>(condition: usize) {
    waitable_destroy::<P>(Waitable::Condition, condition);
}

/// A wait begins. The mutex's release follows.
#[inline(always)]
pub fn condition_wait<P: Probe>(condition: usize, mutex: usize, at: usize) {
    post::<P>(|thread| What::CondWait { condition: condition as Address, site: site(thread, at) });
    post::<P>(|_| What::CondMutex { mutex: mutex as Address });
}

/// A wait ended. The mutex's acquisition follows.
#[inline(always)]
pub fn condition_wake<P: Probe>(condition: usize, reason: WakeReason) {
    post_ordered::<P>(|_| What::CondWake { condition: condition as Address, reason });
}

/// One waiter is about to be woken.
#[inline(always)]
pub fn condition_signal<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondSignal { condition: condition as Address, site: site(thread, at) });
}

/// All are.
#[inline(always)]
pub fn condition_broadcast<P: Probe>(condition: usize, at: usize) {
    post::<P>(|thread| What::CondBroadcast { condition: condition as Address, site: site(thread, at) });
}

// What is no lock.

/// A thread is about to enter a barrier. It may spin there, so its CPU time is taken before, too.
pub fn barrier_arrive<P: Probe>(barrier: usize, at: usize) {
    post::<P>(|thread| What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// An object was initialised.
pub fn waitable_init<P: Probe>(sort: Waitable, address: usize, at: usize) {
    post_ordered::<P>(|thread| What::Init { sort, address: address as Address, site: site(thread, at) });
}

/// An object is destroyed.
pub fn waitable_destroy<P: Probe>(sort: Waitable, address: usize) {
    post::<P>(|_| What::Destroy { sort, address: address as Address });
}

/// A lock of another kind than a mutex.
#[inline(always)]
pub fn lock(kind: LockKind, address: usize) -> Lock {
    Lock { address: address as Address, kind }
}

/// How many take part in a barrier, or a semaphore's first value.
pub fn attribute<P: Probe>(address: usize, value: u32) {
    post::<P>(|_| What::Attribute { address: address as Address, value });
}

/// The CPU time after a wait on something that is no lock: how much of the time since the last one was spent on a CPU.
pub fn waited<P: Probe>() {
    cpu_time::<P>();
    switched::<P>();
}

/// A semaphore was taken without a wait.
pub fn sem_take<P: Probe>(semaphore: usize, at: usize) {
    post_ordered::<P>(|thread| What::SemTake { semaphore: semaphore as Address, site: site(thread, at) });
}

/// A wait for a semaphore begins.
pub fn sem_wait<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemWait { semaphore: semaphore as Address, site: site(thread, at) });
    cpu_time::<P>();
}

/// A try found the semaphore at zero.
pub fn sem_try_failed<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemTryFail { semaphore: semaphore as Address, site: site(thread, at) });
}

/// The semaphore is about to be raised.
pub fn sem_post<P: Probe>(semaphore: usize, at: usize) {
    post::<P>(|thread| What::SemPost { semaphore: semaphore as Address, site: site(thread, at) });
}

/// A thread is about to be created.
pub fn create<P: Probe>(at: usize) {
    post::<P>(|thread| What::Create { site: site(thread, at) });
}

/// A join begins.
pub fn join_begin<P: Probe>(handle: u64, at: usize) {
    post::<P>(|thread| What::JoinBegin { handle, site: site(thread, at) });
}

/// The calling thread has given itself a name.
pub fn name_current(name: &core::ffi::CStr) {
    thread::current().pen.name_thread(&SESSION, name.to_bytes());
}

// OpenMP's teams and tasks. Only hooks that record call these.

/// The thread's CPU time, where the kernel does not tell of its switches: it costs more than all the rest.
fn cpu_time_of(thread: &Thread) {
    if thread.switches.told().is_none() {
        thread.pen.post(&SESSION, What::CpuTime { ns: sys::thread_cpu_ns() });
    }
}

/// What recording has to do now and then.
fn tidy(thread: &Thread) {
    if thread.holds.is_free() && (thread.pen.is_due() || thread.switches.is_filling()) {
        tidy_up(thread);
    }
}

/// A thread is about to open a parallel region.
pub fn fork_team(thread: &Thread, barrier: usize, at: usize) {
    tidy(thread);
    thread.pen.post(&SESSION, What::Fork { region: barrier as Address, site: site(thread, at) });
}

/// It begins its part of one.
pub fn begin_team(thread: &Thread, barrier: usize, threads: u32, idled: bool) {
    thread.pen.post_ordered(&SESSION, What::TeamBegin { region: barrier as Address, threads, idled });
    cpu_time_of(thread);
    tidy(thread);
}

/// Says once what a barrier belongs to.
pub fn construct(thread: &Thread, barrier: usize, construct: Construct) {
    let barrier = barrier as Address;
    if crate::omp::is_new(barrier) {
        thread.pen.post(&SESSION, What::Construct { barrier, construct });
    }
}

/// It has arrived at a region's end. Gives when.
pub fn arrive_at_team(thread: &Thread, barrier: usize, at: usize) -> u64 {
    let what = What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) };
    cpu_time_of(thread);
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, what);
    moment
}

/// The master goes on behind the region's end.
pub fn leave_team(thread: &Thread, barrier: usize) {
    thread.pen.post_ordered(&SESSION, What::BarrierLeave { barrier: barrier as Address, serial: false });
    cpu_time_of(thread);
}

/// Longest time back that an event can have, in ticks.
const LONGEST_BACK: u64 = 1 << 35;

/// A worker's wait at a region's end was over at a moment before; it may have waited for its next region since.
pub fn left_team(thread: &Thread, barrier: usize, moment: u64, idles: bool) {
    let barrier = barrier as Address;
    let moment = moment.max(clock::now(SESSION.source()).saturating_sub(LONGEST_BACK));
    thread.pen.post_at(&SESSION, moment, What::BarrierLeave { barrier, serial: false });
    if idles {
        thread.pen.post_at(&SESSION, moment, What::IdleBegin { region: barrier });
    }
}

/// A wait at one of OpenMP's barriers inside of a region.
pub fn team_barrier<T>(barrier: usize, at: usize, of: Construct, wait: impl FnOnce() -> T) -> T {
    let thread = thread::current();
    construct(thread, barrier, of);
    arrive_at_team(thread, barrier, at);
    let answer = wait();
    leave_team(thread, barrier);
    tidy(thread);
    answer
}

/// A call that may have been such a wait: `wait` gives whether it was. What runs in it writes events before the arrival is
/// written, which is stamped before them.
pub fn perhaps_team_barrier<T>(barrier: usize, at: usize, of: Construct, wait: impl FnOnce() -> (T, bool)) -> T {
    let thread = thread::current();
    let moment = clock::now(SESSION.source());
    let (answer, waited) = wait();
    if waited {
        construct(thread, barrier, of);
        let what = What::BarrierArrive { barrier: barrier as Address, site: site(thread, at) };
        thread.pen.post_at(&SESSION, moment, what);
        leave_team(thread, barrier);
    }
    tidy(thread);
    answer
}

/// A task is about to be created, with this number.
pub fn create_task(thread: &Thread, task: u64, at: usize) {
    thread.pen.post(&SESSION, What::TaskCreate { task, site: site(thread, at) });
}

/// The thread begins to run a task.
pub fn begin_task(thread: &Thread, task: u64) {
    thread.pen.post_ordered(&SESSION, What::TaskBegin { task });
}

/// It has run it. Gives when.
pub fn end_task(thread: &Thread, task: u64) -> u64 {
    let moment = clock::now(SESSION.source());
    thread.pen.post_at(&SESSION, moment, What::TaskEnd { task });
    tidy(thread);
    moment
}

/// It waits for tasks meanwhile.
pub fn task_wait(at: usize, wait: impl FnOnce()) {
    let thread = thread::current();
    let what = What::TaskWaitBegin { site: site(thread, at) };
    thread.pen.post(&SESSION, what);
    cpu_time_of(thread);
    wait();
    thread.pen.post_ordered(&SESSION, What::TaskWaitEnd);
    cpu_time_of(thread);
    tidy(thread);
}
