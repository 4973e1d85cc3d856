//! From the command line to guest threads: the registry of workloads looks names up, and impossible
//! settings are refused before the run.

use super::args::Args;
use super::probe::Recorder;
use crate::error::BadInput;
use crate::places;
use baton_chip::{Chip, Instructions, Simulated};
use baton_machine::Wait;
use baton_programs::workloads;
use baton_workloads::knobs::StreamKind;
use baton_workloads::{Charge, Knobs, Refused, Team, WorkloadInfo};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder with the profiles of programs of phases.
const PROGRAMS: &str = "profiles/pa";

/// The workload of the threads, one of the registry.
#[derive(Clone, Copy)]
pub(crate) struct Name(&'static WorkloadInfo);

impl ValueEnum for Name {
    fn value_variants<'a>() -> &'a [Name] {
        static NAMES: OnceLock<Vec<Name>> = OnceLock::new();
        NAMES.get_or_init(|| workloads().iter().map(Name).collect())
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name).help(self.0.what))
    }
}

impl Name {
    pub(crate) fn text(self) -> &'static str {
        self.0.name
    }

    /// Whether the locks of the workload are recorded.
    pub(super) fn has_locks(self) -> bool {
        self.0.has_locks
    }

    /// The figure that a plot shows if the user names none.
    pub(super) fn figure(self) -> &'static str {
        self.0.figure
    }
}

/// What a stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Direction {
    /// Reads its range.
    Read,
    /// Writes it.
    Write,
    /// Reads one half, writes the other.
    Copy,
}

/// A workload that is ready to run.
pub(crate) struct Chosen {
    workload: baton_programs::Chosen,
    pub(crate) wait: Wait,
    pub(crate) recorder: Recorder,
}

fn bad(refused: Refused) -> BadInput {
    match refused {
        Refused::Unknown { kind, name, known } => BadInput::unknown(kind, &name, known),
        Refused::Because(why) => BadInput::new(why),
    }
}

/// The settings of the command line.
fn knobs<'a>(args: &'a Args, profile: Option<&'a Path>, chip: &Chip) -> Knobs<'a> {
    Knobs {
        threads: args.threads,
        cores: chip.core.count,
        line_bytes: chip.cache.line_bytes as usize,
        lock: &args.lock,
        barrier: &args.barrier,
        queue: &args.queue,
        wait: args.wait,
        critical: args.cs,
        think: args.think,
        spread: args.spread,
        lines: args.lines,
        bytes: args.bytes as usize,
        stream: match args.stream {
            Direction::Read => StreamKind::Read,
            Direction::Write => StreamKind::Write,
            Direction::Copy => StreamKind::Copy,
        },
        spacing: args.spacing as usize,
        one_write_in: args.one_write_in,
        capacity: args.capacity,
        bulk: args.bulk as usize,
        size: args.size,
        grain: args.grain,
        profile,
        draw: args.draw,
        load: args.load,
        iterations: args.iterations,
        cut_off: args.cycles.is_some(),
        seed: args.seed,
        inputs: args.inputs.knobs(),
    }
}

/// The file for a name: `fftw` means `profiles/pa/fftw.toml`, unless there is a file with that
/// name.
pub(super) fn program(path: &Path) -> PathBuf {
    let bare = path.components().count() == 1 && path.extension().is_none() && !path.is_file();
    if bare {
        places::input(&Path::new(PROGRAMS).join(path.to_string_lossy().to_lowercase()).with_extension("toml"))
    } else {
        path.to_owned()
    }
}

/// Looks all names up.
pub(crate) fn choose(args: &Args, chip: &Chip) -> anyhow::Result<Chosen> {
    if args.profile.is_some() && !["profile", "phases"].contains(&args.workload.text()) {
        return Err(BadInput::new("--profile is for --workload profile and --workload phases").into());
    }
    super::inputs::check(args)?;
    let profile = args
        .profile
        .as_deref()
        .map(|path| if args.workload.text() == "phases" { program(path) } else { path.to_owned() });
    let workload =
        baton_programs::Chosen::named(args.workload.text(), &knobs(args, profile.as_deref(), chip)).map_err(bad)?;
    let wait = workload.wait(args.wait);
    chip.check_wait(wait).map_err(|missing| BadInput::new(format!("{}: {missing}", args.chip.name())))?;
    Ok(Chosen { workload, wait, recorder: Recorder::default() })
}

impl Chosen {
    /// The threads; to be called inside the simulation.
    pub(crate) fn team(&self) -> anyhow::Result<Team> {
        Ok(self.workload.team::<Simulated, _>(self.wait, self.recorder.clone()).map_err(bad)?)
    }

    /// Name of the lock, barrier or queue.
    pub(crate) fn algorithm(&self) -> Option<&'static str> {
        self.workload.algorithm()
    }

    /// The instructions of the algorithm itself.
    pub(crate) fn instructions(&self) -> Instructions {
        match self.workload.charge() {
            Charge::Counted(counted) => Instructions::of(counted),
            Charge::Bulk(counted) => Instructions::of_bulk(counted),
            Charge::Typical => Instructions::TYPICAL,
            Charge::Nothing => Instructions::NONE,
        }
    }

    /// An upper bound of the bytes of guest memory that the data takes.
    pub(crate) fn bytes(&self) -> usize {
        self.workload.bytes()
    }

    /// Number of threads that the workload makes.
    pub(crate) fn threads(&self) -> u32 {
        self.workload.threads()
    }
}
