//! Predicts many locks over many seeds, after a check: the recorded lock is replayed first, and the
//! replay's time is compared with that of the recorded run. Nothing is fitted to the trace; the
//! chip's figures come from its file.
//!
//! | file | holds |
//! | --- | --- |
//! | `prediction` | the form of a prediction |
//! | `conclusion` | a prediction from the runs |
//! | `unexplained` | waits that a replay cannot follow |
//! | `stalls` | recorded stalls that the simulated machine makes itself |
//! | `outcomes` | how the runs of a row differ |

mod conclusion;
mod outcomes;
mod prediction;
mod stalls;
mod unexplained;

pub use conclusion::{MOST_NOT_REPLAYABLE, conclude};
pub use outcomes::Outcome;
pub use prediction::{Check, Counts, Failed, Predicted, Prediction};

use crate::change::{Change, Changes, Life};
use crate::compile::{Probes, Work, compile_served, cpus};
pub use crate::doubt::{MOST_ERROR, Spread};
pub use crate::error::PredictError;
use crate::program::Program;
use crate::queues::recorded::Queues;
use crate::ran::{Choice, Ran, RunError, Setup};
use crate::run::run_changed;
use crate::scale;
use crate::variant::Variants;
use baton_chip::Chip;
use baton_sync::lock;
use baton_trace::Trace;
use baton_units::{Cycles, Nanos};
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Runs are cut off at this many times the recorded lock's time: a slower lock is as useless.
pub const COLLAPSE: u64 = 10;
/// At this many times the recorded lock's time, the progress of a run is checked. If it has done
/// less than a tenth of its steps, it would need more than twice [`COLLAPSE`]'s bound, so it counts
/// as a collapse.
const SLOW: u64 = 2;
/// Replays of the recorded lock are cut off at [`COLLAPSE`] times the recorded time, but no earlier
/// than after this many cycles. In a tiny program most of the time goes into starting threads.
const LEAST_LIMIT: u64 = 100_000_000;

/// What to predict.
#[derive(Clone, Debug)]
pub struct Ask {
    pub choices: Vec<Choice>,
    /// Changes to some of the program's locks, or to its barriers, one row each.
    pub changes: Vec<Change>,
    /// The chips on which every lock runs.
    pub variants: Variants,
    /// The number of seeds.
    pub seeds: u32,
    /// The first seed, from 1; the others follow it.
    pub first_seed: u64,
    /// The number of cores in use; `None` for all fast and slow cores of `variants`, or else for as
    /// many as the recorded program could use CPUs, at most all of the chip's.
    pub cpus: Option<u32>,
    /// The number of threads that the program starts; `None` for the recorded number.
    pub threads: Option<u32>,
    /// The most bytes of memory that the locks of the runs may take; `None` for no bound.
    pub memory: Option<u64>,
    /// The durations of runs without recording, in nanoseconds; empty if there were none.
    pub alone_ns: Vec<u64>,
}

impl Default for Ask {
    /// Asks for the recorded lock alone, with one seed.
    fn default() -> Ask {
        Ask {
            choices: Vec::new(),
            changes: Vec::new(),
            variants: Variants::default(),
            seeds: 1,
            first_seed: 1,
            cpus: None,
            threads: None,
            memory: None,
            alone_ns: Vec::new(),
        }
    }
}

/// Returns the recorded lock's name, and the lock that replays it. A three-state futex lock replays
/// glibc's mutex, and a lock that the registry does not have, such as that of a shared library.
pub fn recorded(trace: &Trace) -> (String, Choice) {
    let named = trace.meta.as_ref().and_then(|meta| meta.lock.clone());
    let info = named.as_deref().and_then(|name| lock::info(name).ok());
    let wait = trace.meta.as_ref().and_then(|meta| meta.extra.get("wait")).and_then(|wait| wait.as_str()?.parse().ok());
    match info {
        Some(info) => {
            let wait = info.wait(wait).or_else(|_| info.wait(None)).unwrap_or_default();
            (info.name.to_owned(), Choice { lock: info.name.to_owned(), wait })
        }
        None => {
            let wait = lock::info("futex").ok().and_then(|info| info.wait(None).ok()).unwrap_or_default();
            let name = match named {
                Some(name) => format!("`{name}`, a lock that Baton does not have, replayed as `futex`"),
                None => "glibc's pthread mutex, replayed as `futex`".to_owned(),
            };
            (name, Choice { lock: "futex".to_owned(), wait })
        }
    }
}

/// Returns the number of runs that [`predict`] makes, for a progress bar.
pub fn runs(ask: &Ask) -> u64 {
    u64::from(ask.seeds) * (((ask.choices.len() + ask.changes.len()) * ask.variants.count()) as u64 + 2)
}

/// The most bytes of memory that a replay takes for each byte of the trace, as `tests/memory.rs`
/// counts them.
pub const MEMORY_A_BYTE: u64 = 4;

/// Bytes of memory that a lock takes in each run that is made at the same time as others, if the
/// lock is used once or twice.
pub const MEMORY_A_LOCK: u64 = 640;

