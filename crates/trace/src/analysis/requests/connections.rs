//! Requests at sockets: the first successful read after an answer begins a request, the last write
//! before the next read ends it. A socket that is written before it is read belongs to a client:
//! what comes back there is an answer, and no request.

use super::clocks::{Clocks, Moment, add};
use super::found::{Connection, Direction, Part, Request, Requests, direction};
use crate::clock::Ticks;
use crate::event::{Event, SystemCall, ThreadIndex};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// What one file number stands for, from an accept or the end of a stream to the next.
struct Life {
    /// Index of the socket in [`Requests::connections`], once a request has been answered there.
    number: Option<u32>,
    /// Whether the program is the server of this socket; `None` until the socket is accepted, read
    /// or written.
    serves: Option<bool>,
    open: Option<Open>,
}

/// A request that has begun.
struct Open {
    thread: ThreadIndex,
    begin: Ticks,
    read: Ticks,
    call: &'static str,
    behind: Ticks,
    at: Moment,
    /// The request as it is if its latest write ends it, and the call that wrote.
    ended: Option<(Request, &'static str)>,
}

#[derive(Default)]
pub(super) struct Connections {
    lives: BTreeMap<(ProcessIndex, u16), Life>,
    found: Requests,
    calls: BTreeMap<(&'static str, &'static str), u64>,
}

impl Connections {
    /// Follows a system call that has returned.
    pub(super) fn called(&mut self, event: &Event, process: ProcessIndex, call: SystemCall, clocks: &mut Clocks) {
        let (Some(file), Some(direction)) = (call.file, direction(call.name(), call.outcome)) else { return };
        let key = (process, file);
        if matches!(direction, Direction::Accept | Direction::End) {
            if let Some(life) = self.lives.remove(&key) {
                self.close(life, clocks);
            }
            let serves = (direction == Direction::Accept).then_some(true);
            self.lives.insert(key, Life { number: None, serves, open: None });
            return;
        }
        let life = self.lives.entry(key).or_insert(Life { number: None, serves: None, open: None });
        let serves = *life.serves.get_or_insert(direction == Direction::Read);
        match direction {
            Direction::Read if serves => self.read(event, key, call, clocks),
            Direction::Write if serves => self.write(event, key, call, clocks),
            _ => {}
        }
    }

    fn read(&mut self, event: &Event, key: (ProcessIndex, u16), call: SystemCall, clocks: &mut Clocks) {
        let Some(life) = self.lives.get_mut(&key) else { return };
        if life.open.as_ref().is_some_and(|open| open.ended.is_none()) {
            return; // A request in several pieces.
        }
        let before = life.open.take();
        let answered = before.as_ref().map(|open| open.ended.as_ref().map_or(open.read, |(request, _)| request.end));
        self.count(before, clocks);
        let came = clocks.came(event.thread, event.time, u64::from(call.ticks));
        // If data was ready when the thread last asked for readiness, the request has waited since
        // then; but not if the answer before came later than that.
        let last = answered.unwrap_or_default();
        let polled = clocks.polled(event.thread).filter(|polled| *polled > last && *polled < came);
        let at = clocks.now(event.thread);
        clocks.open(event.thread, true);
        let open = Open {
            thread: event.thread,
            begin: polled.unwrap_or(came),
            read: event.time,
            call: call.name(),
            behind: polled.map_or(Ticks(0), |polled| came.since(polled)),
            at,
            ended: None,
        };
        if let Some(life) = self.lives.get_mut(&key) {
            life.open = Some(open);
        }
    }

    fn write(&mut self, event: &Event, key: (ProcessIndex, u16), call: SystemCall, clocks: &mut Clocks) {
        let connections = &mut self.found.connections;
        let Some(life) = self.lives.get_mut(&key) else { return };
        let Some(open) = &mut life.open else { return };
        let number = *life.number.get_or_insert_with(|| {
            connections.push(Connection { process: key.0, file: Some(key.1), requests: Vec::new() });
            connections.len() as u32 - 1
        });
        open.ended = Some((open.request(event, number, clocks), call.name()));
        clocks.answered(event.thread);
    }

    /// Counts a request that is over, or a beginning without an answer.
    fn count(&mut self, open: Option<Open>, clocks: &mut Clocks) {
        let Some(open) = open else { return };
        clocks.open(open.thread, false);
        match open.ended {
            Some((request, wrote)) => {
                *self.calls.entry((open.call, wrote)).or_default() += 1;
                self.found.all.push(request);
            }
            None => self.found.unfinished += 1,
        }
    }

    fn close(&mut self, life: Life, clocks: &mut Clocks) {
        self.count(life.open, clocks);
    }

    pub(super) fn finish(mut self) -> Requests {
        for life in std::mem::take(&mut self.lives).into_values() {
            match life.open.map(|open| (open.ended, open.call)) {
                Some((Some((request, wrote)), read)) => {
                    *self.calls.entry((read, wrote)).or_default() += 1;
                    self.found.all.push(request);
                }
                Some((None, _)) => self.found.unfinished += 1,
                None => {}
            }
        }
        self.found.calls = self.calls.into_iter().max_by_key(|(_, times)| *times).map(|(calls, _)| calls);
        self.found
    }
}

impl Open {
    /// Returns the request as it is if the write of `event` ends it.
    fn request(&self, event: &Event, connection: u32, clocks: &Clocks) -> Request {
        let by = event.thread;
        let mut parts = if by == self.thread {
            let mut parts = clocks.since(by, &self.at);
            // Counts the time from the data's arrival to the return of the read as CPU time.
            add(&mut parts, Part::Cpu, self.read.since(self.begin).since(self.behind));
            add(&mut parts, Part::Behind, self.behind);
            parts
        } else {
            let turn = clocks.turn(by);
            let from = turn.time.max(self.begin);
            let mut parts = clocks.since(by, &turn);
            add(&mut parts, Part::Passed, from.since(self.begin));
            parts
        };
        cut(&mut parts, event.time.since(self.begin));
        Request {
            thread: self.thread,
            answered_by: by,
            connection,
            begin: self.begin,
            read: self.read,
            end: event.time,
            parts: parts.into_iter().collect(),
        }
    }
}

/// Shortens the parts of a turn that began before its request, so that they sum up to the request's
/// time: takes from the waits for other threads first.
fn cut(parts: &mut BTreeMap<Part, Ticks>, latency: Ticks) {
    let all: Ticks = parts.values().copied().sum();
    let mut more = all.since(latency);
    for part in [Part::Threads, Part::Outside, Part::Ready, Part::Cpu] {
        if let Some(length) = parts.get_mut(&part) {
            let less = more.min(*length);
            *length = length.since(less);
            more = more.since(less);
        }
    }
    parts.retain(|_, length| *length > Ticks(0));
}
