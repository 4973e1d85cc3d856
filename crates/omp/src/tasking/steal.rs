//! Threads that find no task of their own: how they are told of tasks, and how they know that all
//! tasks have ended.

use crate::tasks::lists::Lists;
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine};

/// How often a thread that found no task looks again before it rests. Other threads that are about
/// to make a task, or to end the last one, do so within that time.
const LOOKS: u32 = 16;

impl<M: Machine> Team<M> {
    /// Wakes up to `wakes` threads for tasks that the calling thread put into a list. A thread
    /// calls this before it arrives at a barrier, and before the task ends that it runs.
    #[inline]
    pub(crate) fn tell_thieves(&self, lists: &Lists<M>, waits: &Waits, wakes: u32) {
        let Some(barrier) = &self.barrier else { return };
        // SeqCst: either a thread that found no task sees this one, or this thread sees below what
        // that thread has stored before it rests.
        M::fence(SeqCst);
        // Relaxed, both loads: the fence orders them.
        if lists.signs.0.told.load(Relaxed) == 0 {
            self.set_bit(lists, waits);
        }
        barrier.wake(wakes, waits.meeting());
        if lists.signs.0.waiters.load(Relaxed) != 0 {
            lists.signal(waits, wakes);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        let _hold = lists.lock.hold(waits.of(Why::Lock));
        // Relaxed, both accesses: the lock is held. A thread that sees the last task's end sees the
        // bit set, and clears it before it arrives.
        if lists.signs.0.told.load(Relaxed) == 0 {
            barrier.tasks_wait();
            lists.signs.0.told.store(1, Relaxed);
        }
    }

    /// The calling thread found no task: clears the bit, so that threads at the barrier do not look
    /// for one.
    pub(crate) fn clear_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        let told = &lists.signs.0.told;
        // Acquire: if this is 0, the bit is seen cleared as well.
        if told.load(Acquire) == 0 {
            return;
        }
        let hold = lists.lock.hold(waits.of(Why::Lock));
        // Relaxed: the lock is held.
        if told.load(Relaxed) != 0 {
            barrier.no_task_waits();
            // Release: see above.
            told.store(0, Release);
        }
        drop(hold);
        // SeqCst: either a thread that put a task into a list before sees that the bit is clear, or
        // this thread sees that task here.
        M::fence(SeqCst);
        for list in (0..self.size).map(|thread| self.tasks.list_of(thread)) {
            if list.is_filled() {
                // While the list is locked the task cannot have ended, so no thread that waits for
                // its end has arrived at the barrier.
                list.locked(waits, |waiting| {
                    if !waiting.is_empty() {
                        self.set_bit(lists, waits);
                    }
                });
            }
        }
    }

    fn has_ready(&self) -> bool {
        (0..self.size).any(|thread| self.tasks.list_of(thread).is_filled())
    }
}

impl<M: Machine> Context<M> {
    /// Runs the team's tasks, in whichever list, until no task that the thread knows of waits or
    /// runs.
    pub(crate) fn hunt(&self, lists: &Lists<M>) {
        // Relaxed: a thread that does not see this mark knows of no task.
        if lists.signs.0.used.load(Relaxed) == 0 {
            return;
        }
        let (team, waits) = (self.team(), self.waits());
        loop {
            self.run_any();
            if lists.all_ended() {
                break;
            }
            if !self.looks_up() && !lists.all_ended() {
                self.rest(lists);
            }
        }
        team.clear_bit(lists, waits);
    }

    /// Looks for a task a few more times. Returns whether one came.
    pub(crate) fn looks_up(&self) -> bool {
        (0..LOOKS).any(|_| {
            M::relax();
            self.team().has_ready()
        })
    }

    fn rest(&self, lists: &Lists<M>) {
        let waiters = &lists.signs.0.waiters;
        // Relaxed: see `signal`.
        let seen = lists.events.0.load(Relaxed);
        waiters.fetch_add(1, Relaxed);
        // SeqCst: pairs with the fences in `tell_thieves` and `ended`.
        M::fence(SeqCst);
        if !self.team().has_ready() && !lists.all_ended() {
            self.waits().wait::<M, u32>(Why::Task, &lists.events.0, seen);
        }
        // Relaxed: a thread that still counts this waiter calls `signal` for no reason.
        waiters.fetch_add(u32::MAX, Relaxed);
    }
}
