//! Locks and barriers chosen by name, behind one type each.

use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Owned, Wait};
use baton_sync::barrier::{self, BarrierVisitor, RawBarrier, UnknownBarrier};
use baton_sync::lock::{self, LockError, Token, TryLock, TryVisitor, ZeroInit};
use core::num::NonZeroU32;

/// A barrier of a team, of whatever algorithm.
pub trait TeamBarrier<M: Machine>: Send + Sync {
    /// Arrives as participant `index` and waits for the others.
    fn pass(&self, index: u32, wait: Wait);
}

/// In the machine's memory, as all that threads share.
struct Named<M: Machine, B>(Owned<M, B>);

impl<M: Machine, B: RawBarrier<M>> TeamBarrier<M> for Named<M, B> {
    fn pass(&self, index: u32, wait: Wait) {
        self.0.wait(index, wait);
    }
}

/// Makes a barrier for so many threads.
struct MakeBarrier(NonZeroU32);

impl<M: Machine> BarrierVisitor<M> for MakeBarrier {
    type Out = Box<dyn TeamBarrier<M>>;
    fn visit<B: RawBarrier<M>>(self) -> Self::Out {
        Box::new(Named::<M, B>(Owned::new(B::new(self.0))))
    }
}

/// A barrier for `participants` threads, by its name.
pub fn barrier<M: Machine>(name: &str, participants: NonZeroU32) -> Result<Box<dyn TeamBarrier<M>>, UnknownBarrier> {
    barrier::visit::<M, _>(name, MakeBarrier(participants))
}

/// A lock of whatever algorithm, which keeps its holder's token.
pub trait AnyLock<M: Machine>: Send + Sync {
    /// Takes it.
    fn lock(&self, wait: Wait);
    /// Takes it if it is free; whether it did.
    fn try_lock(&self) -> bool;
    /// Frees it.
    ///
    /// # Safety
    /// The calling thread holds it, locked with the same policy (or by a try).
    unsafe fn unlock(&self, wait: Wait);
}

/// A lock and the token of the thread that holds it.
#[repr(C)]
struct Held<M: Machine, L> {
    lock: L,
    token: M::Atomic<usize>,
}

impl<M: Machine, L: TryLock<M>> AnyLock<M> for Owned<M, Held<M, L>> {
    fn lock(&self, wait: Wait) {
        let token = self.lock.lock(wait);
        // Relaxed: only the holder touches it, and the lock orders one holder after another.
        self.token.store(token.to_word(), Relaxed);
    }

    fn try_lock(&self) -> bool {
        let token = self.lock.try_lock();
        if let Some(token) = token {
            // Relaxed: as in `lock`.
            self.token.store(token.to_word(), Relaxed);
        }
        token.is_some()
    }

    unsafe fn unlock(&self, wait: Wait) {
        // Relaxed: as in `lock`.
        let token = Token::from_word(self.token.load(Relaxed));
        // SAFETY: the caller holds the lock, and what it stored is its token.
        unsafe { self.lock.unlock(token, wait) };
    }
}

struct MakeLock;

impl<M: Machine> TryVisitor<M> for MakeLock {
    type Out = Box<dyn AnyLock<M>>;
    fn visit<L: TryLock<M> + ZeroInit>(self) -> Self::Out {
        Box::new(Owned::new(Held::<M, L> { lock: L::new(), token: M::Atomic::new(0) }))
    }
}

/// A free lock, by its name. The lock must be one that can be tried.
pub fn lock<M: Machine>(name: &str) -> Result<Box<dyn AnyLock<M>>, LockError> {
    lock::visit_try::<M, _>(name, MakeLock)
}
