//! The critical path: the chain of work and waiting from the program's beginning to its end that
//! determines the program's time.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPath {
    pub length_ns: Nanos,
    /// The path's time, split by activity, the greatest part first.
    pub parts: Vec<PathPart>,
    /// Time within critical sections of any lock, by activity; nested sections count once.
    #[serde(default)]
    pub sections: Vec<SectionTime>,
    /// Sections inside of other locks' sections, the greatest part first, at most 20.
    #[serde(default)]
    pub nested: Vec<NestedPart>,
    /// The steps in the order of time. A path with more than 500 steps is cut into 500 slots of
    /// equal time, and each slot has the step that takes most of it; neighbouring slots with the
    /// same kind of step are one step.
    pub steps: Vec<PathStep>,
    /// The number of steps before any were merged.
    pub steps_total: u64,
    /// The part of the path in which its thread was ready to run and had no CPU, inside of critical
    /// sections or not.
    #[serde(default)]
    pub ready_ns: Nanos,
    /// The part of `ready_ns` in which the program did not use all CPUs that it may use: a CPU was
    /// idle, or ran other programs.
    #[serde(default)]
    pub ready_left_ns: Nanos,
    /// The part of `ready_ns` in which only CPUs that the thread may not use ran none of the program's
    /// threads.
    #[serde(default)]
    pub ready_bound_ns: Nanos,
    /// The thread with the greatest part of `ready_bound_ns`; `null` if there is none.
    #[serde(default)]
    pub bound_thread: Option<u32>,
    /// The threads along which the path runs on a CPU, inside of critical sections or not, the one with the
    /// most time first, at most 20.
    #[serde(default)]
    pub threads: Vec<PathThread>,
    /// Places where the path's thread was blocked in a call while other threads were at work, or waited
    /// in a loop, so that what it waited for is not known. Their time is among `blocked`.
    #[serde(default)]
    pub beside: Vec<Beside>,
}

/// How long the path runs along one thread on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathThread {
    pub thread: u32,
    pub running_ns: Nanos,
}

/// A place where the path's thread was blocked while other threads were at work, or waited in a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The call: the name of the C function; `pause` for a loop that spins with that instruction, `runtime` for
    /// one in a function of a runtime that is known to spin, `loop` for another one that spins.
    pub call: String,
    /// Whether the thread made the call again and again, with hardly anything in between: a loop that
    /// yields the CPU, naps, or spins.
    #[serde(default)]
    pub again: bool,
    /// Number of instructions of a turn of a `loop`; `null` for calls.
    #[serde(default)]
    pub instructions: Option<u32>,
    /// The runtime whose function spins; `null` for other calls and loops.
    #[serde(default)]
    pub runtime: Option<String>,
    /// What a thread waits for in the runtime's function, as a phrase.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// The place in the code, if it is known.
    pub at: Option<String>,
    /// The path's time there.
    pub total_ns: Nanos,
}

/// A share of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathPart {
    /// The activity: `running` (on a CPU, outside of critical sections), `ready` (without a CPU),
    /// `blocked` (by something that Baton does not see), `call` (blocked in a call for input, output
    /// or sleep), `recorder` (blocked in Baton's recorder), `off-cpu` (for an unknown reason); within
    /// a critical section `critical-section`, `critical-section-ready` and so on; `futex-awaited`
    /// (on a CPU between being woken at a futex and waking the next thread there, while others wait
    /// there), `semaphore-awaited`, `condition-awaited` and `libc-lock-awaited`, all also with `-call`,
    /// `-blocked` or `-off-cpu` for a thread that is off its CPU there; `libc-lock-code` (on a CPU inside of a function of the C
    /// library whose lock is contended, according to samples); `lock-hand-off`, `lock-wait`, or the
    /// like for an object that is not a lock; `futile-wake-ups` (the cost of threads that a broadcast
    /// wakes and that find nothing to do) and `polling` (the cost of threads that take a lock until a
    /// value changes).
    pub kind: String,
    /// The lock, if the activity concerns one.
    pub lock: Option<u32>,
    /// The object other than a lock, if the activity concerns one.
    pub waitable: Option<u32>,
    /// The sum of the time.
    pub total_ns: Nanos,
    /// Within critical sections: the part in holds during which another thread waited for the lock.
    #[serde(default)]
    pub waited_for_ns: Nanos,
}

/// Time of the critical path within critical sections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SectionTime {
    /// The activity, as in [`PathPart::kind`].
    pub kind: String,
    /// The sum of the time.
    pub total_ns: Nanos,
    /// The part in holds during which another thread waited for the lock.
    pub waited_for_ns: Nanos,
}

/// Time of the critical path inside of a lock's sections that lie within another lock's sections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedPart {
    /// The lock that is held already.
    pub outer: u32,
    /// The lock that is taken then.
    pub inner: u32,
    /// The path's time inside of these inner sections.
    pub total_ns: Nanos,
}

/// A stretch of the critical path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathStep {
    /// The thread that the path runs through.
    pub thread: u32,
    /// The activity, as in [`PathPart::kind`].
    pub kind: String,
    /// The lock, if the activity concerns one.
    pub lock: Option<u32>,
    /// The object other than a lock, if the activity concerns one.
    pub waitable: Option<u32>,
    /// The beginning, from the beginning of the trace.
    pub start_ns: Nanos,
    pub end_ns: Nanos,
}

/// A thread that ended because another thread told it to, as a monitor or a flusher does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Background {
    pub thread: u32,
    /// The thread that joined this thread, or that ended the process.
    pub joiner: u32,
    /// The time at which the joiner began to wait for this thread's end, or for that of the first
    /// of several like threads that it joined in a row. If no thread joined it, the time at which the
    /// process ended.
    pub joined_ns: Nanos,
    pub ended_ns: Nanos,
    /// Whether a thread joined it; otherwise it lived until the process ended.
    #[serde(default = "yes")]
    pub joined: bool,
}

/// Reports of older versions have joined threads only.
fn yes() -> bool {
    true
}
