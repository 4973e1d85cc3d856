//! Predicts many locks over many seeds, after a check: the recorded lock is replayed first, and the
//! replay's time is compared with that of the recorded run. Nothing is fitted to the trace; the
//! chip's figures come from its file.

use crate::change::{Change, Changes};
use crate::compile::{Probes, Work, compile, compile_with, cpus};
use crate::doubt::{self, Alone, Interval};
pub use crate::doubt::{MOST_ERROR, Spread};
pub use crate::error::PredictError;
use crate::network::OnNetwork;
use crate::program::{LockSpec, Probe, Program, Replayability};
use crate::ran::{Choice, Ran, RunError, Setup};
use crate::run::run_changed;
use crate::scale;
use crate::variant::{Variant, Variants};
use baton_chip::Chip;
use baton_sync::lock;
use baton_trace::Trace;
use baton_trace::disturbance::disturbed;
use baton_units::{Cycles, Nanos};
use rayon::prelude::*;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The greatest share of not replayable events with which a prediction is still trustworthy.
pub const MOST_NOT_REPLAYABLE: f64 = 0.05;
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
    /// The number of seeds. The seeds are 1, 2 and so on.
    pub seeds: u32,
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
            cpus: None,
            threads: None,
            memory: None,
            alone_ns: Vec::new(),
        }
    }
}

/// A row of the prediction. Times are the whole program's; waiting times are added over threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    pub lock: String,
    /// The wait policy.
    pub wait: String,
    /// Whether this is the recorded lock's replay on the chip's own network, to which all others
    /// compare.
    pub recorded: bool,
    /// The variant of the chip and its effect, if networks or policies were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    pub time_ns: Spread,
    /// The interval that should contain the measured time in 95 of 100 cases. `None` if all replays
    /// failed, if the chip is not `this-host`, or if a number of threads was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Interval>,
    /// Whether the time is so far from the recorded lock's time that it rests on the model alone.
    pub far: bool,
    /// The part of the time during which two or more threads lived; what the first thread does
    /// alone is left out.
    pub concurrent_ns: Spread,
    /// The recorded lock's time divided by this one's (above 1: this is faster); 0 if all failed.
    pub speedup: f64,
    /// The time that threads waited for locks.
    pub blocked_ns: Spread,
    /// The part of the waiting time during which the lock was held.
    pub sections_ns: Spread,
    /// The part of the waiting time during which the lock was free: competition overhead.
    pub overhead_ns: Spread,
    /// The time that threads spent spinning.
    pub spin_ns: Spread,
    /// The time that threads were ready to run without a CPU, added over threads.
    pub ready_ns: Spread,
    /// The time that CPUs had no thread or woke up for one, added over CPUs. If threads were ready
    /// meanwhile, the policy left CPUs idle, or those threads were bound to other CPUs.
    pub idle_ns: Spread,
    /// Acquisitions with the first seed whose run did not fail.
    pub acquisitions: u64,
    /// Acquisitions that waited, with the same seed.
    pub contended: u64,
    /// The number of seeds with which the run was cut off as a collapse: times are then lower
    /// bounds.
    pub cut_off: u32,
    /// Why replays failed, and with how many seeds; `None` if none failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    pub by_seed_ns: Vec<u64>,
}

impl Predicted {
    /// Returns the effect of the network, if networks were asked for.
    pub fn network(&self) -> Option<&OnNetwork> {
        match &self.variant {
            Some(Variant::Network(network)) => Some(network),
            _ => None,
        }
    }
}

/// Replays that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// The number of seeds with which the replay failed.
    pub seeds: u32,
    /// Why the first of these replays failed.
    pub why: String,
}

impl Failed {
    fn of(ran: &[Result<Ran, RunError>]) -> Option<Failed> {
        let mut errors = ran.iter().filter_map(|ran| ran.as_ref().err()).peekable();
        let why = errors.peek()?.to_string();
        Some(Failed { seeds: errors.count() as u32, why })
    }
}

impl Predicted {
    /// Returns the number of seeds with which the run took more than twice as long as the quickest
    /// run: collapses that happen by chance.
    pub fn sudden(&self) -> usize {
        self.by_seed_ns.iter().filter(|&&ns| ns > self.time_ns.low.saturating_mul(2)).count()
    }
}