/// All runs of a prediction, and what is needed to conclude it from them.
pub struct AllRan {
    cpus: u32,
    check: Check,
    /// Why replays of the recording failed in the self-check; `None` if none failed.
    check_failed: Option<Failed>,
    /// What the replay does not follow, as sentences.
    unexplained: Vec<String>,
    program: Arc<Program>,
    notes: Vec<String>,
    /// The runs of the recorded lock, without the cost of recording, one for each seed.
    base: Vec<Result<Ran, RunError>>,
    /// The other runs: by lock or change, then by variant of the chip, then by seed.
    pub rows: Vec<Result<Ran, RunError>>,
}

/// Makes all runs and concludes the prediction. `done` is called after each run, by any worker. The
/// result does not depend on the number of workers. A replay that fails is reported in its row.
///
/// # Errors
/// If the trace is empty, something asked for is impossible or too large, or no run ended well.
pub fn predict(trace: &Trace, chip: &Chip, ask: &Ask, done: &(dyn Fn() + Sync)) -> Result<Prediction, PredictError> {
    conclude(trace, chip, ask, run_all(trace, chip, ask, done)?)
}

/// Makes all runs of a prediction, on all cores of the host.
///
/// # Errors
/// Like [`predict`], but runs that fail are no error here.
pub fn run_all(trace: &Trace, chip: &Chip, ask: &Ask, done: &(dyn Fn() + Sync)) -> Result<AllRan, PredictError> {
    if trace.is_empty() {
        return Err(PredictError::Empty);
    }
    queues_fit(trace, ask)?;
    let chips = ask.variants.chips(chip, ask.seeds)?;
    let (_, own) = recorded(trace);
    let cpus = ask.cpus.or(ask.variants.cores()).unwrap_or_else(|| cpus(trace, chip));
    let seeds = ask.first_seed..=ask.first_seed.saturating_add(u64::from(ask.seeds.max(1)) - 1);
    let runs = Runs { cpus, seeds, done };
    // Compiles the two programs one after the other, because each takes more memory than the trace.
    let lives: Vec<Life> = ask.changes.iter().flat_map(Change::lives).collect();
    let kept = Arc::new(compile_served(trace, chip, (Probes::Kept, Work::Shared), &lives));
    enough_memory(kept.locks.len() as u64, ask.memory)?;
    let limit = Cycles(kept.measured.0.saturating_mul(COLLAPSE).max(LEAST_LIMIT));
    let none = Changes::recorded(&kept, chip);
    let unchanged = [Arm { choice: &own, changes: &none, chips: std::slice::from_ref(chip), memory_bound: 0.0 }];
    let checked = runs.of(&kept, &unchanged, limit);
    let check = conclusion::check_of(&kept, chip, &checked);
    drop(kept);
    let (program, mut notes) = unrecorded(trace, chip, ask.threads, &lives)?;
    let (program, note) = runs.with_stalls_to_draw(program, unchanged[0], limit);
    notes.extend(note);
    let on = |change: &Change| Ok::<_, PredictError>(change.on(&program)?.over(&none));
    let changes: Vec<Changes> = ask.changes.iter().map(on).collect::<Result<_, _>>()?;
    let base = runs.of(&program, &unchanged, limit);
    let slowest = base.iter().flatten().map(|ran| ran.time.0).max();
    let limit = slowest.map_or(limit, |time| Cycles(time.saturating_mul(COLLAPSE)));
    let locks = ask.choices.iter().map(|choice| (choice, &none));
    let changed = ask.changes.iter().map(|change| change.default.as_ref().unwrap_or(&own)).zip(&changes);
    let places = locks.chain(changed).flat_map(|(choice, changes)| {
        chips.iter().map(move |(chips, memory_bound)| Arm { choice, changes, chips, memory_bound: *memory_bound })
    });
    let rows = runs.of(&program, &places.collect::<Vec<_>>(), limit);
    let unexplained = unexplained::reasons(trace);
    Ok(AllRan { cpus, check, check_failed: Failed::of(&checked), unexplained, program, notes, base, rows })
}

/// Refuses a program with more locks than fit into the memory, before any run is made.
fn enough_memory(locks: u64, free: Option<u64>) -> Result<(), PredictError> {
    let need = locks * MEMORY_A_LOCK * rayon::current_num_threads() as u64;
    match free {
        Some(free) if need > free => Err(PredictError::Memory { locks, need, free }),
        _ => Ok(()),
    }
}

/// Returns the program as it would run without recording, in which other queues serve those at `served`,
/// with `threads` threads if a number is given; and its assumptions as sentences.
fn unrecorded(
    trace: &Trace,
    chip: &Chip,
    threads: Option<u32>,
    served: &[Life],
) -> Result<(Program, Vec<String>), PredictError> {
    // Threads that repeat a recorded thread also repeat its share of the work.
    let work = if threads.is_some() { Work::AsRecorded } else { Work::Shared };
    let program = compile_served(trace, chip, (Probes::Subtracted, work), served);
    let mut notes = program.notes.clone();
    if !program.probe.recorded {
        let assumed = program.probe.event_ns;
        notes.push(format!("the trace does not say what recording an event cost: {assumed} ns are assumed"));
    }
    let Some(threads) = threads else { return Ok((program, notes)) };
    let (program, model) = scale::to(program, threads)?;
    notes.push(model);
    Ok((program, notes))
}

