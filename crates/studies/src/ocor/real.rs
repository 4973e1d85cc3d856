//! Real programs with the same lock on the same chip: what marks do where the accesses are a program's own, and its result is
//! checked. They stand in for no other program (`docs/reference/workloads.md`).

use super::experiments::{HOME, heeded};
use super::run::{Figures, Setup};
use baton_chip::Simulated;
use baton_machine::Wait;
use baton_programs::monitor::Locks;
use baton_programs::real::{Program, Scale};
use baton_sync::lock::RawLock;
use baton_sync::lock::mcs::Mcs;
use baton_sync::lock::spin_park::SpinPark;
use baton_workloads::{Probe, Team};
use serde::{Serialize, Serializer};

/// The thread counts of a full study; each runs on as many cores.
pub const THREADS: [u32; 5] = [4, 8, 16, 32, 64];
/// The number of inputs, each with a seed of its own, of a program in a full study.
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
    /// The lock.
    pub lock: Lock,
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

/// What is compared with the paper's lock without marks, and which arm pays for the registers that tell the network of tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// Marks in routers; the arm with them pays, as the chip has it.
    Marked,
    /// Marks in routers; the registers are free.
    Free,
    /// Marks in routers; both arms pay: without marks the registers are written, and routers do not heed them.
    Both,
    /// Marks at the home; the arm with them pays.
    Home,
    /// No marks, and a queue lock in software.
    Software,
}

impl Arms {
    /// All comparisons.
    pub const ALL: [Arms; 5] = [Arms::Marked, Arms::Free, Arms::Both, Arms::Home, Arms::Software];
    /// The comparisons whose second arm has marks that routers honour. They separate what the
    /// registers cost from what the network does.
    pub const PRICED: [Arms; 3] = [Arms::Marked, Arms::Free, Arms::Both];

    /// The name of the comparison in results.
    pub fn name(self) -> &'static str {
        match self {
            Arms::Marked => "registers paid with marks",
            Arms::Free => "registers free",
            Arms::Both => "registers paid in both arms",
            Arms::Home => "order at the home",
            Arms::Software => "mcs in software",
        }
    }

    /// The settings of the chip in the arm without marks, and in the other arm.
    pub fn settings(self) -> [Vec<String>; 2] {
        let arms: [&[&str]; 2] = match self {
            Arms::Marked => [&["ocor.enabled=false"], &["ocor.enabled=true"]],
            Arms::Free => [&["ocor.enabled=false"], &["ocor.enabled=true", "ocor.hint=0"]],
            Arms::Both => [&["ocor.enabled=true", "ocor.heeded=false"], &["ocor.enabled=true"]],
            Arms::Home => [&["ocor.enabled=false"], &["ocor.enabled=true"]],
            Arms::Software => [&["ocor.enabled=false"], &["ocor.enabled=false"]],
        };
        let mut arms = arms.map(|arm| arm.iter().map(|&setting| setting.to_owned()).collect::<Vec<_>>());
        if self == Arms::Home {
            arms[1].extend(heeded(HOME));
        }
        arms
    }

    /// The locks of both arms.
    pub fn locks(self) -> [Lock; 2] {
        [Lock::Paper, if self == Arms::Software { Lock::Mcs } else { Lock::Paper }]
    }

    /// Thread counts of a full study.
    fn threads(self) -> &'static [u32] {
        match self {
            Arms::Marked => &THREADS,
            // At these counts marks make programs slower.
            Arms::Free | Arms::Both => &[8, 16, 32],
            Arms::Home | Arms::Software => &[16, 64],
        }
    }
}

/// The lock of a real program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Lock {
    /// The paper's: tries, then sleep.
    Paper,
    /// A queue lock whose waiters spin.
    Mcs,
}

impl Lock {
    /// The lock's name in the registry, and its wait policy.
    fn names(self) -> (&'static str, Wait) {
        match self {
            Lock::Paper => ("spin-park", Wait::SpinPark(TRIES)),
            Lock::Mcs => ("mcs", Wait::Pause),
        }
    }
}

/// A pair of runs to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) arms: Arms,
    pub(super) what: What,
    pub(super) threads: u32,
    pub(super) seed: u64,
}

/// The study's scale of a program: with 64 threads, each thread has at least 30 critical sections,
/// or 8 in the image filter, whose rows cost the simulation most.
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

/// All pairs of runs. Only [`Arms::Marked`] is compared on all programs; the other comparisons
/// leave out `dedup`, which runs the longest and in which no thread waits.
pub(super) fn cases(full: bool) -> Vec<Case> {
    let case = |arms, program, threads, seed| {
        let what = What { program, scale: scale(program, seed) };
        Case { arms, what, threads, seed }
    };
    if !full {
        return vec![case(Arms::Marked, QUICK.0, QUICK.1, 1)];
    }
    let mut cases = Vec::new();
    for arms in Arms::ALL {
        for program in Program::ALL.into_iter().filter(|program| arms == Arms::Marked || *program != Program::Dedup) {
            let places = arms.threads().iter().flat_map(|&count| (1..=SEEDS).map(move |seed| (count, seed)));
            cases.extend(places.map(|(count, seed)| case(arms, program, count, seed)));
        }
    }
    cases
}

impl Run {
    /// Does the run.
    ///
    /// # Errors
    /// Like [`super::run::Run::figures`], also for a result that differs from that of one thread.
    pub fn figures(&self) -> Result<Figures, String> {
        let (lock, wait) = self.lock.names();
        let setup = Setup { chip: &self.chip, lock, wait, threads: self.threads, seed: self.seed };
        match self.lock {
            Lock::Paper => {
                let team = |_, wait, notes| self.team::<SpinPark<Simulated>, _>(wait, notes);
                Ok(setup.measure(|_| self.bytes(), team)?.0)
            }
            // The words of MCS do not say which thread holds the lock, so the account is by calls.
            Lock::Mcs => setup.by_calls(|_| self.bytes(), |_, wait, notes| self.team::<Mcs<Simulated>, _>(wait, notes)),
        }
    }

    fn team<L: RawLock<Simulated>, P: Probe + Sync>(&self, wait: Wait, notes: P) -> Result<Team, String> {
        let What { program, scale } = self.what;
        let kit = Locks::<L, _>::new(wait, notes);
        program.team::<Simulated, _>(self.threads, scale, &kit).map_err(|error| error.to_string())
    }

    /// A generous bound on the bytes of guest memory that the program needs.
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
