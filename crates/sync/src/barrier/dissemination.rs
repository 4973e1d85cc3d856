//! Dissemination barrier: in round *r* each participant signals the one 2^r places ahead, and waits
//! for the signal from the one 2^r places behind. After ⌈log2 n⌉ rounds every participant has
//! heard, directly or indirectly, of every other.
//!
//! A signal is the number of the episode. The signalling participant can be at most one episode
//! ahead: to be two ahead, it would need one more arrival of the waiting participant. So a waiting
//! participant accepts its own number or the next one.

use super::{BarrierInfo, RawBarrier};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait, WaitResult};
use core::num::NonZeroU32;

/// Largest number of rounds: with `episode`, a participant's state fills a pair of cache lines.
const ROUNDS: usize = 31;

/// A participant's own episode, and the signals that it gets in each round.
#[repr(C, align(128))]
struct Seat<M: Machine> {
    episode: M::Atomic<u32>,
    told: [M::Atomic<u32>; ROUNDS],
}

/// A dissemination barrier: a seat for each participant.
pub struct Dissemination<M: Machine> {
    seats: OwnedSlice<M, Seat<M>>,
    rounds: u32,
}

impl<M: Machine> Dissemination<M> {
    fn starting_at(participants: NonZeroU32, episode: u32) -> Self {
        let n = participants.get();
        let rounds = n.next_power_of_two().trailing_zeros();
        let seats = OwnedSlice::new(n as usize, |_| Seat {
            episode: M::Atomic::new(episode),
            told: core::array::from_fn(|_| M::Atomic::new(episode)),
        });
        Dissemination { seats, rounds }
    }
}

// SAFETY: each signal is a Release store that follows an Acquire of the round before. So after the
// last round each participant has synchronized with all arrivals.
unsafe impl<M: Machine> RawBarrier<M> for Dissemination<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "dissemination",
        what: "log n rounds in which each participant signals one other; no contended line",
        source: "Hensgen, Finkel and Manber, IJPP 1988; Mellor-Crummey and Scott, ACM TOCS 1991, algorithm 9",
        limits: "participants need an index; n log n messages; at most 2^31 participants",
        indexed: true,
        drops: false,
        counted: Counted { instructions: 919.0, accesses: 71 },
    };

    /// # Panics
    /// Panics with more than 2^31 participants, for which no memory would suffice.
    fn new(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, u32::MAX)
    }

    fn participants(&self) -> u32 {
        self.seats.len() as u32
    }

    fn wait(&self, index: u32, wait: Wait) -> bool {
        let n = self.seats.len();
        assert!((index as usize) < n, "participant {index} of {n}");
        let me = &self.seats[index as usize];
        // Relaxed for both: only this participant accesses it.
        let episode = me.episode.load(Relaxed).wrapping_add(1);
        me.episode.store(episode, Relaxed);
        for round in 0..self.rounds as usize {
            let other = &self.seats[(index as usize + (1 << round)) % n];
            // Release: publishes what this thread did and the signals that it has seen.
            other.told[round].store(episode, Release);
            M::wake::<u32>(&other.told[round], 1, wait);
            // Acquire, here and in the wait: see what the signalling thread did and the signals
            // that it had seen.
            let mut told = me.told[round].load(Acquire);
            // A signed difference: 0 or 1 after the signal, negative before it, even when the
            // numbers have wrapped.
            while (told.wrapping_sub(episode) as i32) < 0 {
                told = match M::wait_while(&me.told[round], told, wait, None) {
                    WaitResult::Changed(now) => now,
                    WaitResult::Expired => unreachable!("no deadline was given"),
                };
            }
        }
        index == 0
    }
}
