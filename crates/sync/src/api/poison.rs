//! Mutexes and reader-writer locks that tell a thread if another one panicked while it changed the
//! data, as those of `std` do. They wrap any lock of `lock_api`.
//!
//! ```
//! use baton_sync::poison::Mutex;
//!
//! static SUM: Mutex<u64> = Mutex::new(0);
//!
//! let panicked = std::thread::spawn(|| {
//!     let _sum = SUM.lock().unwrap();
//!     panic!("half of a change");
//! });
//! assert!(panicked.join().is_err());
//! let sum = SUM.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
//! assert_eq!(*sum, 0);
//! ```

use super::condvar::Condvar;
use super::mutex::RawOf;
use super::policy::{WaitPolicy, after};
use crate::event::Ended;
use crate::lock::plain::Plain;
use baton_machine::Ordering::Relaxed;
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Deadline, Native};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use lock_api::{RawMutex, RawMutexTimed, RawRwLock, RawRwLockTimed};
use std::thread::panicking;

pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// Whether a thread has panicked inside of a critical section. Relaxed for all accesses: threads
/// that hold the lock are ordered by the lock, and other threads get a hint.
struct Flag(NativeAtomic<u8>);

impl Flag {
    const fn new() -> Flag {
        Flag(NativeAtomic::new(0))
    }

    fn is_set(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns `found`, as an error if the flag is set.
    fn check<T>(&self, found: T) -> LockResult<T> {
        if self.is_set() { Err(PoisonError::new(found)) } else { Ok(found) }
    }
}

/// Sets the flag if a panic begins while it lives.
struct Watch<'a> {
    flag: &'a Flag,
    /// The thread was panicking before.
    panicking: bool,
    /// Keeps the guard in its thread, of which `panicking` tells.
    here: PhantomData<std::sync::MutexGuard<'a, ()>>,
}

impl<'a> Watch<'a> {
    fn of(flag: &'a Flag) -> Self {
        Watch { flag, panicking: panicking(), here: PhantomData }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.panicking && panicking() {
            self.flag.0.store(1, Relaxed);
        }
    }
}

/// A mutex that is poisoned when a thread panics while it holds the lock. `R` is the lock.
pub struct Mutex<T: ?Sized, R = RawOf<Plain<Native>>> {
    flag: Flag,
    lock: lock_api::Mutex<R, T>,
}

/// The guard of a [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized, R: RawMutex = RawOf<Plain<Native>>> {
    // Fields are dropped in this order: the flag is set before the lock is released.
    watch: Watch<'a>,
    inner: lock_api::MutexGuard<'a, R, T>,
}

impl<T, R: RawMutex> Mutex<T, R> {
    /// Creates a mutex that is free and not poisoned.
    pub const fn new(value: T) -> Self {
        Mutex { flag: Flag::new(), lock: lock_api::Mutex::new(value) }
    }

    /// Returns the data.
    ///
    /// # Errors
    /// The mutex is poisoned; the error has the data.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.flag.is_set();
        let value = self.lock.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized, R: RawMutex> Mutex<T, R> {
    fn guard<'a>(&'a self, inner: lock_api::MutexGuard<'a, R, T>) -> LockResult<MutexGuard<'a, T, R>> {
        self.flag.check(MutexGuard { watch: Watch::of(&self.flag), inner })
    }

    /// Waits for the lock and takes it.
    ///
    /// # Errors
    /// The mutex is poisoned; the error has the guard.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T, R>> {
        self.guard(self.lock.lock())
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// The lock is held, or the mutex is poisoned; then the error has the guard.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T, R>> {
        let inner = self.lock.try_lock().ok_or(TryLockError::WouldBlock)?;
        Ok(self.guard(inner)?)
    }

