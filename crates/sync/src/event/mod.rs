//! Events: wait for a condition, notify one or all who wait. What condition variables are built on.
//!
//! Waiting has three steps, so that the caller can let go of its lock in between, however it locks:
//!
//! 1. [`prepare`](RawEvent::prepare) while the condition is known not to hold: from here on a notification counts;
//! 2. let go of the lock (or look at the condition once more), then [`sleep`](RawEvent::sleep);
//! 3. [`retire`](RawEvent::retire), always and once, whether notified, expired or cancelled in the sleep.
//!
//! [`wait`](RawEvent::wait) is all three with a [`RawLock`]. Two protocols lose no notification: the condition is
//! changed under the lock under which `prepare` is called (a condition variable), or it is looked at again between
//! `prepare` and `sleep` (an event count); then it may be changed with no lock at all.

#[macro_use]
mod registry;
every_event!([crate::registry::modules]);

pub use registry::{EVENTS, EventVisitor, UnknownEvent, visit};

use crate::lock::RawLock;
use baton_machine::{Counted, Deadline, Machine, Wait};

/// The event that condition variables use: [`queue::QueueEvent`].
pub type Event<M> = queue::QueueEvent<M>;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// Notified. A caller that waits for a condition still looks whether it holds.
    Notified,
    /// The deadline passed first.
    Expired,
}

/// What is said of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
    /// Whether `notify_one` wakes the one that has waited longest, and no other.
    pub fifo: bool,
    /// What a wait takes that is notified before it sleeps: `prepare`, `notify_one`, `sleep` and `retire`.
    pub counted: Counted,
}

/// An event. All of its users pass the same `wait`.
///
/// # Safety
/// A notification that comes after a `prepare` (in the order of happens-before, or of the SeqCst fences that both
/// contain) ends that waiter's sleep, unless `notify_one` chose another that was prepared before the notification too.
/// What the notifier wrote before it happens before `sleep` or `retire` says that it came.
pub unsafe trait RawEvent<M: Machine>: Send + Sync + 'static {
    /// A waiter between `prepare` and `retire`. Plain data without a destructor: a thread that is cancelled in its
    /// sleep leaves it behind for its clean-up handler.
    type Waiter: Copy;

    /// What is said of the event; its line in the registry.
    const INFO: EventInfo;

    /// An event with no waiters. On machines whose cells have the layout of their values, all-zero bytes are one too.
    fn new() -> Self;

    /// Joins the waiters. Waits for other users of the event at most for a few instructions of theirs.
    fn prepare(&self, wait: Wait) -> Self::Waiter;

    /// Sleeps until notified, at the latest until the deadline. May be given up at any instruction (by asynchronous
    /// cancellation): it takes nothing that it would have to give back.
    ///
    /// # Safety
    /// The calling thread prepared `waiter` with this event and `wait`, and has not retired it.
    unsafe fn sleep(&self, waiter: Self::Waiter, wait: Wait, deadline: Option<Deadline>) -> Ended;

    /// Leaves the waiters. Says whether a notification came: a thread that leaves for another reason (a deadline, cancellation)
    /// and is told that one did must act on it or pass it on by [`notify_one`](RawEvent::notify_one).
    ///
    /// # Safety
    /// As [`RawEvent::sleep`]; afterwards `waiter` is gone.
    unsafe fn retire(&self, waiter: Self::Waiter, wait: Wait) -> bool;

    /// Notifies one waiter, if there is any.
    fn notify_one(&self, wait: Wait);

    /// Notifies all waiters that have prepared.
    fn notify_all(&self, wait: Wait);

    /// Waits until no waiter that is notified, or leaves, will touch the event again, so that its memory may be freed:
    /// what `pthread_cond_destroy` needs. No thread may prepare meanwhile; a waiter that no thread notifies and that does
    /// not leave is waited for without end.
    fn settle(&self, wait: Wait);

    /// Lets go of `lock`, waits to be notified, and takes `lock` again: a condition variable's wait. Says how the wait
    /// ended; a notification that came while it expired counts.
    ///
    /// # Safety
    /// The calling thread holds `lock` by `token`, locked with `lock_wait`.
    unsafe fn wait<L: RawLock<M>>(
        &self,
        lock: &L,
        token: L::Token,
        lock_wait: Wait,
        wait: Wait,
        deadline: Option<Deadline>,
    ) -> (L::Token, Ended) {
        let waiter = self.prepare(wait);
        // SAFETY: the caller holds the lock; the waiter is ours, and retired once.
        let notified = unsafe {
            lock.unlock(token, lock_wait);
            let _ = self.sleep(waiter, wait, deadline);
            self.retire(waiter, wait)
        };
        (lock.lock(lock_wait), if notified { Ended::Notified } else { Ended::Expired })
    }
}
