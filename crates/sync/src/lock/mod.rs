//! Locks: the contract, and the registry by which tools find an algorithm.

pub mod added;
pub mod assign;
pub mod barging;
pub mod instrumented;
pub mod known;
pub mod one_spinner_paper;
pub mod plugin;

mod backoff;
mod info;
mod instrumented_word;
#[macro_use]
mod registry;

every_lock!([crate::registry::modules]);

pub use crate::token::Token;
pub use added::locks;
pub use info::{LockInfo, Posix, Waits};
pub use registry::{
    LOCKS, LockError, LockVisitor, PosixVisitor, TimedVisitor, TryVisitor, UnknownLock, info, visit, visit_posix,
    visit_timed, visit_try,
};

pub use baton_machine::Counted;
use baton_machine::{Deadline, Machine, Wait};
use core::alloc::Layout;

/// A lock.
///
/// All users of a lock pass the same `wait`: a holder must know that waiters park in order to wake
/// them.
///
/// # Safety
/// At most one thread is between a `lock` (or successful try) and its `unlock`, and what it wrote
/// there happens before the next `lock` returns.
pub unsafe trait RawLock<M: Machine>: Sized + Send + Sync + 'static {
    /// What the holder carries from `lock` to `unlock`: nothing, or for example its queue node or
    /// its ticket.
    type Token: Token;

    /// Description of the lock, its line in the registry.
    const INFO: LockInfo;

    /// Whether a thread takes something from storage that all threads share before it locks for the
    /// first time, and returns it when it ends. A model checker has to explore these steps.
    const ENROLS: bool = false;

    /// Creates a free lock. On machines whose cells have the layout of their values, all-zero bytes
    /// are a free lock too.
    fn new() -> Self;

    /// Creates a free lock whose counters are about to wrap; the contract suite starts from it to
    /// test a long life in a short time. A lock that counts must override it.
    fn aged() -> Self {
        Self::new()
    }

    /// Makes sure that the calling thread's next `lock` or try allocates nothing. Returns false if
    /// there is no memory. `memory` returns memory like [`Machine::alloc`], or null.
    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        let _ = memory;
        true
    }

    /// Takes the lock, waiting by policy `wait`.
    fn lock(&self, wait: Wait) -> Self::Token;

    /// Releases the lock. After the store that frees it, accesses nothing of the lock but its
    /// address, to wake a sleeper, so that the next holder may free the memory at once.
    ///
    /// # Safety
    /// The calling thread holds the lock by `token`, and locked it with the same `wait`.
    unsafe fn unlock(&self, token: Self::Token, wait: Wait);
}

/// A lock that can be tried.
///
/// # Safety
/// The rules of [`RawLock`] hold. A failed try has no effect.
pub unsafe trait TryLock<M: Machine>: RawLock<M> {
    /// Takes the lock if it is free; never waits for a holder.
    fn try_lock(&self) -> Option<Self::Token>;
}

/// A lock whose waiters can give up.
///
/// # Safety
/// The rules of [`RawLock`] hold. A wait that expired leaves nothing that could delay other
/// threads.
pub unsafe trait TimedLock<M: Machine>: TryLock<M> {
    /// Does the same as [`RawLock::provide`], for the next `lock_until` too.
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        Self::provide(memory)
    }

    /// Takes the lock, or returns `None` if the deadline has passed and the lock was not free.
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<Self::Token>;
}

/// A lock that serves waiters in order of arrival; the implementation's docs say which step counts
/// as arrival. Each waiter has a place, and a thread that disappears without leaving its place
/// blocks those behind it.
pub trait Fifo {
    /// Whether no thread holds the lock or waits for it, at this moment.
    fn is_free(&self) -> bool;
}

/// A lock whose unlock can hand it to a waiter.
///
/// # Safety
/// The rules of [`RawLock`] hold.
pub unsafe trait HandOver<M: Machine>: RawLock<M> {
    /// Releases the lock. If threads wait for it, one of them holds it then, and no other thread can
    /// take it first.
    ///
    /// # Safety
    /// As [`RawLock::unlock`].
    unsafe fn unlock_fair(&self, token: Self::Token, wait: Wait);
}

// SAFETY: an unlock of a lock that serves in order of arrival passes it to the next waiter.
unsafe impl<M: Machine, L: RawLock<M> + Fifo> HandOver<M> for L {
    #[inline]
    unsafe fn unlock_fair(&self, token: Self::Token, wait: Wait) {
        // SAFETY: the caller holds the lock by `token`.
        unsafe { self.unlock(token, wait) };
    }
}

/// A lock that is free when all of its bytes are zero.
///
/// # Safety
/// On a machine whose cells have the layout of their values, a zeroed lock equals [`RawLock::new`].
pub unsafe trait ZeroInit {}
