//! What events are about: threads, call sites, locks and other objects, and how waits end.

use crate::clock::Ticks;

/// Address of a synchronization object (48 bits), or a handle that stands for one.
pub type Address = u64;

/// Number of a thread in a trace, counted from 0 over all processes of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// Returns the number as an index into a table of threads.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a call site in its process (24 bits); 0 means unknown. The process's site records say
/// which return addresses each number stands for.
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
    /// A `pthread_mutex_t` or `mtx_t`, or any other exclusive lock whose waiters sleep.
    Mutex = 0,
    /// A `pthread_rwlock_t`, which is held shared or exclusive.
    RwLock = 1,
    /// `pthread_spinlock_t`.
    Spin = 2,
    /// An OpenMP `critical` region.
    OmpCritical = 3,
    /// An OpenMP lock (`omp_set_lock`), or a nested one (`omp_set_nest_lock`).
    OmpLock = 4,
    /// A lock of another runtime library, or of the simulator.
    Other = 5,
}

impl LockKind {
    /// All kinds of locks, in the order of their numbers.
    pub const ALL: [LockKind; 6] =
        [LockKind::Mutex, LockKind::RwLock, LockKind::Spin, LockKind::OmpCritical, LockKind::OmpLock, LockKind::Other];
}

/// A lock: its address and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lock {
    /// Address of the lock.
    pub address: Address,
    /// Kind of the lock.
    pub kind: LockKind,
}

impl Lock {
    /// Returns the mutex at this address.
    pub const fn mutex(address: Address) -> Lock {
        Lock { address, kind: LockKind::Mutex }
    }
    /// Returns the reader-writer lock at this address.
    pub const fn rwlock(address: Address) -> Lock {
        Lock { address, kind: LockKind::RwLock }
    }
    /// Returns the spin lock at this address.
    pub const fn spin(address: Address) -> Lock {
        Lock { address, kind: LockKind::Spin }
    }
}

/// The mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// One thread holds the lock alone: a mutex, or a reader-writer lock as its writer.
    Exclusive,
    /// Several threads may hold the lock together: a reader-writer lock as its readers.
    Shared,
}

/// How a contended acquisition ended its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct How {
    /// Whether the thread slept in the kernel at least once.
    pub slept: bool,
    /// Whether `slept` is known. The recorder cannot see into a wait inside of glibc; the thread's
    /// context switches or its CPU time ([`What::CpuTime`](super::What::CpuTime)) then decide.
    pub known: bool,
    /// Number of the thread's atomic tries to take the lock, at most [`How::MAX_TRIES`]; 0 if they
    /// were not counted.
    pub tries: u32,
}

impl How {
    /// Largest number of tries that a record can hold.
    pub const MAX_TRIES: u32 = (1 << 22) - 1;
    /// A wait that the recorder could not see into: neither tries nor sleeps are known.
    pub const OPAQUE: How = How { slept: false, known: false, tries: 0 };

    /// The thread got the lock while it spun, after `tries` tries.
    pub const fn spinning(tries: u32) -> How {
        How { slept: false, known: true, tries }
    }
    /// The thread got the lock after it had slept, with `tries` tries in all.
    pub const fn sleeping(tries: u32) -> How {
        How { slept: true, known: true, tries }
    }
}

/// How a wait at a condition variable ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum WakeReason {
    /// The thread was signalled, or woken without a signal: a waiter cannot tell the difference.
    Woken = 0,
    /// The deadline passed.
    TimedOut = 1,
    /// The thread was cancelled while it waited, or the wait failed.
    Cancelled = 2,
}

/// How a wait in a futex ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FutexEnd {
    /// The kernel says that the thread was woken: by a wake of the futex, or without a cause.
    Woken = 0,
    /// The time limit of the wait passed.
    TimedOut = 1,
    /// The word did not have the value that the thread expected, so the thread did not sleep.
    Changed = 2,
    /// A signal interrupted the thread's wait.
    Interrupted = 3,
    /// The call failed for a reason that has no value of its own.
    Failed = 4,
}

impl FutexEnd {
    /// All ways in which a wait ends, in the order of their numbers.
    pub const ALL: [FutexEnd; 5] =
        [FutexEnd::Woken, FutexEnd::TimedOut, FutexEnd::Changed, FutexEnd::Interrupted, FutexEnd::Failed];
}

