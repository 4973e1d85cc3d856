//! The barrier of GCC's OpenMP runtime: arrivals count down, and the last one advances the
//! generation.
//!
//! The runtime itself tries a number of times, then sleeps in the kernel: `spin-park(300000)`,
//! `spin-park(100)` where more threads run than the process has CPUs, and `futex` with
//! `OMP_WAIT_POLICY=passive`. Here the caller chooses the policy, as for every barrier. In the
//! runtime the low bits of the generation are flags for tasks and cancellation; here the lowest bit
//! belongs to the user, and the others stay zero.

use super::{BarrierInfo, DropError, Gate, LEFT, RawBarrier, count_out};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, Wait};
use core::num::NonZeroU32;

/// An episode adds this to the generation, above the flags.
const EPISODE: u32 = 8;

/// The bit of the generation that the barrier leaves to its user.
const BIT: u32 = 1;

/// An arrival adds this to `awaited`: minus one.
const ONE_LESS: u64 = 1u64.wrapping_neg();

/// A barrier like libgomp's, in the same two lines: one that arrivals read, and one that they
/// write.
#[repr(C, align(64))]
pub struct Gomp<M: Machine> {
    total: u32,
    generation: M::Atomic<u32>,
    awaited: Awaited<M>,
}

/// Arrivals that are still missing; the upper half counts participants that dropped out.
#[repr(C, align(64))]
struct Awaited<M: Machine>(M::Atomic<u64>);

impl<M: Machine> Gomp<M> {
    fn starting_at(participants: NonZeroU32, generation: u32) -> Self {
        let total = participants.get();
        Gomp { total, generation: M::Atomic::new(generation), awaited: Awaited(M::Atomic::new(u64::from(total))) }
    }

    /// Releases all waiters. The caller arrived last and found that `left` participants have
    /// dropped out.
    fn release(&self, generation: u32, left: u64, wait: Wait) {
        // Relaxed: the store below publishes it to the threads that arrive next.
        self.awaited.0.store(left * LEFT + u64::from(self.total) - left, Relaxed);
        // Release: makes the counter, and what all threads did before, visible to the waiters.
        self.generation.store(generation.wrapping_add(EPISODE), Release);
        M::wake::<u32>(&self.generation, u32::MAX, wait);
    }
}

// SAFETY: the generation changes only after the last thread has arrived. Every arrival is a
// Release; the last thread acquires them all through the counter's release sequence, and the others
// read its Release store of the generation with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for Gomp<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "gomp",
        what: "libgomp's barrier: arrivals count down, the last one advances the generation",
        source: "libgomp of GCC 12, config/linux/bar.c",
        limits: "as central; libgomp's own wait is spin-park(300000), spin-park(100) with more threads than CPUs",
        indexed: false,
        drops: true,
        counted: Counted { instructions: 139.0, accesses: 25 },
    };

    fn new(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0)
    }

    fn aged(participants: NonZeroU32) -> Self {
        Self::starting_at(participants, 0u32.wrapping_sub(EPISODE))
    }

    fn participants(&self) -> u32 {
        self.total
    }

    fn gate(&self) -> Option<Gate<'_, M>> {
        Some(Gate { word: &self.generation, bit: BIT })
    }

    fn arrive(&self, index: u32, wait: Wait) -> Option<u32> {
        assert!(index < self.total, "participant {index} of {}", self.total);
        // Relaxed: this thread took part in the last episode, so it cannot see an older generation,
        // and no newer one exists until it arrives.
        let generation = self.generation.load(Relaxed) & !BIT;
        // Release: what this thread did comes before all threads continue. Acquire: the last thread
        // passes on what all the others did.
        let awaited = self.awaited.0.fetch_add(ONE_LESS, AcqRel);
        if awaited as u32 != 1 {
            return Some(generation);
        }
        self.release(generation, awaited / LEFT, wait);
        None
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        assert!(index < self.total, "participant {index} of {}", self.total);
        // Relaxed: as in `arrive`, this thread can see no older generation, and no newer one exists
        // until it arrives.
        let generation = self.generation.load(Relaxed) & !BIT;
        let awaited = count_out::<M, Self>(&self.awaited.0, LEFT.wrapping_add(ONE_LESS), self.total)?;
        if awaited as u32 == 1 {
            self.release(generation, awaited / LEFT + 1, wait);
        }
        Ok(())
    }
}
