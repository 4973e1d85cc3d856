//! Real programs with the same lock on the same chip: what marks do where the accesses are a program's own, and its result is
//! checked. They stand for nobody else's program (`docs/workloads.md`).

use super::run::{Figures, Notes, Setup};
use baton_chip::Simulated;
use baton_machine::Wait;
use baton_sync::lock::{LockVisitor, RawLock, ZeroInit};
use baton_workloads::Team;
use baton_workloads::monitor::Locks;
use baton_workloads::programs::{Program, Scale};
use serde::{Serialize, Serializer};

/// Thread counts of a full study; as many cores.
pub const THREADS: [u32; 5] = [4, 8, 16, 32, 64];
/// Inputs, and seeds, of each in a full study.
const SEEDS: u64 = 3;
/// What a quick study runs: one program, at one count, once.
const QUICK: (Program, u32) = (Program::Sort, 16);
/// Tries before a thread sleeps.
const TRIES: u32 = 128;

/// The inputs of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The chip, whole.
    pub chip: String,
    /// The program, and its scale.
    pub what: What,
    /// Threads, one a core.
    pub threads: u32,
    /// The seed of the chip; that of the input is in the scale.
    pub seed: u64,
}

/// A program in a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct What {
    /// The program.
    pub program: Program,
    /// Its scale.
    pub scale: Scale,
}

impl Serialize for What {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:?} {:?}", self.program, self.scale))
    }
}

/// A program's two runs.
#[derive(Clone, Copy)]
pub(super) struct RealPair<'a> {
    pub(super) case: Case,
    pub(super) off: &'a Figures,
    pub(super) on: &'a Figures,
}

/// A pair of runs to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) what: What,
    pub(super) threads: u32,
    pub(super) seed: u64,
}

/// The study's scale of a program, in which 64 threads have at least 30 critical sections each; of the image filter, whose rows cost
/// the simulation most, 8.
pub fn scale(program: Program, seed: u64) -> Scale {
    let (size, grain) = match program {
        Program::ImageFilter => (256, 1),
        Program::Dedup => (1 << 18, 512),
        Program::KdTree => (1 << 14, 16),
        Program::Sort => (1 << 15, 32),
        Program::Align => (1 << 10, 16),
    };
    Scale { size, grain, seed }
}

/// All pairs.
pub(super) fn cases(full: bool) -> Vec<Case> {
    let case = |program, threads, seed| Case { what: What { program, scale: scale(program, seed) }, threads, seed };
    if !full {
        return vec![case(QUICK.0, QUICK.1, 1)];
    }
    let programs = Program::ALL.into_iter();
    let all = programs.flat_map(|program| THREADS.map(|threads| (program, threads)));
    all.flat_map(|(program, threads)| (1..=SEEDS).map(move |seed| case(program, threads, seed))).collect()
}

/// Makes the threads once the lock's type is known.
struct Make<'a> {
    run: &'a Run,
    wait: Wait,
    notes: Notes,
}

impl LockVisitor<Simulated> for Make<'_> {
    type Out = Result<Team, String>;
    fn visit<L: RawLock<Simulated> + ZeroInit>(self) -> Self::Out {
        let What { program, scale } = self.run.what;
        let kit = Locks::<L, _>::new(self.wait, self.notes);
        program.team::<Simulated, _>(self.run.threads, scale, &kit).map_err(|error| error.to_string())
    }
}

impl Run {
    /// Does it.
    ///
    /// # Errors
    /// As [`super::run::Run::figures`]; a result that is not what one thread computes is one.
    pub fn figures(&self) -> Result<Figures, String> {
        let setup = Setup { chip: &self.chip, lock: "spin-park", tries: TRIES, threads: self.threads, seed: self.seed };
        let make = |_, wait, notes| Make { run: self, wait, notes };
        Ok(setup.measure(|_| self.bytes(), make)?.0)
    }

    /// Guest memory, generously: every value in a line of its own.
    fn bytes(&self) -> usize {
        let Scale { size, .. } = self.what.scale;
        let size = size as usize;
        match self.what.program {
            // Three images, a byte a pixel.
            Program::ImageFilter => 8 * size * size,
            // Input, output and chunks.
            Program::Dedup => 32 * size,
            Program::KdTree | Program::Sort => 256 * size,
            // Edges of all blocks.
            Program::Align => 16 * size * size.div_ceil(self.what.scale.grain as usize),
        }
    }
}
