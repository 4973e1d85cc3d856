//! The threads of a run by the kernel's numbers, and inputs made from what the kernel says of them.

use crate::core::Core;
use crate::input::{Begins, Input};
use crate::sys::ring::{Record, What};
use crate::sys::{affinity, proc};
use baton_sched::{AppId, ThreadId};
use baton_units::CpuId;
use std::collections::BTreeMap;

struct Process {
    app: AppId,
    threads: u32,
}

/// The threads of a run.
#[derive(Default)]
pub(crate) struct Live {
    ids: BTreeMap<u32, (ThreadId, u32)>,
    numbers: BTreeMap<ThreadId, (u32, u32)>,
    processes: BTreeMap<u32, Process>,
    /// Processes that were started or attached, and of which no thread has been seen yet.
    expected: BTreeMap<u32, AppId>,
    next: u32,
    /// Number of threads that were left alone because of their class.
    pub(crate) left_alone: u64,
}

/// A thread that begins with a mask of its own, different from its creator's.
pub(crate) struct OwnMask {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) cpus: Vec<u32>,
}

impl Live {
    /// Expects threads of this process, which belongs to an application.
    pub(crate) fn expect(&mut self, pid: u32, app: AppId) {
        self.expected.insert(pid, app);
    }

    /// The kernel's numbers of the thread's process and of the thread.
    pub(crate) fn numbers(&self, id: ThreadId) -> Option<(u32, u32)> {
        self.numbers.get(&id).copied()
    }

    /// All threads, each with the kernel's numbers.
    pub(crate) fn all(&self) -> Vec<(ThreadId, u32, u32)> {
        self.numbers.iter().map(|(&id, &(pid, tid))| (id, pid, tid)).collect()
    }

    /// Whether no thread lives, and no expected process.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.expected.keys().all(|&pid| proc::threads(pid).is_empty())
    }

    /// The threads of the run's processes, and their children, that have not been seen: process,
    /// thread, and the process of the creator.
    pub(crate) fn unseen(&self) -> Vec<(u32, u32, u32)> {
        let mut found = Vec::new();
        for &pid in self.processes.keys() {
            let unseen = proc::threads(pid).into_iter().filter(|tid| !self.ids.contains_key(tid));
            found.extend(unseen.map(|tid| (pid, tid, pid)));
        }
        for pid in proc::processes().into_iter().filter(|pid| !self.processes.contains_key(pid)) {
            let parent = proc::Stat::of(pid, pid).map(|stat| stat.parent);
            found.extend(parent.filter(|parent| self.processes.contains_key(parent)).map(|parent| (pid, pid, parent)));
        }
        found
    }

    /// Turns a record into inputs. A thread with a mask of its own is added to `own`.
    pub(crate) fn inputs(&mut self, record: &Record, core: &Core, old: bool, own: &mut Vec<OwnMask>) -> Vec<Input> {
        let &Record { pid, tid, what, .. } = record;
        let id = self.ids.get(&tid).map(|&(id, _)| id);
        let count = core.setup().cpus.count() as u32;
        match (what, id) {
            // A CPU that was added to the machine since the start.
            (What::On(cpu) | What::Preempted(cpu), Some(id)) if cpu >= count => vec![Input::Sleeps(id)],
            (What::Begins { parent, creator }, _) => {
                let mut inputs: Vec<Input> = id.map(|id| self.ends(id)).into_iter().collect();
                inputs.extend(self.begins((pid, tid), (parent, creator), core, old, own));
                inputs
            }
            (What::Ends, Some(id)) => vec![self.ends(id)],
            (What::On(cpu), Some(id)) => vec![Input::Runs(id, CpuId(cpu))],
            (What::Preempted(cpu), Some(id)) => vec![Input::Waits(id, CpuId(cpu))],
            (What::Blocks, Some(id)) => vec![Input::Sleeps(id)],
            (_, None) => Vec::new(),
        }
    }

    fn ends(&mut self, id: ThreadId) -> Input {
        if let Some((pid, tid)) = self.numbers.remove(&id) {
            self.ids.remove(&tid);
            if let Some(process) = self.processes.get_mut(&pid) {
                process.threads -= 1;
                if process.threads == 0 {
                    self.processes.remove(&pid);
                }
            }
        }
        Input::Ends(id)
    }

    fn begins(
        &mut self,
        (pid, tid): (u32, u32),
        (parent, creator): (u32, u32),
        core: &Core,
        old: bool,
        own: &mut Vec<OwnMask>,
    ) -> Option<Input> {
        let known = |process: u32| self.processes.get(&process).map(|process| process.app);
        let expected = self.expected.get(&pid).copied();
        let app = known(pid).or(expected).or_else(|| known(parent))?;
        // A thread that has ended meanwhile needs no place.
        let class = proc::class(tid)?;
        if !proc::is_fair(class) {
            self.left_alone += 1;
            self.expected.remove(&pid);
            return None;
        }
        let mask = affinity::get(tid).ok()?;
        let usable = core.setup().cpus.count() as u32;
        let mask: Vec<u32> = mask.into_iter().filter(|&cpu| cpu < usable).collect();
        if mask.is_empty() {
            return None;
        }
        // The mask that the thread would have without the daemon is its creator's.
        let creators = self.ids.get(&creator).and_then(|&(id, _)| core.user(id)).map(<[u32]>::to_vec);
        let users = creators.or_else(|| Some(core.threads().find(|at| at.begins.app == app)?.begins.cpus.clone()));
        let inherited = users.as_ref().is_some_and(|user| mask != *user && core.masks_of(user).contains(&mask));
        let cpus = if inherited { users.clone().unwrap_or(mask) } else { mask };
        if users.is_some_and(|user| user != cpus) {
            own.push(OwnMask { pid, tid, cpus: cpus.clone() });
        }
        self.expected.remove(&pid);
        let young = !old && !self.processes.contains_key(&pid);
        self.processes.entry(pid).or_insert(Process { app, threads: 0 }).threads += 1;
        let id = ThreadId(self.next);
        self.next += 1;
        self.ids.insert(tid, (id, pid));
        self.numbers.insert(id, (pid, tid));
        Some(Input::Begins(id, Begins { app, pid, tid, cpus, young, inherited }))
    }
}