/// Why a thread left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OffReason {
    /// Why the thread left its CPU is unknown.
    Unknown = 0,
    /// The thread blocked: in a futex, in a sleep or for I/O.
    Blocked = 1,
    /// The scheduler took the CPU from the thread while it could run.
    Preempted = 2,
}

/// Kinds of synchronization objects that are not locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waitable {
    /// `pthread_cond_t`, `cnd_t`.
    Condition,
    /// A `pthread_barrier_t`, or a barrier of OpenMP.
    Barrier,
    /// `sem_t`.
    Semaphore,
    /// A word on which the program calls futex itself: part of a lock or an event that the program,
    /// or its language's library, makes itself.
    Futex,
    /// A lock inside of the C library, such as those of `rand`, the standard streams and `malloc`.
    LibcLock,
    /// A queue of items between threads, bounded or not.
    Queue,
}

/// The OpenMP construct that a barrier belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Construct {
    /// A `barrier` directive, or an implied barrier that the compiler turns into one.
    Barrier = 1,
    /// The implicit barrier at the end of a parallel region.
    Region = 2,
    /// The implicit barrier at the end of a loop.
    Loop = 3,
    /// The implicit barrier at the end of `sections`.
    Sections = 4,
    /// The barrier after which threads copy values out of a `single`.
    Single = 5,
}

impl Construct {
    /// All constructs, in the order of their numbers.
    pub const ALL: [Construct; 5] =
        [Construct::Barrier, Construct::Region, Construct::Loop, Construct::Sections, Construct::Single];
}

/// What a system call achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// The call did what it was called for: bytes moved, a connection came, something is ready.
    Done = 0,
    /// The call found nothing: the end of a stream, or a time-out.
    Nothing = 1,
    /// The call would have had to wait, and had been told not to.
    WouldWait = 2,
    /// The call failed.
    Failed = 3,
}

/// A system call that has returned, as the event [`What::Called`](super::What::Called) holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemCall {
    /// The call's number in [`CALLS`](crate::point::CALLS) (6 bits).
    pub number: u8,
    /// What the call achieved.
    pub outcome: Outcome,
    /// The file that the call read or wrote; for `accept`, the new connection. `None` for a call on
    /// no single file, and for a file number of [`SystemCall::FILES`] or more.
    pub file: Option<u16>,
    /// How long the call took, in ticks of the trace's clock; at most [`SystemCall::LONG`], which
    /// also stands for longer times.
    pub ticks: u32,
}

impl SystemCall {
    /// The file numbers below this one are recorded; greater ones are not.
    pub const FILES: u16 = (1 << 15) - 1;
    /// The longest time that the event can hold. If a call took longer, the `Blocked` event before
    /// it has the whole time.
    pub const LONG: u32 = (1 << 25) - 1;

    /// A call of which nothing is known but its kind.
    pub(crate) const NONE: SystemCall = SystemCall { number: 0, outcome: Outcome::Done, file: None, ticks: 0 };

    /// The call's name.
    pub fn name(&self) -> &'static str {
        crate::point::CALLS.get(usize::from(self.number)).copied().unwrap_or("an unknown call")
    }

    /// How long the call took. `blocked`: the length that the thread's last [`What::Blocked`](super::What)
    /// before it tells, which a call has that is too long for its own event.
    pub(crate) fn length(&self, blocked: Option<u64>) -> Ticks {
        Ticks(blocked.filter(|_| self.ticks == SystemCall::LONG).unwrap_or(u64::from(self.ticks)))
    }

    /// Whether the call was a sleep, or a wait for files that only a time-out ended.
    pub(crate) fn is_sleep(&self) -> bool {
        match self.name() {
            "sleep" | "usleep" | "nanosleep" | "clock_nanosleep" => true,
            _ => self.is_for_readiness() && self.outcome == Outcome::Nothing,
        }
    }

    /// Whether the call waits until files are ready.
    pub(crate) fn is_for_readiness(&self) -> bool {
        matches!(self.name(), "poll" | "ppoll" | "select" | "pselect" | "epoll_wait" | "epoll_pwait")
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
