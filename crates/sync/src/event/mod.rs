//! Events: wait for a condition, notify one or all waiters. Condition variables are built on them.
//!
//! Waiting has three steps, so that the caller can release its lock in between, however it locks:
//!
//! 1. [`prepare`](RawEvent::prepare) while the condition is known not to hold: from here on a
//!    notification counts;
//! 2. release the lock (or check the condition once more), then [`sleep`](RawEvent::sleep);
//! 3. [`retire`](RawEvent::retire), always and exactly once, whether notified, expired or cancelled
//!    in the sleep.
//!
//! [`wait`](RawEvent::wait) does all three with a [`RawLock`]. Two protocols lose no notification:
//! the condition is changed under the lock under which `prepare` is called (a condition variable),
//! or it is checked again between `prepare` and `sleep` (an event count); then it may be changed
//! without any lock.

#[macro_use]
mod registry;
every_event!([crate::registry::modules]);

pub use registry::{EVENTS, EventVisitor, UnknownEvent, visit};

use crate::lock::RawLock;
use baton_machine::{Counted, Deadline, Machine, Wait};

/// The event that monitors of Baton's own programs use: [`queue::QueueEvent`].
pub type Event<M> = queue::QueueEvent<M>;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// A notification came. A caller that waits for a condition must still check it.
    Notified,
    /// The deadline passed first.
    Expired,
}

/// The description of an event.
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the event works, in one line.
    pub what: &'static str,
    /// The paper or program that the event comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
    /// Whether `notify_one` wakes exactly one waiter, the one that has waited longest.
    pub fifo: bool,
    /// Instructions and accesses of a wait that is notified before it sleeps: `prepare`,
    /// `notify_one`, `sleep` and `retire`.
    pub counted: Counted,
}

/// An event. All users of an event pass the same `wait`.
///
/// # Safety
/// A notification that comes after a `prepare` (in the order of happens-before, or of the SeqCst
/// fences that both contain) ends that waiter's sleep, unless `notify_one` chose another waiter
/// that had also prepared before it. What the notifier wrote before the notification happens before
/// `sleep` or `retire` reports it.
pub unsafe trait RawEvent<M: Machine>: Send + Sync + 'static {
    /// A waiter between `prepare` and `retire`. Plain data without a destructor: a thread that is
    /// cancelled in its sleep leaves it to its clean-up handler.
    type Waiter: Copy;

    /// Description of the event, its line in the registry.
    const INFO: EventInfo;

    /// Creates an event without waiters. On machines whose cells have the layout of their values,
    /// all-zero bytes are such an event too.
    fn new() -> Self;

    /// Joins the waiters. Waits for other users of the event for a few of their instructions at
    /// most.
    fn prepare(&self, wait: Wait) -> Self::Waiter;

    /// Sleeps until notified, until `deadline` at the latest. The thread may be cancelled
    /// asynchronously at any instruction of it: the call acquires nothing that it would have to
    /// release.
    ///
    /// # Safety
    /// The calling thread prepared `waiter` with this event and `wait`, and has not retired it.
    unsafe fn sleep(&self, waiter: Self::Waiter, wait: Wait, deadline: Option<Deadline>) -> Ended;

    /// Leaves the waiters. Returns whether a notification came. A thread that leaves for another
    /// reason (a deadline, cancellation) and gets true must act on the notification, or pass it on
    /// by [`notify_one`](RawEvent::notify_one).
    ///
    /// # Safety
    /// The rules of [`RawEvent::sleep`] hold; `waiter` must not be used afterwards.
    unsafe fn retire(&self, waiter: Self::Waiter, wait: Wait) -> bool;

    /// Notifies one waiter, if there is one.
    fn notify_one(&self, wait: Wait);

    /// Notifies all waiters that have prepared.
    fn notify_all(&self, wait: Wait);

    /// Waits until no waiter that is notified, or leaves, will access the event again, so that its
    /// memory may be freed, as `pthread_cond_destroy` must. No thread may prepare meanwhile. If a
    /// waiter is neither notified nor leaves, the call never returns.
    fn settle(&self, wait: Wait);

    /// Releases `lock`, waits to be notified, and takes `lock` again, like the wait of a condition
    /// variable. Returns the new token and how the wait ended; a notification that came while the
    /// deadline passed counts.
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
        // SAFETY: the caller holds the lock; this thread prepared the waiter, and retires it once.
        let notified = unsafe {
            lock.unlock(token, lock_wait);
            let _ = self.sleep(waiter, wait, deadline);
            self.retire(waiter, wait)
        };
        (lock.lock(lock_wait), if notified { Ended::Notified } else { Ended::Expired })
    }
}
