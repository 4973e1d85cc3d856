//! The state of cancellation in a team.
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
use baton_machine::Ordering::Relaxed;
use baton_machine::{Atomic, Machine, Owned};

/// The state of cancellation in a team. Barriers are numbered from 1.
pub struct Cancel<M: Machine> {
    pub(crate) on: bool,
    /// The work-shares for which the ring has no room; `None` if cancellation is off.
    pub(crate) beyond: Option<Owned<M, Beyond<M>>>,
    pub(crate) region: M::Atomic<u32>,
    pub(crate) share: M::Atomic<u64>,
    pub(crate) more: [M::Atomic<u64>; 2],
}

impl<M: Machine> Cancel<M> {
    /// The state in which nothing is cancelled. If the settings have cancellation off, it stays so.
    pub(crate) fn new(settings: &Settings) -> Self {
        let on = settings.cancellation;
        let beyond = on.then(|| Owned::new(Beyond::new(settings)));
        let word = || M::Atomic::new(0);
        Cancel { on, beyond, region: M::Atomic::new(0), share: word(), more: [word(), word()] }
    }

    /// Whether the settings have cancellation on, so that a region may be cancelled.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Prepares the next region, with no thread in the team's last region. Returns whether that
    /// region was cancelled.
    pub fn begin(&self) -> bool {
        // Relaxed, both accesses: the beginning of the next region publishes the word.
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
