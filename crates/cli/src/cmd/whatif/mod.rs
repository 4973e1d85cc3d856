//! `baton whatif`: predicts what another lock, wait policy or chip would do to a recorded program.
//!
//! | file | holds |
//! | --- | --- |
//! | [`choices`] | the locks, policies and networks that were asked for |
//! | [`text`] | the table on a terminal |
//! | [`requests`] | throughput and latency of a server on a terminal |
//! | [`points`] | a point of a sweep |
//! | [`page`] | the plot, one self-contained HTML file |

pub(super) mod choices;
mod page;
mod points;
mod requests;
mod text;

pub(crate) use points::Whatif;

use super::ends::EndsArgs;
use super::measure;
use super::named::changes::{self, ChangeArgs};
use super::named::queues;
use super::named::recorded::Recorded;
use crate::chips::{self, ChipArgs};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_chip::Chip;
use baton_replay::asymmetric::Shape;
use baton_replay::change::Change;
use baton_replay::compile::recorded_cpus;
use baton_replay::doubt::THIS_HOST;
use baton_replay::predict::{MEMORY_A_BYTE, PredictError, runs};
use baton_replay::requests::Foretold;
use baton_replay::{Ask, Prediction, predict};
use baton_report::Profile;
use baton_trace::Trace;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a prediction is not to be trusted on a machine without a calibration.
const STAND_IN: &str = "what locks and wake-ups cost on this machine was never measured; the figures are those of the built-in \
                        sample-host (`baton doctor --calibrate` measures this machine in half a minute)";

/// Options of `baton whatif`.
#[derive(clap::Args)]
#[command(after_help = "\
The recorded lock is replayed first and compared with the recorded run. If that replay is off by
more than 15%, if more than 5% of the recorded events cannot be replayed, if other programs used
more than 5% of the CPUs, or if this machine was never calibrated and no chip is named, the
prediction is marked untrustworthy, with the reason.

Exit codes: 0 done, 1 the replay of a lock failed (its row says why, the others stand) or a file
could not be written, 2 DIR holds no recording, or bad options.

Examples:
  baton whatif before
  baton whatif before --lock mcs,ticket,spin-park --html whatif.html
  baton whatif before --check 5     runs the program five times, and says how far off this is
  baton whatif before --lock mcs,clh --wait pause,spin-park --seeds 9 --json
  baton whatif before --lock cache_lock=mcs,default=glibc      another lock for one of them
  baton whatif before --shrink cache_lock=0.5 --split cache_lock=16 --rw svc.cpp:66=90%
  baton whatif server --shrink cache_lock=0.5 --rate 20000     throughput and latency of a server
  baton whatif before --barrier gomp,two-level,central --wait futex,pause    another barrier
  baton whatif before --queue ring,spsc,mpmc=64      another queue or capacity for a pipeline
  baton whatif before --queue 'words=ring,default=mpmc' --wait pause,futex
  baton whatif before --device qmd     the queues in a device of the chip, as in CAF's paper
  baton whatif before --chip chips/sample-host.toml --set core.count=8 \\
      --set core.per_cluster=8 --cpus 8 --threads 8
  baton whatif before --chip ocor64 --cpus 64 --threads 64 --lock spin-park,mcs \\
      --network round-robin,ocor       would OCOR's hardware help? (docs/reference/whatif.md)
  baton whatif before --asymmetric 1+3 --ratio 2 --lock futex,mcs \\
      --policy amp-default,pa          who should have the fast core?
  baton whatif before --asymmetric 1+12 --chip barcelona-amp --lock futex \\
      --policy amp-default,pa,crit,linux --memory-bound 0.5")]
