//! What a program did, as types: an [`Event`] is one synchronization act of one thread at one time.
//!
//! The writer takes a [`What`], the reader gives it back; [`crate::record`] knows the bytes between them.

use crate::clock::Ticks;

/// Address of a synchronization object (48 bits), or a handle that stands for one.
pub type Address = u64;

/// Number of a thread in a trace: dense, from 0, over all processes of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// For use as an index into a table of threads.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a call site (24 bits). 0 stands for "not known". Defined by a site record, per process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

impl SiteId {
    /// The call site was not taken.
    pub const UNKNOWN: SiteId = SiteId(0);
    /// Greatest number that a record can hold.
    pub const MAX: u32 = 0xff_ffff;
}

/// What kind of lock an event speaks of. It stands in every lock event, as a statically initialised lock has no
/// initialisation event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LockKind {
    /// `pthread_mutex_t`, `mtx_t`, or any sleeping exclusive lock.
    Mutex = 0,
    /// `pthread_rwlock_t`: shared and exclusive.
    RwLock = 1,
    /// `pthread_spinlock_t`.
    Spin = 2,
    /// An OpenMP `critical` region.
    OmpCritical = 3,
    /// An OpenMP lock (`omp_set_lock`), nested ones too.
    OmpLock = 4,
    /// A lock of another runtime, or of the simulator.
    Other = 5,
}

impl LockKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [LockKind; 6] =
        [LockKind::Mutex, LockKind::RwLock, LockKind::Spin, LockKind::OmpCritical, LockKind::OmpLock, LockKind::Other];
}

/// A lock: its address and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock {
    /// Where it lies.
    pub address: Address,
    /// What it is.
    pub kind: LockKind,
}

impl Lock {
    /// A mutex at `address`.
    pub const fn mutex(address: Address) -> Lock {
        Lock { address, kind: LockKind::Mutex }
    }
    /// A reader-writer lock at `address`.
    pub const fn rwlock(address: Address) -> Lock {
        Lock { address, kind: LockKind::RwLock }
    }
    /// A spin lock at `address`.
    pub const fn spin(address: Address) -> Lock {
        Lock { address, kind: LockKind::Spin }
    }
}

/// In which mode a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// One holder: a mutex, or the writer of a reader-writer lock.
    Exclusive,
    /// Several holders: the readers of a reader-writer lock.
    Shared,
}

/// How a contended acquisition ended its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct How {
    /// The thread slept in the kernel at least once. Otherwise it entered while spinning.
    pub slept: bool,
    /// Whether `slept` is known. A wait inside glibc is opaque; its CPU time ([`What::CpuTime`]) then decides.
    pub known: bool,
    /// Atomic tries; saturates at [`How::MAX_TRIES`]. 0: not counted.
    pub tries: u32,
}

impl How {
    /// Greatest count of tries that a record can hold.
    pub const MAX_TRIES: u32 = (1 << 22) - 1;
    /// The wait is opaque: neither tries nor sleep are known.
    pub const OPAQUE: How = How { slept: false, known: false, tries: 0 };

    /// Entered while spinning, after so many tries.
    pub const fn spinning(tries: u32) -> How {
        How { slept: false, known: true, tries }
    }
    /// Entered after sleeping, and so many tries.
    pub const fn sleeping(tries: u32) -> How {
        How { slept: true, known: true, tries }
    }
}

/// How a condition wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum WakeReason {
    /// Signalled, or woken without a cause: the two look alike to the waiter.
    Woken = 0,
    /// The deadline passed.
    TimedOut = 1,
    /// The thread was cancelled, or the wait failed.
    Cancelled = 2,
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OffReason {
    /// Not known.
    Unknown = 0,
    /// It blocked: futex, sleep, input or output.
    Blocked = 1,
    /// The scheduler took the CPU from it while it could run.
    Preempted = 2,
}

/// A kind of synchronization object that is not a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waitable {
    /// `pthread_cond_t`, `cnd_t`.
    Condition,
    /// `pthread_barrier_t`, or an OpenMP barrier.
    Barrier,
    /// `sem_t`.
    Semaphore,
}