    /// Takes the lock, or gives up at `deadline`.
    ///
    /// # Errors
    /// The deadline has passed, or the mutex is poisoned; then the error has the guard.
    pub fn try_lock_until(&self, deadline: Deadline) -> TryLockResult<MutexGuard<'_, T, R>>
    where
        R: RawMutexTimed<Instant = Deadline>,
    {
        let inner = self.lock.try_lock_until(deadline).ok_or(TryLockError::WouldBlock)?;
        Ok(self.guard(inner)?)
    }

    /// [`Mutex::try_lock_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// As [`Mutex::try_lock_until`].
    pub fn try_lock_for(&self, timeout: Duration) -> TryLockResult<MutexGuard<'_, T, R>>
    where
        R: RawMutexTimed<Instant = Deadline>,
    {
        self.try_lock_until(after(timeout))
    }

    /// Whether the mutex is poisoned.
    pub fn is_poisoned(&self) -> bool {
        self.flag.is_set()
    }

    /// Makes the mutex good again, for a thread that has mended the data.
    pub fn clear_poison(&self) {
        self.flag.clear();
    }

    /// Returns the data, without taking the lock.
    ///
    /// # Errors
    /// The mutex is poisoned; the error has the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let Mutex { flag, lock } = self;
        flag.check(lock.get_mut())
    }
}

impl<'a, T: ?Sized, R: RawMutex> MutexGuard<'a, T, R> {
    /// [`Condvar::wait`] with this guard.
    ///
    /// # Errors
    /// The mutex is poisoned; the error has the guard.
    pub fn wait_on<W: WaitPolicy>(mut guard: Self, condvar: &Condvar<W>) -> LockResult<Self> {
        condvar.wait(&mut guard.inner);
        guard.watch.flag.check(guard)
    }

    /// [`Condvar::wait_until`] with this guard.
    ///
    /// # Errors
    /// The mutex is poisoned; the error has the guard.
    pub fn wait_on_until<W: WaitPolicy>(
        mut guard: Self,
        condvar: &Condvar<W>,
        deadline: Deadline,
    ) -> LockResult<(Self, Ended)> {
        let ended = condvar.wait_until(&mut guard.inner, deadline);
        guard.watch.flag.check((guard, ended))
    }
}

impl<T: ?Sized, R: RawMutex> Deref for MutexGuard<'_, T, R> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized, R: RawMutex> DerefMut for MutexGuard<'_, T, R> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug, R: RawMutex> fmt::Debug for MutexGuard<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A reader-writer lock that is poisoned when a thread panics while it writes. `R` is the lock.
pub struct RwLock<T: ?Sized, R = super::rwlock::RawTurns> {
    flag: Flag,
    lock: lock_api::RwLock<R, T>,
}

/// The guard of a reader.
pub type ReadGuard<'a, T, R = super::rwlock::RawTurns> = lock_api::RwLockReadGuard<'a, R, T>;

/// The guard of a writer.
pub struct WriteGuard<'a, T: ?Sized, R: RawRwLock = super::rwlock::RawTurns> {
    // Fields are dropped in this order: the flag is set before the lock is released.
    _watch: Watch<'a>,
    inner: lock_api::RwLockWriteGuard<'a, R, T>,
}

impl<T, R: RawRwLock> RwLock<T, R> {
    /// Creates a lock that is free and not poisoned.
    pub const fn new(value: T) -> Self {
        RwLock { flag: Flag::new(), lock: lock_api::RwLock::new(value) }
    }

    /// Returns the data.
    ///
    /// # Errors
    /// The lock is poisoned; the error has the data.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.flag.is_set();
        let value = self.lock.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized, R: RawRwLock> RwLock<T, R> {
    fn writer<'a>(&'a self, inner: lock_api::RwLockWriteGuard<'a, R, T>) -> LockResult<WriteGuard<'a, T, R>> {
        self.flag.check(WriteGuard { _watch: Watch::of(&self.flag), inner })
    }

    /// Waits until no thread writes, and reads.
    ///
    /// # Errors
    /// The lock is poisoned; the error has the guard.
    pub fn read(&self) -> LockResult<ReadGuard<'_, T, R>> {
        self.flag.check(self.lock.read())
    }

