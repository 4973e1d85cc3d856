//! Centralised sense-reversing barrier: one counter of arrivals, and one word that the last to arrive changes.
//!
//! The sense is a number of episodes, read before arriving, rather than a bit that each thread keeps: so threads need
//! neither storage nor an index.

use super::{Alone, BarrierInfo, DropError, Gate, LEFT, RawBarrier, count_out};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, Wait};
use core::num::NonZeroU32;

/// The barrier. The waiters' word stands apart from the counter, which every arrival takes.
#[repr(C, align(128))]
pub struct Central<M: Machine> {
    /// Arrivals in this episode, those included that dropped out before; these once more in the upper half.
    arrived: M::Atomic<u64>,
    participants: u32,
    episode: Alone<M>,
}

/// The user's bit of the word.
const BIT: u32 = 1;
/// What an episode adds to it.
const EPISODE: u32 = 2;

impl<M: Machine> Central<M> {
    fn starting_at(participants: NonZeroU32, episode: u32) -> Self {
        let episode = Alone(M::Atomic::new(episode));
        Central { arrived: M::Atomic::new(0), participants: participants.get(), episode }
    }

    /// Lets all go, as the last one, which found so many dropped out.
    fn release(&self, episode: u32, left: u64, wait: Wait) {
        // Relaxed: the store below publishes it to those who arrive next.
        self.arrived.store(left * LEFT + left, Relaxed);
        // Release: see above.
        self.episode.0.store(episode.wrapping_add(EPISODE), Release);
        M::wake::<u32>(&self.episode.0, u32::MAX, wait);
    }
}

// SAFETY: `episode` changes only when the last has arrived. Every arrival is a Release, the last one acquires them all
// through the counter's release sequence, and its Release store of the episode is read with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for Central<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "central",
        what: "one counter, one sense: the last to arrive lets all go",
        source: "Mellor-Crummey and Scott, ACM TOCS 1991, algorithm 7",
        limits: "every arrival takes one line, every release invalidates it for all",
        indexed: false,
        drops: true,
        counted: Counted { instructions: 147.0, accesses: 25 },
    };

    fn new(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0u32.wrapping_sub(EPISODE))
    }

    fn participants(&self) -> u32 {
        self.participants
    }

    fn gate(&self) -> Option<Gate<'_, M>> {
        Some(Gate { word: &self.episode.0, bit: BIT })
    }

    fn arrive(&self, index: u32, wait: Wait) -> Option<u32> {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        // Relaxed: we took part in the episode before (or were ordered after it by the thread that handed us our place), so that
        // we cannot see an older one, and there is no newer one until we arrive.
        let episode = self.episode.0.load(Relaxed) & !BIT;
        // Release: what we did comes before all go on. Acquire: the last one passes on what all the others did.
        let arrived = self.arrived.fetch_add(1, AcqRel) + 1;
        if arrived as u32 != self.participants {
            return Some(episode);
        }
        self.release(episode, arrived / LEFT, wait);
        None
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        // Relaxed: as in `arrive`.
        let episode = self.episode.0.load(Relaxed) & !BIT;
        let arrived = count_out::<M, Self>(&self.arrived, LEFT + 1, self.participants)? + LEFT + 1;
        if arrived as u32 == self.participants {
            self.release(episode, arrived / LEFT, wait);
        }
        Ok(())
    }
}