/// The replay of the recorded lock with the cost of recording, compared with the recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The duration of the recorded run.
    pub measured_ns: u64,
    /// The duration of the replay, in which threads also spend time on recording.
    pub replayed_ns: Spread,
    /// The replay's relative error: (replayed − measured) / measured.
    pub error: f64,
    /// How long two or more threads lived in the recorded run.
    pub measured_concurrent_ns: u64,
    /// How long two or more threads lived in the replay.
    pub replayed_concurrent_ns: Spread,
}

/// A prediction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The name of the recorded lock, and, if another one replays it, of that lock.
    pub recorded_lock: String,
    /// The wait policy in the replay of the recorded lock.
    pub recorded_wait: String,
    pub check: Check,
    /// The comparison with runs without recording, if there were such runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
    /// Whether the self-check and the trace allow the figures to be trusted.
    pub trustworthy: bool,
    /// Why the figures should not be trusted, as sentences; empty if they can be.
    pub reasons: Vec<String>,
    /// How much of the trace could be replayed.
    pub replayability: Replayability,
    /// The share of events that could not be replayed.
    pub not_replayable_share: f64,
    /// The cost of recording an event.
    pub probe: Probe,
    /// The number of cores in use.
    pub cpus: u32,
    /// The number of threads of the replayed program.
    pub threads: u32,
    /// The program's locks, the most often acquired first.
    pub locks: Vec<LockSpec>,
    /// The predictions in the order asked, after that of the recorded lock.
    pub results: Vec<Predicted>,
    /// The assumptions of the prediction, as sentences.
    pub notes: Vec<String>,
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
    let chips = ask.variants.chips(chip, ask.seeds)?;
    let (_, own) = recorded(trace);
    let cpus = ask.cpus.or(ask.variants.cores()).unwrap_or_else(|| cpus(trace, chip));
    let runs = Runs { cpus, seeds: 1..=u64::from(ask.seeds.max(1)), done };
    // Compiles the two programs one after the other, because each takes more memory than the trace.
    let kept = Arc::new(compile(trace, chip, Probes::Kept));
    enough_memory(kept.locks.len() as u64, ask.memory)?;
    let limit = Cycles(kept.measured.0.saturating_mul(COLLAPSE).max(LEAST_LIMIT));
    let none = Changes::default();
    let unchanged = [Arm { choice: &own, changes: &none, chips: std::slice::from_ref(chip), memory_bound: 0.0 }];
    let checked = runs.of(&kept, &unchanged, limit);
    let check = check_of(&kept, chip, &checked);
    drop(kept);
    let (program, notes) = unrecorded(trace, chip, ask.threads)?;
    let program = Arc::new(program);
    let changes: Vec<Changes> = ask.changes.iter().map(|change| change.on(&program)).collect::<Result<_, _>>()?;
    let base = runs.of(&program, &unchanged, limit);
    let slowest = base.iter().flatten().map(|ran| ran.time.0).max();
    let limit = slowest.map_or(limit, |time| Cycles(time.saturating_mul(COLLAPSE)));
    let locks = ask.choices.iter().map(|choice| (choice, &none));
    let changed = ask.changes.iter().map(|change| change.default.as_ref().unwrap_or(&own)).zip(&changes);
    let places = locks.chain(changed).flat_map(|(choice, changes)| {
        chips.iter().map(move |(chips, memory_bound)| Arm { choice, changes, chips, memory_bound: *memory_bound })
    });
    let rows = runs.of(&program, &places.collect::<Vec<_>>(), limit);
    Ok(AllRan { cpus, check, check_failed: Failed::of(&checked), program, notes, base, rows })
}

/// Refuses a program with more locks than fit into the memory, before any run is made.
fn enough_memory(locks: u64, free: Option<u64>) -> Result<(), PredictError> {
    let need = locks * MEMORY_A_LOCK * rayon::current_num_threads() as u64;
    match free {
        Some(free) if need > free => Err(PredictError::Memory { locks, need, free }),
        _ => Ok(()),
    }
}

