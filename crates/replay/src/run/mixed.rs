//! Locks beside the run's own one, where some of a program's locks have another: known by name only, so each is called through its
//! address.

use super::world::Alone;
use baton_chip::Simulated;
use baton_machine::{Owned, Wait};
use baton_sync::lock::{Token, TryLock, TryVisitor, ZeroInit};

/// A lock whose type is not known.
pub(crate) trait Stands {
    /// Takes it; what its holder carries.
    fn lock(&self, wait: Wait) -> usize;
    /// Takes it if it is free.
    fn try_lock(&self) -> Option<usize>;
    /// Gives it up.
    ///
    /// # Safety
    /// The calling guest holds it by `token`, and took it with the same `wait`.
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
        // SAFETY: as the caller says.
        unsafe { self.0.unlock(L::Token::from_word(token), wait) }
    }
}

/// Makes a lock of the name that is looked up.
pub(crate) struct Make;

impl TryVisitor<Simulated> for Make {
    type Out = Box<dyn Stands>;
    fn visit<L: TryLock<Simulated> + ZeroInit>(self) -> Box<dyn Stands> {
        Box::new(Owned::new(Alone(L::new())))
    }
}

/// Asks whether there is such a lock.
pub(crate) struct Exists;

impl TryVisitor<Simulated> for Exists {
    type Out = ();
    fn visit<L: TryLock<Simulated> + ZeroInit>(self) {}
}
