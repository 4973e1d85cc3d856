//! Dissemination barrier: in round *r* each participant tells the one 2^r places on, and waits to be told by the one 2^r
//! places back. After ⌈log2 n⌉ rounds everybody has heard, directly or not, of everybody.
//!
//! What is told is the number of the episode. A teller can be at most one episode ahead: to be two ahead, the listener
//! would have had to arrive once more. So a listener waits for its own number or the next one.

use super::{BarrierInfo, RawBarrier};
use baton_machine::Ordering::{Acquire, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, OwnedSlice, Wait, WaitResult};
use core::num::NonZeroU32;

/// Rounds at most: with `episode`, one participant's state fills a pair of cache lines.
const ROUNDS: usize = 31;

/// What one participant is told in each round, and its own episode.
#[repr(C, align(128))]
struct Seat<M: Machine> {
    episode: M::Atomic<u32>,
    told: [M::Atomic<u32>; ROUNDS],
}

/// The barrier: a seat for each participant.
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

// SAFETY: what is told in a round is a Release store after an Acquire of the round before, so that after the last
// round each has, in that order, heard of all arrivals.
unsafe impl<M: Machine> RawBarrier<M> for Dissemination<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "dissemination",
        what: "log n rounds in which each tells one other; no line is fought for",
        source: "Hensgen, Finkel and Manber, IJPP 1988; Mellor-Crummey and Scott, ACM TOCS 1991, algorithm 9",
        limits: "participants need an index; n log n messages; at most 2^31 participants",
        indexed: true,
        drops: false,
        counted: Counted { instructions: 919.0, accesses: 71 },
    };

    /// # Panics
    /// With more than 2^31 participants, whose seats no memory would hold.
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
        // Relaxed, both: only this participant uses it.
        let episode = me.episode.load(Relaxed).wrapping_add(1);
        me.episode.store(episode, Relaxed);
        for round in 0..self.rounds as usize {
            let other = &self.seats[(index as usize + (1 << round)) % n];
            // Release: what we did, and what we have heard of so far.
            other.told[round].store(episode, Release);
            M::wake::<u32>(&other.told[round], 1, wait);
            // Acquire, here and in the wait: see what the teller did and had heard of.
            let mut told = me.told[round].load(Acquire);
            // As a signed difference: 0 or 1 once told, less than 0 before, whatever the numbers have wrapped to.
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
