//! The walk over a trace's events that collects the lives of its threads.

use super::super::lock_lives::Lives;
use super::super::serves::{is_told, moves_items, serves, tells};
use super::life::{Join, Life};
use super::told::LoopPoint;
use crate::clock::Ticks;
use crate::event::{Event, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::BTreeMap;

/// The threads' lives, as far as the walk has come.
pub(super) struct Walk {
    pub(super) threads: Vec<Life>,
    alive: BTreeMap<(ProcessIndex, u64), ThreadIndex>,
    /// Calls that have created a thread that has not yet started.
    created: BTreeMap<(ProcessIndex, u64), SiteId>,
    locks: Lives,
    /// The last signal, wake or post at each object.
    tells: BTreeMap<(ProcessIndex, u64), (ThreadIndex, Ticks)>,
}

impl Walk {
    pub(super) fn of(trace: &Trace) -> Walk {
        Walk {
            threads: trace.threads.iter().map(|_| Life::default()).collect(),
            alive: BTreeMap::new(),
            created: BTreeMap::new(),
            locks: Lives::default(),
            tells: BTreeMap::new(),
        }
    }

    /// A call has created the thread of this handle, which may have started already.
    fn created(&mut self, by: ThreadIndex, key: (ProcessIndex, u64)) {
        let Some(site) = self.threads.get_mut(by.index()).and_then(|life| life.creating.take()) else { return };
        let started = self.alive.get(&key).and_then(|thread| self.threads.get_mut(thread.index()));
        match started.filter(|life| life.created_at.is_none()) {
            Some(life) => life.created_at = Some(site),
            None => drop(self.created.insert(key, site)),
        }
    }

    fn started(&mut self, thread: ThreadIndex, key: (ProcessIndex, u64)) {
        self.alive.insert(key, thread);
        if let Some(life) = self.threads.get_mut(thread.index()) {
            life.created_at = self.created.remove(&key);
        }
    }

    pub(super) fn life(&self, thread: ThreadIndex) -> &Life {
        &self.threads[thread.index()]
    }

    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex) {
        let now = event.time;
        match event.what {
            What::ThreadStart { handle } => self.started(event.thread, (process, handle)),
            What::Created { handle, error: 0 } => self.created(event.thread, (process, handle)),
            _ => {}
        }
        self.locks.follow(&event.what, process);
        if let Some(object) = tells(&event.what) {
            self.tells.insert((process, object), (event.thread, now));
        }
        let child = match event.what {
            What::JoinEnd { handle, error: 0 } => self.alive.remove(&(process, handle)),
            _ => None,
        };
        let child_ended = child.and_then(|child| self.threads.get(child.index())?.ended);
        let Some(life) = self.threads.get_mut(event.thread.index()) else { return };
        life.began.get_or_insert(now);
        life.serves |= serves(&event.what);
        if let Some(object) = is_told(&event.what) {
            life.told = self.tells.get(&(process, object)).copied();
        }
        life.moves_items |= moves_items(&event.what);
        if let Some(place) = life.goes_to(&event.what) {
            life.told = life.told.filter(|_| !matches!(place, LoopPoint::TimedOut(_)));
            life.came_to(place, now, self.locks.released(&event.what, process));
        }
        let joining = life.joining.as_ref().map(|(begin, _)| *begin);
        let over = matches!((child_ended, joining), (Some(ended), Some(begin)) if ended <= begin);
        life.acted(&event.what, now, over);
        match event.what {
            What::Create { site } => life.creating = Some(site).filter(|site| *site != SiteId::UNKNOWN),
            What::Request { site, .. } if site != SiteId::UNKNOWN => drop(life.waited_at.insert(site)),
            What::CpuTime { ns } => life.cpu_ns = Some(ns),
            What::ThreadEnd { .. } => life.ended = Some(now),
            What::JoinBegin { .. } => life.joining = Some((now, life.acts.clone())),
            What::JoinEnd { .. } => {
                let begun = life.joining.take();
                life.joins.extend(begun.zip(child).map(|((begin, acts), child)| Join { child, begin, acts }));
            }
            _ => {}
        }
    }
}
