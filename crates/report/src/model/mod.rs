//! The report as plain data, which every presentation (terminal, HTML, JSON, diff) starts from.
//!
//! Its JSON is the published form, described by `docs/schema/report.schema.json`; a test compares
//! the two. Durations are nanoseconds, and their fields end in `_ns`. Numbers that refer to
//! something (a lock, a class, a thread, a call site) are indices into the lists of the same
//! report.

mod openmp;
mod outside;
mod path;
mod places;
mod queues;
mod requests;
mod run;
mod standstill;
mod usage;
mod verdict;

pub use openmp::{CameLast, ParallelRegion, TaskSite};
pub use outside::Outside;
pub use path::{Background, Beside, CriticalPath, NestedPart, PathPart, PathStep, PathThread, SectionTime};
pub use queues::{Queue, QueuePlace, QueueSide, QueueUser, SlowStage};
pub use requests::{BusiestLock, Latency, PROGRESS, Progress, RequestPart, Requests, Serving, SlowPart, SlowRequest};
pub use run::{Clock, CpuLimit, Dilation, Host, Limits, Note, Process, ProgramRun};
pub use standstill::{Held, LockOrder, OrderStep, StandingThread, Standstill};
pub(crate) use usage::ratio;
pub use usage::{Bucket, Distribution, Entered, Overtaken, QueueLength, Starved, Usage};
pub use verdict::{NextStep, Share, Verdict, WORTH_A_LOCK};

use crate::symbols::Frame;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// The name and version of the published form, which is the first field of the JSON. The version
/// grows when a field changes its meaning or is removed; new fields do not change it.
pub const SCHEMA: &str = "baton-report/1";

