//! The causes of the ends of waits, and the kinds of waits.

use crate::clock::Ticks;
use crate::event::ThreadIndex;

/// Data that a cause carries along: nothing, or the event's time in each scenario of the relaxed
/// replay.
pub(super) trait Carry: Clone {
    /// Combines with the data of another cause that the wait's end also needed: keeps the later of
    /// the two, scenario by scenario.
    fn join(&mut self, other: &Self);
}

impl Carry for () {
    fn join(&mut self, (): &()) {}
}

/// An event that let a wait end.
#[derive(Clone, Debug)]
pub(super) struct Cause<T> {
    pub(super) thread: ThreadIndex,
    pub(super) time: Ticks,
    /// Number of the event in the walk; the first event has number 1.
    pub(super) number: u64,
    pub(super) carried: T,
}

impl<T: Carry> Cause<T> {
    /// Combines with another cause that the wait's end also needed: the later of the two becomes
    /// the cause.
    pub(super) fn join(&mut self, other: &Cause<T>) {
        let mut carried = self.carried.clone();
        carried.join(&other.carried);
        if other.number > self.number {
            *self = other.clone();
        }
        self.carried = carried;
    }
}

/// The kinds of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// The thread waited for a lock.
    Lock,
    /// The thread waited at a condition variable.
    Condition,
    /// The thread waited at a barrier.
    Barrier,
    /// The thread waited for a semaphore.
    Semaphore,
    /// The thread waited for another thread's end.
    Join,
    /// The thread was created and had not started yet.
    Start,
    /// The thread waited for the next parallel region of its team.
    Idle,
    /// The thread waited for tasks.
    Tasks,
    /// The thread waited in a futex of the program's own.
    Futex,
    /// The thread waited for a lock inside of the C library.
    LibcLock,
    /// The thread waited for room in a queue.
    Room,
    /// The thread waited for an item of a queue.
    Item,
}

/// Number of variants of [`WaitKind`].
pub(super) const KINDS: usize = 12;
