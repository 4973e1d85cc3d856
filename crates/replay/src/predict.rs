//! Many locks and seeds side by side, after a check: the recorded lock is replayed first and compared with the recorded
//! run's own time. Nothing is fitted to the trace: the chip's figures come from its file.

use crate::asymmetric::NoPolicy;
use crate::change::{Change, ChangeError, Changes};
use crate::compile::{Probes, Work, compile, compile_with, cpus};
use crate::doubt::{self, Alone, Interval};
use crate::network::{NoNetwork, OnNetwork};
use crate::program::{LockSpec, Probe, Program, Replayability};
use crate::run::{Choice, Ran, RunError, Setup, run_changed};
use crate::scale::{self, ScaleError};
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
use thiserror::Error;

/// A self-check that is off by more than this makes the prediction untrustworthy.
pub const MOST_ERROR: f64 = 0.15;
/// As does a larger share of events that cannot be replayed.
pub const MOST_NOT_REPLAYABLE: f64 = 0.05;
/// Runs are cut off at so many times the recorded lock's time: what is slower by more is as useless.
pub const COLLAPSE: u64 = 10;
/// At so many times it, a run that is not over shows how it gets on. One that has done less than a tenth of its steps by then
/// is a collapse, too: it would need twice the bound and more.
const SLOW: u64 = 2;
/// The recorded lock's replays are cut off at `COLLAPSE` times the recorded run's time, but not before so many cycles: of a tiny
/// program, starting its threads is the most.
const LEAST_LIMIT: u64 = 100_000_000;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Locks and policies.
    pub choices: Vec<Choice>,
    /// Changes of some of the program's locks, a row each.
    pub changes: Vec<Change>,
    /// Chips, each with every lock.
    pub variants: Variants,
    /// Seeds: 1 to so many.
    pub seeds: u32,
    /// Cores in use; `None`: as many as the recorded run had, as far as the chip has them.
    pub cpus: Option<u32>,
    /// Threads that the program starts; `None`: as recorded.
    pub threads: Option<u32>,
    /// Bytes of memory that the locks of the runs may take; `None`: no bound.
    pub memory: Option<u64>,
    /// How long runs of the program without recording took, in nanoseconds, where it was run so.
    pub alone_ns: Vec<u64>,
}

impl Default for Ask {
    /// The recorded lock alone, once, as recorded.
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

/// Why nothing can be predicted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PredictError {
    /// The trace has no events.
    #[error("the trace is empty: there is nothing to replay")]
    Empty,
    /// It has more locks than there is memory for.
    #[error("the replay of {locks} locks takes up to {} MiB of memory, and {} MiB are free", need >> 20, free >> 20)]
    Memory {
        /// Locks of the recording.
        locks: u64,
        /// Bytes that they take in the runs that are made side by side.
        need: u64,
        /// Bytes that they may take.
        free: u64,
    },
    /// It cannot be scaled.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// The chip cannot have a network that was asked for.
    #[error(transparent)]
    Network(#[from] NoNetwork),
    /// The chip cannot have fast and slow cores, or a policy for them, as asked.
    #[error(transparent)]
    Asymmetric(#[from] Box<NoPolicy>),
    /// The program cannot be changed so.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A value over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one.
    pub median: u64,
    /// The least.
    pub low: u64,
    /// The greatest.
    pub high: u64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<u64>) -> Spread {
        values.sort_unstable();
        match (values.first(), values.last()) {
            (Some(&low), Some(&high)) => Spread { median: values[values.len() / 2], low, high },
            _ => Spread::default(),
        }
    }
}

/// A lock's prediction. Durations are of the whole program, waiting is added over threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The lock.
    pub lock: String,
    /// How its waiters wait.
    pub wait: String,
    /// It is the replay of the recorded run's lock, which the others are compared with. Its network is the chip's own.
    pub recorded: bool,
    /// What of the chip was changed, and what that did, where networks or policies were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// The program's time.
    pub time_ns: Spread,
    /// Where the measured time lies in 95 of 100 cases; only on the chip of the machine that was recorded on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<Interval>,
    /// The time lies far from the recorded lock's: what is foretold hangs on the model alone.
    pub far: bool,
    /// Of it, while two or more threads lived: what the first thread does alone is left out.
    pub concurrent_ns: Spread,
    /// The recorded lock's predicted time over this one's: above 1 is faster.
    pub speedup: f64,
    /// Waiting in all.
    pub blocked_ns: Spread,
    /// Of it, while the lock was held.
    pub sections_ns: Spread,
    /// Of it, while it was free: competition overhead.
    pub overhead_ns: Spread,
    /// Time spent spinning.
    pub spin_ns: Spread,
    /// Ready to run without a CPU, added over threads.
    pub ready_ns: Spread,
    /// CPUs without a thread, or waking up for one, added over CPUs. Beside ready threads it shows where the policy left some.
    pub idle_ns: Spread,
    /// Acquisitions, and those that waited, in the first seed's run.
    pub acquisitions: u64,
    /// See `acquisitions`.
    pub contended: u64,
    /// Seeds whose run was cut off: a collapse. Times are then lower bounds.
    pub cut_off: u32,
    /// Why there are no figures of some seeds, and of how many: their replay failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// The program's time by seed.
    pub by_seed_ns: Vec<u64>,
}

