//! `baton profile`: records an unmodified program.

use super::alone;
use super::analysing::Steps;
use super::load::{LoadArgs, Loads};
use super::progress::ProgressArgs;
use super::still::Watching;
use super::writing::Writing;
use crate::exact;
use crate::folder::Folder;
use crate::{ui, values};
use anyhow::Context;
use baton_host::cpu_limit::Limits;
use baton_host::describe;
use baton_host::launch::child::{self, End};
use baton_host::launch::choice::{self, Choice};
use baton_host::launch::messages::{self, AllMessages, Messages};
use baton_host::launch::{exec::Exec, last_words::LastWords, library, program};
use baton_host::neighbours::Neighbours;
use baton_report::format::quoted;
use baton_report::model::PROGRESS;
use baton_report::terminal::{self, Style};
use baton_report::{ProfileError, html, nothing_recorded};
use baton_trace::Meta;
use baton_trace::disturbance::{ALONE, CPU_LIMIT, HELD_BACK, LOAD, OTHERS, disturbed};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Options of `baton profile`.
#[derive(clap::Args)]
#[command(after_help = "\
The program's exit code is kept (128 + the signal if one killed it; 0 if --duration ended it). It is
5 if a signal or --duration ended the program and threads of it were in a deadlock. If no thread of
the program moves for 1.9 s, a message says so once while it runs.
Ctrl-C ends the program and still leaves a report. The directory gets its name only when it is
whole.

Examples:
  baton profile -o before -- ./app --threads 8
  baton profile --duration 30s --max-size 512M -- ./server
  baton profile --duration 30s --progress recv..send -- ./server    requests by these points
  baton profile --lock mcs -o mcs -- ./app && baton diff before mcs")]
pub(crate) struct Args {
    /// The directory to leave; it must not exist yet.
    #[arg(short, long, value_name = "DIR", default_value = "baton-profile")]
    pub(super) output: PathBuf,
    /// Replace the directory if it is an earlier profile.
    #[arg(long)]
    force: bool,
    /// Have another lock serve the mutexes meanwhile (`baton list locks`); glibc's stay without it.
    #[arg(long)]
    lock: Option<String>,
    /// How its waiters wait (`baton list waits`); several with commas: the first one that this machine has.
    #[arg(long, value_name = "WAIT[,WAIT]", requires = "lock")]
    wait: Option<String>,
    /// Record the processes that it starts, too.
    #[arg(long)]
    follow_children: bool,
    /// Stop recording a process at this size (bytes, or with K, M or G); it runs on, and the report says what is missing.
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = values::size)]
    max_size: u64,
    /// Record call sites without their stacks: for programs whose stacks cannot be unwound.
    #[arg(long)]
    no_stacks: bool,
    /// Record no context switches: for programs that forbid themselves perf_event_open (seccomp).
    #[arg(long)]
    no_switches: bool,
    /// End the program after this long (500ms, 30s, 5m, 1h): SIGTERM, and SIGKILL 5 s later.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    load: LoadArgs,
    /// Then run the program this often unrecorded, without input and output: how much recording slowed it down is then measured.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    check: u32,
    /// The program and its arguments. Options of Baton stand before it; `--` between them is allowed.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(super) program: Vec<OsString>,
}

