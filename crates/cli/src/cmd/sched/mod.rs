//! `baton sched`: runs programs and gives the fast cores to the threads that a policy chooses.
//!
//! | file | holds |
//! | --- | --- |
//! | [`request`] | the options as a request: policy, CPUs, programs |
//! | [`scheduler`] | the program that loads a scheduler into the kernel |
//! | [`show`] | statistics at the end, and the live view |

mod request;
mod scheduler;
mod show;

use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_daemon::{log, restore, run as daemon, watchdog};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton sched`.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Masks of CPUs are narrowed while the programs run, and are the user's again at the end, also
after Ctrl-C and SIGKILL (docs/reference/sched.md). With several programs, `::` stands between
them; each is an application. The exit code is the first one that is not 0, in their order.

Examples:
  baton sched -- ./app --threads 8                          by the policy pa
  baton sched --policy min-tlp -- ./app1 x :: ./app2 y      two applications
  baton sched --fast-cpus 0-3 --view -- ./app               name the fast CPUs, watch the threads
  baton sched --dry-run --log run.log -- ./app              decide, change nothing
  baton sched --policy crit -- baton run --lock mcs ./app   by what threads tell of locks
  baton sched --backend scx -- ./app                        by a scheduler in the kernel
  baton sched --attach 1234,1250                            programs that run already
  baton sched replay run.log                                the same decisions again
  baton sched restore                                       masks that a killed run left behind"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: RunArgs,
}

/// Options of a run.
#[derive(clap::Args)]
struct RunArgs {
    /// The policy that hands out the fast cores: busy-fcs, rr, min-tlp, pa, static-ipc, pa-speedup, crit or lavd.
    #[arg(long, default_value = "pa")]
    policy: String,
    /// The fast CPUs, such as 0-3,8. Left out: the fastest kind of cores that this machine reports.
    #[arg(long, value_name = "LIST")]
    fast_cpus: Option<String>,
    /// How much faster each program runs on a fast core, in their order, such as 1.8,1.2: for static-ipc and pa-speedup.
    #[arg(long, value_name = "RATIO[,RATIO]")]
    speedup: Option<String>,
    /// The policy's time slice. Rounds of swaps come every ten, and a boost lasts a hundred.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = crate::values::duration)]
    time_slice: std::time::Duration,
    /// What places threads: affinity (masks of CPUs) or scx (a scheduler in the kernel; needs root and Linux with sched_ext).
    #[arg(long, value_enum, default_value_t = Backend::Affinity)]
    backend: Backend,
    /// With --backend scx: schedule all threads of the machine, not only those of the programs.
    #[arg(long)]
    all: bool,
    /// Decide, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write what happened and what was decided to this file, for `baton sched replay`.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Print the statistics as JSON. The programs' standard output goes to standard error then.
    #[arg(long)]
    json: bool,
    /// Show twice a second where threads are, and why.
    #[arg(long)]
    view: bool,
    /// Look at /proc even if the kernel gives records of context switches.
    #[arg(long)]
    poll: bool,
    /// Say nothing at the end.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Place the threads of processes that run already, until they end or Ctrl-C.
    #[arg(long, value_name = "PID", value_delimiter = ',', conflicts_with = "programs")]
    attach: Vec<u32>,
    /// The programs and their arguments, with `::` between programs.
    #[arg(last = true, value_name = "PROGRAM")]
    programs: Vec<OsString>,
}

/// What places threads.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Backend {
    Affinity,
    Scx,
}

/// What `baton sched` does instead of a run.
#[derive(clap::Subcommand)]
enum Command {
    /// Give the inputs of a log to the policy again: are the decisions the same?
    Replay(Replay),
    /// Give back masks that killed runs left behind
    Restore(Restore),
}

/// Options of `baton sched replay`.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 the decisions are the same, byte for byte; 1 they differ; 2 the log is damaged.

Examples:
  baton sched --dry-run --log run.log -- ./app
  baton sched replay run.log")]
struct Replay {
    /// A file that `baton sched --log` wrote.
    #[arg(value_name = "LOG")]
    log: PathBuf,
}

/// Options of `baton sched restore`.
#[derive(clap::Args)]
#[command(after_help = "\
The watchdog of a run does this when the run is killed. The command is for runs whose watchdog was
killed as well. A mask that was changed since is left as it is.

Examples:
  baton sched restore
  baton sched restore /run/user/1000/baton/sched-1234-5678.journal")]
struct Restore {
    /// A journal. Left out: all journals of this user.
    #[arg(value_name = "JOURNAL")]
    journal: Option<PathBuf>,
    /// Wait for the end of standard input first: the watchdog of a run.
    #[arg(long, hide = true, requires = "journal")]
    watch: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Some(Command::Replay(args)) => replay(&args),
        Some(Command::Restore(args)) => give_back(args),
        None => place(args.options),
    }
}

/// Runs or attaches programs.
fn place(options: RunArgs) -> anyhow::Result<ExitCode> {
    let (json, quiet, dry_run) = (options.json, options.quiet, options.dry_run);
    if !dry_run {
        // A run that was killed with its watchdog may have left narrowed masks, which this run would
        // take for the user's: this command's own mask may be one.
        for left in restore::all() {
            match left.masks {
                Ok(masks) => ui::note(format_args!("an earlier run was killed: {masks} masks are given back")),
                Err(error) => ui::warn(error),
            }
        }
    }
    let request = request::of(options)?;
    let report = daemon::run(request).map_err(into)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else if !quiet {
        eprint!("{}", show::text(&report));
    }
    let code = report.apps.iter().filter_map(|app| app.code).find(|&code| code != 0);
    let own = report.log_failed.as_ref().map_or(ExitCode::SUCCESS, |why| {
        ui::warn(format_args!("the log could not be written to its end: {why}"));
        ExitCode::FAILURE
    });
    Ok(code.map_or(own, ExitCode::from))
}

fn into(error: baton_daemon::Error) -> anyhow::Error {
    match error {
        baton_daemon::Error::Bad(bad) => bad.into(),
        failed => failed.into(),
    }
}

fn replay(args: &Replay) -> anyhow::Result<ExitCode> {
    let name = args.log.display();
    let text = std::fs::read_to_string(&args.log).map_err(|e| BadInput::new(format!("cannot read `{name}`: {e}")))?;
    let replayed = log::replay(&text).map_err(|why| BadInput::new(format!("{name}: {why}")))?;
    if replayed.cut {
        ui::warn(format_args!("{name}: the last line is cut off; it is left out"));
    }
    if let Some((line, logged, again)) = replayed.differs {
        println!("{name}: line {line} differs\n  logged:   {logged}\n  replayed: {again}");
        return Ok(ExitCode::FAILURE);
    }
    println!("{name}: {} inputs, {} decisions: the same", replayed.inputs, replayed.decisions);
    Ok(ExitCode::SUCCESS)
}

fn give_back(args: Restore) -> anyhow::Result<ExitCode> {
    let Some(journal) = args.journal else {
        let all = restore::all();
        let mut code = ExitCode::SUCCESS;
        for left in &all {
            match &left.masks {
                Ok(masks) => println!("{}: {masks} masks are given back", left.path.display()),
                Err(error) => {
                    ui::warn(error);
                    code = ExitCode::from(2);
                }
            }
        }
        if all.is_empty() {
            println!("no killed run has left masks behind");
        }
        return Ok(code);
    };
    if args.watch {
        watchdog::watch(&journal).context("the watchdog cannot give masks back")?;
        return Ok(ExitCode::SUCCESS);
    }
    match restore::one(&journal)? {
        Some(masks) => println!("{}: {masks} masks are given back", journal.display()),
        None => println!("{}: its run goes on", journal.display()),
    }
    Ok(ExitCode::SUCCESS)
}
