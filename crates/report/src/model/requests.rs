//! The requests that a server answered, and passages of a progress point.

use baton_units::Nanos;
use serde::{Deserialize, Serialize};

/// The key of a trace's description under which the launcher or a command stores the point that the
/// user named.
pub const PROGRESS: &str = "progress";

/// Requests: from the data that came to the answer that was written, or between two named points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// The call or point that begins a request, and the one that ends it: `read..write`.
    pub points: String,
    /// Whether the user named the points.
    pub named: bool,
    /// The number of requests that ended.
    pub count: u64,
    /// Requests that had not ended when the recording or their connection did.
    pub unfinished: u64,
    /// How often a request began while the thread's earlier request had not ended. The earlier
    /// request is then left out.
    pub begun_twice: u64,
    /// Requests that one thread read and another thread answered.
    pub passed_along: u64,
    /// From the beginning of the first request to the end of the last.
    pub span_ns: Nanos,
    /// The time that the program's threads ran on CPUs in `span_ns`, added over threads.
    pub running_ns: Nanos,
    /// Requests that ended per second of `span_ns`; `None` if the span is zero.
    pub per_second: Option<f64>,
    /// The latencies of the requests.
    pub latency_ns: Latency,
    /// The connections that had a request, or the threads between whose points requests lie.
    pub connections: u32,
    /// Whether each client request comes only when all connections have been answered: one client
    /// that waits for all of its answers.
    pub together: bool,
    /// The median time from an answer to the connection's next request. With `together`, the time
    /// counts from the last answer to any connection.
    pub think_p50_ns: Nanos,
    /// The number of requests under way, on average.
    pub under_way: f64,
    /// What the latency consists of, the largest part first.
    pub parts: Vec<RequestPart>,
    /// The slowest requests.
    pub slowest: Vec<SlowRequest>,
    /// Among the locks that requests wait for, futexes of the program's own included, the one that
    /// is in use longest; `None` if requests hardly wait for locks.
    #[serde(default)]
    pub busiest: Option<BusiestLock>,
    /// The threads that read or answer requests.
    #[serde(default)]
    pub serving: Option<Serving>,
}

/// A lock that requests wait for: one of the program, a futex of the program's own that serves as a
/// lock, or a lock inside of the C library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusiestLock {
    /// The lock; `None` for a futex, or a lock inside of the C library.
    pub lock: Option<u32>,
    /// The futex, or the lock inside of the C library.
    pub waitable: Option<u32>,
    /// The time, from the first request to the last, in which the lock is held exclusively, or a
    /// thread waits for it.
    pub in_use_ns: Nanos,
    /// Whether requests wait for the lock long enough for it to limit them.
    pub limits: bool,
}

/// The threads that read or answer requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// The number of these threads.
    pub threads: u32,
    /// The number of these threads that run on a CPU for nine tenths of the time from the first request
    /// to the last, or longer, and have a request in hand for half of it. Threads without recorded
    /// context switches are not counted.
    pub busy: u32,
    /// For how much of that time the busy threads run, on average, 0 to 1.
    pub busy_share: f64,
    /// The share of the requests that a busy thread reads or answers, 0 to 1.
    pub of_busy: f64,
}

/// How long requests took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub mean_ns: Nanos,
    pub p50_ns: Nanos,
    pub p99_ns: Nanos,
    pub p999_ns: Nanos,
    pub max_ns: Nanos,
}

/// A part of the latency of all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestPart {
    /// The kind of the part: `cpu`, `ready`, `lock`, `futex`, `libc-lock`, `threads`, `outside`,
    /// `behind` or `passed`.
    pub kind: String,
    /// The part as a phrase.
    pub name: String,
    /// The class of the locks that requests waited for.
    pub class: Option<u32>,
    /// The futex, or the lock inside of the C library, that requests waited at.
    #[serde(default)]
    pub waitable: Option<u32>,
    /// The time that a request spends in this part, on average over all requests.
    pub mean_ns: Nanos,
    /// The share of the latency of all requests, 0 to 1.
    pub share: f64,
    /// The share of the latency of the slowest hundredth of the requests, 0 to 1.
    pub share_of_slowest: f64,
}

/// One of the slowest requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowRequest {
    /// The thread that read the request.
    pub thread: u32,
    /// The thread that answered the request.
    pub answered_by: u32,
    /// The time at which the request began, from the beginning of the trace.
    pub begin_ns: Nanos,
    pub latency_ns: Nanos,
    /// The parts of the request, the longest first.
    pub parts: Vec<SlowPart>,
}

/// A part of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowPart {
    /// The part as a phrase.
    pub name: String,
    pub total_ns: Nanos,
}

/// Passages of one point that the user named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The point, or the request, as the user named it.
    pub point: String,
    /// The number of passages.
    pub count: u64,
    /// The threads that passed the point.
    pub threads: u32,
    /// Passages per second from the first to the last; `None` if there is no time between them.
    pub per_second: Option<f64>,
    /// Why there is no passage, or no figure.
    pub remark: Option<String>,
}