    /// Waits until no other thread reads or writes, and writes.
    ///
    /// # Errors
    /// The lock is poisoned; the error has the guard.
    pub fn write(&self) -> LockResult<WriteGuard<'_, T, R>> {
        self.writer(self.lock.write())
    }

    /// Reads if no thread writes or waits to write.
    ///
    /// # Errors
    /// A thread writes or waits to write, or the lock is poisoned; then the error has the guard.
    pub fn try_read(&self) -> TryLockResult<ReadGuard<'_, T, R>> {
        Ok(self.flag.check(self.lock.try_read().ok_or(TryLockError::WouldBlock)?)?)
    }

    /// Writes if no other thread reads or writes.
    ///
    /// # Errors
    /// Another thread reads or writes, or the lock is poisoned; then the error has the guard.
    pub fn try_write(&self) -> TryLockResult<WriteGuard<'_, T, R>> {
        Ok(self.writer(self.lock.try_write().ok_or(TryLockError::WouldBlock)?)?)
    }

    /// Waits until no thread writes, and reads, or gives up at `deadline`.
    ///
    /// # Errors
    /// The deadline has passed, or the lock is poisoned; then the error has the guard.
    pub fn try_read_until(&self, deadline: Deadline) -> TryLockResult<ReadGuard<'_, T, R>>
    where
        R: RawRwLockTimed<Instant = Deadline>,
    {
        Ok(self.flag.check(self.lock.try_read_until(deadline).ok_or(TryLockError::WouldBlock)?)?)
    }

    /// [`RwLock::try_read_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// As [`RwLock::try_read_until`].
    pub fn try_read_for(&self, timeout: Duration) -> TryLockResult<ReadGuard<'_, T, R>>
    where
        R: RawRwLockTimed<Instant = Deadline>,
    {
        self.try_read_until(after(timeout))
    }

    /// Waits until no other thread reads or writes, and writes, or gives up at `deadline`.
    ///
    /// # Errors
    /// The deadline has passed, or the lock is poisoned; then the error has the guard.
    pub fn try_write_until(&self, deadline: Deadline) -> TryLockResult<WriteGuard<'_, T, R>>
    where
        R: RawRwLockTimed<Instant = Deadline>,
    {
        Ok(self.writer(self.lock.try_write_until(deadline).ok_or(TryLockError::WouldBlock)?)?)
    }

    /// [`RwLock::try_write_until`] with the deadline `timeout` from now.
    ///
    /// # Errors
    /// As [`RwLock::try_write_until`].
    pub fn try_write_for(&self, timeout: Duration) -> TryLockResult<WriteGuard<'_, T, R>>
    where
        R: RawRwLockTimed<Instant = Deadline>,
    {
        self.try_write_until(after(timeout))
    }

    /// Returns the data, without taking the lock.
    ///
    /// # Errors
    /// The lock is poisoned; the error has the data.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let RwLock { flag, lock } = self;
        flag.check(lock.get_mut())
    }

    /// Whether the lock is poisoned.
    pub fn is_poisoned(&self) -> bool {
        self.flag.is_set()
    }

    /// Makes the lock good again, for a thread that has mended the data.
    pub fn clear_poison(&self) {
        self.flag.clear();
    }
}

