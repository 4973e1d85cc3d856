//! What is cancelled in a team.
//!
//! A thread cannot leave a barrier of any algorithm before all threads have arrived. So the threads
//! of a cancelled region that are at its end pass further barriers there, together with the threads
//! that are still on their way, until all threads have entered one barrier from the end.
//!
//! | word | holds |
//! | --- | --- |
//! | `region` | whether the region is cancelled |
//! | `share` | the number of the barrier that ends the cancelled loop or sections |
//! | `more` | the numbers of the last even and odd barrier that a thread entered before the region's end |

use crate::beyond::Beyond;
use crate::settings::Settings;
use crate::team::Context;
use crate::waits::Why;
use baton_machine::Ordering::{Acquire, Relaxed, Release, SeqCst};
use baton_machine::{Atomic, Machine};

/// The state of cancellation in a team. Barriers are numbered from 1.
pub struct Cancel<M: Machine> {
    on: bool,
    /// Work-shares beyond the ring, if anything can be cancelled.
    pub(crate) beyond: Option<Box<Beyond<M>>>,
    region: M::Atomic<u32>,
    share: M::Atomic<u64>,
    more: [M::Atomic<u64>; 2],
}

impl<M: Machine> Cancel<M> {
    /// The state in which nothing is cancelled. Where cancellation is off, nothing will be.
    pub(crate) fn new(settings: &Settings) -> Self {
        let on = settings.cancellation;
        let beyond = on.then(|| Box::new(Beyond::new(settings)));
        let word = || M::Atomic::new(0);
        Cancel { on, beyond, region: M::Atomic::new(0), share: word(), more: [word(), word()] }
    }

    /// Whether anything can be cancelled.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Prepares the next region, with no thread in the team's last region. Returns whether that
    /// region was cancelled.
    pub fn begin(&self) -> bool {
        // Relaxed, both: the begin of the region publishes them.
        let was = self.on && self.region.load(Relaxed) != 0;
        if was {
            self.region.store(0, Relaxed);
        }
        was
    }

    /// Notes that a thread enters barrier `number` and that the region has not ended for this
    /// thread.
    pub fn more_follows(&self, number: u64) {
        if self.on {
            // Relaxed: the barrier itself orders the store before what `has_more` reads.
            self.more[(number % 2) as usize].store(number, Relaxed);
        }
    }

    /// Whether some thread entered barrier `number`, which the calling thread has passed, before
    /// the region's end. The word is not written for a later barrier meanwhile: that barrier is two
    /// numbers on, and the calling thread has not arrived at the one between.
    pub fn has_more(&self, number: u64) -> bool {
        // Relaxed: see `more_follows`.
        self.on && self.more[(number % 2) as usize].load(Relaxed) == number
    }
}

impl<M: Machine> Context<M> {
    /// Cancels the region.
    pub fn cancel_region(&self) {
        let (team, waits) = (self.team(), self.waits());
        // Release: a thread that sees the cancellation sees what was done before.
        team.cancel.region.store(1, Release);
        // SeqCst: either a thread that is about to wait for a slot sees that the region is
        // cancelled, or this thread sees the slot as that thread saw it, open, and closes it.
        M::fence(SeqCst);
        team.shares.iter().for_each(|share| share.close_to_later(waits));
    }

    /// Whether the region is cancelled. A thread asks this before it waits for a slot of the ring.
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

    /// Cancels the loop or the sections that the thread is in. They end at the thread's next
    /// barrier.
    pub fn cancel_share(&self) {
        // Release: the reason is that of `cancel_region`.
        self.team().cancel.share.store(self.share_end(), Release);
    }

    /// Whether the loop or the sections that the thread is in are cancelled.
    pub fn share_cancelled(&self) -> bool {
        let cancel = &self.team().cancel;
        // Acquire: the reason is that of `region_cancelled`.
        cancel.on && cancel.share.load(Acquire) == self.share_end()
    }

    /// The number of the barrier at the end of the work-share.
    fn share_end(&self) -> u64 {
        self.next_barrier.get()
    }

    /// A barrier that a thread may leave when the region is cancelled. Returns whether the region
    /// is cancelled.
    pub fn barrier_or_cancelled(&self, why: Why) -> bool {
        self.region_cancelled() || {
            self.barrier(why);
            self.region_cancelled()
        }
    }
}
