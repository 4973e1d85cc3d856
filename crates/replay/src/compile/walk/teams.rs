//! OpenMP's teams and tasks.
//!
//! A region begins and ends with a meeting of its team: workers wait for their master, and the
//! master waits for the workers. The participants are known only at the end of the region. In the
//! replay, the thread that did a task in the recording does it again, after the task was created. A
//! thread that waits for tasks waits for those that other threads did.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, Construct, ProcessIndex, What};
use std::collections::{BTreeMap, BTreeSet};

/// A step that is known only later; [`Raw::Later`] stands in its place, with its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// No step takes the place.
    Nothing,
    Meet(u32),
    Post(u32),
}

/// The creator of a task: another task, or a thread outside of all tasks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parent {
    Task(ProcessIndex, u64),
    Thread(u32),
}

struct Task {
    creator: u32,
    parent: Parent,
    /// The number of the step that follows the task's creation, for a token.
    created: u32,
}

/// A task that a thread runs, and whether the thread goes back to a wait afterwards.
struct Doing {
    task: u64,
    waits: bool,
}

/// The teams and tasks of a program.
#[derive(Default)]
pub(crate) struct Teams {
    later: Vec<Later>,
    /// For each barrier, the number of the step at which its current region begins.
    regions: BTreeMap<(ProcessIndex, Address), u32>,
    tasks: BTreeMap<(ProcessIndex, u64), Task>,
    /// For each creator, its finished tasks that no wait has covered yet: the number of the step
    /// after the task's end, and the thread that ran the task.
    ended: BTreeMap<Parent, Vec<(u32, u32)>>,
    doing: BTreeMap<u32, Vec<Doing>>,
    /// The barrier at which each thread waits.
    at: BTreeMap<u32, (ProcessIndex, Address)>,
    /// Threads for which the meeting at their barrier has been written already, before a task, and
    /// which have not left the barrier yet.
    met: BTreeSet<u32>,
    /// The barriers that belong to OpenMP.
    barriers: BTreeSet<(ProcessIndex, Address)>,
    /// The number of tasks that another thread ran than the one that created them.
    moved: u64,
    all: u64,
}

impl Teams {
    fn new_step(&mut self) -> u32 {
        self.later.push(Later::Nothing);
        self.later.len() as u32 - 1
    }

    /// Returns the step with a number; `None` if there is no such step.
    pub(crate) fn step(&self, number: u32) -> Option<Op> {
        match *self.later.get(number as usize)? {
            Later::Nothing => None,
            Later::Meet(meeting) => Some(Op::Meet(meeting)),
            Later::Post(token) => Some(Op::TokenPost(token)),
        }
    }

    /// Returns the note about how tasks are replayed, if there were any tasks.
    pub(crate) fn note(&self) -> Option<String> {
        (self.all != 0).then(|| {
            format!(
                "{} tasks are done by the threads that did them when recorded, {} of them by another thread than the one that created them",
                self.all, self.moved
            )
        })
    }

    fn parent(&self, process: ProcessIndex, thread: u32) -> Parent {
        match self.doing.get(&thread).and_then(|doing| doing.last()) {
            Some(doing) => Parent::Task(process, doing.task),
            None => Parent::Thread(thread),
        }
    }
}

