//! Centralised sense-reversing barrier: one counter of arrivals, and one word that the last thread
//! to arrive changes.
//!
//! The sense is the number of the episode, read before arriving, rather than a bit that each thread
//! keeps. So threads need neither storage nor an index.

use super::{Alone, BarrierInfo, DropError, Gate, LEFT, RawBarrier, count_out};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::native::cell::NativeAtomic;
use baton_machine::{Atomic, Counted, Machine, Native, Wait};
use core::num::NonZeroU32;

/// A central barrier. The word that waiters watch is in another line than the counter, which every
/// arrival writes.
#[repr(C, align(128))]
pub struct Central<M: Machine> {
    /// Arrivals in this episode, where each participant that dropped out earlier counts as arrived;
    /// the upper half counts only the participants that dropped out.
    arrived: M::Atomic<u64>,
    participants: u32,
    episode: Alone<M>,
}

/// The bit of the word that the barrier leaves to its user.
const BIT: u32 = 1;
/// The end of an episode adds this to the word, above the user's bit.
const EPISODE: u32 = 2;

impl Central<Native> {
    /// Creates a barrier in a constant.
    pub const fn fixed(participants: NonZeroU32) -> Self {
        Central {
            arrived: NativeAtomic::new(0),
            participants: participants.get(),
            episode: Alone(NativeAtomic::new(0)),
        }
    }
}

impl<M: Machine> Central<M> {
    fn starting_at(participants: NonZeroU32, episode: u32) -> Self {
        let episode = Alone(M::Atomic::new(episode));
        Central { arrived: M::Atomic::new(0), participants: participants.get(), episode }
    }

    /// Releases all waiters. The caller arrived last and found that `left` participants have
    /// dropped out.
    fn release(&self, episode: u32, left: u64, wait: Wait) {
        // Relaxed: the store below publishes it to the threads that arrive next.
        self.arrived.store(left * LEFT + left, Relaxed);
        // Release: makes the counter, and what all threads did before, visible to the waiters.
        self.episode.0.store(episode.wrapping_add(EPISODE), Release);
        M::wake::<u32>(&self.episode.0, u32::MAX, wait);
    }
}

// SAFETY: `episode` changes only after the last thread has arrived. Every arrival is a Release; the
// last thread acquires them all through the counter's release sequence, and the others read its
// Release store of the episode with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for Central<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "central",
        what: "one counter and one sense: the last thread to arrive releases all",
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
        // Relaxed: this thread took part in the last episode (or was ordered after it by the thread
        // that handed over the index), so it cannot see an older number, and no newer one exists
        // until it arrives.
        let episode = self.episode.0.load(Relaxed) & !BIT;
        // Release: what this thread did comes before all threads continue. Acquire: the last thread
        // passes on what all the others did.
        let arrived = self.arrived.fetch_add(1, AcqRel) + 1;
        if arrived as u32 != self.participants {
            return Some(episode);
        }
        self.release(episode, arrived / LEFT, wait);
        None
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        assert!(index < self.participants, "participant {index} of {}", self.participants);
        // Relaxed: as in `arrive`, this thread can see no older number, and no newer one exists
        // until it arrives.
        let episode = self.episode.0.load(Relaxed) & !BIT;
        let arrived = count_out::<M, Self>(&self.arrived, LEFT + 1, self.participants)? + LEFT + 1;
        if arrived as u32 == self.participants {
            self.release(episode, arrived / LEFT, wait);
        }
        Ok(())
    }
}
