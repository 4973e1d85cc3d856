//! The tasks of a team that wait for a thread: in one list behind the team's lock, or in one list
//! for each thread, each behind its own lock.
//!
//! With a list for each thread, a thread puts tasks into its own list and takes the newest of them.
//! If none of them fits, the thread steals the oldest fitting task from the next thread that has
//! one. Every thread can search every list, so a thread that waits for certain tasks finds them
//! wherever they are.

use super::lists::{Apart, Lists, Tally};
use super::task::{PER_THREAD, Task};
use crate::objects::{Hold, TeamLock};
use crate::settings::{Settings, TaskQueue};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Machine, Owned, Slot};
use core::ops::{Deref, DerefMut};
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
    pub(crate) lock: TeamLock<M>,
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
    /// The team's list, or its first thread's. The list's lock also protects the dependences. Other
    /// threads read the fields below at each task, so these are not in the list's lines.
    pub(crate) first: Apart<List<M>>,
    /// The number of tasks that are not done, in the bits of [`NOT_DONE`]; see [`ONE_MORE`].
    pub(crate) pending: M::Atomic<u32>,
    /// How many threads are woken for a new task.
    pub(crate) wakes: u32,
    /// Whether a thread runs new tasks at once where many wait.
    throttles: bool,
    /// Whether the team has had an event of a task.
    events: M::Atomic<u32>,
    /// The number of threads that found no task at the end of a group, and sleep or are about to. It
    /// is read at each task that is made in a group, and seldom changes.
    pub(crate) sleepers: Apart<M::Atomic<u32>>,
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

    /// Locks the list until the result is dropped.
    #[inline(always)]
    pub(crate) fn lock(&self, waits: &Waits) -> Locked<'_, M> {
        let hold = self.lock.hold(waits.of(Why::Lock));
        // SAFETY: the list's lock is held, so no other thread accesses the tasks.
        let waiting = unsafe { self.waiting.write(|waiting| waiting) };
        Locked { waiting, _hold: hold }
    }

    /// Calls `then` with the list locked.
    pub(crate) fn locked<R>(&self, waits: &Waits, then: impl FnOnce(&mut VecDeque<Box<Task<M>>>) -> R) -> R {
        then(&mut self.lock(waits))
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

/// The tasks of a list that the calling thread has locked.
pub(crate) struct Locked<'a, M: Machine> {
    waiting: *mut VecDeque<Box<Task<M>>>,
    _hold: Hold<'a, M>,
}

impl<M: Machine> Deref for Locked<'_, M> {
    type Target = VecDeque<Box<Task<M>>>;
    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        // SAFETY: the list's lock is held, so no other thread accesses the tasks.
        unsafe { &*self.waiting }
    }
}

impl<M: Machine> DerefMut for Locked<'_, M> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as above.
        unsafe { &mut *self.waiting }
    }
}

/// Puts a task behind tasks of its priority and before tasks of a lower one.
#[cold]
fn put_ahead<M: Machine>(waiting: &mut VecDeque<Box<Task<M>>>, task: Box<Task<M>>) {
    let at = waiting.iter().rposition(|other| other.priority >= task.priority).map_or(0, |at| at + 1);
    waiting.insert(at, task);
}

pub(crate) fn new_lock<M: Machine>(settings: &Settings) -> TeamLock<M> {
    TeamLock::new(&settings.lock).expect("the settings name a lock that there is")
}

impl<M: Machine> Queue<M> {
    /// An empty queue of a team of `threads` threads.
    pub fn new(settings: &Settings, threads: u32) -> Self {
        let steals = settings.tasks == TaskQueue::Steal && threads > 1;
        let lists = steals.then(|| Owned::new(Lists::new(settings, threads)));
        let (pending, sleepers) = (M::Atomic::new(0), Apart(M::Atomic::new(0)));
        let (wakes, throttles) = (settings.task_wakes, settings.throttles);
        let (first, events) = (Apart(List::new(settings)), M::Atomic::new(0));
        Queue { first, pending, wakes, throttles, events, sleepers, lists }
    }

    /// The address by which a checker of races knows the ends of all tasks.
    pub(crate) fn order(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }

    /// A thread of the team makes an event of a task.
    pub(crate) fn has_event(&self) {
        // Relaxed, here and below: the word hands nothing over. The thread that makes an event sees the
        // store at once, and only a thread whose task waits for the event needs it.
        self.events.store(1, Relaxed);
    }

    /// Whether the team has had an event of a task.
    pub(crate) fn has_events(&self) -> bool {
        self.events.load(Relaxed) != 0
    }

    /// Begins a region of the team.
    pub fn begin(&self) {
        self.lists.iter().for_each(|lists| lists.begin());
    }

    /// The number of tasks in a thread's list at which the thread runs further tasks at once, in a
    /// team of `threads`, if an explicit task makes them; 0 if the team has a single queue.
    pub(crate) fn room(&self, threads: u32) -> u32 {
        // A few waiting tasks are enough where each stolen task makes its own. More would be put
        // into the list and taken out for nothing.
        match self.lists {
            None => 0,
            Some(_) if self.throttles => PER_THREAD.min(threads.saturating_mul(4)),
            Some(_) => u32::MAX,
        }
    }

    /// The number of tasks of a single queue that are not done at which further tasks run at once,
    /// in a team of `threads`.
    pub(crate) fn most(&self, threads: u32) -> u32 {
        // Without throttling: as far as [`NOT_DONE`] counts, with a thread's last task each.
        if self.throttles { PER_THREAD.saturating_mul(threads) } else { NOT_DONE / 2 }
    }

    /// The tally of `thread`; `None` if the team has a single queue.
    pub(crate) fn tally_of(&self, thread: u32) -> Option<&Tally<M>> {
        self.lists.as_ref().map(|lists| &lists.tallies[thread as usize].0)
    }

    /// Counts a task that the thread of this tally has made.
    #[inline]
    pub(crate) fn made(&self, tally: Option<&Tally<M>>, detached: bool) {
        match (&self.lists, tally) {
            (Some(lists), Some(tally)) => lists.made(tally, detached),
            _ => self.one_more(),
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
            _ => &self.first.0,
        }
    }

    /// Counts one more task that is not done. No other thread can have the task yet: it is in no
    /// list, or the list's lock is held.
    #[inline]
    pub(crate) fn one_more(&self) {
        // Release: a thread that sees the count sees that a task can be taken.
        self.pending.fetch_add(ONE_MORE, Release);
    }

    /// Counts a task as done. `tally`: that of the thread that ran it, unless it was detached.
    /// `released`: the number of tasks that waited for it and can run now.
    #[inline]
    pub(crate) fn one_done(&self, tally: Option<&Tally<M>>, waits: &Waits, released: u32) {
        match &self.lists {
            Some(lists) => lists.ended(tally, waits),
            None => self.one_done_of_all(waits, released),
        }
    }

    fn one_done_of_all(&self, waits: &Waits, released: u32) {
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