pub(crate) struct Args {
    /// The directory that `baton profile` left.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Locks, with commas (`baton list locks`). `all`, or left out: every lock that `run` offers;
    /// left out with --asymmetric: the recorded lock.
    /// Or locks one by one, as one row: NAME=LOCK,…,default=LOCK, where NAME is a name of the
    /// report (a lock, a function, FILE:LINE), and LOCK may be glibc or have its wait policy behind
    /// a colon. A lock that is not named gets the default's
    /// lock; without a default it stays glibc's.
    #[arg(long, value_name = "LOCKS")]
    lock: Vec<String>,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    ends: EndsArgs,
    /// Wait policies, with commas (`baton list waits`). Left out: each lock's own, as `run` has it.
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    wait: Vec<String>,
    #[command(flatten)]
    objects: ObjectArgs,
    /// Networks, with commas, each with every lock: round-robin; ocor, which marks the requests of locks that give hints and
    /// serves those first; ocor-home, ocor-both, ocor-oracle, where homes do; release-first, holder-first, oldest-first, which are
    /// ocor with another rule; age, matrix, fixed.
    /// The chip must have routers. Left out: the chip's own, as it is.
    #[arg(long, value_name = "NETWORKS", value_delimiter = ',')]
    network: Vec<String>,
    /// Fast and slow cores, as in 1+12: replays each lock on one fast and twelve slow cores, of the
    /// chip of --chip or of a machine like this one. Fast cores have the chip's clock. Each seed has
    /// them at other numbers, so that another thread begins on one.
    #[arg(long, value_name = "FAST+SLOW", conflicts_with_all = ["network", "cpus", "cores", "check"])]
    asymmetric: Option<Shape>,
    /// The clock of the fast cores divided by the clock of the slow cores.
    #[arg(long, value_name = "R", default_value_t = 2.0, value_parser = ratio, requires = "asymmetric")]
    ratio: f64,
    /// Policies that give threads the fast cores, with commas; the others are compared with the first one
    /// (docs/reference/asymmetric.md).
    #[arg(
        long,
        value_name = "POLICIES",
        value_delimiter = ',',
        default_value = "amp-default,pa",
        requires = "asymmetric"
    )]
    policy: Vec<String>,
    /// The largest share of the program's computing time, 0 to 1, that may be spent waiting for
    /// memory, which takes as long on a slow core. A recording does not have that share: each
    /// policy is replayed with the shares 0 and F.
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = share, requires = "asymmetric")]
    memory_bound: f64,
    /// Requests come at this rate, whatever is answered (an open loop), instead of a think time after
    /// each answer, as seen.
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    rate: Option<f64>,
    #[command(flatten)]
    chip: ChipArgs,
    /// Threads that the program starts, if more than were recorded.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// Number of CPUs in use: the first N. Left out: as many as the recorded run had, at most as
    /// many as the chip has (--cores changes how many those are).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,
    /// Runs of each lock, each with another seed.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// The N-th K seeds, from (N - 1) * K + 1: runs with other numbers share no seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    seed: u64,
    /// First runs the recorded command N times unchanged, without recording, in the directory where
    /// it was recorded, and compares the median with the prediction for the command's own lock.
    #[arg(long, value_name = "N", conflicts_with_all = ["threads", "cpus"], value_parser = clap::value_parser!(u32).range(1..=1000))]
    check: Option<u32>,
    /// As JSON (docs/schema/whatif.schema.json).
    #[arg(long)]
    json: bool,
    /// A page with the plot.
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
}

/// Other objects than locks in the place of the recorded ones.
#[derive(clap::Args)]
struct ObjectArgs {
    /// Barriers, with commas (`baton list barriers`): each one replaces all barriers of the
    /// program, also those at the ends of OpenMP's constructs, with each policy of `--wait` (left
    /// out: futex). Locks stay as they are.
    #[arg(long, value_name = "BARRIERS", value_delimiter = ',')]
    barrier: Vec<String>,
    /// Queues, with commas (spsc, ring, ring-single, mpmc, segments, qmd): each one replaces all queues of
    /// the program, with its capacity (KIND=N: with N places), with each policy of `--wait` (left out: adaptive).
    /// Or queues one by one, as one row: NAME=KIND,…,default=KIND, where NAME is a name of the report.
    #[arg(long, value_name = "QUEUES")]
    queue: Vec<String>,
    /// A device that the chip gets if it has none, and the queues of the program in it. `qmd` is the queue
    /// device of CAF's paper, with the figures of chip caf16.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| (1.0..=100.0).contains(ratio));
    ratio.ok_or_else(|| format!("`{text}` is no ratio of clocks; expected a number from 1 to 100"))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (1e-3..=1e9).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is no rate; expected requests a second, from 0.001 to 1000000000"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is no share of computing; expected a number from 0 to 1"))
}

/// Name and version of the JSON. A change that breaks a reader raises the version.
const SCHEMA: &str = "baton-whatif/1";

/// The form of the JSON: docs/schema.
const SCHEMA_TEXT: &str = include_str!("../../../../../docs/schema/whatif.schema.json");

/// What `baton whatif --json` prints.
#[derive(Serialize)]
struct Output<'a> {
    schema: &'static str,
    directory: String,
    command: Vec<String>,
    seeds: u32,
    #[serde(flatten)]
    prediction: &'a Prediction,
    requests: Option<&'a Foretold>,
    chip: serde_json::Value,
}

/// What a prediction is of, and what it says.
struct Predicted {
    prediction: Prediction,
    requests: Option<Foretold>,
    chip: Chip,
    command: Vec<String>,
}

