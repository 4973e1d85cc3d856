//! What requests are, and the calls that make them.

use crate::analysis::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Outcome, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// Where a part of a request's time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A thread worked at it on a CPU.
    Cpu,
    /// Its thread was ready, and had no CPU.
    Ready,
    /// Its thread waited for this lock.
    Lock(ObjectId),
    /// Its thread waited for other threads: a condition, a barrier, a semaphore, an end.
    Threads,
    /// Its thread was blocked outside of what the trace shows: input, output, sleep.
    Outside,
    /// It was ready to be read, and its thread was busy with other requests.
    Behind,
    /// The thread that read it passed it along, and it waited for the thread that answered.
    Passed,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The thread that read it.
    pub thread: ThreadIndex,
    /// The thread that answered it.
    pub answered_by: ThreadIndex,
    /// The connection, by the number of its first request in [`Requests::connections`].
    pub connection: u32,
    /// When it began.
    pub begin: Ticks,
    /// When the read that began it returned.
    pub read: Ticks,
    /// When its answer was written.
    pub end: Ticks,
    /// Where its time went.
    pub parts: Vec<(Part, Ticks)>,
}

impl Request {
    /// How long it took.
    pub fn latency(&self) -> Ticks {
        self.end.since(self.begin)
    }
}

/// A connection, or a thread between whose points requests lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The process that serves it.
    pub process: ProcessIndex,
    /// The file; `None` for requests between named points.
    pub file: Option<u16>,
    /// The indices of its requests, in order.
    pub requests: Vec<u32>,
}

/// The requests of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// All that ended, in the order of their ends.
    pub all: Vec<Request>,
    /// Where they came from.
    pub connections: Vec<Connection>,
    /// Requests that had not ended when the trace did.
    pub unfinished: u64,
    /// Beginnings at a named point while the thread's last request had not ended: that one is left
    /// out.
    pub begun_twice: u64,
    /// Passages of a point that was named alone, by thread.
    pub passages: BTreeMap<ThreadIndex, Vec<Ticks>>,
    /// The names of the calls that most requests began and ended with.
    pub calls: Option<(&'static str, &'static str)>,
}

impl Requests {
    /// From the beginning of the first request to the end of the last; with a point that was named
    /// alone, from its first passage to its last.
    pub fn span(&self) -> (Ticks, Ticks) {
        let times = self.passages.values().flatten().copied();
        let begin = self.all.iter().map(|request| request.begin).chain(times.clone()).min();
        let end = self.all.iter().map(|request| request.end).chain(times).max();
        (begin.unwrap_or_default(), end.unwrap_or_default())
    }
}

/// Whether a call reads a stream, and whether it writes one, if it did either.
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
    /// The stream has ended.
    End,
}

/// The site of an event, if it has one.
pub(super) fn site(what: &What) -> SiteId {
    what.site().unwrap_or(SiteId::UNKNOWN)
}

/// The place, in a sorted list of `count` values, of the first value that at least `share` (0 to 1)
/// of all values do not exceed; 0 if the list is empty.
pub fn nearest_rank(share: f64, count: usize) -> usize {
    ((share * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1
}
