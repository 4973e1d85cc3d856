//! The tasks of a team that wait for a thread: in one list behind the team's lock, or in one list
//! for each thread, each behind its own lock.
//!
//! In the second form a thread leaves tasks in its own list and takes the newest of them. If none
//! of them fits, the thread steals the oldest fitting task from the next thread that has one. Every
//! thread can search every list, so a thread that waits for certain tasks finds them wherever they
//! are.

use super::depend::Node;
use super::group::Count;
use super::steal::Lists;
use super::{Kind, PER_THREAD, Shared, Task};
use crate::objects::{AnyLock, lock};
use crate::settings::{Settings, TaskQueue};
use crate::team::Team;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot};
use std::collections::VecDeque;

/// What a new task adds to the count of tasks that are not done: one, and a step of a number above
/// the count. Without that number a task that ends could bring the count back to the value that a
/// thread saw before the new task, and the thread would wait although the task is there.
const ONE_MORE: u32 = 1 + (1 << 24);

/// The bits that hold the count.
pub(super) const NOT_DONE: u32 = (1 << 24) - 1;

/// Tasks that wait behind a lock.
#[repr(C)]
pub(super) struct List<M: Machine> {
    lock: Box<dyn AnyLock<M>>,
    waiting: M::Slot<VecDeque<Box<Task<M>>>>,
    /// How many tasks wait. It changes with the lock held; threads read it without the lock to see
    /// whether there is a task.
    ready: M::Atomic<u32>,
}

// SAFETY: the slot is touched with the lock held.
unsafe impl<M: Machine> Sync for List<M> {}
// SAFETY: as above; any thread of the team may run a task.
unsafe impl<M: Machine> Send for List<M> {}

/// A team's tasks.
#[repr(C)]
pub struct Queue<M: Machine> {
    /// The team's list, or the list of its first thread. Its lock also guards the dependences.
    first: List<M>,
    /// Tasks that are not done, by [`NOT_DONE`]; see [`ONE_MORE`].
    pub(super) pending: M::Atomic<u32>,
    /// How many threads are woken for a new task.
    wakes: u32,
    /// The lists of the form in which threads steal.
    pub(super) lists: Option<Owned<M, Lists<M>>>,
}

impl<M: Machine> List<M> {
    pub(super) fn new(settings: &Settings) -> Self {
        List { lock: new_lock(settings), waiting: M::Slot::new(VecDeque::new()), ready: M::Atomic::new(0) }
    }

    /// Whether a task may be there.
    pub(super) fn is_filled(&self) -> bool {
        // Relaxed: a thread that was told of a task, by a word that it read with Acquire or by a
        // fence, sees that there is one.
        self.ready.load(Relaxed) != 0
    }

    /// Calls `then` with the list locked.
    #[inline]
    pub(super) fn locked<R>(&self, waits: &Waits, then: impl FnOnce(&mut VecDeque<Box<Task<M>>>) -> R) -> R {
        // SAFETY: the list's lock is held.
        holding(&*self.lock, waits, || unsafe { self.waiting.write(|waiting| then(&mut *waiting)) })
    }

    /// Puts a task behind those of its priority, with the list locked. Returns whether it is the
    /// only task.
    #[inline]
    fn put(&self, waiting: &mut VecDeque<Box<Task<M>>>, task: Box<Task<M>>) -> bool {
        if waiting.back().is_none_or(|last| last.priority >= task.priority) {
            waiting.push_back(task);
        } else {
            put_ahead(waiting, task);
        }
        // Relaxed: whatever tells a thread of the task orders this store for a thread that does not
        // take the lock.
        self.ready.store(waiting.len() as u32, Relaxed);
        waiting.len() == 1
    }
}

/// Puts a task behind tasks of its priority and before tasks of a lower one.
#[cold]
fn put_ahead<M: Machine>(waiting: &mut VecDeque<Box<Task<M>>>, task: Box<Task<M>>) {
    let at = waiting.iter().rposition(|other| other.priority >= task.priority).map_or(0, |at| at + 1);
    waiting.insert(at, task);
}

pub(super) fn new_lock<M: Machine>(settings: &Settings) -> Box<dyn AnyLock<M>> {
    lock(&settings.lock).expect("the settings name a lock that there is")
}

#[inline]
pub(super) fn holding<M: Machine, R>(lock: &dyn AnyLock<M>, waits: &Waits, then: impl FnOnce() -> R) -> R {
    let wait = waits.of(Why::Lock);
    lock.lock(wait);
    let result = then();
    // SAFETY: locked above, with the same policy.
    unsafe { lock.unlock(wait) };
    result
}

