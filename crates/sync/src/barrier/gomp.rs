//! The barrier of GCC's OpenMP runtime: arrivals count down what is awaited, and the last one moves the generation on.
//!
//! The runtime's own waiting is a budget of tries, then the kernel: `spin-park(300000)`, `spin-park(100)` where more threads run
//! than the process has CPUs, `futex` with `OMP_WAIT_POLICY=passive`. Here it is the caller's choice, as for every barrier.
//! The low bits of the generation are flags of tasks and cancellation there; here the lowest is the user's, and the others stay zero.

use super::{BarrierInfo, DropError, Gate, LEFT, RawBarrier, count_out};
use baton_machine::Ordering::{AcqRel, Relaxed, Release};
use baton_machine::{Atomic, Counted, Machine, Wait};
use core::num::NonZeroU32;

/// What an episode adds to the generation, above the flags.
const EPISODE: u32 = 8;

/// The user's bit of the generation.
const BIT: u32 = 1;

/// What an arrival adds to the awaited.
const ONE_LESS: u64 = 1u64.wrapping_neg();

/// The barrier, in the two lines that it has there: what arrivals read, and what they write.
#[repr(C, align(64))]
pub struct Gomp<M: Machine> {
    total: u32,
    generation: M::Atomic<u32>,
    awaited: Awaited<M>,
}

/// Arrivals that are awaited; in the upper half, how many dropped out.
#[repr(C, align(64))]
struct Awaited<M: Machine>(M::Atomic<u64>);

impl<M: Machine> Gomp<M> {
    fn starting_at(participants: NonZeroU32, generation: u32) -> Self {
        let total = participants.get();
        Gomp { total, generation: M::Atomic::new(generation), awaited: Awaited(M::Atomic::new(u64::from(total))) }
    }

    /// Lets all go, as the last one, which found so many dropped out.
    fn release(&self, generation: u32, left: u64, wait: Wait) {
        // Relaxed: the store below publishes it to those who arrive next.
        self.awaited.0.store(left * LEFT + u64::from(self.total) - left, Relaxed);
        // Release: see above.
        self.generation.store(generation.wrapping_add(EPISODE), Release);
        M::wake::<u32>(&self.generation, u32::MAX, wait);
    }
}

// SAFETY: the generation changes only when the last has arrived. Every arrival is a Release, the last one acquires them all
// through the counter's release sequence, and its Release store of the generation is read with Acquire.
unsafe impl<M: Machine> RawBarrier<M> for Gomp<M> {
    const INFO: BarrierInfo = BarrierInfo {
        name: "gomp",
        what: "libgomp's: arrivals count down, the last one moves the generation on",
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
        // Relaxed: no older generation can be seen, as we took part in it, and there is no newer one until we arrive.
        let generation = self.generation.load(Relaxed) & !BIT;
        // Release: what we did comes before all go on. Acquire: the last one passes on what all the others did.
        let awaited = self.awaited.0.fetch_add(ONE_LESS, AcqRel);
        if awaited as u32 != 1 {
            return Some(generation);
        }
        self.release(generation, awaited / LEFT, wait);
        None
    }

    fn drop_out(&self, index: u32, wait: Wait) -> Result<(), DropError> {
        assert!(index < self.total, "participant {index} of {}", self.total);
        // Relaxed: as in `arrive`.
        let generation = self.generation.load(Relaxed) & !BIT;
        let awaited = count_out::<M, Self>(&self.awaited.0, LEFT.wrapping_add(ONE_LESS), self.total)?;
        if awaited as u32 == 1 {
            self.release(generation, awaited / LEFT + 1, wait);
        }
        Ok(())
    }
}
