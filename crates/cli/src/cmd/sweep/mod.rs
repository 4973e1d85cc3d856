//! `baton sweep`: runs the points of a space, and keeps what each gave in a store.
//!
//! | file | holds |
//! | --- | --- |
//! | `run` | a sweep from its space to its store |
//! | `subject` | a command whose points can be swept |
//! | `matched` | the settings of a point as parsed options |
//! | `chip` | the chips of points, kept in memory |
//! | `declared` | figures from a list or a schema |
//! | `described` | the options of a command for programs in other languages |
//! | `python` | searches, and sweeps on many machines, by the Python module |
//! | `watch` | rows and progress while a sweep runs |
//! | `show` | `status`, `show` and `export` |

mod chip;
mod declared;
mod described;
mod matched;
pub(super) mod python;
mod run;
mod show;
mod subject;
mod watch;

pub(crate) use chip::{PointChips, key_names};
pub(crate) use declared::{listed, of_schema};
pub use described::{CallKind, CallOption, Many};
pub(crate) use described::{call_options, call_parse};
pub(crate) use matched::{Matched, parsed};
pub(crate) use run::{Loaded, RunSettings, bad_space, store_of};
pub(crate) use show::table_of;
pub(crate) use subject::{Ready, Swept, content, on_one_thread};

use crate::error::BadInput;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `baton sweep`.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
SPACE.toml names a command, axes with their values, settings, constraints and seeds
(docs/reference/studio.md). Each point and seed is a row of the store. A sweep that was ended
in any way goes on where it was when it is started again; no point that has a row is run again.

Exit codes: 0 done, 1 a point failed (its row says why) or the store cannot be written, 2 bad
input, 130 ended by Ctrl-C.

Examples:
  baton sweep examples/sweeps/zoo.toml                    into zoo.store
  baton sweep space.toml --store results --jobs 8
  baton sweep space.toml --engine ray --address auto      on the machines of a cluster of Ray
  baton sweep space.toml --dry-run                        how many points are there?
  baton sweep status zoo.store
  baton sweep resume zoo.store
  baton sweep show zoo.store --where \"threads == 16\" --sort cycles --limit 10
  baton sweep export zoo.store --out zoo.csv              or .jsonl, .parquet"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The file of the space.
    #[arg(value_name = "SPACE.toml")]
    space: Option<PathBuf>,
    #[command(flatten)]
    options: RunArgs,
}

/// Options of a sweep that begins or goes on.
#[derive(clap::Args)]
struct RunArgs {
    /// The folder of the store. Left out: the space's name with .store, here.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Points that run at the same time. Left out: one for each CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Run points again whose rows are failures.
    #[arg(long)]
    retry: bool,
    /// Check the space, and say how many points it has; run none.
    #[arg(long)]
    dry_run: bool,
    /// Print each row as a JSON object on a line.
    #[arg(long)]
    json: bool,
    /// What runs the points: this machine, or many machines by Ray or Slurm, which needs the Python package
    /// (docs/reference/studio.md).
    #[arg(long, value_name = "ENGINE", value_parser = ["ray", "slurm"], conflicts_with_all = ["dry_run", "json"])]
    engine: Option<String>,
    /// Ray's cluster. Left out: a Ray of this machine, which ends with the sweep.
    #[arg(long, value_name = "ADDRESS", requires = "engine")]
    address: Option<String>,
    /// Where other machines put rows if they share no file system with this one: a folder as pyarrow takes it, such as
    /// s3://bucket/folder or file:///folder. The rows come into the store from there.
    #[arg(long, value_name = "URL", requires = "engine")]
    objects: Option<String>,
}

impl RunArgs {
    /// The words of a command line with these options.
    fn words(&self, space: &Path) -> Vec<OsString> {
        let mut words = vec![space.as_os_str().to_owned()];
        let jobs = self.jobs.map(|jobs| jobs.to_string().into());
        let store = self.store.as_ref().map(|store| store.as_os_str().to_owned());
        let (engine, address) = (self.engine.clone().map(OsString::from), self.address.clone().map(OsString::from));
        let objects = self.objects.clone().map(OsString::from);
        let named = [
            ("--engine", engine),
            ("--address", address),
            ("--objects", objects),
            ("--store", store),
            ("--jobs", jobs),
        ];
        for (name, value) in named {
            words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        }
        words.extend(self.retry.then(|| "--retry".into()));
        words
    }
}

/// The subcommands.
#[derive(clap::Subcommand)]
enum Command {
    /// Go on with the sweep of a store
    Resume(Resume),
    /// How far is the sweep of a store?
    Status(show::StatusArgs),
    /// Print rows of a store
    Show(show::ShowArgs),
    /// Write rows of a store as CSV, JSON lines or Parquet
    Export(show::ExportArgs),
}

/// Options of `baton sweep resume`.
#[derive(clap::Args)]
#[command(after_help = "\
The store has the text of the space that was swept last. Chips and files that the space names are
read anew; a point whose inputs changed is another point.

Examples:
  baton sweep resume zoo.store
  baton sweep resume zoo.store --jobs 4 --retry")]
struct Resume {
    /// The folder of the store.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Points that run at the same time. Left out: one for each CPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    jobs: Option<u32>,
    /// Run points again whose rows are failures.
    #[arg(long)]
    retry: bool,
    /// Print each row as a JSON object on a line.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Some(command) = args.command else {
        let named = args.space.ok_or_else(|| BadInput::new("no space is named").hint("baton sweep SPACE.toml"))?;
        return match &args.options.engine {
            Some(_) => python::module("baton.engines", &args.options.words(&named)),
            None => run::begin(&named, &args.options),
        };
    };
    match command {
        Command::Resume(Resume { directory, jobs, retry, json }) => {
            let options = RunArgs {
                store: Some(directory.clone()),
                jobs,
                retry,
                dry_run: false,
                json,
                engine: None,
                address: None,
                objects: None,
            };
            run::resume(&directory, &options)
        }
        Command::Status(args) => show::status(&args),
        Command::Show(args) => show::show(&args),
        Command::Export(args) => show::export(&args),
    }
}
