//! What threads wait for beside a task's children: the tasks of a group, the event of a detached
//! task, and the tasks on which others depend.

use super::shared::Shared;
use super::task::End;
use crate::tool::TaskRecord;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Slot};
use std::sync::{Arc, OnceLock};

/// The number of a group's tasks that are not done, in the bits of [`TASKS`](Count::TASKS), and above
/// them a number that changes when one of them has become ready.
pub(crate) struct Count<M: Machine>(pub(crate) M::Atomic<u32>);

impl<M: Machine> Count<M> {
    /// The bits that count tasks.
    pub(crate) const TASKS: u32 = (1 << 24) - 1;

    pub(crate) fn new(tasks: u32) -> Shared<M, Self> {
        Shared::new(Count(M::Atomic::new(tasks)))
    }

    /// Wakes the waiting thread for a task that it can find.
    fn one_ready(&self, waits: &Waits) {
        // Release: the thread comes after the store in `rouse` when it says again that it sleeps.
        self.0.fetch_add(Self::TASKS + 1, Relaxed);
        waits.wake::<M, u32>(Why::Task, &self.0);
    }

    /// Counts one more task, which no other thread knows yet.
    pub(crate) fn one_more(&self) {
        // Relaxed: the queue's lock orders the change before the task runs. A thread that waits for
        // the count has made the task itself, or waits for the task that makes it.
        self.0.fetch_add(1, Relaxed);
    }

    /// Counts one task as done. Wakes the waiting thread if it was the last.
    pub(crate) fn one_done(&self, waits: &Waits) {
        // Release: a thread that sees this value, or a later one, sees what the task did, because
        // each later change is a part of the release sequences of the earlier ones.
        // C11: the count of references to the group gives the same order once this thread has let go
        // of the group. The mutation check, with few preemptions, does not come to the execution in
        // which the waiting thread goes on before that (a guess).
        if self.0.fetch_add(u32::MAX, Release) & Self::TASKS == 1 {
            waits.wake::<M, u32>(Why::Task, &self.0);
        }
    }
}

/// A taskgroup. A task counts in its innermost group alone: a task that makes an inner group cannot
/// end before that group.
pub struct Group<M: Machine> {
    pub(crate) tasks: Shared<M, Count<M>>,
    cancelled: M::Atomic<u32>,
    /// Whether the thread at the group's end found no task, and is about to sleep or sleeps.
    sleeps: M::Atomic<u32>,
    /// Whether the group belongs to a work-share with reductions over tasks; `cancel taskgroup`
    /// never means such a group.
    of_share: bool,
    /// The group around this one.
    pub(crate) outer: Option<Shared<M, Group<M>>>,
    /// The address that was registered for reductions over the group's tasks, or zero.
    reductions: M::Atomic<usize>,
}

impl<M: Machine> Group<M> {
    pub(crate) fn new(outer: Option<Shared<M, Group<M>>>, of_share: bool, reductions: usize) -> Shared<M, Self> {
        let (cancelled, sleeps, reductions) = (M::Atomic::new(0), M::Atomic::new(0), M::Atomic::new(reductions));
        Shared::new(Group { tasks: Count::new(0), cancelled, sleeps, of_share, outer, reductions })
    }

    /// The address that was registered for reductions over the group's tasks, or zero.
    pub fn reductions(&self) -> usize {
        // Acquire: the thread sees the data at that address.
        self.reductions.load(Acquire)
    }

    /// Registers an address for reductions over the group's tasks.
    pub fn set_reductions(&self, address: usize) {
        // Release: see `reductions`.
        self.reductions.store(address, Release);
    }

    pub(crate) fn cancel(&self) {
        if let Some(group) = self.chain().find(|group| !group.of_share) {
            // Release: a thread that sees the cancellation sees what this thread did before.
            group.cancelled.store(1, Release);
        }
    }

