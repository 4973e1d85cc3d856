//! What threads wait for beside a task's children: the tasks of a group, the event of a detached
//! task, and tasks that others follow.

use super::shared::Shared;
use super::task::End;
use crate::waits::{Waits, Why};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Slot};

/// Tasks that are not done.
pub(crate) struct Count<M: Machine>(pub(crate) M::Atomic<u32>);

impl<M: Machine> Count<M> {
    pub(crate) fn new(tasks: u32) -> Shared<M, Self> {
        Shared::new(Count(M::Atomic::new(tasks)))
    }

    /// One more, before another thread knows of it.
    pub(crate) fn one_more(&self) {
        // Relaxed: the queue's lock orders it before the task runs, and only the task's own threads wait for it.
        self.0.fetch_add(1, Relaxed);
    }

    /// One less: those that wait are woken if it was the last, or if there may be more that they can run.
    pub(crate) fn one_done(&self, waits: &Waits, more: u32) {
        // Release: who sees it sees what the task did. So does who sees a later one: each is a part of the release sequences of those before.
        if self.0.fetch_add(u32::MAX, Release) == 1 || more != 0 {
            waits.wake::<M, u32>(Why::Task, &self.0);
        }
    }
}

/// A taskgroup. A task counts in its innermost group alone: a task that makes an inner group cannot
/// end before that group.
pub struct Group<M: Machine> {
    pub(crate) tasks: Shared<M, Count<M>>,
    cancelled: M::Atomic<u32>,
    /// Whether the group belongs to a work-share with reductions over tasks; `cancel taskgroup`
    /// never means such a group.
    of_share: bool,
    /// Around it.
    pub(crate) outer: Option<Shared<M, Group<M>>>,
    /// What the interface registered for reductions over its tasks: an address, or zero.
    reductions: M::Atomic<usize>,
}

impl<M: Machine> Group<M> {
    pub(crate) fn new(outer: Option<Shared<M, Group<M>>>, of_share: bool, reductions: usize) -> Shared<M, Self> {
        let (cancelled, reductions) = (M::Atomic::new(0), M::Atomic::new(reductions));
        Shared::new(Group { tasks: Count::new(0), cancelled, of_share, outer, reductions })
    }

    /// The address that was registered for reductions over the group's tasks, or zero.
    pub fn reductions(&self) -> usize {
        // Acquire: the thread sees what is at that address.
        self.reductions.load(Acquire)
    }

    /// Registers an address for reductions over the group's tasks.
    pub fn set_reductions(&self, address: usize) {
        // Release: see `reductions`.
        self.reductions.store(address, Release);
    }

    pub(crate) fn cancel(&self) {
        if let Some(group) = self.chain().find(|group| !group.of_share) {
            // Release: a thread that sees the cancellation sees what was done before.
            group.cancelled.store(1, Release);
        }
    }

    /// The group and those around it, from the inside out.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Group<M>> {
        std::iter::successors(Some(self), |group| group.outer.as_deref())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        // Acquire: see `cancel`.
        self.chain().any(|group| group.cancelled.load(Acquire) != 0)
    }
}

/// The event of a detached task. The task is done when its body has ended and the event is
/// fulfilled.
pub struct Event<M: Machine> {
    /// Whichever comes first, the end of the body or the fulfilment, leaves its number here.
    state: M::Atomic<u32>,
    /// What the end of the body left for the thread that fulfils the event.
    end: M::Slot<Option<End<M>>>,
}

/// Neither has happened.
const PENDING: u32 = 0;
/// The body has ended.
const ENDED: u32 = 1;
/// The event is fulfilled.
const FULFILLED: u32 = 2;

// SAFETY: the slot is written before the state says that the body has ended (Release), and read by the one thread that fulfils the
// event after that (Acquire).
unsafe impl<M: Machine> Sync for Event<M> {}
// SAFETY: its parts may go where the machine's cells may, and an end is handed from one thread to another.
unsafe impl<M: Machine> Send for Event<M> {}

impl<M: Machine> Event<M> {
    /// An event that is not fulfilled.
    #[expect(clippy::new_without_default, reason = "events are made one by one, on purpose")]
    pub fn new() -> Self {
        Event { state: M::Atomic::new(PENDING), end: M::Slot::new(None) }
    }

    /// The body has ended: what is to be done now, if the event is fulfilled already.
    pub(crate) fn body_ended(&self, end: End<M>) -> Option<End<M>> {
        // SAFETY: the one thread that ran the body writes it, and no other reads it before the state says so.
        unsafe { self.end.write(|at| *at = Some(end)) };
        // Release: the end. Acquire on failure: what was done before the event was fulfilled. The
        // first of the two has nothing to see.
        let first = self.state.compare_exchange(PENDING, ENDED, Release, Acquire).is_ok();
        if first { None } else { self.take() }
    }

    /// Fulfils the event: what is to be done now, if the body has ended.
    pub(crate) fn fulfil(&self, waits: &Waits) -> Option<End<M>> {
        // As in `body_ended`, the other way about.
        if self.state.compare_exchange(PENDING, FULFILLED, Release, Acquire).is_ok() {
            waits.wake::<M, u32>(Why::Task, &self.state);
            return None;
        }
        self.take()
    }

    fn take(&self) -> Option<End<M>> {
        // SAFETY: the other one of the two is over, and this is the one that comes second.
        unsafe { self.end.write(|at| (*at).take()) }
    }

    /// The word that is zero until the event is fulfilled, for a thread that ran the body and waits.
    pub(crate) fn word(&self) -> &M::Atomic<u32> {
        &self.state
    }
}
