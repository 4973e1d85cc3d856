//! Requests: what a server is asked, how long each answer takes, and where that time goes.
//!
//! A request **begins** when data has come for the thread that reads it, and **ends** when the
//! answer's last write returns. It is found at connections (sockets that are first read, then
//! written), or named by two points. The thread that writes the answer may be another one than the
//! one that read the request: then it was passed along.
//!
//! | file | holds |
//! | --- | --- |
//! | [`points`] | points that the user named, looked up in the trace |
//! | [`clocks`] | what each thread's time went to |
//! | [`connections`] | requests at sockets |
//! | [`spans`] | requests between two named points |
//! | [`clients`] | think times, and clients that wait for all of their answers |

mod clients;
mod clocks;
mod connections;
mod points;
mod spans;

pub use clients::Clients;
pub use points::{Asked, Counted, Places};

use super::objects::{ObjectId, Objects};
use crate::clock::Ticks;
use crate::event::{Event, Outcome, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use clocks::Clocks;
use connections::Connections;
use spans::Spans;
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
    /// Finds the requests, or follows the points that were named.
    pub fn of(trace: &Trace, asked: &Asked) -> Requests {
        let mut walk = Walk::new(trace, asked);
        for event in trace.complete_events() {
            walk.step(&event);
        }
        walk.finish()
    }

    /// From the beginning of the first request to the end of the last; with a point that was named
    /// alone, from its first passage to its last.
    pub fn span(&self) -> (Ticks, Ticks) {
        let times = self.passages.values().flatten().copied();
        let begin = self.all.iter().map(|request| request.begin).chain(times.clone()).min();
        let end = self.all.iter().map(|request| request.end).chain(times).max();
        (begin.unwrap_or_default(), end.unwrap_or_default())
    }
}

struct Walk<'a> {
    trace: &'a Trace,
    objects: Objects<'a>,
    clocks: Clocks,
    how: How<'a>,
}

/// The way to know a request.
enum How<'a> {
    Found(Connections),
    Named(Spans<'a>),
}

impl<'a> Walk<'a> {
    fn new(trace: &'a Trace, asked: &'a Asked) -> Walk<'a> {
        let how = match asked {
            Asked::Find => How::Found(Connections::default()),
            Asked::Point(_) | Asked::Request(..) => How::Named(Spans::new(asked)),
        };
        Walk { trace, objects: Objects::new(trace), clocks: Clocks::new(trace.threads.len()), how }
    }

    fn step(&mut self, event: &Event) {
        let process = self.trace.process_of(event.thread);
        let object = self.objects.follow(event, process);
        self.clocks.step(event, object);
        match &mut self.how {
            How::Found(connections) => {
                if let What::Called { call, .. } = event.what {
                    connections.called(event, process, call, &mut self.clocks);
                }
            }
            How::Named(spans) => spans.step(self.trace, event, (process, object), &mut self.clocks),
        }
    }

    fn finish(self) -> Requests {
        let mut requests = match self.how {
            How::Found(connections) => connections.finish(),
            How::Named(spans) => spans.finish(),
        };
        number(&mut requests);
        requests
    }
}

/// Sorts the requests by their ends, and gives each connection the numbers of its own.
fn number(requests: &mut Requests) {
    requests.all.sort_by_key(|request| (request.end, request.begin, request.connection));
    requests.connections.iter_mut().for_each(|connection| connection.requests.clear());
    for (index, request) in requests.all.iter().enumerate() {
        if let Some(connection) = requests.connections.get_mut(request.connection as usize) {
            connection.requests.push(index as u32);
        }
    }
}

/// Whether a call reads a stream, and whether it writes one, if it did either.
fn direction(name: &str, outcome: Outcome) -> Option<Direction> {
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
enum Direction {
    Accept,
    Read,
    Write,
    /// The stream has ended.
    End,
}

/// The site of an event, if it has one.
fn site(what: &What) -> SiteId {
    what.site().unwrap_or(SiteId::UNKNOWN)
}
