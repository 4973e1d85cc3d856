//! Finds what ends the waits of OpenMP's teams: the opening of a region, the creation of a task,
//! the end of the tasks that a thread waits for.
//!
//! A thread that waits at a barrier or for tasks runs tasks meanwhile. Its wait ends where a task
//! begins, with the task's creation as the cause, and begins again where the task ends. The end of
//! the last task that is run at a barrier is what the other threads there wait for.

use super::causes::{Begun, Carry, Cause, Causes, Ended, WaitKind};
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// The creator of a task: another task, or a thread outside of all tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parent {
    Task(ProcessIndex, u64),
    Thread(ThreadIndex),
}

/// A task that has not ended.
struct Task<T> {
    created: Cause<T>,
    parent: Parent,
}

/// A task that a thread runs, and the wait of the thread that is suspended meanwhile.
struct Running {
    task: u64,
    stopped: Option<(WaitKind, Begun)>,
}

/// The parallel regions that were opened, and the tasks.
pub(super) struct Teams<T> {
    forks: BTreeMap<(ProcessIndex, Address), Cause<T>>,
    tasks: BTreeMap<(ProcessIndex, u64), Task<T>>,
    /// For each creator of tasks, the latest end of a task that it created.
    ended: BTreeMap<Parent, Cause<T>>,
    running: BTreeMap<ThreadIndex, Vec<Running>>,
}

impl<T> Teams<T> {
    pub(super) fn new() -> Teams<T> {
        Teams { forks: BTreeMap::new(), tasks: BTreeMap::new(), ended: BTreeMap::new(), running: BTreeMap::new() }
    }

    /// Returns the creator of the tasks that a thread creates now.
    fn parent(&self, process: ProcessIndex, thread: ThreadIndex) -> Parent {
        match self.running.get(&thread).and_then(|running| running.last()) {
            Some(running) => Parent::Task(process, running.task),
            None => Parent::Thread(thread),
        }
    }
}

impl<T: Carry> Causes<T> {
    pub(super) fn team_step(
        &mut self,
        event: &Event,
        process: ProcessIndex,
        cause: impl FnOnce() -> Cause<T>,
    ) -> Option<Ended<T>> {
        let thread = event.thread;
        match event.what {
            What::Fork { region, .. } => {
                self.teams.forks.insert((process, region), cause());
            }
            What::IdleBegin { .. } => self.begin(event, WaitKind::Idle, None, SiteId::UNKNOWN),
            What::TeamBegin { region, idled: true, .. } => {
                let fork = self.teams.forks.get(&(process, region)).cloned();
                return self.end(event, WaitKind::Idle, None, false, fork);
            }
            What::TaskCreate { task, .. } => {
                let parent = self.teams.parent(process, thread);
                self.teams.tasks.insert((process, task), Task { created: cause(), parent });
            }
            What::TaskBegin { task } => return self.task_begins(event, process, task),
            What::TaskEnd { task } => {
                let cause = cause();
                self.task_ends(event, process, task, &cause);
            }
            What::TaskWaitBegin { site } => self.begin(event, WaitKind::Tasks, None, site),
            What::TaskWaitEnd => {
                let last = self.teams.ended.get(&self.teams.parent(process, thread)).cloned();
                return self.end(event, WaitKind::Tasks, None, false, last);
            }
            _ => {}
        }
        None
    }

    /// Records that a thread begins to run a task. Suspends the thread's latest wait for tasks or
    /// at a barrier, and returns that wait as ended.
    fn task_begins(&mut self, event: &Event, process: ProcessIndex, task: u64) -> Option<Ended<T>> {
        let begun = self.begun(event.thread);
        let since = |kind: WaitKind| begun[kind as usize].map_or(Ticks(0), |begun| begun.time);
        let innermost =
            if since(WaitKind::Tasks) >= since(WaitKind::Barrier) { WaitKind::Tasks } else { WaitKind::Barrier };
        let stopped = begun[innermost as usize].take().map(|begun| (innermost, begun));
        self.teams.running.entry(event.thread).or_default().push(Running { task, stopped });
        let created = self.teams.tasks.get(&(process, task)).map(|task| task.created.clone());
        let (kind, Begun { object, time, site }) = stopped?;
        Some(Ended { kind, object, begin: Some(time), site, gave_up: false, cause: created })
    }

    /// Records that a thread's task ends. The wait that the task suspended continues from here.
    fn task_ends(&mut self, event: &Event, process: ProcessIndex, task: u64, cause: &Cause<T>) {
        let running = self.teams.running.entry(event.thread).or_default();
        let stopped = match running.iter().rposition(|running| running.task == task) {
            Some(at) => running.drain(at..).next().and_then(|running| running.stopped),
            None => None,
        };
        self.teams.ended.remove(&Parent::Task(process, task));
        if let Some(task) = self.teams.tasks.remove(&(process, task)) {
            self.teams.ended.insert(task.parent, cause.clone());
        }
        let Some((kind, begun)) = stopped else { return };
        self.begun(event.thread)[kind as usize] = Some(Begun { time: event.time, ..begun });
        if let (WaitKind::Barrier, Some(object)) = (kind, begun.object) {
            let barrier = self.barrier(object);
            if let Some(last) = barrier.last.as_mut().filter(|_| barrier.arrived.contains(&event.thread)) {
                last.join(cause);
            }
        }
    }
}
