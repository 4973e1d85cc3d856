//! Cancels a region or a work-share, and tells whether it is cancelled.

use crate::team::Context;
use crate::waits::Why;
use baton_machine::Ordering::{Acquire, Release, SeqCst};
use baton_machine::{Atomic, Machine};

impl<M: Machine> Context<M> {
    /// Cancels the region.
    pub fn cancel_region(&self) {
        let (team, waits) = (self.team(), self.waits());
        // Release: a thread that sees the region cancelled also sees what this thread did before.
        team.cancel.region.store(1, Release);
        // SeqCst: consider a thread that is about to wait for a slot. Either that thread sees the
        // region cancelled, or this thread sees the slot open, as that thread did, and closes it.
        M::fence(SeqCst);
        team.rings.each(|share| share.close_to_later(waits));
    }

    /// Whether the region is cancelled. Asked by a thread before it waits for a slot of the ring.
    pub(crate) fn must_not_wait(&self) -> bool {
        self.team().cancel.is_on() && {
            // SeqCst: see `cancel_region`.
            M::fence(SeqCst);
            self.region_cancelled()
        }
    }

    /// Whether the region is cancelled.
    pub fn region_cancelled(&self) -> bool {
        let cancel = &self.team().cancel;
        // Acquire: see `cancel_region`.
        cancel.on && cancel.region.load(Acquire) != 0
    }

    /// Cancels the loop or the sections that the thread is in. They are known by the barrier at
    /// their end, which is the thread's next.
    pub fn cancel_share(&self) {
        // Release: a thread that sees the work-share cancelled also sees what this thread did
        // before.
        self.team().cancel.share.store(self.share_end(), Release);
    }

    /// Whether the loop or the sections that the thread is in are cancelled.
    pub fn share_cancelled(&self) -> bool {
        let cancel = &self.team().cancel;
        // Acquire: this thread sees what the thread that cancelled did before.
        cancel.on && cancel.share.load(Acquire) == self.share_end()
    }

    /// The number of the barrier at the end of the thread's work-share.
    fn share_end(&self) -> u64 {
        self.next_barrier.get()
    }

    /// Waits at a barrier, unless the region is cancelled, as a thread of a cancelled region goes
    /// to its end at once. Returns whether the region is cancelled.
    pub fn barrier_or_cancelled(&self, why: Why) -> bool {
        self.region_cancelled() || {
            self.barrier(why);
            self.region_cancelled()
        }
    }
}
