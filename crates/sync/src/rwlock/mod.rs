//! Reader-writer locks: any number of readers at a time, or one writer.

#[macro_use]
mod registry;
every_rwlock!([crate::registry::modules]);

pub use registry::{RWLOCKS, RwLockVisitor, UnknownRwLock, visit};

use baton_machine::{Machine, Wait};

/// The description of a reader-writer lock.
#[derive(Clone, Copy, Debug)]
pub struct RwLockInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// How the lock works, in one line.
    pub what: &'static str,
    /// The paper or program that the lock comes from.
    pub source: &'static str,
    /// Limitations; empty if there are none.
    pub limits: &'static str,
}

/// A reader-writer lock. All users of a lock pass the same `wait`.
///
/// # Safety
/// While a thread holds the lock exclusively, no other thread holds it. What a holder did before it
/// released the lock happens before the next exclusive hold, and what an exclusive holder did
/// happens before every later hold.
pub unsafe trait RawRwLock<M: Machine>: Sized + Send + Sync + 'static {
    /// Description of the lock, its line in the registry.
    const INFO: RwLockInfo;

    /// Creates a free lock.
    fn new() -> Self;

    /// Waits until no thread holds the lock exclusively, then holds it together with other readers.
    fn lock_shared(&self, wait: Wait);

    /// Releases a shared hold.
    ///
    /// # Safety
    /// A hold by [`lock_shared`](RawRwLock::lock_shared) with the same `wait`, by this thread or
    /// another, has not been released yet; this call releases it.
    unsafe fn unlock_shared(&self, wait: Wait);

    /// Waits until no thread holds the lock, then holds it alone.
    fn lock_exclusive(&self, wait: Wait);

    /// Releases an exclusive hold.
    ///
    /// # Safety
    /// The rules of [`unlock_shared`](RawRwLock::unlock_shared) apply, to a hold by
    /// [`lock_exclusive`](RawRwLock::lock_exclusive).
    unsafe fn unlock_exclusive(&self, wait: Wait);
}
