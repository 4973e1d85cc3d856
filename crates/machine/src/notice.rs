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