impl Predicted {
    /// What its network did, where networks were asked for.
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
    /// Of so many seeds.
    pub seeds: u32,
    /// Why the first of them did.
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
    /// Seeds whose run took more than twice as long as the quickest one: a collapse that comes by chance.
    pub fn sudden(&self) -> usize {
        self.by_seed_ns.iter().filter(|&&ns| ns > self.time_ns.low.saturating_mul(2)).count()
    }
}

/// The replay of the recorded lock against the recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// How long the recorded run took.
    pub measured_ns: u64,
    /// How long its replay takes, recording included.
    pub replayed_ns: Spread,
    /// (replayed − measured) / measured.
    pub error: f64,
    /// How long of the recorded run two or more threads lived.
    pub measured_concurrent_ns: u64,
    /// The same of its replay.
    pub replayed_concurrent_ns: Spread,
}

/// What would be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The recorded lock, and what stands for it in the replay.
    pub recorded_lock: String,
    /// The policy that its waiters have in the replay.
    pub recorded_wait: String,
    /// The check.
    pub check: Check,
    /// The recorded lock without recording, where the program was run so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
    /// The check and the trace allow to believe the figures.
    pub trustworthy: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// What could be replayed.
    pub replayability: Replayability,
    /// Its share that could not.
    pub not_replayable_share: f64,
    /// Cost of recording.
    pub probe: Probe,
    /// Cores in use.
    pub cpus: u32,
    /// Threads replayed.
    pub threads: u32,
    /// The program's locks, most acquired first.
    pub locks: Vec<LockSpec>,
    /// The locks asked for, in the order asked; the recorded one first.
    pub results: Vec<Predicted>,
    /// What is assumed, in sentences.
    pub notes: Vec<String>,
}

/// The lock that stands for the recorded one: glibc's mutex is a three-state futex lock.
fn recorded(trace: &Trace) -> (String, Choice) {
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
            ("glibc's pthread mutex, replayed as `futex`".to_owned(), Choice { lock: "futex".to_owned(), wait })
        }
    }
}

/// How many runs [`predict`] makes, for a progress bar.
pub fn runs(ask: &Ask) -> u64 {
    u64::from(ask.seeds) * (((ask.choices.len() + ask.changes.len()) * ask.variants.count()) as u64 + 2)
}

/// Bytes of memory that a replay takes for each byte of the trace, at most. `tests/memory.rs` counts them.
pub const MEMORY_A_BYTE: u64 = 4;

/// Bytes beside that for each lock in each run that is made side by side with others: what a lock takes that is used once or twice.
pub const MEMORY_A_LOCK: u64 = 640;

/// All that was run for a prediction.
pub struct AllRan {
    cpus: u32,
    check: Check,
    /// Why replays of the recording failed.
    check_failed: Option<Failed>,
    program: Arc<Program>,
    notes: Vec<String>,
    /// Of the recorded lock.
    base: Vec<Result<Ran, RunError>>,
    /// By lock, network or policy, and seed, as asked.
    pub rows: Vec<Result<Ran, RunError>>,
}

