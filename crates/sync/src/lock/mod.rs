//! Locks: the contract, and the registry by which tools find an algorithm.

pub mod assign;
pub mod barging;
pub mod instrumented;
pub mod known;
pub mod one_spinner_paper;

mod backoff;
mod info;
mod instrumented_word;
#[macro_use]
mod registry;

every_lock!([crate::registry::modules]);

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
/// All of a lock's users pass the same `wait`, as a waiter that parks must be woken by a holder that knows it.
///
/// # Safety
/// At most one thread is between a `lock` (or successful try) and its `unlock`, and what it wrote there happens before
/// the next one's `lock` returns.
pub unsafe trait RawLock<M: Machine>: Sized + Send + Sync + 'static {
    /// What the holder carries from `lock` to `unlock`: nothing, or its queue node.
    type Token: Token;

    /// What is said of the lock; its line in the registry.
    const INFO: LockInfo;

    /// Whether a thread takes something from storage that all threads share before it locks for the first time, and gives it back at
    /// its end: steps that a checker has to explore.
    const ENROLS: bool = false;

    /// A free lock. On machines whose cells have the layout of their values, all-zero bytes are one too.
    fn new() -> Self;

    /// A free lock that has been used for so long that its counters are about to wrap: what the contract suite starts
    /// from to test a long life in a short time. A lock that counts must override it.
    fn aged() -> Self {
        Self::new()
    }

    /// Sees to it that the calling thread's next `lock` or try allocates nothing. False: there is no memory. `memory` gives what
    /// [`Machine::alloc`] gives, or null.
    fn provide(memory: fn(Layout) -> *mut u8) -> bool {
        let _ = memory;
        true
    }

    /// Takes the lock, waiting as `wait` says.
    fn lock(&self, wait: Wait) -> Self::Token;

    /// Gives the lock to the next thread. Touches nothing of the lock after the store that frees it, except its
    /// address to wake a sleeper, so that the next holder may free its memory at once.
    ///
    /// # Safety
    /// The calling thread holds the lock by `token`, and `wait` is what it was locked with.
    unsafe fn unlock(&self, token: Self::Token, wait: Wait);
}

/// A lock that can be tried.
///
/// # Safety
/// As [`RawLock`]. A failed try leaves no trace.
pub unsafe trait TryLock<M: Machine>: RawLock<M> {
    /// Takes the lock if it is free; never waits for a holder.
    fn try_lock(&self) -> Option<Self::Token>;
}

/// A lock whose waiters can give up.
///
/// # Safety
/// As [`RawLock`]. A wait that expired leaves no trace that could hold up others.
pub unsafe trait TimedLock<M: Machine>: TryLock<M> {
    /// As [`RawLock::provide`], for the next `lock_until` too.
    fn provide_timed(memory: fn(Layout) -> *mut u8) -> bool {
        Self::provide(memory)
    }

    /// Takes the lock, or returns `None` when the deadline has passed and the lock was not free.
    fn lock_until(&self, wait: Wait, deadline: Deadline) -> Option<Self::Token>;
}

/// A lock that serves waiters in the order in which they came (from the point that its docs name). So each waiter has a place,
/// and one that goes away without leaving its place holds up those behind it.
pub trait Fifo {
    /// Whether no thread holds the lock or has a place in it: for a moment only.
    fn is_free(&self) -> bool;
}

/// A lock that is free when all of its bytes are zero.
///
/// # Safety
/// On a machine whose cells have the layout of their values, a zeroed lock equals [`RawLock::new`].
pub unsafe trait ZeroInit {}

/// A token as one word, for those that must keep it in memory between lock and unlock.
pub trait Token: Copy {
    /// The token as a word.
    fn to_word(self) -> usize;
    /// The token that [`Token::to_word`] made this word of.
    fn from_word(word: usize) -> Self;
}

impl Token for () {
    #[inline(always)]
    fn to_word(self) -> usize {
        0
    }
    #[inline(always)]
    fn from_word(_: usize) {}
}
