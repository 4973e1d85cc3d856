//! What requests consist of, and which system calls begin and end them.

use crate::analysis::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Outcome, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// Where a part of a request's time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A thread worked at the request on a CPU.
    Cpu,
    /// The request's thread was ready, and had no CPU.
    Ready,
    /// The request's thread waited for this lock.
    Lock(ObjectId),
    /// The request's thread waited in this futex of the program's own, a lock or an event, or for
    /// this lock inside of the C library.
    OwnLock(ObjectId),
    /// The request's thread waited for other threads: a condition, a barrier, a semaphore, an end.
    Threads,
    /// The request's thread was blocked by something that the trace does not show: input, output,
    /// sleep.
    Outside,
    /// The request was ready to be read, and its thread was busy with other requests.
    Behind,
    /// The thread that read the request passed it along, and the request waited for the thread that
    /// answered it.
    Passed,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The thread that read the request.
    pub thread: ThreadIndex,
    /// The thread that answered the request.
    pub answered_by: ThreadIndex,
    /// Index of the request's connection in [`Requests::connections`].
    pub connection: u32,
    /// When the request began.
    pub begin: Ticks,
    /// When the read that began the request returned.
    pub read: Ticks,
    /// When the request's answer was written.
    pub end: Ticks,
    /// The parts of the request's time.
    pub parts: Vec<(Part, Ticks)>,
}

impl Request {
    /// Returns how long the request took.
    pub fn latency(&self) -> Ticks {
        self.end.since(self.begin)
    }
}

/// Where requests come from: a connection, or a thread that passes the two named points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The process that serves the connection.
    pub process: ProcessIndex,
    /// Number of the connection's file; `None` for requests between named points.
    pub file: Option<u16>,
    /// Indices of the connection's requests in [`Requests::all`], in order.
    pub requests: Vec<u32>,
}

/// The requests of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// All requests that ended, in the order of their ends.
    pub all: Vec<Request>,
    /// The connections that the requests came from.
    pub connections: Vec<Connection>,
    /// Number of requests that had not ended when the trace or their connection did.
    pub unfinished: u64,
    /// How often a thread passed the begin point again before its request had ended; the earlier
    /// request is left out.
    pub begun_twice: u64,
    /// When each thread passed the point, if the user named a single point.
    pub passages: BTreeMap<ThreadIndex, Vec<Ticks>>,
    /// The pair of system calls that most requests began and ended with.
    pub calls: Option<(&'static str, &'static str)>,
}

impl Requests {
    /// Returns the time from the beginning of the first request to the end of the last. If the user
    /// named a single point, returns its first and its last passage.
    pub fn span(&self) -> (Ticks, Ticks) {
        let times = self.passages.values().flatten().copied();
        let begin = self.all.iter().map(|request| request.begin).chain(times.clone()).min();
        let end = self.all.iter().map(|request| request.end).chain(times).max();
        (begin.unwrap_or_default(), end.unwrap_or_default())
    }
}

/// Returns what a system call did to a connection; `None` if the call failed or is of no such kind.
pub(super) fn direction(name: &str, outcome: Outcome) -> Option<Direction> {
    match name {
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" => match outcome {
            Outcome::Done => Some(Direction::Read),
            Outcome::Nothing => Some(Direction::End),
            Outcome::WouldWait | Outcome::Failed => None,
        },
        "write" | "writev" | "send" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" => {
            (outcome == Outcome::Done).then_some(Direction::Write)
        }
        "accept" | "accept4" => (outcome == Outcome::Done).then_some(Direction::Accept),
        _ => None,
    }
}

/// What a call does to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Accept,
    Read,
    Write,
    /// The call found the end of the stream.
    End,
}

/// Returns the call site of an event; [`SiteId::UNKNOWN`] if it has none.
pub(super) fn site(what: &What) -> SiteId {
    what.site().unwrap_or(SiteId::UNKNOWN)
}

/// Returns the index, in a sorted list of `count` values, of the first value that at least `share`
/// (0 to 1) of all values do not exceed; 0 if the list is empty.
pub fn nearest_rank(share: f64, count: usize) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1
}
