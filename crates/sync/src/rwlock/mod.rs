//! Reader-writer locks: any number of readers at a time, or one writer.

#[macro_use]
mod registry;
every_rwlock!([crate::registry::modules]);

pub use registry::{RWLOCKS, RwLockVisitor, UnknownRwLock, visit};

use baton_machine::{Deadline, Machine, Wait};

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
    /// Whether the lock implements [`TurnsRwLock`].
    pub turns: bool,
}

/// The ways to hold a reader-writer lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Together with other readers; waits behind a waiting writer.
    Shared,
    /// A shared hold that does not wait behind a waiting writer, so that a thread that reads may
    /// read again.
    Recursive,
    /// Together with readers, with the right to become the writer; one thread at a time.
    Upgradable,
    /// Alone.
    Exclusive,
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

/// A reader-writer lock for general use: it can be tried, waits can give up, a reader can become
/// the writer and a writer a reader, and no stream of readers keeps a writer out.
///
/// # Safety
/// The rules of [`RawRwLock`] hold. An upgradable hold excludes exclusive and other upgradable
/// holds. A failed try, or a wait that expired, changes nothing that the thread held before and
/// leaves nothing that could delay other threads. No other thread writes between an upgrade or a
/// downgrade and the hold before it.
pub unsafe trait TurnsRwLock<M: Machine>: RawRwLock<M> {
    /// Takes a hold if no thread must be waited for. Returns whether it did.
    fn try_lock(&self, hold: Hold) -> bool;

    /// Takes a hold, or returns false if the deadline passed first.
    fn lock(&self, hold: Hold, wait: Wait, deadline: Option<Deadline>) -> bool;

    /// Releases an upgradable hold.
    ///
    /// # Safety
    /// An upgradable hold with the same `wait` has not been released yet; this call releases it.
    unsafe fn unlock_upgradable(&self, wait: Wait);

    /// Makes an upgradable hold exclusive if there is no reader. Returns whether it did.
    ///
    /// # Safety
    /// The caller has the upgradable hold, which becomes exclusive.
    unsafe fn try_upgrade(&self) -> bool;

    /// Makes an upgradable hold exclusive when the readers have left, or returns false if the
    /// deadline passed first.
    ///
    /// # Safety
    /// The rules of [`try_upgrade`](TurnsRwLock::try_upgrade) hold.
    unsafe fn upgrade(&self, wait: Wait, deadline: Option<Deadline>) -> bool;

    /// Makes an exclusive hold shared or upgradable, and lets waiting readers in.
    ///
    /// # Safety
    /// The caller has the exclusive hold, and `to` is not exclusive.
    unsafe fn downgrade(&self, to: Hold, wait: Wait);

    /// Makes an upgradable hold shared.
    ///
    /// # Safety
    /// The caller has the upgradable hold.
    unsafe fn downgrade_upgradable(&self, wait: Wait);

    /// Whether a thread holds the lock at this moment; with `exclusive`, whether a writer does.
    fn is_held(&self, exclusive: bool) -> bool;
}