/// Refuses queues that cannot serve the recorded ones, before any run is made.
fn queues_fit(trace: &Trace, ask: &Ask) -> Result<(), PredictError> {
    if ask.changes.iter().all(|change| change.queues.is_empty()) {
        return Ok(());
    }
    let queues = Queues::of(trace).all;
    let name = |thread: u32| {
        let name = trace.threads.get(thread as usize).and_then(|thread| thread.name.clone());
        name.unwrap_or_else(|| format!("thread {thread}"))
    };
    ask.changes.iter().try_for_each(|change| change.served(&queues, &name).map(drop)).map_err(PredictError::from)
}

/// An arm: a lock, changes, chips, and the share of the computing that waits for memory.
#[derive(Clone, Copy)]
struct Arm<'a> {
    choice: &'a Choice,
    changes: &'a Changes,
    /// The chips on which the seeds run, in turns; at least one.
    chips: &'a [Chip],
    memory_bound: f64,
}

impl Arm<'_> {
    fn chip(&self, seed: u64) -> &Chip {
        &self.chips[((seed - 1) % self.chips.len() as u64) as usize]
    }
}

/// What all runs of a prediction have in common.
struct Runs<'a> {
    cpus: u32,
    seeds: RangeInclusive<u64>,
    done: &'a (dyn Fn() + Sync),
}

impl Runs<'_> {
    /// Runs a program in each arm with each seed; the runs of the first arm come first.
    fn of(&self, program: &Arc<Program>, places: &[Arm<'_>], limit: Cycles) -> Vec<Result<Ran, RunError>> {
        let each = |&place| self.seeds.clone().map(move |seed| (place, seed));
        let work: Vec<(Arm<'_>, u64)> = places.iter().flat_map(each).collect();
        let ran = work.into_par_iter().map(|(place, seed)| {
            let memory_bound = place.memory_bound;
            let setup = Setup { seed, limit: Some(limit), memory_bound, ..Setup::new(place.choice.clone(), self.cpus) };
            let ran = run_bounded(program, place, setup, limit);
            (self.done)();
            ran
        });
        ran.collect()
    }

    /// Returns the program without the stalls that the simulated machine makes itself, as a run of the
    /// recorded lock shows, and the note about stalls.
    fn with_stalls_to_draw(&self, mut program: Program, own: Arm<'_>, limit: Cycles) -> (Arc<Program>, Option<String>) {
        let recorded = std::mem::take(&mut program.stalls);
        let mut program = Arc::new(program);
        let clock = own.chip(*self.seeds.start()).core.clock;
        let mut drawn = recorded.clone();
        if !recorded.cycles.is_empty() {
            let setup =
                Setup { seed: *self.seeds.start(), limit: Some(limit), ..Setup::new(own.choice.clone(), self.cpus) };
            if let Ok(ran) = run_freely(&program, own, &setup, limit) {
                drawn = stalls::without(&recorded, &ran.interrupts, clock);
            }
        }
        let note = stalls::note(&recorded, &drawn, clock);
        Arc::make_mut(&mut program).stalls = drawn;
        (program, note)
    }
}

/// Runs the program. If its threads would wait for ever, because they use queues in another order than in
/// the recording, they use them in the recorded one.
fn run_bounded(program: &Arc<Program>, place: Arm<'_>, setup: Setup, limit: Cycles) -> Result<Ran, RunError> {
    match run_freely(program, place, &setup, limit) {
        Err(RunError::Stuck { .. }) if !place.changes.queues.is_empty() => {
            let changes = Changes { in_order: true, ..place.changes.clone() };
            run_freely(program, Arm { changes: &changes, ..place }, &setup, limit)
        }
        ran => ran,
    }
}

/// Runs the program. Gives up early, as a collapse, if it makes too little progress; if it is only
/// slow, it runs once more, up to the limit.
fn run_freely(program: &Arc<Program>, place: Arm<'_>, setup: &Setup, limit: Cycles) -> Result<Ran, RunError> {
    let run = |setup: &Setup| run_changed(program, place.chip(setup.seed), setup, place.changes);
    let first = Setup { limit: Some(Cycles(limit.0 / COLLAPSE * SLOW)), ..setup.clone() };
    let ran = run(&first)?;
    if !ran.cut_off {
        return Ok(ran);
    }
    if ran.done < program.steps() / 10 {
        return Ok(Ran { time: limit, ..ran });
    }
    run(setup)
}

/// Converts the chip's cycles to nanoseconds.
pub fn nanos(chip: &Chip, cycles: Cycles) -> Nanos {
    chip.core.clock.nanos(cycles)
}
