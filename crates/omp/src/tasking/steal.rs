//! Threads that find no task of their own: how they are told of tasks, and how they know that all
//! tasks have ended.

use crate::tasks::lists::Lists;
use crate::tasks::queue::List;
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine};

/// How often a thread that found no task looks again before it rests. Other threads that are about
/// to make a task, or to end the last one, do so within that time.
const LOOKS: u32 = 16;

impl<M: Machine> Team<M> {
    /// Wakes up to `wakes` threads for tasks that the calling thread put into `list`, which it has
    /// unlocked since. A thread calls this before it arrives at a barrier, and before the task ends
    /// that it runs.
    #[inline]
    pub(crate) fn tell_thieves(&self, lists: &Lists<M>, list: &List<M>, waits: &Waits, wakes: u32) {
        // SeqCst: either a thread that found no task sees this one, or this thread sees below what
        // that thread has stored before it rests.
        list.lock.fence_after_release();
        // Relaxed: the fence orders the load.
        if lists.signs.0.told.load(Relaxed) == 0 {
            self.set_bit(lists, waits);
            return self.wake_thieves(lists, waits, wakes);
        }
        self.wake_another(lists, waits, wakes);
    }

    /// Wakes up to `wakes` threads, unless one is enough and one was woken that has not looked for
    /// tasks since: that one finds these tasks too, and wakes another thread if it leaves some
    /// ([`Context::run_shared`]). No thread goes to sleep at the barrier while the bit is set, and a
    /// thread that rests elsewhere [looks](Lists::looks) first.
    #[inline]
    fn wake_another(&self, lists: &Lists<M>, waits: &Waits, wakes: u32) {
        // Relaxed: the caller's fence orders the load.
        if wakes != 1 || lists.signs.0.sought.load(Relaxed) == 0 {
            self.wake_thieves(lists, waits, wakes);
        }
    }

    #[inline(never)]
    fn wake_thieves(&self, lists: &Lists<M>, waits: &Waits, wakes: u32) {
        let Some(barrier) = &self.barrier else { return };
        // Relaxed, both accesses: the caller's fence orders them. A thread that reads the 1 before the
        // threads below are woken is served by them, because they look afterwards.
        lists.signs.0.sought.store(1, Relaxed);
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
        self.run_any();
        while !lists.all_ended() {
            if !self.looks_up() && !lists.all_ended() {
                self.rest(lists);
                lists.looks();
            }
            self.run_shared(lists);
        }
        team.clear_bit(lists, waits);
    }

    /// Runs the team's tasks until none waits. If there are several, first wakes another thread. Returns
    /// whether there was one.
    pub(crate) fn run_shared(&self, lists: &Lists<M>) -> bool {
        let Some(task) = self.take_any() else { return false };
        let team = self.team();
        if team.has_ready() {
            team.wake_another(lists, self.waits(), team.tasks.wakes);
        }
        self.run_task(task);
        self.run_any();
        true
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
        // The fence in `looks` pairs with those in `tell_thieves` and `ended`.
        lists.looks();
        if !self.team().has_ready() && !lists.all_ended() {
            self.waits().wait::<M, u32>(Why::Task, &lists.events.0, seen);
        }
        // Relaxed: a thread that still counts this waiter calls `signal` for no reason.
        waiters.fetch_add(u32::MAX, Relaxed);
    }
}
