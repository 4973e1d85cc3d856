//! Types for what a program did: an [`Event`] is one synchronization act of one thread at one time.
//!
//! The writer takes a [`What`], and the reader returns it; [`crate::record`] defines the bytes
//! between them.

mod operands;

use crate::clock::Ticks;
pub use operands::{
    Address, Construct, FutexEnd, How, Lock, LockKind, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex,
    Waitable, WakeReason,
};

/// One act of a thread. Fields called `site` are call sites ([`SiteId::UNKNOWN`] if none was
/// recorded).
///
/// The **moment of the stamp** matters for the analysis. An act that gives something away
/// (`Release`, `CondSignal`, `SemPost`, `FutexWake`, `BarrierArrive`, `Fork`, `TaskCreate`, `TaskEnd`, `Create`,
/// `ThreadEnd`) is stamped *before* it happens; one that takes something (`Acquire`, `Acquired`,
/// `CondWake`, `SemTaken`, `BarrierLeave`, `TeamBegin`, `TaskBegin`, `TaskWaitEnd`, `JoinEnd`,
/// `ThreadStart`) *after* it. So a cause never comes after its effect, and the interval between
/// them is never too short: it includes the probe's own time after the first stamp and before the
/// second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread acquired a lock without waiting: the whole acquisition in one event.
    Acquire {
        /// The lock that was acquired.
        lock: Lock,
        /// The mode of the hold.
        mode: Mode,
        /// Call site of the acquisition.
        site: SiteId,
    },
    /// The thread found the lock taken and begins to wait. `Acquired` or `Timeout` of the same lock
    /// ends the wait.
    Request {
        /// The lock that the thread waits for.
        lock: Lock,
        /// The requested mode.
        mode: Mode,
        /// Call site of the acquisition.
        site: SiteId,
    },
    /// The wait ended with the lock held.
    Acquired {
        /// The lock that was acquired.
        lock: Lock,
        /// The mode of the hold.
        mode: Mode,
        /// Whether the thread slept, and how often it tried.
        how: How,
    },
    /// A `trylock` found the lock taken. There is no wait.
    TryFail {
        /// The lock that was tried.
        lock: Lock,
        /// The requested mode.
        mode: Mode,
        /// Call site of the try.
        site: SiteId,
    },
    /// The wait ended without the lock: a time-out, a cancellation or an error.
    Timeout {
        /// The lock that the thread waited for.
        lock: Lock,
        /// The requested mode.
        mode: Mode,
    },
    /// The thread is about to release the lock.
    Release {
        /// The lock that is released.
        lock: Lock,
        /// The mode of the hold.
        mode: Mode,
        /// Call site of the release.
        site: SiteId,
    },
    /// A lock was initialised: a new lock begins to live at its address.
    LockInit {
        /// The lock that was initialised.
        lock: Lock,
        /// Call site of the initialisation: locks of one site form a class.
        site: SiteId,
    },
    /// A lock was destroyed: its address may become another lock.
    LockDestroy {
        /// The lock that was destroyed.
        lock: Lock,
    },
    /// A condition variable, barrier or semaphore was initialised.
    Init {
        /// Kind of the object.
        sort: Waitable,
        /// Address of the object.
        address: Address,
        /// Call site of the initialisation.
        site: SiteId,
    },
    /// A condition variable, barrier or semaphore was destroyed.
    Destroy {
        /// Kind of the object.
        sort: Waitable,
        /// Address of the object.
        address: Address,
    },
    /// Number of participants of a barrier, or the first value of a semaphore. Follows the object's
    /// `Init`.
    Attribute {
        /// Address of the barrier or semaphore.
        address: Address,
        /// The number (saturates at 24 bits).
        value: u32,
    },
    /// The wait at a condition variable begins. The mutex's `Release` follows as a separate event.
    CondWait {
        /// Address of the condition variable.
        condition: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// Names the mutex of the condition wait that this thread has just begun.
    CondMutex {
        /// Address of the mutex.
        mutex: Address,
    },
    /// A condition wait ended. Re-acquiring the mutex follows as separate events.
    CondWake {
        /// Address of the condition variable.
        condition: Address,
        /// How the wait ended.
        reason: WakeReason,
    },
    /// The thread is about to wake one waiter.
    CondSignal {
        /// Address of the condition variable.
        condition: Address,
        /// Call site of the signal.
        site: SiteId,
    },
    /// The thread is about to wake all waiters.
    CondBroadcast {
        /// Address of the condition variable.
        condition: Address,
        /// Call site of the broadcast.
        site: SiteId,
    },
    /// The thread is about to enter a barrier.
    BarrierArrive {
        /// Address of the barrier.
        barrier: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// The thread has left the barrier.
    BarrierLeave {
        /// Address of the barrier.
        barrier: Address,
        /// Whether this thread got `PTHREAD_BARRIER_SERIAL_THREAD`.
        serial: bool,
    },
    /// The thread is about to open a parallel region of OpenMP, as its team's master.
    Fork {
        /// The barrier at the region's end, which identifies the region.
        region: Address,
        /// Call site of the region.
        site: SiteId,
    },
    /// A thread of a team begins its part of a parallel region.
    TeamBegin {
        /// The barrier at the region's end, which identifies the region.
        region: Address,
        /// Number of threads of the team (23 bits).
        threads: u32,
        /// Whether this ends the thread's wait since its `IdleBegin`.
        idled: bool,
    },
    /// The whole team has arrived at a region's end: from here on a thread that is not the master
    /// waits for its next region.
    IdleBegin {
        /// The barrier that the thread has left.
        region: Address,
    },
    /// Tells which construct a barrier belongs to. Recorded once for each barrier, by the thread
    /// that arrives first.
    Construct {
        /// Address of the barrier.
        barrier: Address,
        /// The construct that the barrier belongs to.
        construct: Construct,
    },
    /// The thread is about to create an OpenMP task.
    TaskCreate {
        /// The task's number in the process (48 bits).
        task: u64,
        /// Call site of the creation.
        site: SiteId,
    },
    /// A thread begins to run a task. If the thread is waiting at a barrier or for tasks, that wait
    /// is suspended until the task's end.
    TaskBegin {
        /// The task's number.
        task: u64,
    },
    /// The task has ended, in the thread that ran it.
    TaskEnd {
        /// The task's number.
        task: u64,
    },
    /// A wait for tasks begins: `taskwait`, or the end of a `taskgroup`.
    TaskWaitBegin {
        /// Call site of the wait.
        site: SiteId,
    },
    /// The wait for tasks is over.
    TaskWaitEnd,
    /// The thread took a semaphore without waiting.
    SemTake {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the take.
        site: SiteId,
    },
    /// The semaphore was at zero, so a wait begins. `SemTaken` or `SemTimeout` ends it.
    SemWait {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the take.
        site: SiteId,
    },
    /// The wait ended with the semaphore taken.
    SemTaken {
        /// Address of the semaphore.
        semaphore: Address,
        /// Whether the thread slept.
        how: How,
    },
    /// The wait ended without the semaphore.
    SemTimeout {
        /// Address of the semaphore.
        semaphore: Address,
    },
    /// A `sem_trywait` found the semaphore at zero.
    SemTryFail {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the try.
        site: SiteId,
    },
    /// The thread is about to post the semaphore.
    SemPost {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the post.
        site: SiteId,
    },
    /// The thread calls futex itself, and is about to wait. `FutexWaitEnd` ends the wait.
    FutexWait {
        /// Address of the futex.
        futex: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// The call of `FutexWait` returned.
    FutexWaitEnd {
        /// Address of the futex.
        futex: Address,
        /// How the wait ended.
        end: FutexEnd,
    },
    /// The thread calls futex itself, and is about to wake waiters.
    FutexWake {
        /// Address of the futex.
        futex: Address,
        /// Call site of the wake.
        site: SiteId,
    },
    /// Numbers of the `FutexWake` just before, in the same thread and with the same time.
    FutexWoke {
        /// Address of the futex.
        futex: Address,
        /// Number of waiters that the thread asked to wake, at most [`What::MANY`].
        asked: u32,
        /// Number of waiters that the kernel woke, at most [`What::MANY`].
        woken: u32,
    },
    /// The thread found a lock inside of the C library taken, and begins to wait. Reported by the
    /// kernel, as context switches are.
    LibcWait {
        /// Address of the lock.
        lock: Address,
        /// Call site, from the C library's function outwards.
        site: SiteId,
    },
    /// The wait for the C library's lock is over: the thread was last put on a CPU then, or did not
    /// sleep at all.
    LibcTaken {
        /// Address of the lock.
        lock: Address,
    },
    /// The thread has released a lock inside of the C library for which others may wait, and is
    /// about to wake one of them.
    LibcWake {
        /// Address of the lock.
        lock: Address,
        /// Call site, from the C library's function outwards.
        site: SiteId,
    },
    /// The kernel found the thread on a CPU in the program's code. Recorded of threads that often
    /// wait for locks inside of the C library.
    Sample {
        /// Address of the instruction.
        code: Address,
        /// Microseconds of CPU time between two samples.
        micros: u32,
    },
    /// The thread runs. `handle` is its `pthread_t`, or any number that its creator's `Created`
    /// also names.
    ThreadStart {
        /// Handle of the thread.
        handle: u64,
    },
    /// The thread is about to end.
    ThreadEnd {
        /// Handle of the thread.
        handle: u64,
    },
    /// The thread is about to create another. `Created` follows in the same thread.
    Create {
        /// Call site of the creation.
        site: SiteId,
    },
    /// The creation returned. The child may have started before this.
    Created {
        /// Handle of the child; 0 if the creation failed.
        handle: u64,
        /// `errno` of a failed creation, 0 for success.
        error: u32,
    },
    /// A join begins.
    JoinBegin {
        /// Handle of the thread that is waited for.
        handle: u64,
        /// Call site of the join.
        site: SiteId,
    },
    /// The join returned.
    JoinEnd {
        /// Handle of the thread that was waited for.
        handle: u64,
        /// `errno` of a failed join, 0 for success.
        error: u32,
    },
    /// From here on the thread runs on this CPU.
    Cpu {
        /// The kernel's number of the CPU.
        cpu: u32,
    },
    /// From here on a thread may run on these CPUs (`sched_setaffinity`). A set has a record for
    /// each group of 32 CPUs of which at least one belongs to it;
    /// [`Trace::affinities`](crate::Trace::affinities) assembles them.
    Affinity {
        /// The kernel's number of the thread (24 bits); 0: the writing thread itself.
        tid: u32,
        /// Whether this is the set's first record, which replaces the thread's earlier set.
        first: bool,
        /// Number of the group, which covers the CPUs 32 × `group` and the 31 after it (15 bits).
        group: u32,
        /// One bit for each CPU of the group, the lowest first.
        mask: u32,
    },
    /// The thread has used this much CPU time so far. Recorded at a thread's end, and around
    /// contended waits where context switches are not recorded. The order is then:
    /// `Request`, `CpuTime`, the wait, `Acquired`, `CpuTime`. The two values distinguish spinning
    /// from sleeping. They are stamped inside the wait and after it, so they do not lengthen it.
    CpuTime {
        /// Nanoseconds since the thread began.
        ns: u64,
    },
    /// A thread left its CPU.
    OffCpu {
        /// The kernel's number of the thread; 0: the writing thread itself.
        tid: u32,
        /// Why the thread left its CPU.
        reason: OffReason,
    },
    /// A thread runs again, or its context switches are recorded from here on.
    OnCpu {
        /// The kernel's number of the thread; 0: the writing thread itself.
        tid: u32,
        /// The kernel's number of the CPU.
        cpu: u32,
    },
    /// A call for I/O or sleep in which the writing thread left its CPU has returned.
    Blocked {
        /// Call site of the call.
        site: SiteId,
        /// Duration of the call in ticks of the trace's clock (48 bits); it ends at this event's
        /// time.
        ticks: u64,
    },
    /// A call of [`CALLS`](crate::point::CALLS) has returned: at a socket or pipe, or a call for
    /// new connections, readiness, a file's safety or sleep. Follows the `Blocked` of the same call.
    Called {
        /// What was called, on what, with what outcome.
        call: SystemCall,
        /// Call site of the call.
        site: SiteId,
    },
    /// A marker of the program: a named point with a value.
    Marker {
        /// Number of the marker's name ([`Trace::marker_name`](crate::Trace::marker_name)).
        name: u32,
        /// A value that the program chooses (48 bits).
        value: u64,
    },
    /// A region of interest begins.
    RoiBegin {
        /// Number of the region's name.
        name: u32,
    },
    /// A region of interest ends.
    RoiEnd {
        /// Number of the region's name.
        name: u32,
    },
    /// A note about an object that the analysis should pass on to its readers.
    Note {
        /// Address of the object.
        address: Address,
        /// Code of the note, from [`crate::notes`].
        code: u32,
    },
    /// Measured cost of a probe, for subtraction.
    ProbeCost {
        /// The probe: 0 for a plain event, 1 for a contended pair with CPU times.
        probe: u32,
        /// Picoseconds an event.
        picoseconds: u64,
    },
    /// An object file was unloaded: what lies at its addresses from here on is unrelated to it. The
    /// lives of its locks end.
    Unloaded {
        /// First address of the object file.
        start: Address,
        /// Number of pages of 4 KiB (24 bits).
        pages: u32,
    },
    /// The acquisition, or the wait, that this thread has just recorded at this object cannot last
    /// for ever: it was a try, or has a deadline.
    Bounded {
        /// Address of the lock, condition variable or semaphore; handle of a joined thread.
        object: Address,
    },
    /// The writer itself took time here, to get a new segment or to seal a full one: this is not the
    /// program's time.
    Pause {
        /// Duration in ticks of the trace's clock; it ends at this event's time.
        ticks: u64,
    },
}

impl What {
    /// Largest number of waiters that [`What::FutexWoke`] can hold.
    pub const MANY: u32 = 0xfff;

    /// Returns the call site that the event names, if it was recorded.
    pub fn site(&self) -> Option<SiteId> {
        match *self {
            What::Acquire { site, .. }
            | What::Request { site, .. }
            | What::TryFail { site, .. }
            | What::Release { site, .. }
            | What::LockInit { site, .. }
            | What::Init { site, .. }
            | What::CondWait { site, .. }
            | What::CondSignal { site, .. }
            | What::CondBroadcast { site, .. }
            | What::BarrierArrive { site, .. }
            | What::Fork { site, .. }
            | What::TaskCreate { site, .. }
            | What::TaskWaitBegin { site }
            | What::SemTake { site, .. }
            | What::SemWait { site, .. }
            | What::SemTryFail { site, .. }
            | What::SemPost { site, .. }
            | What::FutexWait { site, .. }
            | What::FutexWake { site, .. }
            | What::LibcWait { site, .. }
            | What::LibcWake { site, .. }
            | What::Create { site }
            | What::Blocked { site, .. }
            | What::Called { site, .. }
            | What::JoinBegin { site, .. } => Some(site).filter(|site| *site != SiteId::UNKNOWN),
            _ => None,
        }
    }

    /// Whether a wait begins with this event (`true`) or ends with it (`false`); `None` if neither.
    pub fn wait_edge(&self) -> Option<bool> {
        match self {
            What::Request { .. }
            | What::CondWait { .. }
            | What::BarrierArrive { .. }
            | What::IdleBegin { .. }
            | What::TaskWaitBegin { .. }
            | What::SemWait { .. }
            | What::FutexWait { .. }
            | What::LibcWait { .. }
            | What::JoinBegin { .. } => Some(true),
            What::Acquired { .. }
            | What::Timeout { .. }
            | What::CondWake { .. }
            | What::BarrierLeave { .. }
            | What::TeamBegin { idled: true, .. }
            | What::TaskWaitEnd
            | What::SemTaken { .. }
            | What::SemTimeout { .. }
            | What::FutexWaitEnd { .. }
            | What::LibcTaken { .. }
            | What::JoinEnd { .. } => Some(false),
            _ => None,
        }
    }

    /// Whether the program acted. Other events come from the recorder or the kernel, or add to the
    /// event before them. Waits for locks of the C library are none either: the kernel reports them late.
    pub fn is_act(&self) -> bool {
        !matches!(
            self,
            What::LibcWait { .. }
                | What::LibcTaken { .. }
                | What::LibcWake { .. }
                | What::Sample { .. }
                | What::Cpu { .. }
                | What::Affinity { .. }
                | What::CpuTime { .. }
                | What::OffCpu { .. }
                | What::OnCpu { .. }
                | What::Construct { .. }
                | What::CondMutex { .. }
                | What::Attribute { .. }
                | What::Bounded { .. }
                | What::Note { .. }
                | What::ProbeCost { .. }
                | What::Unloaded { .. }
                | What::Pause { .. }
        )
    }

    /// Whether the kernel reported this about the writing thread itself: a context switch, a sample,
    /// or what happens at a lock inside of the C library. Such an event is written when the kernel has
    /// reported it, perhaps long after its time, but these events are in the order of their times.
    pub(crate) fn is_reported(&self) -> bool {
        matches!(
            self,
            What::OffCpu { tid: 0, .. }
                | What::OnCpu { tid: 0, .. }
                | What::LibcWait { .. }
                | What::LibcTaken { .. }
                | What::LibcWake { .. }
                | What::Sample { .. }
        )
    }
}

/// One act of one thread at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time in ticks of the trace's clock since the trace began.
    pub time: Ticks,
    /// The thread that acted.
    pub thread: ThreadIndex,
    /// The act and its operands.
    pub what: What,
}
