//! What a thread has in the caches, and what it fetches again when it has come to another core.

use super::lru::decay;
use super::solve::{Common, Running, Solved};

/// Where a thread's lines are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Residence {
    /// The core that it ran on last, and the domain of the shared level; `None`: its lines are in memory.
    pub(super) at: Option<(usize, usize)>,
    /// The behaviour that they belong to.
    pub(super) behaviour: usize,
    /// By set: of what its private caches keep, and of what the shared level keeps, the share that it has not fetched yet.
    cold: Vec<(f64, f64)>,
}

impl Residence {
    /// The thread comes to a core; `intact`: no other thread has used the core's private caches since it was there.
    pub(super) fn come(&mut self, at: (usize, usize), behaviour: usize, sets: usize, intact: bool) {
        let same = self.behaviour == behaviour;
        match self.at {
            Some(was) if same && was == at && intact => {}
            // The shared level has its lines, or a core's private cache there.
            Some(was) if same && was.1 == at.1 => self.cold.iter_mut().for_each(|cold| cold.0 = 1.0),
            _ => self.cold = vec![(1.0, 1.0); sets],
        }
        (self.at, self.behaviour) = (Some(at), behaviour);
    }

    /// What it takes, in cycles, to fetch again what so many instructions touch of what the caches would have.
    pub(super) fn fetch(&mut self, phase: &Running<'_>, solved: &Solved, common: &Common, instructions: f64) -> u64 {
        let mut cycles = 0.0;
        for ((set, kept), cold) in phase.behaviour.sets.iter().zip(&solved.kept).zip(&mut self.cold) {
            let lines = set.bytes as f64 / common.line;
            // Of lines that are touched at random, so many not at all.
            let untouched = decay(instructions * set.accesses / 1000.0 / lines);
            let fetched = |share: f64| lines * share * (1.0 - untouched);
            let from = phase.bank + cold.1 * (phase.memory - phase.bank);
            cycles += fetched(kept.0 * cold.0) * from;
            cycles += fetched((1.0 - kept.0) * kept.1 * cold.1) * (phase.memory - phase.bank);
            (cold.0, cold.1) = (cold.0 * untouched, cold.1 * untouched);
        }
        (cycles / phase.overlap()).round() as u64
    }
}
