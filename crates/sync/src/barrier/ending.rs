//! Wraps a barrier so that it may be freed as soon as one participant has returned from its last
//! episode. The wrapper counts the threads inside, and waits for them when it is dropped, as
//! `pthread_barrier_destroy` does.
//!
//! No barrier of the registry allows this by itself, because waiters read a word of the barrier.
//! The count costs two atomic additions a call on a line of its own, so barriers do not do this by
//! default.

use super::{Alone, BarrierInfo, DropError, RawBarrier};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Machine, Wait, WaitResult};
use core::num::NonZeroU32;

/// The barrier `B`, which may be freed as soon as one participant has returned from the last
/// episode. It is not in the registry, because it is no algorithm of its own.
pub struct Ending<M: Machine, B> {
    barrier: B,
    /// Number of calls in progress.
    inside: Alone<M>,
}

impl<M: Machine, B: RawBarrier<M>> Ending<M, B> {
    fn around(barrier: B) -> Self {
        Ending { barrier, inside: Alone(M::Atomic::new(0)) }
    }

    fn inside<R>(&self, call: impl FnOnce(&B) -> R) -> R {
        // Relaxed: the barrier orders this before the return of any other participant, and so
        // before the drop.
        self.inside.0.fetch_add(1, Relaxed);
        let answer = call(&self.barrier);
        // Release: this thread's reads of the barrier come before it is freed. The barrier may be
        // gone right after this addition.
        self.inside.0.fetch_add(1u32.wrapping_neg(), Release);
        answer
    }
}

// SAFETY: waits are those of `B`; counting changes none of its memory.
unsafe impl<M: Machine, B: RawBarrier<M>> RawBarrier<M> for Ending<M, B> {
    const INFO: BarrierInfo = B::INFO;

    fn new(participants: NonZeroU32) -> Self {
        Self::around(B::new(participants))
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::around(B::aged(participants))
    }

    fn participants(&self) -> u32 {
        self.barrier.participants()
    }

    fn wait(&self, index: u32, wait: Wait) -> bool {
        self.inside(|barrier| barrier.wait(index, wait))
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        self.inside(|barrier| barrier.drop_out(index, wait))
    }
}

impl<M: Machine, B> Drop for Ending<M, B> {
    /// Waits for threads that were released and have not returned from their call yet. These
    /// threads no longer wait for anything, so the drop polls their count; a thread that leaves
    /// need not wake it.
    fn drop(&mut self) {
        // Acquire, here and in the wait: what the leaving threads read of the barrier comes before
        // it is freed.
        let mut inside = self.inside.0.load(Acquire);
        while inside != 0 {
            if let WaitResult::Changed(now) = M::wait_while(&self.inside.0, inside, Wait::Pause, None) {
                inside = now;
            }
        }
    }
}
