//! What is cancelled in a team.
//!
//! A barrier of any algorithm cannot be left before all have arrived. So the threads of a cancelled region that are at its end
//! pass further barriers there, with those that were still on their way, until one that all have entered from the end.
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
    /// Where anything can be cancelled.
    pub(crate) beyond: Option<Box<Beyond<M>>>,
    region: M::Atomic<u32>,
    share: M::Atomic<u64>,
    more: [M::Atomic<u64>; 2],
}

impl<M: Machine> Cancel<M> {
    /// Nothing is cancelled; where cancellation is off nothing will be.
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

    /// Before the next region begins, with no thread in the team's last one: whether that was cancelled.
    pub fn begin(&self) -> bool {
        // Relaxed, both: the begin of the region publishes them.
        let was = self.on && self.region.load(Relaxed) != 0;
        if was {
            self.region.store(0, Relaxed);
        }
        was
    }

    /// A thread enters barrier `number`, and the region has not ended for it.
    pub fn more_follows(&self, number: u64) {
        if self.on {
            // Relaxed: the barrier itself orders it before what `has_more` reads.
            self.more[(number % 2) as usize].store(number, Relaxed);
        }
    }

    /// Whether some thread entered barrier `number`, which the calling one has passed, before the region's end. The word is not
    /// written for a later barrier meanwhile: that one is two on, and the calling thread has not arrived at the one between.
    pub fn has_more(&self, number: u64) -> bool {
        // Relaxed: see `more_follows`.
        self.on && self.more[(number % 2) as usize].load(Relaxed) == number
    }
}

impl<M: Machine> Context<M> {
    /// Cancels the region.
    pub fn cancel_region(&self) {
        let (team, waits) = (self.team(), self.waits());
        // Release: who sees it sees what was done before.
        team.cancel.region.store(1, Release);
        // SeqCst: either a thread that is about to wait for a slot sees that the region is cancelled, or this one sees the slot as that thread
        // saw it, open, and closes it.
        M::fence(SeqCst);
        team.shares.iter().for_each(|share| share.close_to_later(waits));
    }

    /// Whether the region is cancelled, as a thread asks before it waits for a slot of the ring.
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

    /// Cancels the loop or the sections that the thread is in, which end at its next barrier.
    pub fn cancel_share(&self) {
        // Release: as in `cancel_region`.
        self.team().cancel.share.store(self.share_end(), Release);
    }

    /// Whether the loop or the sections that the thread is in are cancelled.
    pub fn share_cancelled(&self) -> bool {
        let cancel = &self.team().cancel;
        // Acquire: as in `region_cancelled`.
        cancel.on && cancel.share.load(Acquire) == self.share_end()
    }

    /// The number of the barrier at the end of the work-share.
    fn share_end(&self) -> u64 {
        self.next_barrier.get()
    }

    /// A barrier that the end of a cancelled region lets a thread leave: whether the region is cancelled.
    pub fn barrier_or_cancelled(&self, why: Why) -> bool {
        self.region_cancelled() || {
            self.barrier(why);
            self.region_cancelled()
        }
    }
}
