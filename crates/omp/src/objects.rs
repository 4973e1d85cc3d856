//! Locks and barriers of any algorithm, chosen by name, each behind one type.

use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine, Native, Owned, Wait};
use baton_sync::barrier::{self, BarrierVisitor, RawBarrier, UnknownBarrier};
use baton_sync::lock::adaptive::Adaptive;
use baton_sync::lock::{self, LockError, RawLock, Token, TryLock, TryVisitor, ZeroInit};
use core::num::NonZeroU32;

/// A barrier of a team, whatever its algorithm.
pub trait TeamBarrier<M: Machine>: Send + Sync {
    /// Arrives as participant `index` and waits for the others. Whenever tasks wait meanwhile,
    /// calls `run`; if it returns false, the thread pauses before it looks again. The last thread
    /// to arrive wakes the others by the policy `wake`.
    fn pass(&self, index: u32, wait: Wait, wake: Wait, run: &mut dyn FnMut() -> bool);

    /// Sets the mark that tasks wait. Threads that have arrived see the mark, and
    /// [`wake`](TeamBarrier::wake) wakes them. Called only while the mark is not set.
    fn tasks_wait(&self);

    /// Removes the mark that tasks wait. Called only while it is set.
    fn no_task_waits(&self);

    /// Wakes `n` of the threads that have arrived and wait.
    fn wake(&self, n: u32, wait: Wait);
}

/// A barrier of the algorithm `B`, in the machine's memory, where everything is that threads share.
struct Named<M: Machine, B>(Owned<M, B>);

impl<M: Machine, B: RawBarrier<M>> TeamBarrier<M> for Named<M, B> {
    fn pass(&self, index: u32, wait: Wait, wake: Wait, run: &mut dyn FnMut() -> bool) {
        let Some(gate) = self.0.gate() else {
            self.0.wait(index, wait);
            return;
        };
        let Some(value) = self.0.arrive(index, wake) else { return };
        loop {
            let _ = M::wait_while(gate.word, value, wait, None);
            // Acquire: the thread sees what all threads did before they arrived, or what the thread
            // did that left tasks.
            let now = gate.word.load(Acquire);
            if now & !gate.bit != value {
                return;
            }
            if now != value && !run() {
                // Another thread has taken the last task, and is about to remove the mark.
                M::relax();
            }
        }
    }

    fn tasks_wait(&self) {
        if let Some(gate) = self.0.gate() {
            // The bit is clear. Release: a thread that sees the bit sees at its first look that
            // there is a task.
            // C11: no execution is wrong without Release. The tasks themselves are ordered by the
            // lock of their list, which a thread holds when it takes a task. A thread that sees the
            // bit but not yet the count of waiting tasks takes none, and looks again. A Relaxed
            // exchange would still be a part of the release sequences of the threads that arrived
            // before.
            gate.word.fetch_add(gate.bit, Release);
        }
    }

    fn no_task_waits(&self) {
        if let Some(gate) = self.0.gate() {
            // The bit is set. Relaxed: the change hands nothing over, and the last thread to arrive
            // comes after it, because that thread saw that no task was left.
            gate.word.fetch_add(gate.bit.wrapping_neg(), Relaxed);
        }
    }

    fn wake(&self, n: u32, wait: Wait) {
        if let Some(gate) = self.0.gate() {
            M::wake::<u32>(gate.word, n, wait);
        }
    }
}

/// Visits an algorithm, and makes its barrier for `self.0` threads.
struct MakeBarrier(NonZeroU32);

impl<M: Machine> BarrierVisitor<M> for MakeBarrier {
    type Out = Box<dyn TeamBarrier<M>>;
    fn visit<B: RawBarrier<M>>(self) -> Self::Out {
        Box::new(Named::<M, B>(Owned::new(B::new(self.0))))
    }
}

struct HasGate;

impl<M: Machine> BarrierVisitor<M> for HasGate {
    type Out = bool;
    fn visit<B: RawBarrier<M>>(self) -> bool {
        B::new(NonZeroU32::MIN).gate().is_some()
    }
}

/// The names of the barriers by which threads that have arrived can be told of new tasks. A program
/// with tasks needs such a barrier.
pub fn telling_barriers() -> impl Iterator<Item = &'static str> {
    let tells = |name: &&str| barrier::visit::<Native, _>(name, HasGate).is_ok_and(|tells| tells);
    barrier::BARRIERS.iter().map(|info| info.name).filter(tells)
}

