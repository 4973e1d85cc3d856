//! Locks of another type than the run's own, for programs in which some locks are changed. Their
//! types are chosen by name at run time, so they are called through trait objects.

use super::world::Alone;
use baton_chip::Simulated;
use baton_machine::{Owned, Wait};
use baton_sync::lock::{Token, TryLock, TryVisitor, ZeroInit};

/// A lock of any type.
pub(crate) trait Stands {
    /// Acquires the lock, waiting as `wait` says. Returns the token that the holder carries to the
    /// release.
    fn lock(&self, wait: Wait) -> usize;
    /// Acquires the lock if it is free. Returns the token, or `None` if the lock is taken.
    fn try_lock(&self) -> Option<usize>;
    /// Releases the lock.
    ///
    /// # Safety
    /// The calling guest must hold the lock by `token`, and must have acquired it with the same
    /// `wait`.
    unsafe fn unlock(&self, token: usize, wait: Wait);
}

impl<L: TryLock<Simulated>> Stands for Owned<Simulated, Alone<L>> {
    fn lock(&self, wait: Wait) -> usize {
        self.0.lock(wait).to_word()
    }
    fn try_lock(&self) -> Option<usize> {
        self.0.try_lock().map(Token::to_word)
    }
    unsafe fn unlock(&self, token: usize, wait: Wait) {
        // SAFETY: the caller holds the lock by this token, and took it with the same `wait`.
        unsafe { self.0.unlock(L::Token::from_word(token), wait) }
    }
}

/// Creates a lock of the type that is looked up by name.
pub(crate) struct Make;

impl TryVisitor<Simulated> for Make {
    type Out = Box<dyn Stands>;
    fn visit<L: TryLock<Simulated> + ZeroInit>(self) -> Box<dyn Stands> {
        Box::new(Owned::new(Alone(L::new())))
    }
}

/// Tests whether the registry has a lock of the name that is looked up.
pub(crate) struct Exists;

impl TryVisitor<Simulated> for Exists {
    type Out = ();
    fn visit<L: TryLock<Simulated> + ZeroInit>(self) {}
}
