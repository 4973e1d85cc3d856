//! Threads that find no task of their own: who is told of tasks, and when all have ended.

use crate::tasks::lists::Lists;
use crate::tasks::queue::holding;
use crate::team::{Context, Team};
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine};

/// How often a thread that found nothing looks again before it rests: others make tasks, or end the last, within that time if they are about to.
const LOOKS: u32 = 16;

impl<M: Machine> Team<M> {
    /// Wakes so many threads for tasks that the calling thread put into a list. It says so before it arrives at a barrier, and before the task
    /// ends that it runs.
    pub(crate) fn tell_thieves(&self, lists: &Lists<M>, waits: &Waits, wakes: u32) {
        let Some(barrier) = &self.barrier else { return };
        // SeqCst: either who found no task sees this one, or what it said is seen below.
        M::fence(SeqCst);
        // Relaxed, both: the fence.
        if lists.signs.0.told.load(Relaxed) == 0 {
            self.set_bit(lists, waits);
        }
        barrier.wake(wakes, waits.meeting());
        if lists.signs.0.waiters.load(Relaxed) != 0 {
            lists.signal(waits, wakes);
        }
    }

    fn set_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        holding(&*lists.lock, waits, || {
            // Relaxed, both: the lock is held. Who sees the last task's end sees this, and clears the bit before it arrives.
            if lists.signs.0.told.load(Relaxed) == 0 {
                barrier.tasks_wait();
                lists.signs.0.told.store(1, Relaxed);
            }
        });
    }

    /// The calling thread found no task: those at the barrier need not look.
    pub(crate) fn clear_bit(&self, lists: &Lists<M>, waits: &Waits) {
        let Some(barrier) = &self.barrier else { return };
        let told = &lists.signs.0.told;
        // Acquire: the bit is clear if this says so.
        if told.load(Acquire) == 0 {
            return;
        }
        holding(&*lists.lock, waits, || {
            // Relaxed: the lock is held.
            if told.load(Relaxed) != 0 {
                barrier.no_task_waits();
                // Release: see above.
                told.store(0, Release);
            }
        });
        // SeqCst: either who put a task there before sees that the bit is clear, or the task is seen here.
        M::fence(SeqCst);
        for list in (0..self.size).map(|thread| self.tasks.list_of(thread)) {
            if list.is_filled() {
                // With the list locked the task has not ended, so that no thread that waits for its end has arrived.
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
    /// Runs the team's tasks, wherever they are, until none waits or runs that the thread knows of.
    pub(crate) fn hunt(&self, lists: &Lists<M>) {
        // Relaxed: the thread knows of no task if it does not see this.
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

    /// Whether a task comes within a short time.
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
        // SeqCst: see `tell_thieves` and `ended`.
        M::fence(SeqCst);
        if !self.team().has_ready() && !lists.all_ended() {
            self.waits().wait::<M, u32>(Why::Task, &lists.events.0, seen);
        }
        // Relaxed: who still sees it wakes none.
        waiters.fetch_add(u32::MAX, Relaxed);
    }
}
