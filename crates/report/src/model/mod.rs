//! The report as plain data: what every drawing (terminal, HTML, JSON, diff) starts from.
//!
//! Its JSON is the published form, described by `docs/schema/report.schema.json`; a test holds the two together. Fields that are
//! durations are nanoseconds and end in `_ns`. Numbers that name something (a lock, a class, a thread, a call site) are places in
//! the lists of the same report.

mod openmp;
mod outside;
mod path;
mod places;
mod run;
mod usage;
mod verdict;

pub use openmp::{CameLast, ParallelRegion, TaskSite};
pub use outside::Outside;
pub use path::{CriticalPath, PathPart, PathStep};
pub use run::{Clock, Host, Limits, Note, Process, Run};
pub(crate) use usage::ratio;
pub use usage::{Bucket, Distribution, Entered, QueueLength, Usage};
pub use verdict::{NextStep, Share, Verdict, WORTH_A_LOCK};

use crate::symbols::Frame;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// Name and version of the published form, the first field of the JSON. The number grows when a field changes its meaning or goes;
/// new fields may come without.
pub const SCHEMA: &str = "baton-report/1";

/// Everything that is said about one trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was run, on what.
    pub run: Run,
    /// What limits the program, what could be won, and what to do next.
    pub verdict: Verdict,
    /// Sums over the whole trace.
    pub totals: Totals,
    /// Locks, the one that cost most first.
    pub locks: Vec<Lock>,
    /// Locks of one origin together.
    pub classes: Vec<Class>,
    /// Threads, in the order in which they appeared.
    pub threads: Vec<Thread>,
    /// Call sites, the one that waited or made others wait most first. A contended one is a stack; [`Report::places`] has
    /// those of one place together.
    pub sites: Vec<Site>,
    /// Condition variables, barriers, semaphores.
    pub waitables: Vec<Waitable>,
    /// OpenMP's parallel regions by call site, the one that took longest first.
    #[serde(default)]
    pub parallel: Vec<ParallelRegion>,
    /// Places that create tasks, and that wait for them.
    #[serde(default)]
    pub tasks: Vec<TaskSite>,
    /// Which thread waited for which, the heaviest first.
    pub waiters: Vec<WaiterEdge>,
    /// The chain of work and waiting that the program's time consists of.
    pub critical_path: CriticalPath,
    /// Where threads were off their CPUs although they waited for nothing that the trace shows, the longest first.
    pub outside: Vec<Outside>,
    /// Regions of interest that the program marked.
    pub regions: Vec<Region>,
    /// What is missing or uncertain.
    pub limits: Limits,
}

/// Sums over the whole trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// From the first event to the last.
    pub span_ns: Nanos,
    /// Events.
    pub events: u64,
    /// Acquisitions of locks.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// Time of all threads while holding a lock, the locks added up.
    pub hold_ns: Nanos,
    /// Time of all threads in waits for locks (BT of OCOR's paper).
    pub blocked_ns: Nanos,
    /// Of it, while others held the lock (ΣCS).
    pub sections_ns: Nanos,
    /// Of it, while no thread held the lock: competition overhead (ΣCOH).
    pub overhead_ns: Nanos,
}

/// A lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// The symbol of a global, the name that the program gave, or the place that initialised it.
    pub name: String,
    /// Its class.
    pub class: u32,
    /// `mutex`, `rwlock`, `spin`, `omp-critical`, `omp-lock` or `other`.
    pub kind: String,
    /// Process that it belongs to.
    pub pid: u32,
    /// Address, hexadecimal.
    pub address: String,
    /// Its figures.
    #[serde(flatten)]
    pub usage: Usage,
    /// How many threads acquired it.
    pub owners: u32,
    /// What does not fit together in its events, in sentences; then its figures are uncertain.
    pub doubts: Vec<String>,
    /// The program's time if this lock's competition overhead were nothing.
    pub program_without_overhead_ns: Option<Nanos>,
    /// The program's time if this lock excluded no thread.
    pub program_without_exclusion_ns: Option<Nanos>,
}

