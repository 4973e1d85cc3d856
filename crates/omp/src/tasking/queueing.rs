//! Puts a team's tasks into its lists, and takes them out again.

use crate::tasks::Shared;
use crate::tasks::depend::Node;
use crate::tasks::group::Group;
use crate::tasks::queue::List;
use crate::tasks::task::Task;
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine};
use std::collections::VecDeque;

impl<M: Machine> Team<M> {
    /// The team's list, which is locked, has got its first task: tells the threads at the barrier.
    fn fills(&self) {
        if let (None, Some(barrier)) = (&self.tasks.lists, &self.barrier) {
            barrier.tasks_wait();
        }
    }

    /// The team's list, which is locked, has no task any more: tells the threads at the barrier.
    fn empties(&self) {
        if let (None, Some(barrier)) = (&self.tasks.lists, &self.barrier) {
            barrier.no_task_waits();
        }
    }

    /// Puts tasks into `list`, which is locked.
    fn put_all(
        &self,
        list: &List<M>,
        waiting: &mut VecDeque<Box<Task<M>>>,
        tasks: impl IntoIterator<Item = Box<Task<M>>>,
    ) {
        for task in tasks {
            if list.put(waiting, task) {
                self.fills();
            }
        }
    }

    /// Wakes up to `wakes` threads for tasks that the calling thread put into `list`, which it has
    /// unlocked since.
    fn tell(&self, list: &List<M>, waits: &Waits, wakes: u32) {
        if let Some(lists) = &self.tasks.lists {
            return self.tell_thieves(lists, list, waits, wakes);
        }
        if let Some(barrier) = &self.barrier {
            barrier.wake(wakes, waits.meeting());
        }
        M::wake::<u32>(&self.tasks.pending, wakes, waits.of(Why::Task));
    }

    /// Wakes threads that sleep at the ends of `group` and of the groups around it, for a task of
    /// `group` that was put into a list and [told](Team::tell): up to the number that is woken for a
    /// task, from the inside out.
    #[inline]
    fn rouse(&self, waits: &Waits, group: &Group<M>) {
        if self.tasks.lists.is_none() {
            // SeqCst: either a thread that found no task sees this one, or this thread sees below that
            // the thread sleeps. Where threads steal, the fence in `tell_thieves` does this.
            M::fence(SeqCst);
        }
        // Relaxed: the fence orders it.
        if self.tasks.sleepers.0.load(Relaxed) != 0 {
            let woken = group.chain().filter(|group| group.rouse(waits));
            woken.take(self.tasks.wakes as usize).for_each(|_| ());
        }
    }

    /// Adds a task to the team's single queue.
    #[inline(never)]
    fn add_to_single(&self, waits: &Waits, task: Box<Task<M>>) {
        let first = &self.tasks.first.0;
        first.locked(waits, |waiting| self.put_first(waiting, Some(task)));
        self.tell(first, waits, self.tasks.wakes);
    }

    /// Puts a task, if there is one, into the first list, which is locked. If the team has a single
    /// queue, also counts one more task that is not done, even if the task waits for others.
    #[inline(always)]
    fn put_first(&self, waiting: &mut VecDeque<Box<Task<M>>>, task: Option<Box<Task<M>>>) {
        if let Some(task) = task
            && self.tasks.first.0.put(waiting, task)
        {
            self.fills();
        }
        if self.tasks.lists.is_none() {
            self.tasks.one_more();
        }
    }

    #[inline]
    fn take_of(
        &self,
        list: &List<M>,
        waits: &Waits,
        newest: bool,
        fits: impl Fn(&Task<M>) -> bool,
    ) -> Option<Box<Task<M>>> {
        if !list.is_filled() {
            return None;
        }
        let mut waiting = list.lock(waits);
        // Tasks of a higher priority stand in front, so the newest is taken only if all have priority
        // 0.
        let by_priority = waiting.front().is_some_and(|task| task.priority != 0);
        let task = match waiting.back() {
            // The usual case: the last task fits.
            Some(last) if newest && !by_priority && fits(last) => waiting.pop_back(),
            _ => search(&mut waiting, newest && !by_priority, &fits),
        }?;
        if waiting.is_empty() {
            self.empties();
        }
        // Relaxed: whatever tells a thread of a task orders this store too, as in `put`.
        list.ready.store(waiting.len() as u32, Relaxed);
        Some(task)
    }