/// Predicts. `done` is called after each run, from any worker. The result does not depend on the number of workers.
///
/// # Errors
/// The trace is empty, or what was asked cannot be; a replay that fails is told in its row.
pub fn predict(trace: &Trace, chip: &Chip, ask: &Ask, done: &(dyn Fn() + Sync)) -> Result<Prediction, PredictError> {
    conclude(trace, chip, ask, run_all(trace, chip, ask, done)?)
}

/// Runs all that is asked, on all cores.
///
/// # Errors
/// As [`predict`].
pub fn run_all(trace: &Trace, chip: &Chip, ask: &Ask, done: &(dyn Fn() + Sync)) -> Result<AllRan, PredictError> {
    if trace.is_empty() {
        return Err(PredictError::Empty);
    }
    let chips = ask.variants.chips(chip)?;
    let (_, own) = recorded(trace);
    let cpus = ask.cpus.or(ask.variants.cores()).unwrap_or_else(|| cpus(trace, chip));
    let runs = Runs { cpus, seeds: 1..=u64::from(ask.seeds.max(1)), done };
    // One program at a time: each takes as much memory as the trace and more.
    let kept = Arc::new(compile(trace, chip, Probes::Kept));
    enough_memory(kept.locks.len() as u64, ask.memory)?;
    let limit = Cycles(kept.measured.0.saturating_mul(COLLAPSE).max(LEAST_LIMIT));
    let none = Changes::default();
    let unchanged = [Arm { choice: &own, changes: &none, chip, memory_bound: 0.0 }];
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
        chips.iter().map(move |(chip, memory_bound)| Arm { choice, changes, chip, memory_bound: *memory_bound })
    });
    let rows = runs.of(&program, &places.collect::<Vec<_>>(), limit);
    Ok(AllRan { cpus, check, check_failed: Failed::of(&checked), program, notes, base, rows })
}

/// Refuses a program of more locks than there is memory for, before it runs.
fn enough_memory(locks: u64, free: Option<u64>) -> Result<(), PredictError> {
    let need = locks * MEMORY_A_LOCK * rayon::current_num_threads() as u64;
    match free {
        Some(free) if need > free => Err(PredictError::Memory { locks, need, free }),
        _ => Ok(()),
    }
}

/// What the runs say.
///
/// # Errors
/// No run ended well.
pub fn conclude(trace: &Trace, chip: &Chip, ask: &Ask, all: AllRan) -> Result<Prediction, PredictError> {
    let AllRan { cpus, check, check_failed, program, notes, base, rows } = all;
    // What no lock can run under is the chip's or the program's, and an error.
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

/// The program as it would run without recording, with so many threads where a number is given; and what is assumed, in
/// sentences.
fn unrecorded(trace: &Trace, chip: &Chip, threads: Option<u32>) -> Result<(Program, Vec<String>), PredictError> {
    // Threads that repeat recorded ones repeat their shares, too.
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

/// What a row is of: a lock, changes, a chip, and the share of computing that waits for memory.
#[derive(Clone, Copy)]
struct Arm<'a> {
    choice: &'a Choice,
    changes: &'a Changes,
    chip: &'a Chip,
    memory_bound: f64,
}

/// What all runs of a prediction have in common.
struct Runs<'a> {
    cpus: u32,
    seeds: RangeInclusive<u64>,
    done: &'a (dyn Fn() + Sync),
}

impl Runs<'_> {
    /// Runs a program with each lock on its chip, with each seed: the runs of the first lock first.
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

/// A run that is given up early where it does not get on.
fn run_bounded(program: &Arc<Program>, place: Arm<'_>, setup: Setup, limit: Cycles) -> Result<Ran, RunError> {
    let run = |setup| run_changed(program, place.chip, setup, place.changes);
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

/// The recorded lock's figures, then those of the locks asked for, from their runs in the order asked.
fn results(ask: &Ask, chip: &Chip, own: &Choice, base: Predicted, ran: &[Result<Ran, RunError>]) -> Vec<Predicted> {
    let reference = base.time_ns.median;
    let mut results = vec![Predicted { speedup: 1.0, ..base }];
    let each = ask.seeds.max(1) as usize;
    let changed = ask.changes.iter().map(|change| {
        // A row is called what was asked for.
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

/// A length in cycles of a chip, for people.
pub fn nanos(chip: &Chip, cycles: Cycles) -> Nanos {
    chip.core.clock.nanos(cycles)
}