/// Locks of one origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// What the locks share: a name, the place that initialised them, or an address.
    pub name: String,
    /// Kind, as for a lock.
    pub kind: String,
    /// How many there are.
    pub locks: u32,
    /// Their figures, added up.
    #[serde(flatten)]
    pub usage: Usage,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name, or `thread 7`.
    pub name: String,
    /// Process.
    pub pid: u32,
    /// The kernel's number.
    pub tid: u32,
    /// First event, since the trace's beginning.
    pub first_ns: Nanos,
    /// Last event.
    pub last_ns: Nanos,
    /// Acquisitions of locks.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// Its time in waits for locks.
    pub wait_ns: Nanos,
    /// The part of it in which no thread held the lock.
    pub overhead_ns: Nanos,
    /// Its time while it held locks, nested ones counted once each.
    pub hold_ns: Nanos,
    /// Its time in waits at condition variables.
    pub condition_ns: Nanos,
    /// Its time in waits at barriers.
    pub barrier_ns: Nanos,
    /// Its time in waits for semaphores.
    pub semaphore_ns: Nanos,
    /// Its time in waits for other threads' ends.
    pub join_ns: Nanos,
    /// Its time between parallel regions, as a worker of a team of OpenMP.
    #[serde(default)]
    pub idle_ns: Nanos,
    /// Its time in waits for tasks, without the tasks that it ran meanwhile.
    #[serde(default)]
    pub task_wait_ns: Nanos,
    /// The rest of its time, on the CPU or not: the sum of `running_ns`, `ready_ns`, `blocked_ns` and `off_ns`.
    pub work_ns: Nanos,
    /// Of it, on a CPU, or where it was is not known.
    pub running_ns: Nanos,
    /// Of it, ready to run without a CPU.
    pub ready_ns: Nanos,
    /// Of it, blocked outside of what Baton sees: input, output, sleep, a futex of the program's own.
    pub blocked_ns: Nanos,
    /// Of it, off the CPU; why is not known.
    pub off_ns: Nanos,
    /// What is known of its time off the CPU: `all`, by context switches; `how-much`, by its CPU time; or `nothing`.
    pub off_cpu_known: String,
    /// Its longest wait for a lock.
    pub longest_wait_ns: Nanos,
    /// CPUs that it could run on, as the kernel writes such lists (`0-3,8`): the set that was in force longest. None where it was not
    /// recorded.
    pub cpus: Option<String>,
    /// Changes of CPU, as far as they were seen.
    pub migrations: u64,
    /// Time that others waited while it held the lock, weighed by how many waited.
    pub blame_ns: Nanos,
    /// Time off the CPU, where that was recorded.
    pub off_cpu_ns: Nanos,
}

/// A place in the program that takes locks of one class, or waits at something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// What it is called: the innermost function that is the program's own, and its place in the source.
    pub name: String,
    /// Functions, innermost first.
    pub frames: Vec<Frame>,
    /// Return address, hexadecimal.
    pub address: String,
    /// Process.
    pub pid: u32,
    /// Class of the locks that it takes; none if it waits at something else.
    pub class: Option<u32>,
    /// Condition variable, barrier or semaphore that it waits at.
    pub waitable: Option<u32>,
    /// Acquisitions from here.
    pub acquisitions: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// Those of a loop that takes the lock again and again until another thread changes a value: a wait in disguise.
    pub polls: u64,
    /// Time waited here.
    pub wait_ns: Nanos,
    /// Of it, while no thread held the lock.
    pub overhead_ns: Nanos,
    /// Time that the lock was held from here.
    pub hold_ns: Nanos,
    /// Time that others waited while the lock was held from here, weighed by how many waited.
    pub blame_ns: Nanos,
}

/// A condition variable, barrier or semaphore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waitable {
    /// Name, as for a lock.
    pub name: String,
    /// `condition`, `barrier` or `semaphore`.
    pub kind: String,
    /// Process.
    pub pid: u32,
    /// Address, hexadecimal.
    pub address: String,
    /// Waits.
    pub waits: u64,
    /// Signals, or posts.
    pub signals: u64,
    /// Broadcasts.
    pub broadcasts: u64,
    /// Waits that were given up.
    pub timeouts: u64,
    /// Of a barrier of OpenMP: `barrier`, `region`, `loop`, `sections` or `single`, the construct that it belongs to.
    #[serde(default)]
    pub construct: Option<String>,
    /// Of a barrier: rounds of two threads and more.
    #[serde(default)]
    pub rounds: u64,
    /// Of a barrier: who came last in how many rounds, the most often first.
    #[serde(default)]
    pub last: Vec<CameLast>,
    /// How long the waits took.
    pub wait_ns: Distribution,
    /// From what ended a wait (signal, last arrival, post) to the waiter's running.
    pub wake_ns: Distribution,
}

/// One thread waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaiterEdge {
    /// The thread that waited.
    pub waiter: u32,
    /// The thread that held the lock meanwhile.
    pub holder: u32,
    /// Which lock.
    pub lock: u32,
    /// How long, together.
    pub wait_ns: Nanos,
}

/// A region of interest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// How many stretches it has.
    pub times: u64,
    /// Time in it, all threads together, counted once.
    pub total_ns: Nanos,
    /// Waits for locks in it.
    pub wait_ns: Nanos,
    /// Of it, while no thread held the lock.
    pub overhead_ns: Nanos,
}

impl Site {
    /// Whether it is a loop that polls under its lock: most of its acquisitions are such.
    pub fn is_poll(&self) -> bool {
        self.polls > self.acquisitions / 2
    }
}

impl Lock {
    /// Share of the acquisitions that had to wait, 0 to 1.
    pub fn contended_share(&self) -> f64 {
        self.usage.contended_share()
    }
}