impl<M: Machine> Queue<M> {
    /// An empty queue of a team of `threads` threads.
    pub fn new(settings: &Settings, threads: u32) -> Self {
        let steals = settings.tasks == TaskQueue::Steal && threads > 1;
        let lists = steals.then(|| Owned::new(Lists::new(settings, threads)));
        Queue { first: List::new(settings), pending: M::Atomic::new(0), wakes: settings.task_wakes, lists }
    }

    /// Begins a region of the team.
    pub fn begin(&self) {
        self.lists.iter().for_each(|lists| lists.begin());
    }

    /// Whether the queue has no room for one more task of that kind, made by `thread` in a team of
    /// `threads`.
    #[inline]
    pub fn is_full(&self, thread: u32, threads: u32, kind: Kind) -> bool {
        let team = PER_THREAD * u64::from(threads);
        // Relaxed, both: a hint.
        let (waiting, room) = match &self.lists {
            // A taskloop's tasks make no tasks: while their maker runs one, all other threads live
            // on those that wait.
            Some(_) if kind == Kind::OfLoop => (self.list_of(thread).ready.load(Relaxed), team),
            // A few tasks are enough for thieves, as each stolen task makes its own; further tasks
            // would be put away and fetched for nothing.
            Some(_) => (self.list_of(thread).ready.load(Relaxed), PER_THREAD.min(4 * u64::from(threads))),
            None => (self.not_done(), team + 1),
        };
        u64::from(waiting) >= room
    }

    /// `thread` has made a task that goes into no list.
    pub(super) fn made(&self, thread: u32, detached: bool) {
        match &self.lists {
            Some(lists) => lists.made(thread, detached),
            None => self.one_more(),
        }
    }

    /// The tasks that are not done, if tasks wait in one list.
    #[inline]
    pub fn not_done(&self) -> u32 {
        // Relaxed: a hint.
        self.pending.load(Relaxed) & NOT_DONE
    }

    /// The list in which that thread of the team leaves tasks.
    #[inline]
    pub(super) fn list_of(&self, thread: u32) -> &List<M> {
        match &self.lists {
            Some(lists) if thread != 0 => &lists.others[thread as usize - 1].0,
            _ => &self.first,
        }
    }

    /// Counts one more task that is not done. No other thread can have it yet: it is in no list, or the list's lock is held.
    #[inline]
    fn one_more(&self) {
        // Release: a thread that sees the count sees that there is one more task to take.
        self.pending.fetch_add(ONE_MORE, Release);
    }

    /// Counts a task as done for thread `thread`; `released` tasks that followed it now wait for a
    /// thread.
    pub(super) fn one_done(&self, thread: u32, waits: &Waits, detached: bool, released: u32) {
        if let Some(lists) = &self.lists {
            return lists.ended(thread, waits, detached);
        }
        // Release: a thread that sees the count sees what the task did.
        // C11: the Acquire half orders nothing: the result only says whether to wake. A thread that
        // sees this or a later change of the count acquires from each earlier change, because all
        // are exchanges: parts of each other's release sequences.
        let left = (self.pending.fetch_add(u32::MAX, AcqRel) - 1) & NOT_DONE;
        // The threads that wait here have not arrived at a barrier yet: they go on when no task is
        // left, and help while there are some.
        if left == 0 || released != 0 {
            waits.wake::<M, u32>(Why::Task, &self.pending);
        }
    }
}

impl<M: Machine> Team<M> {
    /// Says that the team's list, which is locked, has its first task.
    fn fills(&self) {
        if let (None, Some(barrier)) = (&self.tasks.lists, &self.barrier) {
            barrier.tasks_wait();
        }
    }

    /// Says that the team's list has no task any more.
    fn empties(&self) {
        if let (None, Some(barrier)) = (&self.tasks.lists, &self.barrier) {
            barrier.no_task_waits();
        }
    }

    /// Puts tasks into a list, which is locked.
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

    /// Wakes `wakes` threads for tasks that were put into a list.
    fn tell(&self, waits: &Waits, wakes: u32) {
        if let Some(lists) = &self.tasks.lists {
            return self.tell_thieves(lists, waits, wakes);
        }
        if let Some(barrier) = &self.barrier {
            barrier.wake(wakes, waits.meeting());
        }
        M::wake::<u32>(&self.tasks.pending, wakes, waits.of(Why::Task));
    }

    /// Adds a task of that thread.
    #[inline]
    pub(super) fn add(&self, thread: u32, waits: &Waits, task: Box<Task<M>>) {
        let Some(lists) = &self.tasks.lists else {
            self.tasks.first.locked(waits, |waiting| self.put_first(waiting, Some(task)));
            return self.tell(waits, self.tasks.wakes);
        };
        lists.made(thread, task.end.detached);
        let list = self.tasks.list_of(thread);
        list.locked(waits, |waiting| list.put(waiting, task));
        self.tell_thieves(lists, waits, self.tasks.wakes);
    }

