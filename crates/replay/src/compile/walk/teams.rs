//! OpenMP's teams and tasks.
//!
//! A region begins with a meeting of its team, as it ends with one: workers wait for their master, which waits for them. Who takes part is
//! known only at the region's end. A task is done by the thread that did it in the recording, once it has been created; who waits for
//! tasks waits for those that others did.

use super::{Mode, Walk};
use crate::compile::track::Raw;
use crate::program::Op;
use baton_trace::{Address, Construct, ProcessIndex, What};
use std::collections::{BTreeMap, BTreeSet};

/// A step that is known later than its place: its number, where it is written down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    /// It is none.
    Nothing,
    /// The team meets.
    Meet(u32),
    /// A token is put down.
    Post(u32),
}

/// Under what tasks are created: a task, or a thread outside of all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Parent {
    Task(ProcessIndex, u64),
    Thread(u32),
}

struct Task {
    creator: u32,
    parent: Parent,
    /// Behind its creation.
    created: u32,
}

/// A task that a thread does, and whether the thread waits when it is done.
struct Doing {
    task: u64,
    waits: bool,
}

/// What is known of teams and tasks.
#[derive(Default)]
pub(crate) struct Teams {
    later: Vec<Later>,
    /// The beginning of the region that goes on at a barrier.
    regions: BTreeMap<(ProcessIndex, Address), u32>,
    tasks: BTreeMap<(ProcessIndex, u64), Task>,
    /// Ends of tasks that no wait has seen: behind the end, and in which thread.
    ended: BTreeMap<Parent, Vec<(u32, u32)>>,
    doing: BTreeMap<u32, Vec<Doing>>,
    /// The barrier at which a thread waits.
    at: BTreeMap<u32, (ProcessIndex, Address)>,
    /// Threads that have met and not left yet, as far as events tell.
    met: BTreeSet<u32>,
    /// Barriers of OpenMP.
    barriers: BTreeSet<(ProcessIndex, Address)>,
    /// Tasks that were done by another thread than the one that created them.
    moved: u64,
    all: u64,
}

impl Teams {
    fn new_step(&mut self) -> u32 {
        self.later.push(Later::Nothing);
        self.later.len() as u32 - 1
    }

    /// What a step is that was not known at its place.
    pub(crate) fn step(&self, number: u32) -> Option<Op> {
        match *self.later.get(number as usize)? {
            Later::Nothing => None,
            Later::Meet(meeting) => Some(Op::Meet(meeting)),
            Later::Post(token) => Some(Op::TokenPost(token)),
        }
    }

    /// What is assumed of tasks, for people.
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
    /// A thread comes to a barrier.
    pub(super) fn comes(&mut self, id: usize, place: (ProcessIndex, Address)) {
        self.teams.at.insert(id as u32, place);
        self.teams.met.remove(&(id as u32));
    }

    /// It leaves it; whether it met the others before, in front of a task.
    pub(super) fn has_met(&mut self, id: usize) -> bool {
        self.teams.at.remove(&(id as u32));
        self.teams.met.remove(&(id as u32))
    }

    /// Threads have met at a barrier. If it is a region's end, they met at its beginning, too.
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
                // What it took to wake the team, or a thread's way into it, the replay makes anew.
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

    /// A task begins while the thread is at a barrier. Where others have left it already, that may be a task that they created since:
    /// then the thread has met them before.
    fn meets_before(&mut self, id: usize) {
        let Some(&place) = self.teams.at.get(&(id as u32)) else { return };
        if let Some(meeting) = self.objects.over(place, id as u32) {
            self.op(id, Op::Meet(meeting));
            self.teams.met.insert(id as u32);
        }
    }
}
