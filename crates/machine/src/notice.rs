//! What a thread tells the scheduler about itself.

/// The run-time extensions of Saez, Fedorova, Prieto and Vegas (CF 2010, section 2.2): they tell a
/// scheduler of fast and slow cores which threads only burn their CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The thread waits for another thread and only burns its CPU.
    Spinning,
    /// The thread does useful work.
    Working,
    /// The thread runs the parts of the program that all other threads wait for, until another
    /// thread sends this notice.
    Master,
}

/// What a thread does with a lock or barrier, for a scheduler that considers which thread waits for
/// which ([`Machine::notify_lock`](crate::Machine::notify_lock)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNotice {
    /// The thread is about to take the lock, and waits if another thread holds it.
    Wanted,
    /// The thread has taken the lock.
    Taken,
    /// The thread has released the lock, or no longer waits for it or at the barrier.
    Left,
    /// The thread has arrived at a barrier and waits for the others.
    Arrived,
}
