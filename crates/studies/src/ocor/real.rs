//! Real programs with the same lock on the same chip: what marks do where the accesses are a program's own, and its result is
//! checked. They stand in for no other program (`docs/reference/workloads.md`).

use super::notes::Notes;
use super::run::{Figures, Setup};
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

/// Which arm pays for the registers that tell the network of tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The arm with marks, as the chip has it.
    Marked,
    /// No arm: they are free.
    Free,
    /// Both arms: without marks they are written, and routers do not heed them.
    Both,
}

impl Price {
    /// Every way to pay.
    pub const ALL: [Price; 3] = [Price::Marked, Price::Free, Price::Both];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Price::Marked => "paid with marks",
            Price::Free => "free",
            Price::Both => "paid in both arms",
        }
    }

    /// Settings of the arm without marks, and of the one with them.
    pub fn settings(self) -> [Vec<String>; 2] {
        let arms: [&[&str]; 2] = match self {
            Price::Marked => [&["ocor.enabled=false"], &["ocor.enabled=true"]],
            Price::Free => [&["ocor.enabled=false"], &["ocor.enabled=true", "ocor.hint=0"]],
            Price::Both => [&["ocor.enabled=true", "ocor.heeded=false"], &["ocor.enabled=true"]],
        };
        arms.map(|arm| arm.iter().map(|&setting| setting.to_owned()).collect())
    }
}

/// Thread counts at which it is asked what the registers' price does: where marks make programs slower.
const PRICED: [u32; 3] = [8, 16, 32];

/// A pair of runs to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) price: Price,
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

/// All pairs. What the price does is asked of all programs but `dedup`, whose runs are the longest and where no thread waits.
pub(super) fn cases(full: bool) -> Vec<Case> {
    let case = |price, program, threads, seed| {
        let what = What { program, scale: scale(program, seed) };
        Case { price, what, threads, seed }
    };
    if !full {
        return vec![case(Price::Marked, QUICK.0, QUICK.1, 1)];
    }
    let mut cases = Vec::new();
    for price in Price::ALL {
        for program in Program::ALL.into_iter().filter(|program| price == Price::Marked || *program != Program::Dedup) {
            let counts = if price == Price::Marked { &THREADS[..] } else { &PRICED[..] };
            cases.extend(
                counts
                    .iter()
                    .flat_map(|&count| (1..=SEEDS).map(move |seed| (count, seed)))
                    .map(|(count, seed)| case(price, program, count, seed)),
            );
        }
    }
    cases
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
    /// Does the run.
    ///
    /// # Errors
    /// As [`super::run::Run::figures`]; a result that is not what one thread computes is one.
    pub fn figures(&self) -> Result<Figures, String> {
        let setup = Setup {
            chip: &self.chip,
            lock: "spin-park",
            wait: Wait::SpinPark(TRIES),
            threads: self.threads,
            seed: self.seed,
        };
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
