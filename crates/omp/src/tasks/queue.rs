//! The tasks of a team that wait for a thread: in one list behind the team's lock, or in one list
//! for each thread, each behind its own lock.
//!
//! With a list for each thread, a thread puts tasks into its own list and takes the newest of them.
//! If none of them fits, the thread steals the oldest fitting task from the next thread that has
//! one. Every thread can search every list, so a thread that waits for certain tasks finds them
//! wherever they are.

use super::lists::Lists;
use super::task::{Kind, PER_THREAD, Task};
use crate::objects::{AnyLock, lock};
use crate::settings::{Settings, TaskQueue};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot};
use std::collections::VecDeque;

/// What a new task adds to the count of tasks that are not done: one, and a step of a number above
/// the count. Without that number a task's end could bring the count back to the value that a
/// thread saw before the new task was added, and the thread would go to sleep although the task
/// waits.
const ONE_MORE: u32 = 1 + (1 << 24);

/// The bits that count the tasks that are not done.
pub(crate) const NOT_DONE: u32 = (1 << 24) - 1;

/// Tasks that wait for a thread, and the lock that protects them.
#[repr(C)]
pub(crate) struct List<M: Machine> {
    pub(crate) lock: Box<dyn AnyLock<M>>,
    pub(crate) waiting: M::Slot<VecDeque<Box<Task<M>>>>,
    /// How many tasks wait. Changed with the lock held, and read without it by threads that look
    /// whether there is one.
    pub(crate) ready: M::Atomic<u32>,
}

// SAFETY: the tasks are accessed only with the lock held.
unsafe impl<M: Machine> Sync for List<M> {}
// SAFETY: the tasks are accessed only with the lock held, and any thread of the team may run a
// task.
unsafe impl<M: Machine> Send for List<M> {}

/// A team's tasks.
#[repr(C)]
pub struct Queue<M: Machine> {
    /// The team's list, or its first thread's. The list's lock also protects the dependences.
    pub(crate) first: List<M>,
    /// The number of tasks that are not done, in the bits of [`NOT_DONE`]; see [`ONE_MORE`].
    pub(crate) pending: M::Atomic<u32>,
    /// How many threads are woken for a new task.
    pub(crate) wakes: u32,
    /// The other threads' lists, if threads steal.
    pub(crate) lists: Option<Owned<M, Lists<M>>>,
}

impl<M: Machine> List<M> {
    pub(crate) fn new(settings: &Settings) -> Self {
        List { lock: new_lock(settings), waiting: M::Slot::new(VecDeque::new()), ready: M::Atomic::new(0) }
    }

    /// Whether a task may be in the list.
    pub(crate) fn is_filled(&self) -> bool {
        // Relaxed: a thread that was told of a task, by a word that it read with Acquire or by a
        // fence, sees the count that goes with it.
        self.ready.load(Relaxed) != 0
    }

    /// Calls `then` with the list locked.
    #[inline]
    pub(crate) fn locked<R>(&self, waits: &Waits, then: impl FnOnce(&mut VecDeque<Box<Task<M>>>) -> R) -> R {
        // SAFETY: the list's lock is held, so no other thread accesses the tasks.
        holding(&*self.lock, waits, || unsafe { self.waiting.write(|waiting| then(&mut *waiting)) })
    }

    /// Puts a task behind the tasks of its priority, with the list locked. Returns whether it is
    /// the list's only task.
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
    // SAFETY: this thread took the lock above, with the same policy.
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

    /// The address by which a checker of races knows the ends of all tasks.
    pub(crate) fn order(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }

    /// Begins a region of the team.
    pub fn begin(&self) {
        self.lists.iter().for_each(|lists| lists.begin());
    }

    /// Whether the queue has no room for another task of this kind, which `thread` of a team of
    /// `threads` makes.
    #[inline]
    pub fn is_full(&self, thread: u32, threads: u32, kind: Kind) -> bool {
        let team = PER_THREAD * u64::from(threads);
        // Relaxed, both loads: the result is only a hint.
        let (waiting, room) = match &self.lists {
            // The tasks of a taskloop make no tasks: while their maker runs one of them, the other
            // threads need tasks that wait.
            Some(_) if kind == Kind::OfLoop => (self.list_of(thread).ready.load(Relaxed), team),
            // A few waiting tasks are enough for threads that steal, because each stolen task makes
            // its own. More would be put into the list and taken out for nothing.
            Some(_) => (self.list_of(thread).ready.load(Relaxed), PER_THREAD.min(4 * u64::from(threads))),
            None => (self.not_done(), team + 1),
        };
        u64::from(waiting) >= room
    }

    /// Counts a task that `thread` has made and that goes into no list.
    pub(crate) fn made(&self, thread: u32, detached: bool) {
        match &self.lists {
            Some(lists) => lists.made(thread, detached),
            None => self.one_more(),
        }
    }

    /// The number of tasks that are not done, if the team has a single queue.
    #[inline]
    pub fn not_done(&self) -> u32 {
        // Relaxed: a hint.
        self.pending.load(Relaxed) & NOT_DONE
    }

    /// The list into which `thread` of the team puts tasks.
    #[inline]
    pub(crate) fn list_of(&self, thread: u32) -> &List<M> {
        match &self.lists {
            Some(lists) if thread != 0 => &lists.others[thread as usize - 1].0,
            _ => &self.first,
        }
    }

    /// Counts one more task that is not done. No other thread can have the task yet: it is in no
    /// list, or the list's lock is held.
    #[inline]
    pub(crate) fn one_more(&self) {
        // Release: a thread that sees the count sees that a task can be taken.
        self.pending.fetch_add(ONE_MORE, Release);
    }

    /// Counts a task as done, on behalf of `thread`. `released`: the number of tasks that waited
    /// for it and can run now.
    pub(crate) fn one_done(&self, thread: u32, waits: &Waits, detached: bool, released: u32) {
        if let Some(lists) = &self.lists {
            return lists.ended(thread, waits, detached);
        }
        // The team may be freed once the task is counted; after that only the address is used.
        let pending = &raw const self.pending;
        // Release: a thread that sees the count sees what the task did.
        // C11: the Acquire half orders nothing: the result only says whether to wake. A thread that
        // sees this or a later change of the count acquires from each earlier change, because all
        // are exchanges: parts of each other's release sequences.
        let left = (self.pending.fetch_add(u32::MAX, AcqRel) - 1) & NOT_DONE;
        // The threads that wait for this word have not arrived at a barrier yet: they go on when no
        // task is left, and run tasks while there are some.
        if left == 0 || released != 0 {
            M::wake::<u32>(pending, u32::MAX, waits.of(Why::Task));
        }
    }
}
