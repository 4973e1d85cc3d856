//! Requests between two named points of one thread, and passages of one named point.

use super::clocks::{Clocks, Moment};
use super::found::{Connection, Request, Requests, site};
use super::points::Asked;
use crate::analysis::objects::ObjectId;
use crate::clock::Ticks;
use crate::event::{Event, SiteId, ThreadIndex};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeMap;

pub(super) struct Spans<'a> {
    asked: &'a Asked,
    open: BTreeMap<ThreadIndex, (Ticks, Moment)>,
    waits_at: BTreeMap<ThreadIndex, SiteId>,
    numbers: BTreeMap<ThreadIndex, u32>,
    found: Requests,
}

impl<'a> Spans<'a> {
    pub(super) fn new(asked: &'a Asked) -> Spans<'a> {
        let (open, waits_at, numbers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Spans { asked, open, waits_at, numbers, found: Requests::default() }
    }

    pub(super) fn step(
        &mut self,
        trace: &Trace,
        event: &Event,
        at: (ProcessIndex, Option<ObjectId>),
        clocks: &mut Clocks,
    ) {
        if event.what.wait_edge() == Some(true) {
            self.waits_at.insert(event.thread, site(&event.what));
        }
        let waits_at = self.waits_at.get(&event.thread).copied().unwrap_or(SiteId::UNKNOWN);
        match self.asked {
            Asked::Find => {}
            Asked::Point(point) => {
                if point.passes(trace, event, at, waits_at) {
                    self.found.passages.entry(event.thread).or_default().push(event.time);
                }
            }
            Asked::Request(begin, end) => {
                // One event may end a request and begin the next one.
                if end.passes(trace, event, at, waits_at) {
                    self.end(event, at.0, clocks);
                }
                if begin.passes(trace, event, at, waits_at) {
                    self.begin(event, clocks);
                }
            }
        }
    }

    fn begin(&mut self, event: &Event, clocks: &mut Clocks) {
        let at = clocks.now(event.thread);
        match self.open.insert(event.thread, (event.time, at)) {
            Some(_) => self.found.begun_twice += 1,
            None => clocks.open(event.thread, true),
        }
    }

    fn end(&mut self, event: &Event, process: ProcessIndex, clocks: &mut Clocks) {
        let thread = event.thread;
        let Some((begin, at)) = self.open.remove(&thread) else { return };
        clocks.open(thread, false);
        let connections = &mut self.found.connections;
        let connection = *self.numbers.entry(thread).or_insert_with(|| {
            connections.push(Connection { process, file: None, requests: Vec::new() });
            connections.len() as u32 - 1
        });
        let parts = clocks.since(thread, &at).into_iter().collect();
        let (answered_by, end) = (thread, event.time);
        self.found.all.push(Request { thread, answered_by, connection, begin, read: begin, end, parts });
    }

    pub(super) fn finish(mut self) -> Requests {
        self.found.unfinished = self.open.len() as u64;
        self.found
    }
}