/// Concludes the prediction from the runs.
///
/// # Errors
/// If no run ended well.
pub fn conclude(trace: &Trace, chip: &Chip, ask: &Ask, all: AllRan) -> Result<Prediction, PredictError> {
    let AllRan { cpus, check, check_failed, program, notes, base, rows } = all;
    // If no run ended well, the cause is the chip or the program, and there is no prediction.
    if let Some(Err(error)) = base.first()
        && base.iter().chain(&rows).all(Result::is_err)
    {
        return Err(error.clone().into());
    }
    let (name, own) = recorded(trace);
    let base = predicted(&own, true, &base, chip, 0);
    let share = program.replayability.share();
    let mut reasons = reasons(&check, &program, share);
    if let Some(failed) = check_failed.or_else(|| base.failed.clone()) {
        reasons.push(format!("the replay of the recorded lock failed with {} seeds: {}", failed.seeds, failed.why));
    }
    reasons.extend(trace.meta.as_ref().and_then(disturbed));
    let alone = Alone::of(&ask.alone_ns, base.time_ns);
    reasons.extend(alone.as_ref().and_then(Alone::reason));
    let mut results = results(ask, chip, &own, base, &rows);
    if chip.name == doubt::THIS_HOST && ask.threads.is_none() {
        let error = doubt::worse(check.error, alone.as_ref());
        let of = |row: &Predicted| doubt::interval(row.time_ns, row.cut_off != 0, error, row.speedup);
        results.iter_mut().for_each(|row| row.interval_ns = (!row.by_seed_ns.is_empty()).then(|| of(row)));
    }
    let mut locks = program.locks.clone();
    locks.sort_by_key(|lock| (std::cmp::Reverse(lock.acquisitions), lock.address));
    Ok(Prediction {
        recorded_lock: name,
        recorded_wait: own.wait.to_string(),
        check,
        alone,
        trustworthy: reasons.is_empty(),
        reasons,
        replayability: program.replayability.clone(),
        not_replayable_share: share,
        probe: program.probe,
        cpus,
        threads: program.threads.len() as u32,
        locks,
        results,
        notes: ask.changes.iter().flat_map(|change| change.assumptions(&own)).chain(notes).collect(),
    })
}

/// Returns the program as it would run without recording, with `threads` threads if a number is
/// given, and its assumptions as sentences.
fn unrecorded(trace: &Trace, chip: &Chip, threads: Option<u32>) -> Result<(Program, Vec<String>), PredictError> {
    // Threads that repeat a recorded thread also repeat its share of the work.
    let work = if threads.is_some() { Work::AsRecorded } else { Work::Shared };
    let program = compile_with(trace, chip, Probes::Subtracted, work);
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
}

/// Runs the program. Gives up early, as a collapse, if it makes too little progress; if it is only
/// slow, it runs once more, up to the limit.
fn run_bounded(program: &Arc<Program>, place: Arm<'_>, setup: Setup, limit: Cycles) -> Result<Ran, RunError> {
    let run = |setup: &Setup| run_changed(program, place.chip(setup.seed), setup, place.changes);
    let first = Setup { limit: Some(Cycles(limit.0 / COLLAPSE * SLOW)), ..setup.clone() };
    let ran = run(&first)?;
    if !ran.cut_off {
        return Ok(ran);
    }
    if ran.done < program.steps() / 10 {
        return Ok(Ran { time: limit, ..ran });
    }
    run(&setup)
}

/// Returns the recorded lock's row, then those of the arms, from their runs in the order asked.
fn results(ask: &Ask, chip: &Chip, own: &Choice, base: Predicted, ran: &[Result<Ran, RunError>]) -> Vec<Predicted> {
    let reference = base.time_ns.median;
    let mut results = vec![Predicted { speedup: 1.0, ..base }];
    let each = ask.seeds.max(1) as usize;
    let changed = ask.changes.iter().map(|change| {
        // The row of a change has the text with which the user asked for it as its name.
        let default = change.default.as_ref().unwrap_or(own);
        let wait = change.barrier.as_ref().map_or(default.wait, |meeting| meeting.wait);
        Choice { lock: change.text.clone(), wait }
    });
    let named: Vec<Choice> = ask.choices.iter().cloned().chain(changed).collect();
    for (choice, ran) in named.iter().zip(ran.chunks(each * ask.variants.count())) {
        for (place, here) in ran.chunks(each).enumerate() {
            let first = ask.variants.compared_with(place).map(|first| &ran[first * each..][..each]);
            let variant = ask.variants.on(place, here, first);
            results.push(Predicted { variant, ..predicted(choice, false, here, chip, reference) });
        }
    }
    results
}