/// To which construct of OpenMP a barrier belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Construct {
    /// A `barrier` directive, or the implied barrier that the compiler makes one of.
    Barrier = 1,
    /// The end of a parallel region.
    Region = 2,
    /// The end of a loop.
    Loop = 3,
    /// The end of `sections`.
    Sections = 4,
    /// The copy out of a `single`.
    Single = 5,
}

impl Construct {
    /// All, in the order of their numbers.
    pub const ALL: [Construct; 5] =
        [Construct::Barrier, Construct::Region, Construct::Loop, Construct::Sections, Construct::Single];
}

/// One act of a thread. Fields named `site` are call sites ([`SiteId::UNKNOWN`] where none was taken).
///
/// **When it is stamped** matters for the analysis: what gives something away (`Release`, `CondSignal`, `SemPost`,
/// `BarrierArrive`, `Fork`, `TaskCreate`, `TaskEnd`, `Create`, `ThreadEnd`) is stamped *before* the act, what takes (`Acquire`, `Acquired`, `CondWake`, `SemTaken`,
/// `BarrierLeave`, `TeamBegin`, `TaskBegin`, `TaskWaitEnd`, `JoinEnd`, `ThreadStart`) *after* it. So cause never comes after effect, and the interval between
/// the two is never too short: it contains the probe's own time after the first stamp and before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An acquisition that did not wait: the whole of it in one event.
    Acquire {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
        /// The call site.
        site: SiteId,
    },
    /// The thread found the lock taken and starts to wait. Ends with `Acquired` or `Timeout` of the same lock.
    Request {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
        /// The call site.
        site: SiteId,
    },
    /// The wait ended with the lock held.
    Acquired {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
        /// Slept or spun, and how many tries.
        how: How,
    },
    /// A `trylock` found the lock taken. No wait.
    TryFail {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
        /// The call site.
        site: SiteId,
    },
    /// The wait ended without the lock: a time-out, a cancellation, an error.
    Timeout {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
    },
    /// The lock is about to be given up.
    Release {
        /// The lock.
        lock: Lock,
        /// The mode.
        mode: Mode,
        /// The call site.
        site: SiteId,
    },
    /// A lock was initialised: its address starts a new life.
    LockInit {
        /// The lock.
        lock: Lock,
        /// The call site: locks of one site form a class.
        site: SiteId,
    },
    /// A lock was destroyed: its address may become another lock.
    LockDestroy {
        /// The lock.
        lock: Lock,
    },
    /// A condition variable, barrier or semaphore was initialised.
    Init {
        /// Its kind.
        sort: Waitable,
        /// Where it lies.
        address: Address,
        /// The call site.
        site: SiteId,
    },
    /// A condition variable, barrier or semaphore was destroyed.
    Destroy {
        /// Its kind.
        sort: Waitable,
        /// Where it lies.
        address: Address,
    },
    /// How many take part in a barrier, or a semaphore's first value. Follows its `Init`.
    Attribute {
        /// The object.
        address: Address,
        /// The count (saturates at 24 bits).
        value: u32,
    },
    /// A condition wait begins. The mutex's `Release` follows as an event of its own.
    CondWait {
        /// The condition variable.
        condition: Address,
        /// The call site.
        site: SiteId,
    },
    /// Names the mutex of the condition wait that this thread has just begun.
    CondMutex {
        /// The mutex.
        mutex: Address,
    },
    /// A condition wait ended. The mutex's re-acquisition follows as events of its own.
    CondWake {
        /// The condition variable.
        condition: Address,
        /// Why.
        reason: WakeReason,
    },
    /// One waiter is about to be woken.
    CondSignal {
        /// The condition variable.
        condition: Address,
        /// The call site.
        site: SiteId,
    },
    /// All waiters are about to be woken.
    CondBroadcast {
        /// The condition variable.
        condition: Address,
        /// The call site.
        site: SiteId,
    },
    /// The thread is about to enter a barrier.
    BarrierArrive {
        /// The barrier.
        barrier: Address,
        /// The call site.
        site: SiteId,
    },
    /// The thread has left the barrier.
    BarrierLeave {
        /// The barrier.
        barrier: Address,
        /// It is the one that got `PTHREAD_BARRIER_SERIAL_THREAD`.
        serial: bool,
    },
    /// A thread is about to open a parallel region of OpenMP, as its team's master.
    Fork {
        /// The barrier at the region's end, which stands for the region.
        region: Address,
        /// The call site.
        site: SiteId,
    },
    /// A thread of a team begins its part of a parallel region.
    TeamBegin {
        /// The barrier at the region's end.
        region: Address,
        /// Threads of the team (23 bits).
        threads: u32,
        /// It ends the thread's wait since its `IdleBegin`.
        idled: bool,
    },
    /// All of a team have arrived at a region's end: a thread that is not the master waits for its next region from here on.
    IdleBegin {
        /// The barrier that it has left.
        region: Address,
    },
    /// What a barrier belongs to. Once for each, by the thread that comes first.
    Construct {
        /// The barrier.
        barrier: Address,
        /// The construct.
        construct: Construct,
    },
    /// A task of OpenMP is about to be created.
    TaskCreate {
        /// Its number in the process (48 bits).
        task: u64,
        /// The call site.
        site: SiteId,
    },
    /// A thread begins to run a task. It may be waiting at a barrier or for tasks: that wait stands still until the task's end.
    TaskBegin {
        /// Its number.
        task: u64,
    },
    /// The task has ended, in the thread that ran it.
    TaskEnd {
        /// Its number.
        task: u64,
    },
    /// A wait for tasks begins: `taskwait`, or the end of a `taskgroup`.
    TaskWaitBegin {
        /// The call site.
        site: SiteId,
    },
    /// It is over.
    TaskWaitEnd,
    /// A semaphore was taken without a wait.
    SemTake {
        /// The semaphore.
        semaphore: Address,
        /// The call site.
        site: SiteId,
    },
    /// The semaphore was at zero: a wait begins. Ends with `SemTaken` or `SemTimeout`.
    SemWait {
        /// The semaphore.
        semaphore: Address,
        /// The call site.
        site: SiteId,
    },
    /// The wait ended with the semaphore taken.
    SemTaken {
        /// The semaphore.
        semaphore: Address,
        /// Slept or spun.
        how: How,
    },
    /// The wait ended without it.
    SemTimeout {
        /// The semaphore.
        semaphore: Address,
    },
    /// A `sem_trywait` found it at zero.
    SemTryFail {
        /// The semaphore.
        semaphore: Address,
        /// The call site.
        site: SiteId,
    },
    /// The semaphore is about to be raised.
    SemPost {
        /// The semaphore.
        semaphore: Address,
        /// The call site.
        site: SiteId,
    },
    /// The thread runs. `handle` is its `pthread_t` (or any number that its creator's `Created` also names).
    ThreadStart {
        /// Its handle.
        handle: u64,
    },
    /// The thread is about to end.
    ThreadEnd {
        /// Its handle.
        handle: u64,
    },
    /// A thread is about to be created. `Created` follows in the same thread.
    Create {
        /// The call site.
        site: SiteId,
    },
    /// The creation returned. The child may have started before this.
    Created {
        /// The child's handle (0 where creation failed).
        handle: u64,
        /// `errno` of a failed creation, 0 for success.
        error: u32,
    },
    /// A join begins.
    JoinBegin {
        /// The awaited thread.
        handle: u64,
        /// The call site.
        site: SiteId,
    },
    /// The join returned.
    JoinEnd {
        /// The awaited thread.
        handle: u64,
        /// `errno` of a failed join, 0 for success.
        error: u32,
    },
    /// From here on the thread runs on this CPU.
    Cpu {
        /// Its number.
        cpu: u32,
    },
    /// From here on a thread may run on these CPUs (`sched_setaffinity`). A set is one record for each group of 32 CPUs that
    /// has one of them; [`Trace::affinities`](crate::Trace::affinities) puts them together.
    Affinity {
        /// OS thread number that it speaks of (24 bits); 0: the writing thread itself.
        tid: u32,
        /// The set's first record: what was said of this thread before is no longer so.
        first: bool,
        /// Its CPUs are 32 × `group` and the 31 after (15 bits).
        group: u32,
        /// One bit a CPU, the lowest first.
        mask: u32,
    },
    /// CPU time of the thread so far. Around a contended wait, in this order: `Request`, `CpuTime`, the wait, `Acquired`,
    /// `CpuTime`. The two tell spinning from sleeping; stamped inside the wait and after it, they do not lengthen it.
    CpuTime {
        /// Nanoseconds since the thread began.
        ns: u64,
    },
    /// A thread left its CPU.
    OffCpu {
        /// OS thread number that it speaks of; 0: the writing thread itself.
        tid: u32,
        /// Why.
        reason: OffReason,
    },
    /// A thread runs again.
    OnCpu {
        /// OS thread number that it speaks of; 0: the writing thread itself.
        tid: u32,
        /// The CPU.
        cpu: u32,
    },
    /// A call for input, output or sleep in which the writing thread left its CPU has returned.
    Blocked {
        /// The call site.
        site: SiteId,
        /// How long it took, in ticks of the trace's clock, ending at this event's time (48 bits).
        ticks: u64,
    },
    /// A marker of the program: a named point with a value.
    Marker {
        /// Number of its name (see the trace's names).
        name: u32,
        /// Free for the program (48 bits).
        value: u64,
    },
    /// A region of interest begins.
    RoiBegin {
        /// Number of its name.
        name: u32,
    },
    /// A region of interest ends.
    RoiEnd {
        /// Number of its name.
        name: u32,
    },
    /// Something that the analysis should say to people, about an object.
    Note {
        /// The object.
        address: Address,
        /// What: see [`crate::notes`].
        code: u32,
    },
    /// Measured cost of a probe, for subtraction.
    ProbeCost {
        /// Which probe: 0 one plain event, 1 a contended pair with CPU times.
        probe: u32,
        /// Picoseconds an event.
        picoseconds: u64,
    },
    /// An object file was unloaded: what lies in its place from here on has nothing to do with it. Its locks' lives end.
    Unloaded {
        /// First address.
        start: Address,
        /// Pages of 4 KiB (24 bits).
        pages: u32,
    },
    /// The writer itself took so long here (a new segment): not the program's time.
    Pause {
        /// Length, in ticks of the trace's clock, ending at this event's time.
        ticks: u64,
    },
}