    /// Adds a task with a node, as [`add`](Team::add) does for others; the task follows those of
    /// `earlier` that are not done.
    #[inline(never)]
    pub(super) fn add_behind(
        &self,
        thread: u32,
        waits: &Waits,
        task: Box<Task<M>>,
        node: &Shared<M, Node<M>>,
        earlier: &[Shared<M, Node<M>>],
    ) {
        let (first, list) = (&self.tasks.first, self.tasks.list_of(thread));
        if let Some(lists) = &self.tasks.lists {
            lists.made(thread, task.end.detached);
        }
        let (is_ready, apart) = first.locked(waits, |waiting| {
            // SAFETY: the lock of the dependences is held.
            let task = unsafe { Node::follow(node, earlier, task) };
            let is_ready = task.is_some();
            let apart = if core::ptr::eq(list, first) {
                self.put_first(waiting, task);
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
            self.tell(waits, self.tasks.wakes);
        }
    }

    /// Puts a task, if there is one, into the first list, which is locked. In a queue of the team,
    /// one more task counts as not done either way.
    #[inline]
    fn put_first(&self, waiting: &mut VecDeque<Box<Task<M>>>, task: Option<Box<Task<M>>>) {
        if let Some(task) = task
            && self.tasks.first.put(waiting, task)
        {
            self.fills();
        }
        if self.tasks.lists.is_none() {
            self.tasks.one_more();
        }
    }

    /// Takes a task that `fits`, the newest or the oldest of the highest priority. Where threads
    /// steal, this holds for each list: the thread takes the newest from its own list, and the
    /// oldest from another one. A task that only the thread itself can have left is sought in its
    /// own list alone.
    #[inline]
    pub(super) fn take(
        &self,
        thread: u32,
        waits: &Waits,
        newest: bool,
        own: bool,
        fits: impl Fn(&Task<M>) -> bool,
    ) -> Option<Box<Task<M>>> {
        let steals = self.tasks.lists.is_some();
        let mine = self.take_of(self.tasks.list_of(thread), waits, newest || steals, &fits);
        if mine.is_some() || own || !steals {
            return mine;
        }
        let next = |step| self.tasks.list_of((thread + step) % self.size);
        (1..self.size).find_map(|step| self.take_of(next(step), waits, false, &fits))
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
        list.locked(waits, |waiting| {
            // Tasks of a higher priority stand in front.
            let by_priority = waiting.front().is_some_and(|task| task.priority != 0);
            let task = match waiting.back() {
                // The usual case.
                Some(last) if newest && !by_priority && fits(last) => waiting.pop_back(),
                _ => search(waiting, newest && !by_priority, &fits),
            }?;
            if waiting.is_empty() {
                self.empties();
            }
            // Relaxed: as in `put`.
            list.ready.store(waiting.len() as u32, Relaxed);
            Some(task)
        })
    }

    /// Ends the node of a task, as thread `thread` of the team, and releases the tasks that follow
    /// it. Returns how many.
    pub(super) fn end_node(&self, thread: u32, waits: &Waits, node: &Node<M>) -> u32 {
        let (first, list) = (&self.tasks.first, self.tasks.list_of(thread));
        let (mut released, tasks) = first.locked(waits, |waiting| {
            // SAFETY: the lock of the dependences is held.
            let mut released = unsafe { node.end() };
            let tasks = released.tasks.len() as u32;
            if core::ptr::eq(list, first) {
                self.put_all(list, waiting, released.tasks.drain(..));
            }
            (released, tasks)
        });
        if !released.tasks.is_empty() {
            let tasks = released.tasks.drain(..);
            list.locked(waits, |waiting| self.put_all(list, waiting, tasks));
        }
        released.threads.iter().for_each(|count| count.one_done(waits, 0));
        if tasks != 0 {
            self.tell(waits, self.tasks.wakes.saturating_mul(tasks));
        }
        tasks
    }

    /// What a thread waits for that waits for these nodes; `None`: all are done.
    pub(super) fn await_nodes(&self, waits: &Waits, nodes: &[Shared<M, Node<M>>]) -> Option<Shared<M, Count<M>>> {
        // SAFETY: the lock of the dependences is held.
        self.tasks.first.locked(waits, |_| unsafe { Node::await_all(nodes) })
    }
}

/// Takes the first task that `fits`, searched from behind or from the front.
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
