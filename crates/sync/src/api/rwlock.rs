//! The reader-writer lock `phases` as one of `lock_api`.

use super::policy::{Adaptive, WaitPolicy, after};
use super::seen::{self, Mode};
use crate::rwlock::{Hold, RawRwLock as _, TurnsRwLock, phases::Phases};
use baton_machine::{Deadline, Native};
use core::marker::PhantomData;
use core::time::Duration;
use lock_api::{
    GuardSend, RawRwLock, RawRwLockDowngrade, RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade,
    RawRwLockUpgradeTimed,
};

/// The lock [`Phases`] with a wait policy.
#[repr(transparent)]
pub struct RawTurns<W = Adaptive> {
    lock: Phases<Native>,
    wait: PhantomData<fn() -> W>,
}

impl<W: WaitPolicy> RawTurns<W> {
    /// Takes a hold, waiting until `deadline` at the latest. Returns the guard's state, or `None`
    /// if the deadline passed first.
    #[inline]
    fn take(&self, hold: Hold, deadline: Option<Deadline>) -> Option<GuardSend> {
        let wait = || self.lock.lock(hold, W::WAIT, deadline).then(GuardSend::new);
        seen::take_until(self, mode(hold), || self.lock.try_lock(hold).then(GuardSend::new), wait)
    }

    #[inline]
    fn take_now(&self, hold: Hold) -> Option<GuardSend> {
        seen::tried(self, mode(hold), self.lock.try_lock(hold).then(GuardSend::new))
    }
}

impl<W: WaitPolicy> RawTurns<W> {
    /// Upgrades a hold, waiting until `deadline` at the latest. Returns whether it did. For `baton
    /// profile` the thread gives its hold up and waits for the lock.
    ///
    /// # Safety
    /// The caller has the upgradable hold.
    unsafe fn upgrade_until(&self, deadline: Option<Deadline>) -> bool {
        seen::releases(self, Mode::Shared);
        // SAFETY: guaranteed by the caller.
        let tries = || unsafe { self.lock.try_upgrade() }.then_some(());
        // SAFETY: guaranteed by the caller.
        let wait = || unsafe { self.lock.upgrade(W::WAIT, deadline) }.then_some(());
        let upgraded = seen::take_until(self, Mode::Exclusive, tries, wait).is_some();
        if !upgraded {
            seen::has(self, Mode::Shared);
        }
        upgraded
    }
}

/// The mode of a hold for `baton profile`. Readers enter beside an upgradable hold.
fn mode(hold: Hold) -> Mode {
    match hold {
        Hold::Exclusive => Mode::Exclusive,
        Hold::Shared | Hold::Recursive | Hold::Upgradable => Mode::Shared,
    }
}

// SAFETY: `Phases` fulfils the contract of `crate::rwlock::RawRwLock`, which requires exclusion and
// the order of holds. Any thread may release a hold. A lock operation panics only before it has
// taken a hold.
unsafe impl<W: WaitPolicy> RawRwLock for RawTurns<W> {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make a lock in a constant")]
    const INIT: Self = RawTurns { lock: Phases::free(), wait: PhantomData };

    type SharedGuard = GuardSend;
    type ExclusiveGuard = GuardSend;

