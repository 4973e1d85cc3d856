//! Wraps a barrier and says to the scheduler who has arrived, for a policy that goes by who waits for whom: the last thread has the
//! weight of all that wait. Where no scheduler listens the wrapped barrier is left as it is.

use super::{BarrierInfo, DropError, RawBarrier};
use baton_machine::{LockNotice, Machine, Wait};
use core::marker::PhantomData;
use core::num::NonZeroU32;
use core::ptr::from_ref;

/// The barrier `B`, with those that wait known. It stands in no registry, as it is no algorithm of its own.
pub struct Known<M, B>(B, PhantomData<M>);

// SAFETY: `B`'s own wait; what is said changes no memory of its.
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
