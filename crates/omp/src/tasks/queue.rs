//! The tasks of a team that wait for a thread: in one list behind the team's lock, or in one list
//! for each thread, each behind its own lock.
//!
//! In the second form a thread leaves tasks in its own list and takes the newest of them. If none
//! of them fits, the thread steals the oldest fitting task from the next thread that has one. Every
//! thread can search every list, so a thread that waits for certain tasks finds them wherever they
//! are.

use super::lists::Lists;
use super::task::{Kind, PER_THREAD, Task};
use crate::objects::{AnyLock, lock};
use crate::settings::{Settings, TaskQueue};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot};
use std::collections::VecDeque;

/// What a new task adds to the count of tasks that are not done: one, and a step of a number above
/// the count. Without that number a task that ends could bring the count back to the value that a
/// thread saw before the new task, and the thread would wait although the task is there.
const ONE_MORE: u32 = 1 + (1 << 24);

/// The count.
pub(crate) const NOT_DONE: u32 = (1 << 24) - 1;

/// Tasks that wait behind a lock.
#[repr(C)]
pub(crate) struct List<M: Machine> {
    pub(crate) lock: Box<dyn AnyLock<M>>,
    pub(crate) waiting: M::Slot<VecDeque<Box<Task<M>>>>,
    /// How many wait. Changed with the lock held, and read without it by who looks whether there is one.
    pub(crate) ready: M::Atomic<u32>,
}

// SAFETY: the slot is touched with the lock held.
unsafe impl<M: Machine> Sync for List<M> {}
// SAFETY: as above; any thread of the team may run a task.
unsafe impl<M: Machine> Send for List<M> {}

/// A team's tasks.
#[repr(C)]
pub struct Queue<M: Machine> {
    /// The team's list, or that of its first thread. Its lock is that of the dependences too.
    pub(crate) first: List<M>,
    /// Tasks that are not done, by [`NOT_DONE`]; see [`ONE_MORE`].
    pub(crate) pending: M::Atomic<u32>,
    /// How many threads are woken for a new task.
    pub(crate) wakes: u32,
    /// Where threads steal.
    pub(crate) lists: Option<Owned<M, Lists<M>>>,
}

impl<M: Machine> List<M> {
    pub(crate) fn new(settings: &Settings) -> Self {
        List { lock: new_lock(settings), waiting: M::Slot::new(VecDeque::new()), ready: M::Atomic::new(0) }
    }

    /// Whether a task may be there.
    pub(crate) fn is_filled(&self) -> bool {
        // Relaxed: who was told of a task, by a word that it read with Acquire or by a fence, sees that there is one.
        self.ready.load(Relaxed) != 0
    }

    /// Calls `then` with the list locked.
    #[inline]
    pub(crate) fn locked<R>(&self, waits: &Waits, then: impl FnOnce(&mut VecDeque<Box<Task<M>>>) -> R) -> R {
        // SAFETY: the list's lock is held.
        holding(&*self.lock, waits, || unsafe { self.waiting.write(|waiting| then(&mut *waiting)) })
    }

    /// Puts a task behind those of its priority, with the list locked. Returns whether it is the
    /// only task.
    #[inline]
    pub(crate) fn put(&self, waiting: &mut VecDeque<Box<Task<M>>>, task: Box<Task<M>>) -> bool {
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

pub(crate) fn new_lock<M: Machine>(settings: &Settings) -> Box<dyn AnyLock<M>> {
    lock(&settings.lock).expect("the settings name a lock that there is")
}

#[inline]
pub(crate) fn holding<M: Machine, R>(lock: &dyn AnyLock<M>, waits: &Waits, then: impl FnOnce() -> R) -> R {
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
    pub(crate) fn made(&self, thread: u32, detached: bool) {
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
    pub(crate) fn list_of(&self, thread: u32) -> &List<M> {
        match &self.lists {
            Some(lists) if thread != 0 => &lists.others[thread as usize - 1].0,
            _ => &self.first,
        }
    }

    /// Counts one more task that is not done. No other thread can have it yet: it is in no list, or the list's lock is held.
    #[inline]
    pub(crate) fn one_more(&self) {
        // Release: who sees it sees that there is one more to take.
        self.pending.fetch_add(ONE_MORE, Release);
    }

    /// A task is done, as that thread says, and so many that followed it wait for a thread now.
    pub(crate) fn one_done(&self, thread: u32, waits: &Waits, detached: bool, released: u32) {
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
