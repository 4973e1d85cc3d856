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
        let sets = || phase.behaviour.sets.iter().zip(&solved.kept);
        // By set: lines fetched for the private caches, those of them that come from memory, and those for the shared level alone.
        let mut fetched = Vec::new();
        for ((set, kept), cold) in sets().zip(&mut self.cold) {
            let lines = set.bytes as f64 / common.line;
            // Of lines that are touched at random, so many not at all.
            let untouched = decay(instructions * set.accesses / 1000.0 / lines);
            let touched = lines * (1.0 - untouched);
            let private = touched * kept.0 * cold.0;
            fetched.push((lines, private, private * cold.1, touched * (1.0 - kept.0) * kept.1 * cold.1));
            (cold.0, cold.1) = (cold.0 * untouched, cold.1 * untouched);
        }
        let from_memory: f64 = fetched.iter().map(|(_, _, far, shared)| far + shared).sum();
        let cycle = |&(lines, private, far, shared): &(f64, f64, f64, f64)| {
            let open = if from_memory > 0.0 { common.finds_open(lines, (far + shared) / from_memory) } else { 0.0 };
            let further = phase.memory - common.saved * open - phase.bank;
            private * (phase.bank - phase.lookup) + (far + shared) * further
        };
        let cycles: f64 = fetched.iter().map(cycle).sum();
        (cycles / phase.overlap()).round() as u64
    }
}
