//! Types for what a program did: an [`Event`] is one synchronization act of one thread at one time.
//! The writer takes a [`What`], and the reader returns it; [`crate::record`] encodes it as bytes.

mod operands;

use crate::clock::Ticks;
pub use operands::{
    Address, Construct, FutexEnd, How, Lock, LockKind, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex,
    Waitable, WakeReason,
};

/// One act of a thread. Fields called `site` are call sites ([`SiteId::UNKNOWN`] if none was
/// recorded).
///
/// The **moment of the stamp** matters for the analysis. An act that gives something away (such as
/// `Release`, `CondSignal`, `BarrierArrive`, `TaskCreate` or `ThreadEnd`) is stamped *before* it
/// happens; one that takes something (such as `Acquire`, `Acquired`, `CondWake`, `BarrierLeave`,
/// `TaskBegin` or `ThreadStart`) *after* it. So the stamp of a cause never lies after
/// that of its effect, and the interval between the two is never too short: it includes the time
/// that the recorder takes after the first stamp and before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread acquired a lock without waiting. The whole acquisition is this one event.
    Acquire {
        /// The lock that was acquired.
        lock: Lock,
        /// The mode in which the thread now holds the lock.
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
    /// The thread's wait has ended, and it holds the lock.
    Acquired {
        /// The lock that was acquired.
        lock: Lock,
        /// The mode in which the thread now holds the lock.
        mode: Mode,
        /// Whether the thread slept in the wait, and how often it tried.
        how: How,
    },
    /// A `trylock` found the lock taken. The thread does not wait.
    TryFail {
        /// The lock that was tried.
        lock: Lock,
        /// The requested mode.
        mode: Mode,
        /// Call site of the `trylock`.
        site: SiteId,
    },
    /// The thread's wait ended without the lock: by a time-out, a cancellation or an error.
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
        /// The mode in which the thread held the lock.
        mode: Mode,
        /// Call site of the release.
        site: SiteId,
    },
    /// The program initialised a lock: a new lock begins its life at this address.
    LockInit {
        /// The lock that was initialised.
        lock: Lock,
        /// Call site of the initialisation: locks that one call site initialises form a class.
        site: SiteId,
    },
    /// The program destroyed a lock: another lock may follow at its address.
    LockDestroy {
        /// The lock that was destroyed.
        lock: Lock,
    },
    /// The program initialised a condition variable, barrier, semaphore or queue.
    Init {
        /// Kind of the object.
        sort: Waitable,
        /// Address of the object.
        address: Address,
        /// Call site of the initialisation.
        site: SiteId,
    },
    /// The program destroyed a condition variable, barrier, semaphore or queue.
    Destroy {
        /// Kind of the object.
        sort: Waitable,
        /// Address of the object.
        address: Address,
    },
    /// Follows the `Init` of a barrier or semaphore: the barrier's number of participants, or the
    /// semaphore's first value.
    Attribute {
        /// Address of the barrier or semaphore.
        address: Address,
        /// The number of participants or the value, at most 24 bits.
        value: u32,
    },
    /// The thread begins to wait at a condition variable. The mutex's `Release` follows separately.
    CondWait {
        /// Address of the condition variable.
        condition: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// Names the mutex of the wait at a condition variable that this thread has just begun.
    CondMutex {
        /// Address of the mutex.
        mutex: Address,
    },
    /// The thread's wait at a condition variable ended. It takes the mutex in separate events.
    CondWake {
        /// Address of the condition variable.
        condition: Address,
        /// How the wait ended.
        reason: WakeReason,
    },
    /// The thread is about to wake one waiter of a condition variable.
    CondSignal {
        /// Address of the condition variable.
        condition: Address,
        /// Call site of the signal.
        site: SiteId,
    },
    /// The thread is about to wake all waiters of a condition variable.
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
        /// Call site of the thread's wait.
        site: SiteId,
    },
    /// The thread has left a barrier.
    BarrierLeave {
        /// Address of the barrier.
        barrier: Address,
        /// Whether this thread got `PTHREAD_BARRIER_SERIAL_THREAD`.
        serial: bool,
    },
    /// The thread is about to open a parallel region of OpenMP, as the master of its team.
    Fork {
        /// The barrier at the region's end, which identifies the region.
        region: Address,
        /// Call site that opens the region.
        site: SiteId,
    },
    /// A thread of a team begins its part of a parallel region.
    TeamBegin {
        /// The barrier at the region's end, which identifies the region.
        region: Address,
        /// Number of threads in the team (23 bits).
        threads: u32,
        /// Whether this event ends the thread's wait since its `IdleBegin`.
        idled: bool,
    },
    /// The whole team has arrived at the end of a region: from here on this thread, which is not
    /// the master, waits for its next region.
    IdleBegin {
        /// The barrier at the region's end, which the thread has left.
        region: Address,
    },
    /// Tells which construct a barrier belongs to. The recorder writes it once for each barrier, as
    /// far as it can remember barriers.
    Construct {
        /// Address of the barrier.
        barrier: Address,
        /// The construct that the barrier belongs to.
        construct: Construct,
    },
    /// The thread is about to create an OpenMP task.
    TaskCreate {
        /// The task's number in its process (48 bits).
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
    /// The thread has ended a task that it ran.
    TaskEnd {
        /// The task's number.
        task: u64,
    },
    /// The thread begins to wait for tasks: in a `taskwait`, or at the end of a `taskgroup`.
    TaskWaitBegin {
        /// Call site of the wait.
        site: SiteId,
    },
    /// The thread's wait for tasks has ended.
    TaskWaitEnd,
    /// The thread took a semaphore without waiting.
    SemTake {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site that takes the semaphore.
        site: SiteId,
    },
    /// The thread waits for a semaphore at zero. `SemTaken` or `SemTimeout` ends the wait.
    SemWait {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site that takes the semaphore.
        site: SiteId,
    },
    /// The thread's wait ended, and it has taken the semaphore.
    SemTaken {
        /// Address of the semaphore.
        semaphore: Address,
        /// Whether the thread slept in the wait.
        how: How,
    },
    /// The thread's wait ended without the semaphore.
    SemTimeout {
        /// Address of the semaphore.
        semaphore: Address,
    },
    /// The thread's `sem_trywait` found the semaphore at zero.
    SemTryFail {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the `sem_trywait`.
        site: SiteId,
    },
    /// The thread is about to post the semaphore.
    SemPost {
        /// Address of the semaphore.
        semaphore: Address,
        /// Call site of the post.
        site: SiteId,
    },
    /// The program itself calls futex, in a thread about to wait. `FutexWaitEnd` ends the wait.
    FutexWait {
        /// Address of the futex.
        futex: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// The futex call that began with `FutexWait` has returned.
    FutexWaitEnd {
        /// Address of the futex.
        futex: Address,
        /// How the wait ended.
        end: FutexEnd,
    },
    /// The program calls futex itself, and the thread is about to wake waiters.
    FutexWake {
        /// Address of the futex.
        futex: Address,
        /// Call site of the wake.
        site: SiteId,
    },
    /// Says how many waiters the thread asked to wake, and woke, in its `FutexWake` just before,
    /// which has the same time.
    FutexWoke {
        /// Address of the futex.
        futex: Address,
        /// Number of waiters that the thread wanted to wake, at most [`What::MANY`].
        asked: u32,
        /// Number of waiters that the kernel woke, at most [`What::MANY`].
        woken: u32,
    },
    /// The thread found a lock inside of the C library taken, and begins to wait. The kernel
    /// reports this, as it reports context switches.
    LibcWait {
        /// Address of the lock.
        lock: Address,
        /// Call site: the C library's function and its callers.
        site: SiteId,
    },
    /// The thread's wait for a lock of the C library has ended: at this time the thread was last
    /// put on a CPU, or it did not sleep at all.
    LibcTaken {
        /// Address of the lock.
        lock: Address,
    },
    /// The thread has released a lock of the C library for which others may wait, and is about to
    /// wake one of them.
    LibcWake {
        /// Address of the lock.
        lock: Address,
        /// Call site: the C library's function and its callers.
        site: SiteId,
    },
    /// The kernel found the thread on a CPU in the program's code. Such samples are recorded of
    /// threads that often wait for locks inside of the C library.
    Sample {
        /// Address of the instruction.
        code: Address,
        /// Microseconds of CPU time between two samples.
        micros: u32,
    },
    /// The thread has put items into a queue. After a wait for room, `PutWaited` with the same time
    /// comes before this event.
    Put {
        /// Address of the queue.
        queue: Address,
        /// Number of items, at most 24 bits.
        items: u32,
    },
    /// The thread found a queue full, and begins to wait for room. `PutWaited` ends the wait.
    PutWait {
        /// Address of the queue.
        queue: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// The thread's wait for room in a queue has ended.
    PutWaited {
        /// Address of the queue.
        queue: Address,
        /// Whether the thread puts nothing in: the queue is closed, or the wait's deadline has passed.
        gave_up: bool,
    },
    /// The thread has taken items from a queue. After a wait for an item, `TakeWaited` with the same
    /// time comes before this event.
    Take {
        /// Address of the queue.
        queue: Address,
        /// Number of items, at most 24 bits.
        items: u32,
    },
    /// The thread found a queue empty, and begins to wait for an item. `TakeWaited` ends the wait.
    TakeWait {
        /// Address of the queue.
        queue: Address,
        /// Call site of the wait.
        site: SiteId,
    },
    /// The thread's wait for an item of a queue has ended.
    TakeWaited {
        /// Address of the queue.
        queue: Address,
        /// Whether the thread takes nothing: the queue is closed, or the wait's deadline has passed.
        gave_up: bool,
    },
    /// The thread is about to close a queue, which ends all waits there.
    QueueClose {
        /// Address of the queue.
        queue: Address,
        /// Call site of the close.
        site: SiteId,
    },
    /// Follows the `Init` of a queue.
    QueueCapacity {
        /// Address of the queue.
        queue: Address,
        /// How many items fit; 0: any number; [`What::MOST_ITEMS`]: that many or more.
        capacity: u32,
    },
    /// The thread has started. `handle` is its `pthread_t`, or any number that its creator's
    /// `Created` also names.
    ThreadStart {
        /// Handle of the thread.
        handle: u64,
    },
    /// The thread is about to end.
    ThreadEnd {
        /// Handle of the thread.
        handle: u64,
    },
    /// The thread ends the process: it has called `exit`, or returned from `main`. The process's other
    /// threads go no further.
    Exit,
    /// The thread is about to create another thread. `Created` follows in the same thread.
    Create {
        /// Call site of the creation.
        site: SiteId,
    },
    /// The creation of a thread has returned. The child may have started before this.
    Created {
        /// Handle of the new thread; 0 if the creation failed.
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
    /// From here on a thread may run on these CPUs only (`sched_setaffinity`). The set has a record
    /// for each group of 32 CPUs that contains one of its CPUs;
    /// [`Trace::affinities`](crate::Trace::affinities) assembles the set.
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
    /// The thread has used this much CPU time so far. Recorded at a thread's end, and, where
    /// context switches are not recorded, around or after waits. Around a wait for a lock the order
    /// is: `Request`, `CpuTime`, the wait, `Acquired`, `CpuTime`. The two values tell whether the
    /// thread spun or slept. They are stamped inside and after the wait, so that it gets no longer.
    CpuTime {
        /// CPU time that the thread has used since it began, in nanoseconds.
        ns: u64,
    },
    /// A thread left its CPU.
    OffCpu {
        /// The kernel's number of the thread; 0: the writing thread itself.
        tid: u32,
        /// Why the thread left its CPU.
        reason: OffReason,
    },
    /// A thread is on a CPU again, or its context switches are recorded from here on.
    OnCpu {
        /// The kernel's number of the thread; 0: the writing thread itself.
        tid: u32,
        /// The kernel's number of the CPU.
        cpu: u32,
    },
    /// A call for I/O or sleep has returned in which the writing thread left its CPU, or which took
    /// [`SystemCall::LONG`] ticks or more.
    Blocked {
        /// Call site of the call.
        site: SiteId,
        /// Duration of the call in ticks of the trace's clock (48 bits); it ends at this event's
        /// time.
        ticks: u64,
    },
    /// A system call of [`CALLS`](crate::point::CALLS) has returned: it read or wrote a stream, or
    /// was for new connections, readiness, a file's safety or sleep. Follows the `Blocked` of the
    /// same call, if there is one.
    Called {
        /// Which call it was, on which file, and what it achieved.
        call: SystemCall,
        /// Call site of the call.
        site: SiteId,
    },
    /// The thread has called `sched_yield` again and again at one place, with hardly anything in
    /// between. A series of such calls has several of these events, each with the part of the series
    /// since the event before. The end of the series may be missing.
    Yielded {
        /// Call site of the calls.
        site: SiteId,
        /// Number of the calls, at most [`What::MOST_CALLS`].
        calls: u32,
        /// How long the calls and the time between them took, in ticks of the trace's clock, at most
        /// `u32::MAX`; this ends at the event's time.
        ticks: u32,
    },
    /// The thread passed a marker of the program: a named point with a value.
    Marker {
        /// Number of the marker's name ([`Trace::marker_name`](crate::Trace::marker_name)).
        name: u32,
        /// A value that the program chooses (48 bits).
        value: u64,
    },
    /// The thread begins a region of interest.
    RoiBegin {
        /// Number of the region's name.
        name: u32,
    },
    /// The thread ends a region of interest.
    RoiEnd {
        /// Number of the region's name.
        name: u32,
    },
    /// A note about an object that the report passes on to its reader.
    Note {
        /// Address of the object.
        address: Address,
        /// Code of the note, from [`crate::notes`].
        code: u32,
    },
    /// The measured cost of a probe of the recorder, which analyses can subtract.
    ProbeCost {
        /// The probe: 0 for a plain event, 1 for the pair of events around a contended wait, with
        /// the CPU times where these are read.
        probe: u32,
        /// Picoseconds of the event, or of the pair of events together.
        picoseconds: u64,
    },
    /// An object file was unloaded: whatever lies at its addresses later has nothing to do with it.
    /// The lives of its locks end.
    Unloaded {
        /// First address of the object file.
        start: Address,
        /// Number of the file's pages of 4 KiB (24 bits).
        pages: u32,
    },
    /// The acquisition or wait at this object that the thread has just recorded cannot last for
    /// ever: it was a try, or has a deadline.
    Bounded {
        /// Address of the lock, condition variable or semaphore; handle of a joined thread.
        object: Address,
    },
    /// The recorder took time in this thread: to get a new segment, to seal a full one, or to write
    /// down what the kernel has reported. This is not the program's time.
    Pause {
        /// Duration of the pause in ticks of the trace's clock; it ends at this event's time.
        ticks: u64,
    },
}

impl What {
    /// Largest number of waiters that [`What::FutexWoke`] can hold.
    pub const MANY: u32 = 0xfff;
    /// Largest number of items that an event of a queue can hold.
    pub const MOST_ITEMS: u32 = 0xff_ffff;
    /// Largest number of calls that [`What::Yielded`] can hold.
    pub const MOST_CALLS: u32 = 0xffff;

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
            | What::PutWait { site, .. }
            | What::TakeWait { site, .. }
            | What::QueueClose { site, .. }
            | What::Create { site }
            | What::Blocked { site, .. }
            | What::Called { site, .. }
            | What::Yielded { site, .. }
            | What::JoinBegin { site, .. } => Some(site).filter(|site| *site != SiteId::UNKNOWN),
            _ => None,
        }
    }

    /// Returns the address of the queue at which the event happened.
    pub fn queue(&self) -> Option<Address> {
        match *self {
            What::Put { queue, .. }
            | What::PutWait { queue, .. }
            | What::PutWaited { queue, .. }
            | What::Take { queue, .. }
            | What::TakeWait { queue, .. }
            | What::TakeWaited { queue, .. }
            | What::QueueClose { queue, .. }
            | What::QueueCapacity { queue, .. } => Some(queue),
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
            | What::PutWait { .. }
            | What::TakeWait { .. }
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
            | What::PutWaited { .. }
            | What::TakeWaited { .. }
            | What::JoinEnd { .. } => Some(false),
            _ => None,
        }
    }

    /// Whether the event is an act of the program. Other events come from the recorder or the
    /// kernel, or add to the event before. A thread that yields its CPU does nothing. Waits for locks of the C library are no acts, because
    /// the kernel reports them late.
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
                | What::QueueCapacity { .. }
                | What::Bounded { .. }
                | What::Note { .. }
                | What::ProbeCost { .. }
                | What::Unloaded { .. }
                | What::Yielded { .. }
                | What::Pause { .. }
        )
    }

    /// Whether the kernel reported this event about the thread that writes it: a context switch, a
    /// sample, or a step at a lock of the C library. It is written when the kernel has reported it,
    /// perhaps long after its time; among themselves such events are in the order of their times.
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