impl<T: ?Sized, R: RawRwLock> Deref for WriteGuard<'_, T, R> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized, R: RawRwLock> DerefMut for WriteGuard<'_, T, R> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug, R: RawRwLock> fmt::Debug for WriteGuard<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests stand outside of the algorithms")]

    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn panics(f: impl FnOnce()) {
        assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    }

    #[test]
    fn a_panic_under_the_lock_poisons_it_until_it_is_cleared() {
        let mut mutex: Mutex<u32> = Mutex::new(1);
        panics(|| {
            *mutex.lock().unwrap() = 2;
            panic!("no lock is held");
        });
        assert!(!mutex.is_poisoned(), "a panic after the unlock poisons nothing");
        panics(|| {
            let mut held = mutex.lock().unwrap();
            *held = 3;
            panic!("the lock is held");
        });
        assert!(mutex.is_poisoned());
        assert_eq!(*mutex.lock().unwrap_err().into_inner(), 3);
        assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(guard)) if **guard.get_ref() == 3));
        assert_eq!(mutex.get_mut().unwrap_err().into_inner(), &3);
        mutex.clear_poison();
        let held = mutex.lock().unwrap();
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        let soon = after(Duration::from_millis(2));
        assert!(matches!(mutex.try_lock_until(soon), Err(TryLockError::WouldBlock)));
        drop(held);
        assert!(mutex.try_lock_until(soon).is_ok());
        assert_eq!(mutex.into_inner().unwrap(), 3);
    }

    #[test]
    fn a_lock_taken_during_a_panic_is_not_poisoned() {
        static LOCK: Mutex<u32> = Mutex::new(0);
        struct Counts;
        impl Drop for Counts {
            fn drop(&mut self) {
                *LOCK.lock().unwrap() += 1;
            }
        }
        panics(|| {
            let _counts = Counts;
            panic!("a destructor takes the lock");
        });
        assert_eq!(*LOCK.lock().unwrap(), 1);
    }

    #[test]
    fn a_waiter_of_a_condition_is_told() {
        let (mutex, changed) = (Mutex::<bool>::new(false), Condvar::<super::super::policy::Park>::new());
        std::thread::scope(|s| {
            let held = mutex.lock().unwrap();
            let other = s.spawn(|| {
                let mut held = mutex.lock().unwrap();
                *held = true;
                changed.notify_one();
                panic!("under the lock");
            });
            let mut held = Some(held);
            let told = loop {
                match MutexGuard::wait_on(held.take().unwrap(), &changed) {
                    Ok(guard) if !*guard => held = Some(guard),
                    ended => break ended.map(drop).is_err(),
                }
            };
            assert!(told && other.join().is_err());
        });
        let guard = mutex.lock().unwrap_err().into_inner();
        let late = MutexGuard::wait_on_until(guard, &changed, after(Duration::from_millis(2)));
        assert_eq!(late.unwrap_err().into_inner().1, Ended::Expired);
    }

    #[test]
    fn writers_poison_and_readers_do_not() {
        let lock: RwLock<u32> = RwLock::new(1);
        panics(|| {
            let _read = lock.read().unwrap();
            panic!("a reader");
        });
        assert!(!lock.is_poisoned());
        panics(|| {
            *lock.write().unwrap() += 1;
            let _write = lock.write().unwrap();
            panic!("a writer");
        });
        assert!(lock.is_poisoned() && lock.read().is_err());
        assert_eq!(*lock.write().unwrap_err().into_inner(), 2);
        lock.clear_poison();
        assert!(lock.read().is_ok());
    }

    #[test]
    fn a_reader_writer_lock_is_tried_and_waits_end() {
        const SOON: Duration = Duration::from_millis(1);
        let mut lock: RwLock<u32> = RwLock::new(1);
        let read = lock.try_read().unwrap();
        assert!(lock.try_read_for(SOON).is_ok());
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock.try_write_for(SOON), Err(TryLockError::WouldBlock)));
        drop(read);
        let mut written = lock.try_write().unwrap();
        *written += 1;
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        assert!(matches!(lock.try_read_until(after(SOON)), Err(TryLockError::WouldBlock)));
        drop(written);
        panics(|| {
            let _write = lock.try_write_until(after(SOON)).unwrap();
            panic!("a writer that tried");
        });
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(found)) if **found.get_ref() == 2));
        assert!(matches!(lock.try_write_for(SOON), Err(TryLockError::Poisoned(_))));
        assert_eq!(*lock.get_mut().unwrap_err().into_inner(), 2);
        assert_eq!(lock.into_inner().unwrap_err().into_inner(), 2);
    }
}