/// The report on one trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The command and the machine.
    pub run: ProgramRun,
    /// What limits the program, what could be won, and what to do next.
    pub verdict: Verdict,
    /// The process that stands still at its end, or in which threads do; `None` if none was found.
    #[serde(default)]
    pub standstill: Option<Standstill>,
    /// Sums over the whole trace.
    pub totals: Totals,
    /// The locks, the one with the most waiting first.
    pub locks: Vec<Lock>,
    /// Locks with something in common, added up: a name, a global variable, or the places that
    /// initialise or take them.
    pub classes: Vec<Class>,
    /// The places that initialise locks, or take them first.
    #[serde(default)]
    pub origins: Vec<Origin>,
    /// The threads, in the order in which they appeared.
    pub threads: Vec<Thread>,
    /// The call sites, the one with the most waiting and blame first. A contended site is a call
    /// stack; [`Report::places`] merges the sites of one place.
    pub sites: Vec<Site>,
    /// Condition variables, barriers, semaphores, queues, futexes, locks of the C library.
    pub waitables: Vec<Waitable>,
    /// Queues between threads, the one with the most waiting first; not in the JSON if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
    /// The stage of a pipeline that holds the others up, if the queues show one; not in the JSON if there
    /// is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_stage: Option<SlowStage>,
    /// Threads that ended because another thread told them to. The program does not wait for their
    /// work.
    #[serde(default)]
    pub background: Vec<Background>,
    /// Orders of locks that could deadlock, whether or not they did.
    #[serde(default)]
    pub lock_orders: Vec<LockOrder>,
    /// OpenMP's parallel regions by call site, the site with the most time in all first.
    #[serde(default)]
    pub parallel: Vec<ParallelRegion>,
    /// Places that create tasks, and places that wait for tasks.
    #[serde(default)]
    pub tasks: Vec<TaskSite>,
    /// Which thread waited for which, the longest waits first.
    pub waiters: Vec<WaiterEdge>,
    /// The chain of work and waiting that adds up to the program's time.
    pub critical_path: CriticalPath,
    /// Time in which threads were off their CPUs although they waited for nothing that the trace
    /// shows, the longest first.
    pub outside: Vec<Outside>,
    /// The requests that the program answered, or that lie between two points that the user named.
    /// `None` if there are none, or if there are fewer than ten and the user named no points.
    #[serde(default)]
    pub requests: Option<Requests>,
    /// A progress point that the user named, unless its requests are in `requests`.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// Regions of interest that the program marked.
    pub regions: Vec<Region>,
    /// What the trace lacks, or leaves uncertain.
    pub limits: Limits,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The time from the first event to the last, or to the end of a process in which threads waited
    /// until then.
    pub span_ns: Nanos,
    /// The number of events.
    pub events: u64,
    /// The number of lock acquisitions.
    pub acquisitions: u64,
    /// The number of acquisitions that had to wait.
    pub contended: u64,
    /// Time that threads held locks, added over threads and locks.
    pub hold_ns: Nanos,
    /// Time that threads waited for locks, added over threads (BT in OCOR's paper).
    pub blocked_ns: Nanos,
    /// The part of `blocked_ns` during which other threads held the lock (ΣCS).
    pub sections_ns: Nanos,
    /// The part of `blocked_ns` during which no thread held the lock: competition overhead (ΣCOH).
    pub overhead_ns: Nanos,
    /// Time in which at least one lock was free while a thread waited for it. Time that several
    /// threads wait so together counts once.
    #[serde(default)]
    pub free_while_wanted_ns: Nanos,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lock {
    /// The name that the program gave, the symbol of a global variable, the place that initialised
    /// the lock or takes it most, or the lock's address.
    pub name: String,
    /// The index of the lock's class.
    pub class: u32,
    /// Where the lock begins, as an index into [`Report::origins`]; `None` if nothing is known of
    /// it.
    #[serde(default)]
    pub origin: Option<u32>,
    /// `mutex`, `rwlock`, `spin`, `omp-critical`, `omp-lock` or `other`.
    pub kind: String,
    /// The process of the lock.
    pub pid: u32,
    /// The address, in hexadecimal.
    pub address: String,
    /// Whether other processes may use the lock, too (a process-shared mutex).
    #[serde(default)]
    pub process_shared: bool,
    /// The figures of this lock.
    #[serde(flatten)]
    pub usage: Usage,
    /// The number of threads that acquired the lock.
    pub owners: u32,
    /// Acquisitions by other threads than the one that acquired the lock most often.
    #[serde(default)]
    pub others: u64,
    /// Contradictions in the lock's events, as sentences. With any of these, the figures are
    /// uncertain.
    pub doubts: Vec<String>,
    /// The program's time without this lock's competition overhead. At most the eight locks with
    /// the most waiting have this figure and the next one.
    pub program_without_overhead_ns: Option<Nanos>,
    /// The program's time if this lock excluded no thread.
    pub program_without_exclusion_ns: Option<Nanos>,
}

/// Locks that the report shows as one: they share a name, a global variable, or the places that
/// initialise or take them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// What the locks have in common: a name, a global variable, the place that initialised them or
    /// takes them most, or an address. A lock with most of its class's waiting has a class of its
    /// own, `hot one of …`.
    pub name: String,
    /// The kind, as for a lock.
    pub kind: String,
    /// The number of locks.
    pub locks: u32,
    /// The figures of all locks of the class, added up.
    #[serde(flatten)]
    pub usage: Usage,
}

/// The origin of locks: the place at which they begin, and its callers. Each place is a name for
/// these locks in `--lock`, `--shrink` and `--split`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// `initialised` by a call, or `taken` first without that.
    pub how: String,
    /// The places, the innermost first: the call, and its callers.
    pub places: Vec<Beginning>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// The function, with its source location if that is known: `Cache::Cache (cache.cpp:12)`.
    pub place: String,
    /// The return address in its object file, `app+0x1234`.
    pub at: String,
}