impl Predicted {
    /// The JSON that the command prints.
    fn json(&self, args: &Args) -> anyhow::Result<String> {
        let directory = args.directory.display().to_string();
        let (command, chip) = (self.command.clone(), chips::echo(&self.chip));
        let (prediction, requests) = (&self.prediction, self.requests.as_ref());
        let output = Output { schema: SCHEMA, directory, command, seeds: args.seeds, prediction, requests, chip };
        Ok(serde_json::to_string_pretty(&output)?)
    }
}

/// What the command prints with `--json`. Writes no page.
pub(crate) fn json(args: &Args) -> anyhow::Result<String> {
    predicted(args, Told::All)?.json(args)
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // The check changes to the directory in which the program was recorded.
    let html = args.html.as_ref().map(std::path::absolute).transpose().context("cannot tell the current directory")?;
    let predicted = predicted(&args, Told::All)?;
    let Predicted { prediction, requests, chip, command } = &predicted;
    if let Some(path) = &html {
        let page = page::page(prediction, command, chip);
        std::fs::write(path, page).with_context(|| format!("{} cannot be written", path.display()))?;
        ui::note(format_args!("wrote {}", path.display()));
    }
    if args.json {
        println!("{}", predicted.json(&args)?);
    } else {
        print!("{}", text::text(prediction, chip));
        print!("{}", requests.as_ref().map(requests::text).unwrap_or_default());
    }
    // The row of the lock says why it failed; the other rows hold.
    let failed = prediction.results.iter().any(|row| row.failed.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What a prediction tells while it is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Its progress, and warnings about the recording.
    All,
    /// Nothing: it is one of many.
    Nothing,
}

fn predicted(args: &Args, told: Told) -> anyhow::Result<Predicted> {
    // Only the coherent chip has networks.
    let mut chip = if args.network.is_empty() { args.chip.clone().for_replay() } else { args.chip.clone() };
    if let (Some(shape), false) = (args.asymmetric, chip.is_named()) {
        chip.cores(shape.fast + shape.slow);
    }
    let stand_in = chip.is_stand_in();
    let chip = choices::with_device(chip.open()?, args.objects.device.as_deref())?;
    let queues: Vec<String> = args.objects.queue.iter().chain(&args.objects.device).cloned().collect();
    let variants = choices::variants(args, &chip)?;
    let (names, one_by_one) = changes::sorted(&args.lock);
    // If some locks are changed, other locks are no answer to the user's question.
    let named = !(one_by_one.is_empty() && args.changes.is_empty());
    let only_changes = names.is_empty() && (named || !args.objects.barrier.is_empty() || !queues.is_empty());
    let barriers = choices::barriers(&args.objects.barrier, &args.wait, &chip)?;
    if only_changes && barriers.is_empty() && queues.is_empty() && !args.wait.is_empty() {
        let message = "--wait is for locks that serve all mutexes, and none is asked for";
        return Err(BadInput::new(message).hint("a named one has its own: --lock cache_lock=mcs:futex").into());
    }
    let of_recording = !only_changes && names.is_empty() && args.asymmetric.is_some();
    let none = only_changes || of_recording;
    let mut choices = if none { Vec::new() } else { choices::choose(&names, &args.wait, &chip)? };
    fits(args, &chip)?;
    let mut trace = open(&args.directory, told)?;
    args.ends.tell(&mut trace)?;
    if of_recording {
        choices = choices::of_recording(&trace, &args.wait, &chip)?;
    }
    enough_memory(&args.directory)?;
    if told == Told::All {
        other_cpus(&trace, &chip, args);
    }
    let (trace, mut changes) = changed(trace, args, (&one_by_one, &queues), &chip)?;
    changes.extend(barriers);
    let alone_ns = match args.check {
        Some(runs) => measure::alone(&trace, &args.directory, runs)?,
        None => Vec::new(),
    };
    let memory = free_memory();
    let (seeds, cpus, threads) = (args.seeds, args.cpus, args.threads);
    let first_seed = (args.seed - 1) * u64::from(seeds) + 1;
    let ask = Ask { choices, changes, variants, seeds, first_seed, cpus, threads, memory, alone_ns };
    let requests = requests::ask(&trace, &ask.changes, args.rate)?;
    let bar = if told == Told::All { progress(runs(&ask)) } else { ProgressBar::hidden() };
    let prediction = predict(&trace, &chip, &ask, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut prediction = prediction.map_err(|error| match error {
        PredictError::Empty
        | PredictError::Scale(_)
        | PredictError::Network(_)
        | PredictError::Asymmetric(_)
        | PredictError::Change(_) => BadInput::new(error).into(),
        PredictError::Memory { .. } => {
            BadInput::new(format!("{}: {error}", args.directory.display())).hint(RECORD_LESS).into()
        }
        PredictError::Run(_) => anyhow::Error::new(error),
    })?;
    if stand_in {
        prediction.trustworthy = false;
        prediction.reasons.push(STAND_IN.into());
    }
    let command = trace.meta.as_ref().map(|meta| meta.command.clone()).unwrap_or_default();
    Ok(Predicted { prediction, requests, chip, command })
}

/// Refuses more CPUs than the chip has, and a check on a chip that is not this machine.
fn fits(args: &Args, chip: &Chip) -> Result<(), BadInput> {
    if let Some(cpus) = args.cpus.filter(|&cpus| cpus > chip.cpus()) {
        let has = chip.cpus();
        let what = format!(
            "--cpus {cpus}: chip `{}` has {has} CPUs (core.count, core.contexts); expected 1 to {has}",
            chip.name
        );
        return Err(BadInput::new(what).hint(format!("--cores {cpus} makes the chip larger")));
    }
    if args.check.is_some() && chip.name != THIS_HOST {
        let message =
            format!("--check compares with runs on this machine, and chip `{}` stands for another", chip.name);
        return Err(BadInput::new(message).hint("`baton doctor --calibrate --fixed` measures this machine"));
    }
    Ok(())
}

/// The changes that the user asked for, with their names looked up in the recording.
fn changed(
    trace: Trace,
    args: &Args,
    (one_by_one, queues): (&[String], &[String]),
    chip: &Chip,
) -> Result<(Trace, Vec<Change>), BadInput> {
    if trace.is_empty() || (one_by_one.is_empty() && queues.is_empty() && args.changes.is_empty()) {
        return Ok((trace, Vec::new()));
    }
    let profile = Profile::of(trace);
    let recorded = Recorded::of(&profile);
    let mut all: Vec<Change> =
        one_by_one.iter().map(|text| changes::one_by_one(text, chip, &recorded)).collect::<Result<_, _>>()?;
    all.extend(args.changes.changes(&recorded)?);
    all.extend(queues::rows(queues, &args.wait, chip, &recorded)?);
    Ok((profile.trace, all))
}

fn open(directory: &Path, told: Told) -> anyhow::Result<Trace> {
    let trace = Trace::open(directory)
        .map_err(|error| BadInput::new(error).hint("`baton profile -o DIR -- ./app` records one"))?;
    for loss in trace.losses.iter().filter(|_| told == Told::All) {
        ui::warn(loss);
    }
    Ok(trace)
}

const RECORD_LESS: &str = "record less: `baton profile --max-size`, or a shorter run";

/// Refuses a recording, before its replay begins, if the replay would need more memory than is
/// free.
fn enough_memory(directory: &Path) -> anyhow::Result<()> {
    let need = recorded_bytes(directory).saturating_mul(MEMORY_A_BYTE);
    match free_memory() {
        Some(free) if need > free => Err(BadInput::new(format!(
            "{}: its replay takes up to {} MiB of memory, and {} MiB are free",
            directory.display(),
            need >> 20,
            free >> 20
        ))
        .hint(RECORD_LESS)
        .into()),
        _ => Ok(()),
    }
}

/// The bytes of a recording's events.
fn recorded_bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let events = files.filter(|file| file.file_name().to_string_lossy().starts_with("events."));
    // The bytes that a file takes on its disk: a sparse file is as large as its data.
    events.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512)).sum()
}

/// Bytes that are free without swapping; `None`: not known.
fn free_memory() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    kib.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib << 10)
}

/// Says so if the replay cannot use as many CPUs as were recorded, or leaves cores of the chip that
/// the user named without use.
fn other_cpus(trace: &Trace, chip: &Chip, args: &Args) {
    let (recorded, has) = (recorded_cpus(trace), chip.cpus());
    if args.cpus.is_some() || args.asymmetric.is_some() || recorded == 0 {
        return;
    }
    if recorded > has {
        ui::warn(format_args!(
            "the program was recorded on {recorded} CPUs; chip `{}` has {has}: the replay has only these",
            chip.name
        ));
    } else if recorded < has && args.chip.names_cores() {
        ui::warn(format_args!(
            "the program was recorded on {recorded} CPUs, and the replay uses as many of the {has} that chip `{}` has; \
             --cpus {has} uses all of them",
            chip.name
        ));
    }
}

fn progress(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} simulations, {eta} left") {
        bar.set_style(style);
    }
    bar
}
