//! What a thread says of itself to the scheduler.

/// The run-time extensions of Saez, Fedorova, Prieto and Vegas (CF 2010, section 2.2), by which a scheduler of fast and slow cores
/// knows threads that only burn their CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It waits for another thread and only burns its CPU.
    Spinning,
    /// It does work that counts.
    Working,
    /// It runs the parts of the program that all other threads wait for. This stays so until another thread says it.
    Master,
}

/// What a thread has to do with a lock or a barrier, for a scheduler that goes by who waits for whom
/// ([`Machine::notify_lock`](crate::Machine::notify_lock)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockNotice {
    /// It is about to take the lock, and waits if another thread has it.
    Wanted,
    /// It has taken the lock.
    Taken,
    /// It has released the lock, or waits for it or at the barrier no more.
    Left,
    /// It has come to a barrier, and waits for those that have not.
    Arrived,
}