fn is_none(time: &Nanos) -> bool {
    *time == Nanos(0)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's name, followed by the thread id if other threads have the same name; `thread 7`
    /// for a thread without a name.
    pub name: String,
    /// The process of the thread.
    pub pid: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// The time of the first event, from the beginning of the trace.
    pub first_ns: Nanos,
    /// The time of the last event, or of the end of the process if the thread waited until then.
    pub last_ns: Nanos,
    /// The number of lock acquisitions.
    pub acquisitions: u64,
    /// The number of acquisitions that had to wait.
    pub contended: u64,
    /// Time spent waiting for locks.
    pub wait_ns: Nanos,
    /// The part of `wait_ns` during which no thread held the lock.
    pub overhead_ns: Nanos,
    /// Time spent holding locks; a time under nested locks counts once for each.
    pub hold_ns: Nanos,
    /// Time spent waiting on condition variables.
    pub condition_ns: Nanos,
    /// Time spent waiting at barriers.
    pub barrier_ns: Nanos,
    /// Time spent waiting for semaphores.
    pub semaphore_ns: Nanos,
    /// Time spent waiting for room in queues and for items of queues; not in the JSON if it is 0.
    #[serde(default, skip_serializing_if = "is_none")]
    pub queue_ns: Nanos,
    /// Time spent waiting for the end of other threads.
    pub join_ns: Nanos,
    /// Time between parallel regions, for a worker of an OpenMP team.
    #[serde(default)]
    pub idle_ns: Nanos,
    /// Time spent waiting for tasks, without the tasks that the thread ran in the meantime.
    #[serde(default)]
    pub task_wait_ns: Nanos,
    /// Time spent waiting in futexes of the program's own, and for locks inside of the C library.
    #[serde(default)]
    pub futex_ns: Nanos,
    /// All other time of the thread: the sum of `running_ns`, `ready_ns`, `blocked_ns` and
    /// `off_ns`.
    pub work_ns: Nanos,
    /// The part of `work_ns` on a CPU, or for which the trace does not say whether the thread had a
    /// CPU.
    pub running_ns: Nanos,
    /// The part of `work_ns` during which the thread was ready to run and had no CPU.
    pub ready_ns: Nanos,
    /// The part of `work_ns` during which the thread was blocked in something that Baton does not
    /// see as a wait: input, output, sleep, a system call of the program's own, or Baton's
    /// recorder.
    pub blocked_ns: Nanos,
    /// The part of `work_ns` off the CPU for a reason that the trace does not say.
    pub off_ns: Nanos,
    /// What the trace says about the thread's time off the CPU: `all` (it has context switches),
    /// `how-much` (it has CPU times), or `nothing`.
    pub off_cpu_known: String,
    /// The thread's longest wait for a lock.
    pub longest_wait_ns: Nanos,
    /// The CPUs that the thread could run on, as the kernel writes such lists (`0-3,8`). If the set
    /// changed, the one that was in force longest. `None` if it was not recorded.
    pub cpus: Option<String>,
    /// The number of changes of CPU that were seen.
    pub migrations: u64,
    /// Time that other threads waited while this thread held the lock, weighted by the number of
    /// waiters.
    pub blame_ns: Nanos,
    /// Time off the CPU, if it was recorded.
    pub off_cpu_ns: Nanos,
}

