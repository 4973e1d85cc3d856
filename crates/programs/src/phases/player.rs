//! A phase: played by the machine, or as a stream of accesses and computation.

use baton_machine::units::Cycles;
use baton_machine::{Behaviour, Machine, OwnedSlice};
use baton_workloads::xorshift;
use std::sync::Arc;

/// Bytes of a line in the stream.
const LINE: usize = 64;

/// A line of the footprint.
#[repr(C, align(64))]
struct Data([u8; LINE]);

/// A thread that plays a behaviour, with its position in the stream.
pub(super) struct Player<M: Machine> {
    behaviour: Arc<Behaviour>,
    /// The footprint; `None` before the first stream.
    data: Option<OwnedSlice<M, Data>>,
    state: u64,
    /// Instructions since the last accesses, and the part of a cycle that is still to be computed.
    due: f64,
    owed: f64,
}

impl<M: Machine> Player<M> {
    pub(super) fn new(behaviour: Arc<Behaviour>, seed: u64) -> Player<M> {
        let state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Player { behaviour, data: None, state, due: 0.0, owed: 0.0 }
    }

    /// Plays `instructions` instructions.
    pub(super) fn play(&mut self, instructions: u64) {
        if !M::phase(&self.behaviour, instructions) {
            self.stream(instructions as f64);
        }
    }

    /// Plays instructions as accesses to lines of the sets, drawn at random, and computation
    /// between the accesses.
    fn stream(&mut self, instructions: f64) {
        let behaviour = self.behaviour.clone();
        let accesses = behaviour.accesses();
        let together = behaviour.overlap.max(1);
        let every = if accesses > 0.0 { 1000.0 / accesses * f64::from(together) } else { f64::INFINITY };
        let mut left = instructions;
        while self.due + left >= every {
            let piece = every - self.due;
            self.work(piece * behaviour.cpi);
            (left, self.due) = (left - piece, 0.0);
            self.access(&behaviour, accesses, together as usize);
        }
        self.work(left * behaviour.cpi);
        self.due += left;
    }

    fn work(&mut self, cycles: f64) {
        self.owed += cycles;
        let whole = self.owed.floor();
        self.owed -= whole;
        M::work(Cycles(whole as u64));
    }

    /// Reads `lines` lines of a set that is drawn in proportion to the sets' accesses.
    fn access(&mut self, behaviour: &Behaviour, accesses: f64, lines: usize) {
        let mut draw = (xorshift(&mut self.state) >> 11) as f64 / (1u64 << 53) as f64 * accesses;
        let mut first = 0;
        let mut chosen = None;
        for set in &behaviour.sets {
            let size = set.bytes as usize / LINE;
            if draw < set.accesses && size != 0 {
                chosen = Some((first, size));
                break;
            }
            (draw, first) = (draw - set.accesses, first + size);
        }
        let Some((first, size)) = chosen else { return };
        let row = lines.min(size);
        let start = first + (xorshift(&mut self.state) >> 33) as usize % (size - row + 1);
        let data = self.data.get_or_insert_with(|| {
            let all = behaviour.sets.iter().map(|set| set.bytes as usize / LINE).sum();
            OwnedSlice::new(all, |_| Data([0; LINE]))
        });
        // SAFETY: these lines are this thread's own, and are read only.
        unsafe { M::touch(data.as_ptr().add(start).cast::<u8>().cast_mut(), row * LINE, false) };
    }
}
