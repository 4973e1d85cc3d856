//! Reader-writer locks: any number of readers at a time, or one writer.

#[macro_use]
mod registry;
every_rwlock!([crate::registry::modules]);

pub use registry::{RWLOCKS, RwLockVisitor, UnknownRwLock, visit};

use baton_machine::{Machine, Wait};

/// What is said of a reader-writer lock.
#[derive(Clone, Copy, Debug)]
pub struct RwLockInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// One line: how it works.
    pub what: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it cannot do; empty if nothing.
    pub limits: &'static str,
}

/// A reader-writer lock. All of its users pass the same `wait`.
///
/// # Safety
/// While a thread holds the lock exclusively, no other thread holds it. What a holder did before it gave the lock up happens before
/// the next exclusive hold, and what an exclusive holder did happens before every later hold.
pub unsafe trait RawRwLock<M: Machine>: Sized + Send + Sync + 'static {
    /// What is said of the lock; its line in the registry.
    const INFO: RwLockInfo;

    /// A lock that is free.
    fn new() -> Self;

    /// Waits until no thread holds it exclusively, and holds it with other readers.
    fn lock_shared(&self, wait: Wait);

    /// Gives a shared hold up.
    ///
    /// # Safety
    /// A hold by [`lock_shared`](RawRwLock::lock_shared) with the same `wait`, of this thread or another, has not been given up yet;
    /// this call gives it up.
    unsafe fn unlock_shared(&self, wait: Wait);

    /// Waits until no thread holds it, and holds it alone.
    fn lock_exclusive(&self, wait: Wait);

    /// Gives an exclusive hold up.
    ///
    /// # Safety
    /// As [`unlock_shared`](RawRwLock::unlock_shared), of a hold by [`lock_exclusive`](RawRwLock::lock_exclusive).
    unsafe fn unlock_exclusive(&self, wait: Wait);
}
