//! `baton report`: shows a profile on the terminal, as JSON, and in the formats of other tools.

use super::analysing::Steps;
use super::ends::EndsArgs;
use super::progress::ProgressArgs;
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_report::terminal::{self, Style};
use baton_report::{Profile, ProfileError, export, html};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `baton report`.
#[derive(clap::Args)]
#[command(after_help = "\
Without an option that names an output: a summary, and DIR/report.html is written anew. F may be
`-` for standard output.
Exit codes: 0 done, 1 a file could not be written, 2 DIR holds no profile, or bad options.

Examples:
  baton report before
  baton report before --json | jq '.locks[] | {name, overhead_ns}'
  baton report before --lock-order                  locks that could deadlock, though they did not
  baton report before --perfetto before.pftrace     open it at ui.perfetto.dev
  baton report before --pprof before.pb.gz && go tool pprof -top before.pb.gz
  baton report before --parquet before.parquet --csv before.csv
  baton report before --progress recv..send         requests, their latency and what it consists of
  baton report before --background logger,7         the program does not wait for these threads")]
pub(crate) struct Args {
    /// The directory that `baton profile` left.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The report as JSON, on standard output (docs/schema/report.schema.json).
    #[arg(long)]
    json: bool,
    /// Locks that threads took in orders that could deadlock, on standard output.
    #[arg(long)]
    lock_order: bool,
    /// The page.
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
    /// Contention by call stack, for pprof and speedscope.
    #[arg(long, value_name = "F")]
    pprof: Option<PathBuf>,
    /// Every wait and critical section, for Perfetto.
    #[arg(long, value_name = "F")]
    perfetto: Option<PathBuf>,
    /// Every wait and critical section, as Parquet.
    #[arg(long, value_name = "F")]
    parquet: Option<PathBuf>,
    /// Every wait and critical section, as CSV.
    #[arg(long, value_name = "F")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    ends: EndsArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let files = [&args.html, &args.pprof, &args.perfetto, &args.parquet, &args.csv];
    let streams = files.iter().filter(|file| file.as_ref().is_some_and(|f| f.as_os_str() == "-")).count();
    if streams + usize::from(args.json) + usize::from(args.lock_order) > 1 {
        return Err(BadInput::new("only one of the outputs can go to standard output").into());
    }
    let profile = open_told(&args.directory, &args.ends, &args.progress)?;
    let mut written = false;
    if args.json {
        stdout(|out| Ok(export::write_json(&profile, out)?))?;
        written = true;
    }
    if args.lock_order {
        print!("{}", terminal::lock_orders(&profile.report, Style { color: ui::paints() }));
        written = true;
    }
    if let Some(path) = &args.html {
        save(path, |out| Ok(out.write_all(html::page(&profile, &[]).as_bytes())?))?;
        written = true;
    }
    if let Some(path) = &args.pprof {
        save(path, |out| Ok(export::write_pprof(&profile, out)?))?;
        written = true;
    }
    if let Some(path) = &args.perfetto {
        save(path, |out| Ok(export::write_perfetto(&profile, out)?))?;
        written = true;
    }
    if let Some(path) = &args.parquet {
        save(path, |out| Ok(export::write_parquet(&profile, out)?))?;
        written = true;
    }
    if let Some(path) = &args.csv {
        save(path, |out| Ok(export::write_csv(&profile, out)?))?;
        written = true;
    }
    if !written {
        print!("{}", terminal::summary(&profile.report, Style { color: ui::paints() }));
        let page = args.directory.join("report.html");
        html::write(&profile, &[], &page).with_context(|| format!("{} cannot be written", page.display()))?;
        ui::note(format_args!("the page is {}", page.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The report as JSON: what the command prints with `--json`.
pub(crate) fn json(args: &Args) -> anyhow::Result<String> {
    let profile = open_told(&args.directory, &args.ends, &args.progress)?;
    Ok(serde_json::to_string_pretty(&profile.report)?)
}

/// Reads a profile. A folder that holds no profile is bad input.
pub(crate) fn open(directory: &Path) -> anyhow::Result<Profile> {
    open_told(directory, &EndsArgs::default(), &ProgressArgs::default())
}

/// Reads a profile like [`open`], and adds what the user says of threads' ends and of progress.
fn open_told(directory: &Path, ends: &EndsArgs, progress: &ProgressArgs) -> anyhow::Result<Profile> {
    progress.text()?;
    let steps = Steps::new(0);
    let mut trace = Profile::trace(directory, &|step| steps.begin(step)).map_err(|error| {
        let bad = BadInput::new(&error);
        match error {
            ProfileError::Empty { .. } => bad,
            ProfileError::Read(_) => bad.hint("`baton profile -o DIR -- PROGRAM` leaves such a directory"),
        }
    })?;
    ends.tell(&mut trace)?;
    progress.tell(&mut trace)?;
    Ok(Profile::named(trace, &directory.display().to_string(), &|step| steps.begin(step)))
}

/// Writes to a file, or to standard output for `-`.
fn save(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<()>) -> anyhow::Result<()> {
    if path.as_os_str() == "-" {
        return stdout(write);
    }
    let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out).and_then(|()| Ok(out.flush()?)).with_context(|| format!("{} cannot be written", path.display()))?;
    ui::note(format_args!("wrote {}", path.display()));
    Ok(())
}

fn stdout(write: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    write(&mut out).and_then(|()| Ok(out.flush()?)).context("cannot write to standard output")
}
