//! What events are about: threads, call sites, locks and other objects, and how waits end.

/// Address of a synchronization object (48 bits), or a handle that stands for one.
pub type Address = u64;

/// Number of a thread in a trace: dense, from 0, over all processes of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// Returns the number as an index into a table of threads.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a call site (24 bits); 0 means unknown. Site records of each process define the
/// numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

impl SiteId {
    /// The call site was not recorded.
    pub const UNKNOWN: SiteId = SiteId(0);
    /// Largest number that a record can hold.
    pub const MAX: u32 = 0xff_ffff;
}

/// Kind of a lock. Every lock event has it, because a statically initialised lock has no
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
    /// An OpenMP lock (`omp_set_lock`), nested ones included.
    OmpLock = 4,
    /// A lock of another runtime, or of the simulator.
    Other = 5,
}

impl LockKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [LockKind; 6] =
        [LockKind::Mutex, LockKind::RwLock, LockKind::Spin, LockKind::OmpCritical, LockKind::OmpLock, LockKind::Other];
}

/// A lock, identified by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock {
    /// Address of the lock.
    pub address: Address,
    /// Kind of the lock.
    pub kind: LockKind,
}

impl Lock {
    /// Creates the identity of a mutex.
    pub const fn mutex(address: Address) -> Lock {
        Lock { address, kind: LockKind::Mutex }
    }
    /// Creates the identity of a reader-writer lock.
    pub const fn rwlock(address: Address) -> Lock {
        Lock { address, kind: LockKind::RwLock }
    }
    /// Creates the identity of a spin lock.
    pub const fn spin(address: Address) -> Lock {
        Lock { address, kind: LockKind::Spin }
    }
}

/// The mode in which a lock is held.
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
    /// Whether the thread slept in the kernel at least once.
    pub slept: bool,
    /// Whether `slept` is known. A wait inside glibc is opaque; the thread's CPU time
    /// ([`What::CpuTime`](super::What::CpuTime)) then decides.
    pub known: bool,
    /// Number of atomic tries, at most [`How::MAX_TRIES`]; 0: not counted.
    pub tries: u32,
}

impl How {
    /// Largest number of tries that a record can hold.
    pub const MAX_TRIES: u32 = (1 << 22) - 1;
    /// An opaque wait: neither tries nor sleeps are known.
    pub const OPAQUE: How = How { slept: false, known: false, tries: 0 };

    /// The thread got the lock while spinning, after `tries` tries.
    pub const fn spinning(tries: u32) -> How {
        How { slept: false, known: true, tries }
    }
    /// The thread got the lock after sleeping, with `tries` tries in all.
    pub const fn sleeping(tries: u32) -> How {
        How { slept: true, known: true, tries }
    }
}

/// How the wait at a condition variable ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum WakeReason {
    /// The thread was signalled, or woken without a cause: the waiter cannot tell the difference.
    Woken = 0,
    /// The deadline passed.
    TimedOut = 1,
    /// The thread was cancelled, or the wait failed.
    Cancelled = 2,
}

/// How a wait in a futex ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FutexEnd {
    /// The kernel says that the thread was woken: by a wake, or without a cause.
    Woken = 0,
    /// The time limit passed.
    TimedOut = 1,
    /// The word did not have the expected value, so the thread did not sleep.
    Changed = 2,
    /// A signal interrupted the wait.
    Interrupted = 3,
    /// The call failed for another reason.
    Failed = 4,
}

impl FutexEnd {
    /// All ends, in the order of their numbers.
    pub const ALL: [FutexEnd; 5] =
        [FutexEnd::Woken, FutexEnd::TimedOut, FutexEnd::Changed, FutexEnd::Interrupted, FutexEnd::Failed];
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OffReason {
    /// The reason is unknown.
    Unknown = 0,
    /// The thread blocked: futex, sleep or I/O.
    Blocked = 1,
    /// The scheduler took the CPU from the thread while it could run.
    Preempted = 2,
}

/// Kinds of synchronization objects that are not locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waitable {
    /// `pthread_cond_t`, `cnd_t`.
    Condition,
    /// `pthread_barrier_t`, or an OpenMP barrier.
    Barrier,
    /// `sem_t`.
    Semaphore,
    /// A word on which the program calls futex itself: a lock or an event of its own, or of its
    /// language's library.
    Futex,
    /// A lock inside of the C library, as `rand`, the standard streams and `malloc` have.
    LibcLock,
}

/// The OpenMP construct that a barrier belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Construct {
    /// A `barrier` directive, or an implied barrier that the compiler turns into one.
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
    /// All constructs, in the order of their numbers.
    pub const ALL: [Construct; 5] =
        [Construct::Barrier, Construct::Region, Construct::Loop, Construct::Sections, Construct::Single];
}

/// What a system call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It did what it was called for: bytes moved, a connection came, something is ready.
    Done = 0,
    /// There was nothing: the end of a stream, or a time-out.
    Nothing = 1,
    /// It would have had to wait, and was told not to.
    WouldWait = 2,
    /// It failed.
    Failed = 3,
}

/// A system call that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemCall {
    /// Its number in [`CALLS`](crate::point::CALLS) (6 bits).
    pub number: u8,
    /// What it came to.
    pub outcome: Outcome,
    /// The file that was read or written; of `accept`, the new connection. `None` of a call on no
    /// single file, and of a number of [`SystemCall::FILES`] or more.
    pub file: Option<u16>,
    /// How long it took, in ticks of the trace's clock; [`SystemCall::LONG`] or more if that much.
    pub ticks: u32,
}

impl SystemCall {
    /// The number of files that are told apart.
    pub const FILES: u16 = (1 << 15) - 1;
    /// The longest time that the event holds. The `Blocked` before it has the whole time of a longer
    /// call.
    pub const LONG: u32 = (1 << 25) - 1;

    /// The call's name.
    pub fn name(&self) -> &'static str {
        crate::point::CALLS.get(usize::from(self.number)).copied().unwrap_or("an unknown call")
    }

    pub(crate) const fn to_bits(self) -> u64 {
        let file = match self.file {
            Some(file) if file < SystemCall::FILES => file,
            _ => SystemCall::FILES,
        };
        let ticks = if self.ticks < SystemCall::LONG { self.ticks } else { SystemCall::LONG };
        ticks as u64 | (file as u64) << 25 | (self.outcome as u64) << 40 | (self.number as u64 & 63) << 42
    }

    pub(crate) const fn from_bits(bits: u64) -> SystemCall {
        let file = (bits >> 25) as u16 & SystemCall::FILES;
        SystemCall {
            number: (bits >> 42) as u8 & 63,
            outcome: match bits >> 40 & 3 {
                0 => Outcome::Done,
                1 => Outcome::Nothing,
                2 => Outcome::WouldWait,
                _ => Outcome::Failed,
            },
            file: if file == SystemCall::FILES { None } else { Some(file) },
            ticks: bits as u32 & SystemCall::LONG,
        }
    }
}
