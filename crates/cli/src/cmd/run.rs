//! `baton run`: runs an unmodified program with another lock.

use super::named::{self, program::OneByOne};
use super::openmp::{self, Names};
use crate::error::BadInput;
use crate::ui;
use anyhow::Context;
use baton_host::launch::choice::{self, Choice};
use baton_host::launch::messages::{self, Messages};
use baton_host::launch::stats::{self, Stats};
use baton_host::launch::{child, exec::Exec, library, program};
use baton_sync::lock::assign;
use baton_sync::queue::chosen::Asked;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton run`.
#[derive(clap::Args)]
#[command(after_help = "\
The program's exit code is kept (128 + the signal if one killed it). Processes that it starts
are served too. Without the wrapper: LD_PRELOAD=…/libbaton_preload.so BATON_LOCK=mcs ./app

Examples:
  baton run --lock mcs -- ./app --threads 8
  baton run --lock cache_lock=mcs,default=glibc -- ./app     another lock for one mutex
  baton run --lock svc.cpp:66=mcs:futex,Queue::push=ticket -- ./app
  baton run --lock ./libmylock.so:mylock -- ./app            a lock of your own (baton_lock.h)
  baton run --lock ticket --wait umwait,pause -- ./app       umwait, or pause where there is none
  baton run --lock mcs --wait pause --keep-spinning -- ./app
  baton run --lock clh --stats counters.json -- make -j4
  baton run --queue ring -- ./app            the program's `Choice` queues as rings
  baton run --queue mpmc=64 -- ./app         … with 64 places, whatever the program asked for
  baton run --openmp baton --barrier two-level --lock mcs -- ./app     OpenMP, by Baton's runtime")]
pub(crate) struct Args {
    /// The lock that stands in for pthread mutexes (`baton list locks`). Or locks one by one: NAME=LOCK,…,default=LOCK, where a name
    /// is a global, a function that makes or takes the mutex, or FILE:LINE, and LOCK may be glibc or have its wait policy behind
    /// a colon. What is not named stays glibc's. With --openmp: the lock of critical sections, omp_lock_t and task queues.
    /// [default: spin-park; with --queue: glibc; with --openmp: adaptive]
    #[arg(long)]
    lock: Option<String>,
    /// How its waiters wait (`baton list waits`); several with commas: the first one that this machine has.
    /// With --openmp: WAIT for all waits, or REASON=WAIT for one reason, where a reason is lock, barrier, task, join or idle.
    #[arg(long, value_name = "WAIT[,WAIT]")]
    wait: Option<String>,
    /// The barrier that stands in for pthread barriers (`baton list barriers`); glibc's stay without it.
    /// With --openmp: the barrier of OpenMP teams [default: gomp].
    #[arg(long)]
    barrier: Option<String>,
    /// The queue of a program that leaves its queues to its user, by `Choice` (baton-sync), `baton_choice` (baton.h) or
    /// `baton::choice` (baton_queues.hpp): spsc, ring, ring-single, mpmc or segments; with a capacity behind it, as in ring=64.
    /// Mutexes stay glibc's without --lock.
    #[arg(long, value_name = "QUEUE", conflicts_with = "openmp")]
    queue: Option<String>,
    /// Serve a program of `gcc -fopenmp` or `clang -fopenmp` by this OpenMP runtime instead of its own; `baton` is the only one.
    /// Pthread mutexes and barriers stay glibc's then.
    #[arg(long, value_name = "RUNTIME", conflicts_with_all = ["keep_spinning", "stats"])]
    openmp: Option<String>,
    /// Where OpenMP's tasks wait: team (in one queue behind the team's lock) or steal (with the thread that made them) [default: steal]
    #[arg(long, value_name = "QUEUE", requires = "openmp")]
    tasks: Option<String>,
    /// Leave waiters that only spin (`--wait spin`, `pause`, …) as they are when the program makes no progress for a second.
    /// Without it they sleep from then on.
    #[arg(long)]
    keep_spinning: bool,
    /// Append each process's counters to this file, one line of JSON each.
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Say nothing at the end about how many acquisitions were served.
    #[arg(long, short)]
    quiet: bool,
    /// The program and its arguments. Options of Baton stand before it; `--` between them is allowed.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(runtime) = args.openmp {
        let Args { lock, barrier, wait, tasks, .. } = args;
        let names = Names { runtime, lock, barrier, wait, tasks };
        return openmp::run(&names, args.program);
    }
    let queue = args.queue.as_deref().map(queue).transpose()?;
    let lock = args.lock.as_deref().unwrap_or(if queue.is_some() { "default=glibc" } else { "spin-park" });
    let all = match assign::is_assignment(lock) {
        false => Some(choice::check(lock, args.wait.as_deref())?),
        true => None,
    };
    let barrier = args.barrier.as_deref().map(choice::barrier).transpose()?;
    let program = program::find(&args.program[0])?;
    let one_by_one = match &all {
        Some(_) => None,
        None => Some(OneByOne::of(lock, args.wait.as_deref(), &program)?),
    };
    let counters = Counters::at(args.stats)?;
    let library = library::find()?;

    let mut exec = Exec::new(program, args.program);
    exec.preload(&library).set("BATON_STATS", &counters.file);
    let mut choices: Vec<Choice> = all.into_iter().collect();
    if let Some(choice) = choices.first() {
        exec.set("BATON_LOCK", choice.lock.name).set("BATON_WAIT", choice.wait.to_string());
    }
    if let Some(one_by_one) = &one_by_one {
        exec.set("BATON_LOCK", &one_by_one.variable);
        choices.extend(one_by_one.choices.iter().cloned());
        if let (Some(_), Some(wait)) = (barrier, &args.wait) {
            exec.set("BATON_WAIT", wait);
        }
    }
    if args.keep_spinning {
        exec.set(choice::KEEP_SPINNING, "on");
    }
    if let Some(barrier) = barrier {
        exec.set("BATON_BARRIER", barrier.name);
        if barrier.indexed && !args.quiet {
            ui::note(format_args!(
                "a pthread barrier does not say who arrives, and `{}` must know: a shared counter numbers the arrivals, \
                 a cost that the barrier itself does not have",
                barrier.name
            ));
        }
    }
    if let Some(queue) = queue {
        exec.set("BATON_QUEUE", queue);
    }
    let crowd = choices.iter().find(|choice| choice.only_spins()).map(Choice::crowd);
    let messages = Messages::begin(|text| ui::warn(text))?;
    exec.set(messages::VARIABLE, messages.name());
    let end = child::run(exec, None, crowd, |_| {}, ui::warn)?;
    messages::repeated(&messages.end()).iter().for_each(ui::note);

    let left = stats::read(&counters.file, counters.from)?;
    if !args.quiet {
        stats::sentences(&left, end.pid).iter().for_each(ui::note);
    }
    if let Some(one_by_one) = one_by_one.filter(|_| !left.is_empty()) {
        let settled: Vec<Vec<u64>> = left.iter().map(|process| process.settled()).collect();
        let missing = named::program::unmatched(&one_by_one.names, &settled);
        if !missing.is_empty() {
            ui::warn(format_args!(
                "--lock: no mutex of the program is called {}: nothing was replaced there",
                missing.join(", ")
            ));
        }
    }
    no_queue(queue, &left);
    if !left.iter().any(|process| process.pid == end.pid) {
        ui::warn(match end.violently() {
            Some(how) => format!("the program left no counters, as it was ended by {how}"),
            None => "the program left no counters: was the library loaded? (see above)".to_owned(),
        });
    }
    Ok(end.exit())
}

/// Checks the value of `--queue`.
fn queue(text: &str) -> Result<&str, BadInput> {
    if text.trim() == "qmd" {
        return Err(BadInput::new("--queue qmd: the queue lies in a device that no machine of today has")
            .hint("`baton whatif DIR --device qmd` foretells it for a recorded program"));
    }
    Asked::parse(text).map_err(|why| BadInput::new(format!("--queue {text}: {why}")))?;
    Ok(text)
}

/// Says so if the user asked for a queue and no process made one that is as asked.
fn no_queue(queue: Option<&str>, left: &[Stats]) {
    let Some(queue) = queue.filter(|_| !left.is_empty()) else { return };
    let sum = |count: fn(&Stats) -> u64| left.iter().map(count).sum::<u64>();
    match (sum(|process| process.queues), sum(|process| process.queues_kept)) {
        (0, 0) => ui::warn(format_args!(
            "--queue {queue}: the program made no queue of kind `Choice` (baton-sync) or `baton_choice` (baton.h): \
             nothing was replaced"
        )),
        (0, kept) => ui::warn(format_args!(
            "--queue {queue}: nothing was replaced: it does not serve several senders or receivers, which the program's queues have ({kept})"
        )),
        _ => {}
    }
}

/// The file of counters: the user's file, or a temporary one.
struct Counters {
    file: PathBuf,
    /// The length of the file before the run.
    from: u64,
    _ours: Option<tempfile::TempPath>,
}

impl Counters {
    fn at(asked: Option<PathBuf>) -> anyhow::Result<Counters> {
        let Some(file) = asked else {
            let ours = tempfile::NamedTempFile::new().context("cannot make a file for the counters")?.into_temp_path();
            return Ok(Counters { file: ours.to_path_buf(), from: 0, _ours: Some(ours) });
        };
        // The path is made absolute, because the program may change its directory.
        let file = std::path::absolute(&file).context("cannot tell the current directory")?;
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(&file);
        let length = opened.and_then(|f| f.metadata()).map(|m| m.len());
        let from = length.map_err(|e| BadInput::new(format!("cannot write counters to {}: {e}", file.display())))?;
        Ok(Counters { file, from, _ours: None })
    }
}