    /// The group and the groups around it, from the inside out.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Group<M>> {
        std::iter::successors(Some(self), |group| group.outer.as_deref())
    }

    /// The thread at the group's end is about to sleep. It must issue a SeqCst fence, and look for a
    /// task once more.
    pub(crate) fn falls_asleep(&self) {
        // Relaxed: the fence orders the store.
        self.sleeps.store(1, Relaxed);
    }

    /// Wakes the thread at the group's end, if it sleeps, for a task that was put into a list before
    /// a SeqCst fence. Returns whether it slept.
    pub(crate) fn rouse(&self, waits: &Waits) -> bool {
        // Relaxed, both accesses: the fence orders the load, and `one_ready` the store, by which the
        // thread is not woken for the next tasks too.
        let sleeps = self.sleeps.load(Relaxed) != 0;
        if sleeps {
            self.sleeps.store(0, Relaxed);
            self.tasks.one_ready(waits);
        }
        sleeps
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        // Acquire: see `cancel`.
        self.chain().any(|group| group.cancelled.load(Acquire) != 0)
    }
}

/// The event of a detached task. The task is done when its body has ended and the event is
/// fulfilled.
pub struct Event<M: Machine> {
    /// Which of the two has come first: the end of the body, or the fulfilment.
    state: M::Atomic<u32>,
    /// The task's end, which the thread that ran the body leaves for the thread that fulfils the
    /// event.
    end: M::Slot<Option<End<M>>>,
    /// The task as a tool knows it; empty: there is no tool.
    pub record: OnceLock<Arc<TaskRecord>>,
}

/// The body has not ended, and the event is not fulfilled.
const PENDING: u32 = 0;
/// The body has ended.
const ENDED: u32 = 1;
/// The event is fulfilled.
const FULFILLED: u32 = 2;

// SAFETY: `end` is written before the state says that the body has ended (Release), and read by the
// one thread that fulfils the event afterwards (Acquire), or by its writer if the event is
// fulfilled already.
unsafe impl<M: Machine> Sync for Event<M> {}
// SAFETY: its cells may be sent to another thread, as all of the machine's cells may, and so may an
// end.
unsafe impl<M: Machine> Send for Event<M> {}

impl<M: Machine> Event<M> {
    /// An event that is not fulfilled.
    #[expect(clippy::new_without_default, reason = "events are made one by one, on purpose")]
    pub fn new() -> Self {
        Event { state: M::Atomic::new(PENDING), end: M::Slot::new(None), record: OnceLock::new() }
    }

    /// Records that the body has ended. If the event is fulfilled already, returns the task's end,
    /// which the caller must then record.
    pub(crate) fn body_ended(&self, end: End<M>) -> Option<End<M>> {
        M::happens_before(core::ptr::from_ref(self).cast());
        // SAFETY: only the thread that ran the body writes `end`, and no other thread reads it
        // before the state says so.
        unsafe { self.end.write(|at| *at = Some(end)) };
        // Release: a thread that sees the state sees the end. Acquire on failure: this thread sees
        // what was done before the event was fulfilled. If the body's end comes first, this thread
        // has nothing to see.
        let first = self.state.compare_exchange(PENDING, ENDED, Release, Acquire).is_ok();
        if first { None } else { self.take() }
    }

    /// Fulfils the event. If the body has ended already, returns the task's end, which the caller
    /// must then record.
    pub(crate) fn fulfil(&self, waits: &Waits) -> Option<End<M>> {
        M::happens_before(core::ptr::from_ref(self).cast());
        // Release: the thread that runs the body sees what was done before. Acquire on failure:
        // this thread sees the end that the body left.
        if self.state.compare_exchange(PENDING, FULFILLED, Release, Acquire).is_ok() {
            waits.wake::<M, u32>(Why::Task, &self.state);
            return None;
        }
        self.take()
    }

    fn take(&self) -> Option<End<M>> {
        M::happens_after(core::ptr::from_ref(self).cast());
        // SAFETY: both have happened, and the caller is the one that came second, so no other
        // thread accesses the end.
        unsafe { self.end.write(|at| (*at).take()) }
    }

    /// Whether the event is fulfilled. The answer is only a hint.
    pub(crate) fn is_fulfilled(&self) -> bool {
        // Relaxed: see above.
        self.state.load(Relaxed) == FULFILLED
    }

    /// Whether the task's body has ended. The answer is only a hint.
    pub fn has_body_ended(&self) -> bool {
        // Relaxed: see above.
        self.state.load(Relaxed) == ENDED
    }

    /// The word of the event, which is zero until the event is fulfilled. For a thread that ran the
    /// body at once and now waits.
    pub(crate) fn word(&self) -> &M::Atomic<u32> {
        &self.state
    }
}