impl Args {
    /// The events that are not recorded: the name of each, and the variable that passes it to the
    /// library.
    fn left_out(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = [(self.no_stacks, "stacks", "BATON_STACKS"), (self.no_switches, "switches", "BATON_SWITCHES")];
        all.into_iter().filter(|(asked, ..)| *asked).map(|(_, what, variable)| (what, variable))
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let recorded = match record(&args, false)? {
        Ok(recorded) => recorded,
        Err(code) => return Ok(code),
    };
    let Recorded { folder, meta, end } = recorded;
    let Left { summary, deadlock } = match leave_page(folder.path(), &args.output, &meta) {
        Ok(left) => left,
        // The trace is worth keeping; `baton report` reads it under this name as well.
        Err(error) => return Err(error.context(format!("the trace is kept in {}", folder.keep_unfinished().display()))),
    };
    let directory = folder.finish()?;
    eprint!("{summary}");
    let page = directory.join("report.html");
    let open = if page.exists() { format!("; open {}", shown(&page)) } else { String::new() };
    ui::note(format_args!("the profile is in {}{open}", shown(&directory)));
    // A program that ended by itself keeps its code.
    let was_ended = end.timed_out || end.status.code().is_none();
    Ok(if deadlock && was_ended { ExitCode::from(DEADLOCK) } else { end.exit() })
}

/// The exit code of a program that was ended in a deadlock.
const DEADLOCK: u8 = 5;

/// A recorded program. The unfinished folder holds its trace.
pub(super) struct Recorded {
    pub(super) folder: Folder,
    pub(super) meta: Meta,
    pub(super) end: End,
}

/// Runs the program under the recorder. The inner error is the exit code of a program that left no
/// trace. `silent`: its output is not passed on.
pub(super) fn record(args: &Args, silent: bool) -> anyhow::Result<Result<Recorded, ExitCode>> {
    args.progress.text()?;
    args.load.check()?;
    let choice = match &args.lock {
        Some(lock) => Some(choice::check(lock, args.wait.as_deref())?),
        None => None,
    };
    let program = program::find(&args.program[0])?;
    let folder = Folder::begin(&args.output, args.force)?;
    let library = library::find()?;

    let mut exec = Exec::new(program, args.program.clone());
    exec.preload(&library).set("BATON_TRACE", folder.path()).set("BATON_TRACE_MAX", args.max_size.to_string());
    if let Some(choice) = &choice {
        exec.set("BATON_LOCK", choice.lock.name).set("BATON_WAIT", choice.wait.to_string());
    }
    for (_, variable) in args.left_out() {
        exec.set(variable, "off");
    }
    if !args.follow_children {
        exec.only_it();
    }
    if silent {
        exec.silent();
    }
    let started = SystemTime::now();
    let crowd = choice.as_ref().filter(|c| c.only_spins()).map(Choice::crowd);
    let (neighbours, limits) = (Neighbours::watch(), Limits::watch());
    let messages = Messages::begin(|text| ui::warn(text))?;
    exec.set(messages::VARIABLE, messages.name());
    let watching = Watching::begin(folder.path());
    let (writing, loads) = (Writing::begin(folder.path()), Loads::begin(&args.load));
    let started_as = |pid| {
        watching.started(pid);
        loads.started(pid);
    };
    let end = child::run(exec, args.duration, crowd, started_as, ui::warn);
    let last_look = watching.end();
    writing.end();
    let end = end?;
    let (seen, limited) = (neighbours.seen(), limits.seen());
    let load = loads.end(neighbours.time());
    let said = messages.end();
    messages::repeated(&said).iter().for_each(ui::note);

    let recorded = folder.path().read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if !recorded {
        ui::warn("the program left no trace: was the library loaded? (see above)");
        return Ok(Err(if end.code() == 0 { ExitCode::FAILURE } else { end.exit() }));
    }
    if let Some(how) = end.violently() {
        ui::note(format_args!("the program was ended by {how}; what it did until then is recorded"));
    }
    let mut meta = meta(args, choice.as_ref(), started, &end);
    meta.unseen.extend(unrecorded(&said));
    meta.extra.extend(last_look.and_then(|look| look.entry()));
    if let Some(seen) = seen {
        meta.extra.insert(OTHERS.into(), (seen.others.saturating_sub(load).as_nanos() as u64).into());
    }
    if !load.is_zero() {
        meta.extra.insert(LOAD.into(), (load.as_nanos() as u64).into());
    }
    if let Some(limited) = limited {
        meta.extra.insert(CPU_LIMIT.into(), limited.cpus.into());
        meta.extra.insert(HELD_BACK.into(), (limited.stopped.as_nanos() as u64).into());
    }
    // A run that was ended has no length to compare with.
    if args.check > 0 && !end.timed_out && end.status.code().is_some() {
        let alone = alone::median(args.check, &args.program, choice.as_ref(), args.duration)?;
        meta.extra.extend(alone.map(|alone| (ALONE.to_owned(), (alone.as_nanos() as u64).into())));
    }
    if let Some(doubt) = disturbed(&meta) {
        ui::warn(format_args!("{doubt}: its waits are not all its own"));
    }
    Ok(Ok(Recorded { folder, meta, end }))
}

/// What is known of a profile that was completed.
pub(super) struct Left {
    /// The summary for the terminal. It goes to standard error, because standard output belongs to
    /// the program.
    summary: String,
    /// Whether threads of the program were in a deadlock at its end.
    deadlock: bool,
}

/// Adds the launcher's description and the page.
pub(super) fn leave_page(directory: &Path, named: &Path, meta: &Meta) -> anyhow::Result<Left> {
    let kept = shown(directory).to_string();
    let _words = LastWords::begin(format!(
        "\nbaton: interrupted: the recording is whole and stays in {kept}; to go on: baton report {}\n",
        quoted(&kept)
    ));
    meta.write(directory)?;
    let steps = Steps::new(1);
    let profile = match steps.open(directory, &named.display().to_string()) {
        Ok(profile) => profile,
        // A program that locks nothing has a profile as well, in which there is nothing to see;
        // `report` says the same.
        Err(ProfileError::Empty { losses, .. }) => {
            return Ok(Left { summary: format!("{}.\n", nothing_recorded(&losses)), deadlock: false });
        }
        Err(error) => return Err(error.into()),
    };
    let page = directory.join("report.html");
    steps.begin("the page");
    html::write(&profile, &[], &page).with_context(|| format!("cannot write {}", page.display()))?;
    let deadlock = profile.report.standstill.as_ref().is_some_and(|still| still.deadlock_since_ns.is_some());
    Ok(Left { summary: terminal::summary(&profile.report, Style { color: ui::err_paints() }), deadlock })
}

/// A path relative to the current directory if it lies below it, otherwise as it is.
fn shown(path: &Path) -> std::path::Display<'_> {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).display()
}