/// A place in the program that takes locks of one class, or waits for something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// The innermost function of the program's own code, with its source location.
    pub name: String,
    /// Where the innermost function only passes a lock on: the callers that waited most, the
    /// outermost first, `Table::get -> Cache::lookup`. Empty otherwise.
    #[serde(default)]
    pub through: String,
    /// The call stack, innermost function first.
    pub frames: Vec<Frame>,
    /// The return address, in hexadecimal.
    pub address: String,
    /// The process of the site.
    pub pid: u32,
    /// The class of the locks taken here; `None` if the site waits for something else.
    pub class: Option<u32>,
    /// The object other than a lock that the site waits for.
    pub waitable: Option<u32>,
    /// Acquisitions at this site.
    pub acquisitions: u64,
    /// Acquisitions at this site that had to wait; for an object other than a lock, the waits.
    pub contended: u64,
    /// Acquisitions by a loop that takes the lock again and again until another thread changes a
    /// value: a wait in disguise.
    pub polls: u64,
    /// Time waited at this site.
    pub wait_ns: Nanos,
    /// The part of `wait_ns` during which no thread held the lock.
    pub overhead_ns: Nanos,
    /// Time for which a lock taken at this site was held.
    pub hold_ns: Nanos,
    /// Time that other threads waited while a lock taken at this site was held, weighted by the
    /// number of waiters.
    pub blame_ns: Nanos,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waitable {
    /// The name, as for a lock.
    pub name: String,
    /// `condition`, `barrier`, `semaphore`, `queue`, `futex` (of the program's own, or of its language's
    /// library), or `libc-lock` (a lock inside of the C library).
    pub kind: String,
    /// The process of the object.
    pub pid: u32,
    /// The address, in hexadecimal.
    pub address: String,
    /// The number of waits.
    pub waits: u64,
    /// The number of signals, of posts, or of wakes.
    pub signals: u64,
    /// The number of broadcasts.
    pub broadcasts: u64,
    /// The number of waits that ended by a deadline, a cancellation or an error.
    pub timeouts: u64,
    /// The number of threads woken by broadcasts, or by wakes of a futex, that woke several.
    #[serde(default)]
    pub woken: u64,
    /// The number of these threads that found nothing to do and waited again.
    #[serde(default)]
    pub futile: u64,
    /// The place whose broadcasts or wakes woke most threads for nothing.
    #[serde(default)]
    pub broadcast_at: Option<String>,
    /// For a futex or a lock of the C library: where most of the waits begin, as `lock (heap.c:10),
    /// called from my_malloc (heap.c:12)`.
    #[serde(default)]
    pub at: Option<String>,
    /// For an OpenMP barrier: the construct that it belongs to (`barrier`, `region`, `loop`,
    /// `sections` or `single`).
    #[serde(default)]
    pub construct: Option<String>,
    /// For a barrier: the number of rounds with two threads or more.
    #[serde(default)]
    pub rounds: u64,
    /// For a barrier: which thread arrived last in how many rounds, the most frequent first.
    #[serde(default)]
    pub last: Vec<CameLast>,
    /// The durations of the waits.
    pub wait_ns: Distribution,
    /// The times from the event that ended a wait (signal, last arrival, post) until the waiter
    /// ran.
    pub wake_ns: Distribution,
}

/// How long one thread waited for another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaiterEdge {
    /// The thread that waited.
    pub waiter: u32,
    /// The thread that held the lock in the meantime.
    pub holder: u32,
    /// The lock.
    pub lock: u32,
    /// The sum of the waits.
    pub wait_ns: Nanos,
}

/// A region of interest, which the program marked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    pub name: String,
    /// The process that marked the region. Regions of one name in two processes are two regions.
    #[serde(default)]
    pub pid: u32,
    /// The number of stretches of time that the region consists of.
    pub times: u64,
    /// The time in the region. Time that several threads spend in it together counts once.
    pub total_ns: Nanos,
    /// Time spent waiting for locks within the region.
    pub wait_ns: Nanos,
    /// The part of `wait_ns` during which no thread held the lock.
    pub overhead_ns: Nanos,
}

/// A second thread that runs for less than this share of the time cannot slow the first thread
/// much.
const RUNS_BESIDE: f64 = 0.1;

impl Report {
    /// Whether two threads or more run for a tenth of the time or longer. Then one may spin until
    /// another one has changed a variable, which no event shows.
    pub fn several_threads_run(&self) -> bool {
        let runs = |thread: &&Thread| ratio(thread.running_ns.0, self.totals.span_ns.0) >= RUNS_BESIDE;
        self.threads.iter().filter(runs).nth(1).is_some()
    }

    /// A tool's command that runs the recorded program; `None` if it is not known how the program was
    /// started.
    pub(crate) fn with(&self, tool: &str) -> Option<String> {
        let command = crate::format::shell(&self.run.command);
        (!command.is_empty()).then(|| format!("{tool} {command}"))
    }
}

impl Site {
    /// Whether the site is a loop that polls under its lock, as most of its acquisitions are polls.
    pub fn is_poll(&self) -> bool {
        self.polls > self.acquisitions / 2
    }
}

impl Lock {
    /// The share of acquisitions that had to wait, 0 to 1.
    pub fn contended_share(&self) -> f64 {
        self.usage.contended_share()
    }
}
