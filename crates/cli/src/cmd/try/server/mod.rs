//! `baton try --for`: a server that need not end, measured by how often it passes a progress point.
//!
//! | file | holds |
//! | --- | --- |
//! | [`point`] | a progress point as the preload library takes it |
//! | [`ready`] | how to know that the server serves |
//! | [`serving`] | a server and its load, from their start to their end |
//! | [`turn`] | one turn: a server under a lock, for a while |
//! | [`rates`] | the answer in points per second, as text and JSON |

mod point;
mod rates;
mod ready;
mod serving;
mod turn;

use super::turns::hold;
use crate::cmd::measure::runs::Candidate;
use crate::cmd::named::changes;
use crate::cmd::named::program::OneByOne;
use crate::error::BadInput;
use crate::{ui, values};
use baton_host::launch::program::{self, Program};
use baton_host::launch::{choice, family, library};
use baton_sync::lock::{LOCKS, Posix};
use baton_trace::point::Progress;
use rates::Rates;
use ready::Ready;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use turn::{How, Turns};

/// The locks that are tried where the user names none: their waiters sleep, and a running thread
/// may overtake a sleeping one, which holds up best with more threads than CPUs.
const DEFAULT_LOCKS: [&str; 5] = ["spin-park", "adaptive", "spin-park-once", "clh-barging", "futex"];
/// The rounds that the default budget is for.
const ROUNDS: u32 = 12;
/// A guess at the time that a turn takes to start and to end the server and its load.
const AROUND: Duration = Duration::from_secs(1);

/// Options for a server.
#[derive(clap::Args)]
pub(super) struct ServerArgs {
    /// The program is a server: measure it for this long in each turn, then end it (SIGTERM, and SIGKILL 5 s later). Its
    /// throughput is told, in progress points per second.
    #[arg(id = "for", long = "for", value_name = "TIME", value_parser = values::duration, requires = "progress",
        conflicts_with_all = ["against", "output"])]
    window: Option<Duration>,
    /// What the server does once for each piece of its work: a system call that succeeds (recv, read, accept, epoll_wait, write,
    /// …), lock:NAME, cond:NAME or mark:NAME (baton.h), each with @FUNCTION or @FILE:LINE if only calls from there count; or
    /// func:SYMBOL, entries of a function.
    #[arg(long, value_name = "POINT", requires = "for")]
    progress: Option<Progress>,
    /// The server's load: a command for the shell, started in each turn when the server listens, and ended with the turn. Without
    /// it you keep a load of your own going.
    #[arg(long, value_name = "COMMAND", requires = "for")]
    load: Option<String>,
    /// The server serves when it listens at this PORT, when it has printed this TEXT, or after this TIME (2s). Without it: when it
    /// listens anywhere.
    #[arg(long, value_name = "PORT|TEXT|TIME", requires = "for")]
    ready: Option<Ready>,
    /// How long each turn runs before points count.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration, requires = "for")]
    warmup: Duration,
}

impl ServerArgs {
    /// The length of a turn's window; `None`: the program is no server.
    pub(super) fn window(&self) -> Option<Duration> {
        self.window
    }
}

/// The options of `try` that are not for servers alone.
pub(super) struct Asked<'a> {
    pub(super) what: &'a [OsString],
    pub(super) locks: &'a [String],
    pub(super) most: usize,
    pub(super) budget: Option<Duration>,
    pub(super) json: bool,
}

/// Runs the server by turns under the locks, and tells which passes the point most often.
pub(super) fn attempt(args: &ServerArgs, window: Duration, asked: &Asked<'_>) -> anyhow::Result<ExitCode> {
    let program = server(asked.what)?;
    let candidates = candidates(asked, &program)?;
    let point = point::resolve(args.progress.as_ref(), &program)?;
    let how = How {
        window,
        warmup: args.warmup,
        load: args.load.clone(),
        ready: args.ready.clone().unwrap_or_default(),
        point,
    };
    let library = library::find()?;
    family::adopt_orphans();
    let one = window + args.warmup + AROUND;
    let budget = asked.budget.unwrap_or(one * candidates.len() as u32 * ROUNDS);
    announce(&candidates, budget);
    let mut turns = Turns::new(&program, asked.what, &library, how)?;
    let held = hold(candidates.len() - 1, budget, |entrant, _| turns.run(&candidates[entrant]))?;
    let rates = Rates::new(&turns, asked.what, &candidates, &held, budget);
    if asked.json {
        println!("{}", serde_json::to_string_pretty(&rates)?);
    } else {
        print!("{}", rates.text());
    }
    Ok(ExitCode::from(rates.exit_code))
}

/// The program that is the server.
fn server(what: &[OsString]) -> anyhow::Result<Program> {
    let Some(first) = what.first() else {
        let message = "nothing to try: name the server, as in `baton try --for 5s --progress recv -- ./server`";
        return Err(BadInput::new(message).into());
    };
    if Path::new(first).is_dir() {
        let message = format!("`{}` is a profile; --for runs a server anew", Path::new(first).display());
        return Err(BadInput::new(message).hint("name the server and its arguments").into());
    }
    Ok(program::find(first)?)
}

/// glibc's mutexes, which the others are compared with, and the locks to try.
fn candidates(asked: &Asked<'_>, program: &Program) -> anyhow::Result<Vec<Candidate>> {
    let (names, one_by_one) = changes::sorted(asked.locks);
    let mut candidates = vec![Candidate::bare()];
    for name in named(names, one_by_one.is_empty(), asked.most) {
        let (lock, wait) = name.split_once(':').map_or((name.as_str(), None), |(lock, wait)| (lock, Some(wait)));
        candidates.push(Candidate::replaced(choice::check(lock, wait)?));
    }
    for text in &one_by_one {
        candidates.push(Candidate::one_by_one(OneByOne::of(text, None, program)?));
    }
    Ok(candidates)
}

/// The locks for all mutexes: those that the user names (`all`: each one whose waiters sleep), or
/// the first `most` of the default ones.
fn named(names: Vec<String>, nothing_else: bool, most: usize) -> Vec<String> {
    if names.iter().any(|name| name == "all") {
        let sleeps = |lock: &&baton_sync::lock::LockInfo| {
            matches!(lock.posix, Posix::Yes) && lock.wait_of_a_mutex(None).is_ok_and(|wait| wait.parks())
        };
        return LOCKS.iter().filter(sleeps).map(|lock| lock.name.to_owned()).collect();
    }
    if names.is_empty() && nothing_else {
        return DEFAULT_LOCKS.iter().take(most).map(|name| (*name).to_owned()).collect();
    }
    names
}

fn announce(candidates: &[Candidate], budget: Duration) {
    let names: Vec<String> = candidates.iter().map(|c| format!("{}/{}", c.lock(), c.wait())).collect();
    ui::note(format_args!("the server runs by turns, for {budget:?} at most: {}", names.join(", ")));
}