fn check_of(program: &Program, chip: &Chip, ran: &[Result<Ran, RunError>]) -> Check {
    let ns = |cycles: Cycles| chip.core.clock.nanos(cycles).0;
    let measured_ns = ns(program.measured);
    let spread = |value: fn(&Ran) -> Cycles| Spread::of(ran.iter().flatten().map(|ran| ns(value(ran))).collect());
    let replayed_ns = spread(|ran| ran.time);
    let error = (replayed_ns.median as f64 - measured_ns as f64) / measured_ns.max(1) as f64;
    Check {
        measured_ns,
        replayed_ns,
        error,
        measured_concurrent_ns: ns(program.concurrent),
        replayed_concurrent_ns: spread(|ran| ran.concurrent),
    }
}

fn reasons(check: &Check, program: &Program, share: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    if check.error.abs() > MOST_ERROR {
        reasons.push(format!(
            "the replay of the recorded lock takes {:.1} ms, the recorded run took {:.1} ms ({:+.0}%; at most {:.0}% is trusted)",
            check.replayed_ns.median as f64 * 1e-6,
            check.measured_ns as f64 * 1e-6,
            check.error * 100.0,
            MOST_ERROR * 100.0,
        ));
    }
    if share > MOST_NOT_REPLAYABLE {
        let lost = &program.replayability;
        reasons.push(format!(
            "{:.1}% of the events cannot be replayed (at most {:.0}% is trusted): {} failed tries, {} waits without their \
             signal, {} waits that expired, {} acquisitions that share out work, {} lost events, {} threads from outside",
            share * 100.0,
            MOST_NOT_REPLAYABLE * 100.0,
            lost.failed_tries,
            lost.unmatched_waits,
            lost.expired_waits,
            lost.dynamic,
            lost.lost,
            lost.from_outside,
        ));
    }
    reasons
}

fn predicted(choice: &Choice, recorded: bool, ran: &[Result<Ran, RunError>], chip: &Chip, reference: u64) -> Predicted {
    let failed = Failed::of(ran);
    let ran: Vec<&Ran> = ran.iter().flatten().collect();
    let ns = |cycles: Cycles| chip.core.clock.nanos(cycles).0;
    let spread = |value: fn(&Ran) -> Cycles| Spread::of(ran.iter().map(|ran| ns(value(ran))).collect());
    let time_ns = spread(|ran| ran.time);
    let first = ran.first();
    let speedup = if ran.is_empty() { 0.0 } else { reference as f64 / time_ns.median.max(1) as f64 };
    Predicted {
        lock: choice.lock.clone(),
        wait: choice.wait.to_string(),
        recorded,
        variant: None,
        failed,
        speedup,
        time_ns,
        interval_ns: None,
        far: !recorded && !ran.is_empty() && doubt::far(speedup),
        concurrent_ns: spread(|ran| ran.concurrent),
        blocked_ns: spread(|ran| ran.totals.blocked()),
        sections_ns: spread(|ran| ran.totals.sections),
        overhead_ns: spread(|ran| ran.totals.overhead),
        spin_ns: spread(|ran| ran.spin),
        ready_ns: spread(|ran| ran.ready),
        idle_ns: spread(|ran| ran.idle),
        acquisitions: first.map_or(0, |ran| ran.totals.acquisitions),
        contended: first.map_or(0, |ran| ran.totals.contended),
        cut_off: ran.iter().filter(|ran| ran.cut_off).count() as u32,
        by_seed_ns: ran.iter().map(|ran| ns(ran.time)).collect(),
    }
}

/// Converts the chip's cycles to nanoseconds.
pub fn nanos(chip: &Chip, cycles: Cycles) -> Nanos {
    chip.core.clock.nanos(cycles)
}