/// Makes a barrier for `participants` threads, of the algorithm `name`.
pub fn barrier<M: Machine>(name: &str, participants: NonZeroU32) -> Result<Box<dyn TeamBarrier<M>>, UnknownBarrier> {
    barrier::visit::<M, _>(name, MakeBarrier(participants))
}

/// A lock of any algorithm, which keeps its holder's token itself.
pub trait AnyLock<M: Machine>: Send + Sync {
    /// Takes the lock.
    fn lock(&self, wait: Wait);
    /// Takes the lock if it is free. Returns whether it did.
    fn try_lock(&self) -> bool;
    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds the lock, taken with the same policy or by a try.
    unsafe fn unlock(&self, wait: Wait);
}

/// A lock and the token of the thread that holds it.
#[repr(C)]
pub(crate) struct Held<M: Machine, L> {
    lock: L,
    token: M::Atomic<usize>,
}

impl<M: Machine, L: TryLock<M>> Held<M, L> {
    /// Whether the token is kept. A token of zero bytes is not.
    const KEEPS: bool = size_of::<L::Token>() != 0;

    #[inline]
    fn keep(&self, token: L::Token) {
        if Self::KEEPS {
            // Relaxed: only the holder accesses the token, and the lock orders its holders.
            self.token.store(token.to_word(), Relaxed);
        }
    }

    #[inline]
    fn kept(&self) -> L::Token {
        // Relaxed: only the holder accesses the token, as in `keep`.
        Token::from_word(if Self::KEEPS { self.token.load(Relaxed) } else { 0 })
    }
}

impl<M: Machine, L: TryLock<M>> AnyLock<M> for Owned<M, Held<M, L>> {
    fn lock(&self, wait: Wait) {
        let token = self.lock.lock(wait);
        self.keep(token);
    }

    fn try_lock(&self) -> bool {
        self.lock.try_lock().map(|token| self.keep(token)).is_some()
    }

    unsafe fn unlock(&self, wait: Wait) {
        // SAFETY: the caller holds the lock, and the token is the one that the lock gave it.
        unsafe { self.lock.unlock(self.kept(), wait) };
    }
}

struct MakeLock;

impl<M: Machine> TryVisitor<M> for MakeLock {
    type Out = Box<dyn AnyLock<M>>;
    fn visit<L: TryLock<M> + ZeroInit>(self) -> Self::Out {
        Box::new(Owned::new(Held::<M, L> { lock: L::new(), token: M::Atomic::new(0) }))
    }
}

/// Makes a free lock of the algorithm `name`, which must have a try.
pub fn lock<M: Machine>(name: &str) -> Result<Box<dyn AnyLock<M>>, LockError> {
    lock::visit_try::<M, _>(name, MakeLock)
}

/// A lock of a team: of any algorithm. The default one is called without a look-up, and its word stands
/// in the line of what it protects.
pub(crate) enum TeamLock<M: Machine> {
    Default(Adaptive<M>),
    Other(Box<dyn AnyLock<M>>),
}

impl<M: Machine> TeamLock<M> {
    /// Makes a free lock of the algorithm `name`, which must have a try.
    pub(crate) fn new(name: &str) -> Result<Self, LockError> {
        if name == Adaptive::<M>::INFO.name {
            return Ok(TeamLock::Default(Adaptive::new()));
        }
        lock(name).map(TeamLock::Other)
    }

    /// Takes the lock by the policy `wait`, until the result is dropped.
    #[inline(always)]
    pub(crate) fn hold(&self, wait: Wait) -> Hold<'_, M> {
        match self {
            TeamLock::Default(lock) => lock.lock(wait),
            TeamLock::Other(lock) => lock.lock(wait),
        }
        Hold { lock: self, wait }
    }

    /// Executes a memory fence with SeqCst in a thread whose last access to this lock was its release,
    /// which comes after the accesses that the fence is to order. The default lock is released by an
    /// exchange, which is a fence itself on some machines.
    #[inline(always)]
    pub(crate) fn fence_after_release(&self) {
        match self {
            TeamLock::Default(_) => M::fence_after_exchange(),
            TeamLock::Other(_) => M::fence(SeqCst),
        }
    }
}

/// A lock that the calling thread holds.
pub(crate) struct Hold<'a, M: Machine> {
    lock: &'a TeamLock<M>,
    wait: Wait,
}

impl<M: Machine> Drop for Hold<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the thread that made this value took the lock, with the same policy. The default
        // lock's holder has no token.
        unsafe {
            match self.lock {
                TeamLock::Default(lock) => lock.unlock((), self.wait),
                TeamLock::Other(lock) => lock.unlock(self.wait),
            }
        }
    }
}