    #[inline]
    fn lock_shared(&self) -> GuardSend {
        let wait = || self.lock.lock_shared(W::WAIT);
        seen::take(self, Mode::Shared, || self.lock.try_lock(Hold::Shared).then_some(()), wait);
        GuardSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardSend> {
        self.take_now(Hold::Shared)
    }

    #[inline]
    unsafe fn unlock_shared(&self, _: GuardSend) {
        seen::releases(self, Mode::Shared);
        // SAFETY: the caller has a shared hold.
        unsafe { self.lock.unlock_shared(W::WAIT) };
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardSend {
        let wait = || self.lock.lock_exclusive(W::WAIT);
        seen::take(self, Mode::Exclusive, || self.lock.try_lock(Hold::Exclusive).then_some(()), wait);
        GuardSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardSend> {
        self.take_now(Hold::Exclusive)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _: GuardSend) {
        seen::releases(self, Mode::Exclusive);
        // SAFETY: the caller has the exclusive hold.
        unsafe { self.lock.unlock_exclusive(W::WAIT) };
    }

    fn is_locked(&self) -> bool {
        self.lock.is_held(false)
    }

    fn is_locked_exclusive(&self) -> bool {
        self.lock.is_held(true)
    }
}

// SAFETY: no other writer comes between, and the downgrade releases what was written.
unsafe impl<W: WaitPolicy> RawRwLockDowngrade for RawTurns<W> {
    unsafe fn downgrade(&self, _: GuardSend) -> GuardSend {
        seen::releases(self, Mode::Exclusive);
        // SAFETY: the caller has the exclusive hold.
        unsafe { self.lock.downgrade(Hold::Shared, W::WAIT) };
        seen::has(self, Mode::Shared);
        GuardSend::new()
    }
}

// SAFETY: a wait that expired takes no hold.
unsafe impl<W: WaitPolicy> RawRwLockTimed for RawTurns<W> {
    type Duration = Duration;
    type Instant = Deadline;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.take(Hold::Shared, Some(after(timeout)))
    }

    fn try_lock_shared_until(&self, timeout: Deadline) -> Option<GuardSend> {
        self.take(Hold::Shared, Some(timeout))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.take(Hold::Exclusive, Some(after(timeout)))
    }

    fn try_lock_exclusive_until(&self, timeout: Deadline) -> Option<GuardSend> {
        self.take(Hold::Exclusive, Some(timeout))
    }
}

// SAFETY: an upgradable hold excludes writers and other upgradable holds; a failed upgrade leaves
// it.
unsafe impl<W: WaitPolicy> RawRwLockUpgrade for RawTurns<W> {
    type UpgradableGuard = GuardSend;

    fn lock_upgradable(&self) -> GuardSend {
        let taken = self.take(Hold::Upgradable, None);
        taken.expect("a wait without a deadline does not expire")
    }

    fn try_lock_upgradable(&self) -> Option<GuardSend> {
        self.take_now(Hold::Upgradable)
    }

    unsafe fn unlock_upgradable(&self, _: GuardSend) {
        seen::releases(self, Mode::Shared);
        // SAFETY: the caller has the upgradable hold.
        unsafe { self.lock.unlock_upgradable(W::WAIT) };
    }

    unsafe fn upgrade(&self, guard: GuardSend) -> GuardSend {
        // SAFETY: the caller has the upgradable hold.
        let upgraded = unsafe { self.upgrade_until(None) };
        debug_assert!(upgraded, "a wait without a deadline expired");
        guard
    }

    unsafe fn try_upgrade(&self, guard: GuardSend) -> Result<GuardSend, GuardSend> {
        seen::releases(self, Mode::Shared);
        // SAFETY: the caller has the upgradable hold.
        if seen::tried(self, Mode::Exclusive, unsafe { self.lock.try_upgrade() }.then_some(())).is_some() {
            return Ok(guard);
        }
        seen::has(self, Mode::Shared);
        Err(guard)
    }
}

// SAFETY: no other writer comes between.
unsafe impl<W: WaitPolicy> RawRwLockUpgradeDowngrade for RawTurns<W> {
    unsafe fn downgrade_upgradable(&self, guard: GuardSend) -> GuardSend {
        // SAFETY: the caller has the upgradable hold.
        unsafe { self.lock.downgrade_upgradable(W::WAIT) };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: GuardSend) -> GuardSend {
        seen::releases(self, Mode::Exclusive);
        // SAFETY: the caller has the exclusive hold.
        unsafe { self.lock.downgrade(Hold::Upgradable, W::WAIT) };
        seen::has(self, Mode::Shared);
        guard
    }
}

// SAFETY: a wait that expired takes no hold, and leaves an upgradable one.
unsafe impl<W: WaitPolicy> RawRwLockUpgradeTimed for RawTurns<W> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.take(Hold::Upgradable, Some(after(timeout)))
    }

    fn try_lock_upgradable_until(&self, timeout: Deadline) -> Option<GuardSend> {
        self.take(Hold::Upgradable, Some(timeout))
    }

    unsafe fn try_upgrade_for(&self, guard: GuardSend, timeout: Duration) -> Result<GuardSend, GuardSend> {
        // SAFETY: the caller has the upgradable hold.
        unsafe { self.try_upgrade_until(guard, after(timeout)) }
    }

    unsafe fn try_upgrade_until(&self, guard: GuardSend, timeout: Deadline) -> Result<GuardSend, GuardSend> {
        // SAFETY: the caller has the upgradable hold.
        if unsafe { self.upgrade_until(Some(timeout)) } { Ok(guard) } else { Err(guard) }
    }
}

/// A reader-writer lock of four bytes. Readers that come while a writer waits let it go first, so no
/// stream of readers keeps a writer out. When a writer leaves, the readers that had waited may enter
/// beside waiting writers until the next writer leaves. A reader that has no CPU in that time waits on:
/// a stream of writers can keep it out without a bound. A thread that reads and may read again calls
/// [`ReadRecursively::read_recursive`].
///
/// ```
/// use baton_sync::{ReadRecursively, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
///
/// static SQUARES: RwLock<Vec<u64>> = RwLock::new(Vec::new());
///
/// let squares = SQUARES.upgradable_read();
/// if squares.is_empty() {
///     let mut squares = RwLockUpgradableReadGuard::upgrade(squares);
///     squares.extend((0..10).map(|n| n * n));
///     let squares = RwLockWriteGuard::downgrade(squares);
///     assert_eq!(SQUARES.read_recursive().len(), squares.len());
/// }
/// ```
pub type RwLock<T, W = Adaptive> = lock_api::RwLock<RawTurns<W>, T>;