impl What {
    /// The call site that it names, if it was taken.
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
            | What::Create { site }
            | What::Blocked { site, .. }
            | What::JoinBegin { site, .. } => Some(site).filter(|site| *site != SiteId::UNKNOWN),
            _ => None,
        }
    }

    /// Whether a wait begins (`true`) or ends with it (`false`); `None` if neither.
    pub fn wait_edge(&self) -> Option<bool> {
        match self {
            What::Request { .. }
            | What::CondWait { .. }
            | What::BarrierArrive { .. }
            | What::IdleBegin { .. }
            | What::TaskWaitBegin { .. }
            | What::SemWait { .. }
            | What::JoinBegin { .. } => Some(true),
            What::Acquired { .. }
            | What::Timeout { .. }
            | What::CondWake { .. }
            | What::BarrierLeave { .. }
            | What::TeamBegin { idled: true, .. }
            | What::TaskWaitEnd
            | What::SemTaken { .. }
            | What::SemTimeout { .. }
            | What::JoinEnd { .. } => Some(false),
            _ => None,
        }
    }

    /// A context switch of the writing thread itself. Such an event is written when the kernel has reported it, perhaps long
    /// after its time, but in the order of these times.
    pub(crate) fn is_own_switch(&self) -> bool {
        matches!(self, What::OffCpu { tid: 0, .. } | What::OnCpu { tid: 0, .. })
    }
}

/// One act of one thread at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ticks of the trace's clock since the trace began.
    pub time: Ticks,
    /// Who.
    pub thread: ThreadIndex,
    /// What.
    pub what: What,
}
