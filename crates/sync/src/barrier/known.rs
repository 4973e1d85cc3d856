//! Wraps a barrier and tells the scheduler which threads have arrived, for scheduling policies that
//! consider which thread waits for which: the last thread that has not arrived gets the weight of
//! all waiters. Where the scheduler does not listen, the wrapper does nothing.

use super::{BarrierInfo, DropError, RawBarrier};
use baton_machine::{LockNotice, Machine, Wait};
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::ptr::from_ref;

/// The barrier `B`, whose waiters the scheduler knows. It is not in the registry, because it is no
/// algorithm of its own.
pub struct Known<M, B>(B, PhantomData<M>);

// SAFETY: waits are those of `B`; notices change none of its memory.
unsafe impl<M: Machine, B: RawBarrier<M>> RawBarrier<M> for Known<M, B> {
    const INFO: BarrierInfo = B::INFO;

    fn new(participants: NonZeroU32) -> Self {
        Known(B::new(participants), PhantomData)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Known(B::aged(participants), PhantomData)
    }

    fn participants(&self) -> u32 {
        self.0.participants()
    }

    fn wait(&self, index: u32, wait: Wait) -> bool {
        if !M::hears_locks() {
            return self.0.wait(index, wait);
        }
        let address = from_ref(self).addr();
        M::notify_lock(LockNotice::Arrived, address);
        let last = self.0.wait(index, wait);
        M::notify_lock(LockNotice::Left, address);
        last
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        self.0.drop_out(index, wait)
    }
}