/// The guard of a reader.
pub type RwLockReadGuard<'a, T, W = Adaptive> = lock_api::RwLockReadGuard<'a, RawTurns<W>, T>;
/// The guard of a writer.
pub type RwLockWriteGuard<'a, T, W = Adaptive> = lock_api::RwLockWriteGuard<'a, RawTurns<W>, T>;
/// The guard of a reader that can become the writer.
pub type RwLockUpgradableReadGuard<'a, T, W = Adaptive> = lock_api::RwLockUpgradableReadGuard<'a, RawTurns<W>, T>;

/// Reads that do not wait behind a waiting writer.
pub trait ReadRecursively<T: ?Sized, W> {
    /// Waits until no thread writes, and reads. It does not wait behind a waiting writer, because
    /// that writer may wait for a hold of this thread.
    fn read_recursive(&self) -> RwLockReadGuard<'_, T, W>
    where
        W: WaitPolicy;

    /// Reads if no thread writes.
    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T, W>>
    where
        W: WaitPolicy;

    /// [`ReadRecursively::read_recursive`] that returns `None` if the deadline passes first.
    fn try_read_recursive_until(&self, deadline: Deadline) -> Option<RwLockReadGuard<'_, T, W>>
    where
        W: WaitPolicy;
}

impl<T: ?Sized, W: WaitPolicy> ReadRecursively<T, W> for RwLock<T, W> {
    fn read_recursive(&self) -> RwLockReadGuard<'_, T, W> {
        // SAFETY: the state of the hold that is taken goes into its guard.
        unsafe {
            let taken = self.raw().take(Hold::Recursive, None);
            self.make_read_guard_unchecked(taken.expect("a wait without a deadline does not expire"))
        }
    }

    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T, W>> {
        // SAFETY: the state of the hold that is taken goes into its guard.
        unsafe {
            let taken = self.raw().take_now(Hold::Recursive);
            taken.map(|state| self.make_read_guard_unchecked(state))
        }
    }

    fn try_read_recursive_until(&self, deadline: Deadline) -> Option<RwLockReadGuard<'_, T, W>> {
        // SAFETY: the state of the hold that is taken goes into its guard.
        unsafe {
            let taken = self.raw().take(Hold::Recursive, Some(deadline));
            taken.map(|state| self.make_read_guard_unchecked(state))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests stand outside of the algorithms")]

    use super::*;
    use std::sync::mpsc;

    type Lock = RwLock<u32>;

    /// Readers that came as upgradable ones are counted like others: no writer enters beside them.
    #[test]
    fn downgraded_readers_do_not_pass_the_limit() {
        let lock = Lock::new(0);
        let mut held = Vec::new();
        while let Some(guard) = lock.try_upgradable_read() {
            held.push(RwLockUpgradableReadGuard::downgrade(guard));
            assert!(held.len() < 1 << 18);
        }
        assert!(held.len() >= 1 << 17 && lock.try_write().is_none());
        drop(held);
        assert!(lock.try_write().is_some());
    }

    #[test]
    fn a_lock_is_one_word() {
        assert_eq!(size_of::<RwLock<()>>(), 4);
    }

    #[test]
    fn a_recursive_read_passes_a_waiting_writer() {
        let lock = Lock::new(1);
        let outer = lock.read();
        std::thread::scope(|s| {
            let (tell, told) = mpsc::channel();
            let shared = &lock;
            s.spawn(move || {
                *shared.write() += 1;
                tell.send(()).unwrap();
            });
            while lock.try_read().is_some() {
                std::thread::yield_now();
            }
            assert!(lock.try_read_for(Duration::from_millis(2)).is_none(), "a newcomer passed a waiting writer");
            assert_eq!(*lock.read_recursive(), 1);
            assert!(told.try_recv().is_err());
            drop(outer);
            told.recv().unwrap();
        });
        assert_eq!(*lock.read(), 2);
    }

    #[test]
    fn a_hold_changes_its_kind() {
        let lock = Lock::new(1);
        let mut written = lock.write();
        *written = 2;
        let upgradable = RwLockWriteGuard::downgrade_to_upgradable(written);
        assert!(lock.try_read().is_some() && lock.try_write().is_none() && lock.try_upgradable_read().is_none());
        let reader = lock.read();
        let upgradable = RwLockUpgradableReadGuard::try_upgrade(upgradable).unwrap_err();
        let soon = Duration::from_millis(2);
        let upgradable = RwLockUpgradableReadGuard::try_upgrade_for(upgradable, soon).unwrap_err();
        assert!(lock.try_read().is_some(), "an upgrade that gave up keeps readers out");
        drop(reader);
        let written = RwLockUpgradableReadGuard::upgrade(upgradable);
        assert!(lock.try_read().is_none() && lock.is_locked_exclusive());
        assert!(lock.try_write_for(soon).is_none() && lock.try_upgradable_read_for(soon).is_none());
        let read = RwLockWriteGuard::downgrade(written);
        assert!(lock.try_read().is_some() && !lock.is_locked_exclusive());
        drop(read);
        assert!(!lock.is_locked() && lock.try_write().is_some());
    }
}