    /// Called by `thread` of the team when a node's task is done: releases the tasks that follow it.
    /// Returns for how many tasks and threads their parent must be woken.
    pub(crate) fn end_node(&self, thread: u32, waits: &Waits, node: &Node<M>) -> u32 {
        let (first, list) = (&self.tasks.first.0, self.tasks.list_of(thread));
        let (mut released, tasks, groups) = first.locked(waits, |waiting| {
            // SAFETY: the lock of the first list, which protects the dependences, is held.
            let mut released = unsafe { node.end() };
            let tasks = released.tasks.len() as u32;
            let groups: Vec<_> = released.tasks.iter().filter_map(|task| task.end.group.clone()).collect();
            if core::ptr::eq(list, first) {
                self.put_all(list, waiting, released.tasks.drain(..));
            }
            (released, tasks, groups)
        });
        if !released.tasks.is_empty() {
            let tasks = released.tasks.drain(..);
            list.locked(waits, |waiting| self.put_all(list, waiting, tasks));
        }
        // Release: the thread sees what the task did. The thread waits for its children's word, and
        // is woken when the caller counts the task there.
        released.threads.iter().for_each(|left| _ = left.fetch_add(u32::MAX, Release));
        if tasks != 0 {
            self.tell(list, waits, self.tasks.wakes.saturating_mul(tasks));
        }
        groups.iter().for_each(|group| self.rouse(waits, group));
        tasks + released.threads.len() as u32
    }

    /// Whether a task of one of these nodes is not done.
    pub(crate) fn is_open(&self, waits: &Waits, nodes: &[Shared<M, Node<M>>]) -> bool {
        if nodes.is_empty() {
            return false;
        }
        // SAFETY: the lock of the first list, which protects the dependences, is held.
        self.tasks.first.0.locked(waits, |_| nodes.iter().any(|node| unsafe { node.is_open() }))
    }

    /// The number of these nodes that are not done, which a thread waits for; `None` if all are done
    /// already.
    pub(crate) fn await_nodes(&self, waits: &Waits, nodes: &[Shared<M, Node<M>>]) -> Option<Shared<M, M::Atomic<u32>>> {
        // SAFETY: the lock of the first list, which protects the dependences, is held.
        self.tasks.first.0.locked(waits, |_| unsafe { Node::await_all(nodes) })
    }
}

impl<M: Machine> Context<M> {
    /// Adds a task that the thread has made.
    #[inline]
    pub(crate) fn add(&self, waits: &Waits, task: Box<Task<M>>) {
        let team = self.team();
        let (Some(lists), Some(tally)) = (&team.tasks.lists, self.tally()) else {
            team.add_to_single(waits, task);
            return self.rouse(waits);
        };
        lists.made(tally, task.end.detached);
        let list = self.list();
        list.put(&mut list.lock(waits), task);
        team.tell_thieves(lists, list, waits, team.tasks.wakes);
        self.rouse(waits);
    }

    /// Wakes threads at the ends of the current task's groups for a task that this task has made.
    #[inline]
    fn rouse(&self, waits: &Waits) {
        if let Some(group) = self.current().group() {
            self.team().rouse(waits, group);
        }
    }

    /// Does what [`add`](Context::add) does for a task with a node, which waits for the tasks of
    /// `earlier` that are not done.
    #[inline(never)]
    pub(crate) fn add_behind(
        &self,
        waits: &Waits,
        task: Box<Task<M>>,
        node: &Shared<M, Node<M>>,
        earlier: &[Shared<M, Node<M>>],
    ) {
        let team = self.team();
        let (first, list) = (&team.tasks.first.0, self.list());
        if let (Some(lists), Some(tally)) = (&team.tasks.lists, self.tally()) {
            lists.made(tally, task.end.detached);
        }
        let (is_ready, apart) = first.locked(waits, |waiting| {
            // SAFETY: the lock of the first list, which protects the dependences, is held.
            let task = unsafe { Node::follow(node, earlier, task) };
            let is_ready = task.is_some();
            let apart = if core::ptr::eq(list, first) {
                team.put_first(waiting, task);
                None
            } else {
                task
            };
            (is_ready, apart)
        });
        if let Some(task) = apart {
            list.locked(waits, |waiting| list.put(waiting, task));
        }
        if is_ready {
            team.tell(list, waits, team.tasks.wakes);
            self.rouse(waits);
        }
    }

    /// Takes a task that `fits`: the oldest of the highest priority; but the newest if `newest` or
    /// if threads steal, and no task of the list has a priority. A thread that steals searches its
    /// own list first, then the others' for the oldest of the highest priority. With `own`, only
    /// the thread's own list is searched, because no other list can have such a task.
    #[inline]
    pub(crate) fn take_task(&self, newest: bool, own: bool, fits: impl Fn(&Task<M>) -> bool) -> Option<Box<Task<M>>> {
        let (team, waits) = (self.team(), self.waits());
        let steals = team.tasks.lists.is_some();
        let mine = team.take_of(self.list(), waits, newest || steals, &fits);
        if mine.is_some() || own || !steals {
            return mine;
        }
        let next = |step| team.tasks.list_of((self.id + step) % team.size);
        (1..team.size).find_map(|step| team.take_of(next(step), waits, false, &fits))
    }
}

/// Takes the first task that `fits`, searching from behind or from the front.
#[inline(never)]
fn search<M: Machine>(
    waiting: &mut VecDeque<Box<Task<M>>>,
    from_behind: bool,
    fits: impl Fn(&Task<M>) -> bool,
) -> Option<Box<Task<M>>> {
    let at = if from_behind {
        waiting.iter().rposition(|task| fits(task))
    } else {
        waiting.iter().position(|task| fits(task))
    }?;
    if at == 0 { waiting.pop_front() } else { waiting.remove(at) }
}
