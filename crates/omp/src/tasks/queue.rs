//! The tasks of a team that wait for a thread, behind the team's lock.

use super::depend::Node;
use super::group::Count;
use super::{Shared, Task};
use crate::objects::{AnyLock, lock};
use crate::settings::Settings;
use crate::team::Team;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Machine, Slot};
use std::collections::VecDeque;

/// What a new task adds to those that are not done: one, and above the count a number that moves on, so that a thread that looked for a task
/// before it was there does not wait for the count that one that ended meanwhile has brought back.
const ONE_MORE: u32 = 1 + (1 << 24);

/// The count.
pub(super) const NOT_DONE: u32 = (1 << 24) - 1;

/// A team's tasks.
pub struct Queue<M: Machine> {
    lock: Box<dyn AnyLock<M>>,
    waiting: M::Slot<VecDeque<Task<M>>>,
    /// How many wait. Changed with the lock held, and read without it by who looks whether there is one.
    ready: M::Atomic<u32>,
    /// Tasks that are not done, by [`NOT_DONE`]; see [`ONE_MORE`].
    pub(super) pending: M::Atomic<u32>,
    /// How many threads are woken for a new task.
    wakes: u32,
}

// SAFETY: the slot is touched with the lock held.
unsafe impl<M: Machine> Sync for Queue<M> {}
// SAFETY: as above; any thread of the team may run a task.
unsafe impl<M: Machine> Send for Queue<M> {}

impl<M: Machine> Queue<M> {
    /// An empty queue.
    pub fn new(settings: &Settings) -> Self {
        let lock = lock(&settings.lock).expect("the settings name a lock that there is");
        let word = || M::Atomic::new(0);
        Queue {
            lock,
            waiting: M::Slot::new(VecDeque::new()),
            ready: word(),
            pending: word(),
            wakes: settings.task_wakes,
        }
    }

    /// A task is done, and so many that followed it wait for a thread now.
    pub(super) fn one_done(&self, waits: &Waits, released: u32) {
        // Release: who sees it sees what the task did.
        let left = (self.pending.fetch_add(u32::MAX, AcqRel) - 1) & NOT_DONE;
        // Those that wait here have arrived at no barrier yet: they go on when none is left, and help while there are some.
        if left == 0 || released != 0 {
            waits.wake::<M, u32>(Why::Task, &self.pending);
        }
    }
}

impl<M: Machine> Team<M> {
    /// With the queue locked.
    fn locked<R>(&self, waits: &Waits, then: impl FnOnce(&mut VecDeque<Task<M>>) -> R) -> R {
        let (queue, wait) = (&self.tasks, waits.of(Why::Lock));
        queue.lock.lock(wait);
        // SAFETY: the lock is held.
        let result = unsafe { queue.waiting.write(|waiting| then(&mut *waiting)) };
        // SAFETY: locked above, with the same policy.
        unsafe { queue.lock.unlock(wait) };
        result
    }

    /// Puts a task behind those of its priority. With the queue locked.
    fn push(&self, waiting: &mut VecDeque<Task<M>>, task: Task<M>) {
        if waiting.back().is_none_or(|last| last.priority >= task.priority) {
            waiting.push_back(task);
        } else {
            let at = waiting.iter().rposition(|other| other.priority >= task.priority).map_or(0, |at| at + 1);
            waiting.insert(at, task);
        }
        // Relaxed: what tells of the task, below or `pending`, orders it for a thread that does not take the lock.
        self.tasks.ready.store(waiting.len() as u32, Relaxed);
        if waiting.len() == 1
            && let Some(barrier) = &self.barrier
        {
            barrier.tasks_wait();
        }
    }

    /// Wakes threads for so many tasks that were put there.
    fn tell(&self, waits: &Waits, tasks: u32) {
        let wakes = self.tasks.wakes.saturating_mul(tasks);
        if let Some(barrier) = &self.barrier {
            barrier.wake(wakes, waits.meeting());
        }
        M::wake::<u32>(&self.tasks.pending, wakes, waits.of(Why::Task));
    }

    /// Adds a task that follows those of `earlier` that are not done.
    pub(super) fn add(&self, waits: &Waits, task: Task<M>, earlier: &[Shared<M, Node<M>>]) {
        let ready = self.locked(waits, |waiting| {
            let task = match task.end.node.clone() {
                // SAFETY: the queue is locked.
                Some(node) => unsafe { Node::follow(&node, earlier, task) },
                None => Some(task),
            };
            let ready = task.is_some();
            if let Some(task) = task {
                self.push(waiting, task);
            }
            // Release: who sees it sees that there is one more to take.
            self.tasks.pending.fetch_add(ONE_MORE, Release);
            ready
        });
        if ready {
            self.tell(waits, 1);
        }
    }

    /// Takes a task that `fits`, the newest or the oldest of the highest priority.
    pub(super) fn take(&self, waits: &Waits, newest: bool, fits: impl Fn(&Task<M>) -> bool) -> Option<Task<M>> {
        // Relaxed: who was told of a task, by a word that it read with Acquire, sees that there is one.
        if self.tasks.ready.load(Relaxed) == 0 {
            return None;
        }
        self.locked(waits, |waiting| {
            // Those of a higher priority stand in front.
            let by_priority = waiting.front().is_some_and(|task| task.priority != 0);
            let from_behind = newest && !by_priority;
            let at = if from_behind { waiting.iter().rposition(fits) } else { waiting.iter().position(fits) }?;
            let task = if at == 0 { waiting.pop_front() } else { waiting.remove(at) };
            // Relaxed: as in `push`.
            self.tasks.ready.store(waiting.len() as u32, Relaxed);
            if waiting.is_empty()
                && let Some(barrier) = &self.barrier
            {
                barrier.no_task_waits();
            }
            task
        })
    }

    /// The task of a node is done: what follows it is let go. How many tasks that were.
    pub(super) fn end_node(&self, waits: &Waits, node: &Node<M>) -> u32 {
        let (tasks, threads) = self.locked(waits, |waiting| {
            // SAFETY: the queue is locked.
            let released = unsafe { node.end() };
            let tasks = released.tasks.len() as u32;
            released.tasks.into_iter().for_each(|task| self.push(waiting, task));
            (tasks, released.threads)
        });
        threads.iter().for_each(|count| count.one_done(waits));
        if tasks != 0 {
            self.tell(waits, tasks);
        }
        tasks
    }

    /// What a thread waits for that waits for these nodes, if one is not done.
    pub(super) fn await_nodes(&self, waits: &Waits, nodes: &[Shared<M, Node<M>>]) -> Option<Shared<M, Count<M>>> {
        // SAFETY: the queue is locked.
        self.locked(waits, |_| unsafe { Node::await_all(nodes) })
    }
}