/// What a report lacks if `what` was not recorded.
fn unseen(what: &str) -> &'static str {
    match what {
        "stacks" => "the callers of call sites",
        _ => "when threads were off their CPUs, beyond what their CPU times tell",
    }
}

/// Which processes ran without being recorded; `None` if all were.
fn unrecorded(said: &AllMessages) -> Option<String> {
    let said = said.get("unrecorded")?;
    let more = said.processes - said.first.len() as u64;
    let more = if more == 0 { String::new() } else { format!("; and {more} more processes") };
    Some(format!("{}{more}", said.first.join("; ")))
}

/// Entries that only Baton itself reads: the wait policy of a lock that the user chose, the
/// progress point that the user named, and the command and the directory if these are not text.
fn extra(args: &Args, choice: Option<&Choice>) -> BTreeMap<String, serde_json::Value> {
    let mut extra: BTreeMap<_, _> =
        choice.map(|c| ("wait".to_owned(), c.wait.to_string().into())).into_iter().collect();
    let directory = std::env::current_dir().unwrap_or_default();
    extra.extend(args.progress.text().ok().flatten().map(|text| (PROGRESS.to_owned(), text.into())));
    extra.extend(exact::entry(exact::COMMAND, &args.program));
    extra.extend(exact::entry(exact::DIRECTORY, &[directory.into_os_string()]));
    extra
}

/// The launcher's description of the run.
fn meta(args: &Args, choice: Option<&Choice>, started: SystemTime, end: &End) -> Meta {
    Meta {
        command: args.program.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        directory: std::env::current_dir().map(|d| d.display().to_string()).unwrap_or_default(),
        recorder: concat!("baton ", env!("CARGO_PKG_VERSION")).into(),
        started_realtime_ns: started.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64),
        elapsed_ns: end.elapsed.as_nanos() as u64,
        exit_code: end.status.code(),
        exit_signal: end.status.signal(),
        host: describe::machine(),
        lock: choice.map(|c| c.lock.name.to_owned()),
        unseen: args.left_out().map(|(what, _)| format!("{}, as asked (--no-{what})", unseen(what))).collect(),
        extra: extra(args, choice),
        ..Meta::default()
    }
}
