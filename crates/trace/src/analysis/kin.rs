//! The edges between a process and the processes that it forked: a child begins where a thread of its
//! parent forked it, and a parent that waits for a child's end (`waitpid`) goes on when it has ended.

use super::causes::{Cause, WaitKind};
use crate::clock::Ticks;
use crate::event::{Event, Outcome, ThreadIndex, What};
use crate::process::ProcessIndex;
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};

/// Where a thread last acted: when, and the number of the event.
type Act = (Ticks, u64);

/// A wait of one process for another, with the event that ended it.
pub(super) struct KinWait {
    pub(super) kind: WaitKind,
    pub(super) begin: Ticks,
    pub(super) cause: Cause<()>,
}

/// State of a walk over the events of a trace with several processes. The default follows none.
#[derive(Default)]
pub(super) struct Kin {
    /// For each process that another one of the trace forked, that other one.
    parents: BTreeMap<ProcessIndex, ProcessIndex>,
    handles: BTreeMap<(ProcessIndex, u64), ThreadIndex>,
    latest: Vec<Option<Act>>,
    /// When the last event of each process comes.
    ends: BTreeMap<ProcessIndex, Ticks>,
    /// For each process, the thread that acted last.
    last: BTreeMap<ProcessIndex, ThreadIndex>,
    /// Length of the call that the thread's event before was about.
    blocked: BTreeMap<ThreadIndex, u64>,
    waited_for: BTreeSet<ProcessIndex>,
}

impl Kin {
    pub(super) fn of(trace: &Trace) -> Kin {
        let processes = || (0..).map(ProcessIndex).zip(&trace.processes);
        let parent = |pid: u32| processes().find(|(_, process)| process.pid == pid).map(|(index, _)| index);
        let forked = processes().filter_map(|(index, process)| Some((index, parent(process.parent)?)));
        let mut ends: BTreeMap<ProcessIndex, Ticks> = BTreeMap::new();
        for thread in &trace.threads {
            let end = ends.entry(thread.process).or_default();
            *end = thread.last.max(*end);
        }
        Kin {
            ends,
            parents: forked.filter(|(child, parent)| child != parent).collect(),
            handles: BTreeMap::new(),
            latest: vec![None; trace.threads.len()],
            last: BTreeMap::new(),
            blocked: BTreeMap::new(),
            waited_for: BTreeSet::new(),
        }
    }

    /// Processes the next event. Returns the wait for another process that it ends, if any.
    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex, number: u64) -> Option<KinWait> {
        if self.parents.is_empty() {
            return None;
        }
        let ended = match event.what {
            What::ThreadStart { handle } => {
                self.handles.insert((process, handle), event.thread);
                self.forked(event, process, handle)
            }
            What::Blocked { ticks, .. } => {
                self.blocked.insert(event.thread, ticks);
                None
            }
            What::Called { call, .. } => {
                let length = call.length(self.blocked.remove(&event.thread));
                let begin = Ticks(event.time.0.saturating_sub(length.0));
                let reaps = call.name() == "waitpid" && call.outcome == Outcome::Done;
                reaps.then(|| self.reaped((begin, event.time), process)).flatten()
            }
            _ => None,
        };
        if event.what.is_act() {
            self.latest[event.thread.index()] = Some((event.time, number));
            self.last.insert(process, event.thread);
        }
        ended
    }

    /// The beginning of a child's first thread. It has the handle of the thread that forked it, which
    /// ran until then.
    fn forked(&self, event: &Event, process: ProcessIndex, handle: u64) -> Option<KinWait> {
        let parent = self.parents.get(&process).filter(|_| !self.last.contains_key(&process))?;
        let forker = self.handles.get(&(*parent, handle)).or(self.last.get(parent))?;
        let cause = Cause { time: event.time, ..self.act_of(*forker)? };
        Some(KinWait { kind: WaitKind::Start, begin: event.time, cause })
    }

    /// A wait for a child has ended, which lasted from `begin` to `end`: with the child that ended last in
    /// the wait.
    fn reaped(&mut self, (begin, end): (Ticks, Ticks), process: ProcessIndex) -> Option<KinWait> {
        let children = self.parents.iter().filter(|(_, parent)| **parent == process).map(|(child, _)| *child);
        let waiting = children.filter(|child| !self.waited_for.contains(child));
        let gone = waiting.filter(|child| self.ends.get(child).is_some_and(|last| *last <= end));
        let ended = gone.filter_map(|child| Some((child, self.act_of(*self.last.get(&child)?)?)));
        let (child, cause) = ended.filter(|(_, cause)| cause.time >= begin).max_by_key(|(_, cause)| cause.time)?;
        self.waited_for.insert(child);
        Some(KinWait { kind: WaitKind::Join, begin, cause })
    }

    fn act_of(&self, thread: ThreadIndex) -> Option<Cause<()>> {
        let (time, number) = self.latest[thread.index()]?;
        Some(Cause { thread, time, number, carried: () })
    }
}
