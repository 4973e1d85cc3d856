//! Runs a test on the chip, over and over: rounds of many runs in one simulation, each round with
//! another placement of the threads on the cores and of the locations in lines.

use super::files::Found;
use baton_chip::{Chip, Options, Simulated, Simulation, Spawn, act};
use baton_litmus::Histogram;
use baton_litmus::run::{DECOYS, Meet, Round};
use baton_machine::Machine;
use baton_machine::units::Cycles;
use baton_units::CoreId;

/// Number of runs in one simulation.
const ROUND: u32 = 250;
/// Cycles from one run's start to the next run's start: enough for the longest run to end.
const PERIOD: u64 = 40_000;
/// The most periods that a round may take for each of its runs, and for two more: far above the
/// need of any test. A round that takes longer is an error.
const MOST_PERIODS: u64 = 20;

/// Threads meet by the clock, which costs them nothing.
#[derive(Clone)]
struct Clocked;

impl Meet for Clocked {
    fn meet(&self, run: u32, late: Cycles) {
        let start = Cycles((u64::from(run) + 1) * PERIOD) + late;
        Simulated::work(Cycles(start.0.saturating_sub(act::time().0)));
    }
}

/// Runs the test `runs` times. Returns the final states, which are the same for the same seed and
/// test, whichever other tests run.
pub(super) fn play(found: &Found, chip: &Chip, runs: u32, seed: u64) -> anyhow::Result<Histogram> {
    let seed = mix(seed ^ hash(&[&found.suite, &found.test.name]));
    let line = (chip.cache.line_bytes / 8) as usize;
    let mut seen = Histogram::new();
    for (number, first) in (0..runs).step_by(ROUND as usize).enumerate() {
        let seed = mix(seed.wrapping_add(number as u64));
        // Half of the rounds have a line for each location; a quarter have each location in a pair
        // of lines, a quarter all of them in neighbouring words.
        let stride = [line, line, 2 * line, 1][number % 4];
        let round = Round { runs: ROUND.min(runs - first), seed, stride, line };
        for (state, times) in play_round(found, chip, round)? {
            *seen.entry(state).or_default() += times;
        }
    }
    Ok(seen)
}

fn play_round(found: &Found, chip: &Chip, round: Round) -> anyhow::Result<Histogram> {
    let threads = found.test.threads.len();
    let others = threads * DECOYS * round.line;
    let words = (round.runs as usize + 1) * (found.test.locations.len() * round.stride + 2 * round.line + others);
    let limit = Some(Cycles((u64::from(round.runs) + 2) * PERIOD * MOST_PERIODS));
    let options = Options {
        limit,
        seed: round.seed,
        heap_bytes: 8 * words + (1 << 16),
        threads: threads + 1,
        ..Options::default()
    };
    let mut simulation = Simulation::new(chip, &options)?;
    let ready = simulation.outside(|| round.ready::<Simulated>(&found.test, &Clocked));
    let mut cores: Vec<u32> = (0..chip.core.count).collect();
    shuffle(&mut cores, round.seed);
    for (body, core) in ready.bodies.into_iter().zip(cores) {
        simulation.spawn(Spawn { affinity: vec![CoreId(core)], ..Spawn::default() }, body)?;
    }
    let path = found.path.display();
    let outcome = simulation.run().map_err(|stuck| anyhow::anyhow!("{path}: {stuck}"))?;
    anyhow::ensure!(outcome.finished, "{path}: {} runs do not end within {} cycles", round.runs, outcome.cycles.0);
    Ok(simulation.outside(ready.finals))
}

/// Shuffles cores, as Fisher and Yates do.
fn shuffle(cores: &mut [u32], seed: u64) {
    let mut state = seed;
    for last in (1..cores.len()).rev() {
        state = mix(state);
        cores.swap(last, (state % (last as u64 + 1)) as usize);
    }
}

/// One step of SplitMix64.
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The FNV-1a hash of the parts.
fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