impl Walk<'_> {
    /// Records that a thread arrives at a barrier.
    pub(super) fn comes(&mut self, id: usize, place: (ProcessIndex, Address)) {
        self.teams.at.insert(id as u32, place);
        self.teams.met.remove(&(id as u32));
    }

    /// Records that the thread leaves its barrier. Returns whether the meeting has been written
    /// already, before a task.
    pub(super) fn has_met(&mut self, id: usize) -> bool {
        self.teams.at.remove(&(id as u32));
        self.teams.met.remove(&(id as u32))
    }

    /// Records that threads have met at a barrier. If the barrier ends a region, the same threads
    /// also met at the region's beginning.
    pub(super) fn met(&mut self, place: (ProcessIndex, Address), meeting: u32) {
        if self.teams.barriers.contains(&place) {
            self.objects.is_team(meeting);
        }
        if let Some(begin) = self.teams.regions.remove(&place)
            && self.objects.meetings[meeting as usize] > 1
        {
            self.teams.later[begin as usize] = Later::Meet(meeting);
        }
    }

    pub(super) fn construct(&mut self, process: ProcessIndex, barrier: Address, _: Construct) {
        self.teams.barriers.insert((process, barrier));
    }

    pub(super) fn team(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        self.replayability.events += 1;
        match what {
            What::Fork { region, .. } => {
                self.gap(id, t);
                let begin = self.teams.new_step();
                self.teams.regions.insert((process, region), begin);
            }
            What::IdleBegin { .. } => {
                self.gap(id, t);
                self.wait(id, t, Mode::Busy);
            }
            What::TeamBegin { region, .. } => {
                // The replay makes its own time for waking the team and for entering it, so the
                // recorded time is dropped.
                if self.states[id].mode == Mode::Busy {
                    self.resume(id, t, Mode::Running);
                } else {
                    self.skip(id, t);
                }
                if let Some(&begin) = self.teams.regions.get(&(process, region)) {
                    self.threads[id].track.push(Raw::Later(begin));
                }
            }
            What::TaskCreate { .. } | What::TaskBegin { .. } | What::TaskEnd { .. } => {
                self.task(id, t, what, process);
            }
            What::TaskWaitBegin { .. } => {
                self.gap(id, t);
                self.wait(id, t, Mode::Busy);
            }
            What::TaskWaitEnd => {
                let parent = self.teams.parent(process, id as u32);
                for (end, thread) in self.teams.ended.remove(&parent).unwrap_or_default() {
                    if thread != id as u32 {
                        let token = self.tokens.fresh();
                        self.teams.later[end as usize] = Later::Post(token);
                        self.op(id, Op::TokenWait(token));
                    }
                }
                self.resume(id, t, Mode::Running);
            }
            _ => {}
        }
    }

    fn task(&mut self, id: usize, t: u64, what: What, process: ProcessIndex) {
        let thread = id as u32;
        match what {
            What::TaskCreate { task, .. } => {
                self.gap(id, t);
                let (parent, created) = (self.teams.parent(process, thread), self.teams.new_step());
                self.threads[id].track.push(Raw::Later(created));
                self.teams.tasks.insert((process, task), Task { creator: thread, parent, created });
                self.teams.all += 1;
            }
            What::TaskBegin { task } => {
                let waits = self.states[id].mode == Mode::Busy;
                if waits {
                    self.meets_before(id);
                    self.resume(id, t, Mode::Running);
                } else {
                    self.gap(id, t);
                }
                self.teams.doing.entry(thread).or_default().push(Doing { task, waits });
                if let Some(known) = self.teams.tasks.get(&(process, task)).filter(|known| known.creator != thread) {
                    let token = self.tokens.fresh();
                    self.teams.later[known.created as usize] = Later::Post(token);
                    self.teams.moved += 1;
                    self.op(id, Op::TokenWait(token));
                }
            }
            What::TaskEnd { task } => {
                self.gap(id, t);
                let doing = self.teams.doing.entry(thread).or_default();
                let at = doing.iter().rposition(|doing| doing.task == task);
                let waits = at.and_then(|at| doing.drain(at..).next()).is_some_and(|doing| doing.waits);
                self.teams.ended.remove(&Parent::Task(process, task));
                if let Some(task) = self.teams.tasks.remove(&(process, task)) {
                    let end = self.teams.new_step();
                    self.threads[id].track.push(Raw::Later(end));
                    self.teams.ended.entry(task.parent).or_default().push((end, thread));
                }
                if waits {
                    self.wait(id, t, Mode::Busy);
                }
            }
            _ => {}
        }
    }

    /// A task begins while the thread is at a barrier. If other threads have already left the
    /// barrier, they may have created this task since. So the thread must have met them before the
    /// task: writes the meeting now.
    fn meets_before(&mut self, id: usize) {
        let Some(&place) = self.teams.at.get(&(id as u32)) else { return };
        if let Some(meeting) = self.objects.over(place, id as u32) {
            self.op(id, Op::Meet(meeting));
            self.teams.met.insert(id as u32);
        }
    }
}
