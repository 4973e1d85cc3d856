//! `baton try`: is there a better lock for this program? Records the program, predicts, measures
//! the most promising locks, and gives one answer.
//!
//! | file | holds |
//! | --- | --- |
//! | [`promising`] | which locks to measure, by prediction |
//! | [`contest`] | alternating runs, until the contest is decided |
//! | [`significance`] | whether paired runs differ |
//! | [`mod@subject`] | the recorded program that is tried |
//! | [`turns`] | a contest within a budget, with a bar |
//! | [`against`] | a program against an earlier one |
//! | [`answer`] | the answer as text and JSON |
//! | [`server`] | a server that need not end: turns of a fixed length, and points per second |

mod against;
mod answer;
mod contest;
mod promising;
mod server;
mod significance;
mod subject;
mod turns;

use super::measure::runs::{Candidate, Turns};
use super::{measure, profile, report};
use crate::chips::ChipArgs;
use crate::error::BadInput;
use crate::{ui, values};
use answer::{Answer, Measured};
use anyhow::Context;
use baton_host::launch::library;
use baton_host::launch::program::{self, Program};
use baton_host::launch::signals::{PassedOn, asked_to_end};
use baton_report::Profile;
use baton_report::model::WORTH_A_LOCK;
use clap::Parser;
use contest::Contest;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use subject::{Interrupted, Subject, still_wanted};
use turns::hold;

/// What to try, and for how long.
#[derive(clap::Args)]
#[command(after_help = "\
Records the program (or takes an existing profile), predicts what each lock would do, then runs
the most promising ones by turns with the recorded one until the difference is beyond doubt or the
budget is spent. Each run must give the exit code and the standard output of the first; of a
program whose output differs from run to run by itself, the exit code. If locks are hardly ever free
while threads wait for them, it says that no lock will help and measures nothing.

Exit codes: 0 an answer, 1 failed, 2 bad input, 3 cannot tell within the budget,
4 slower than BASE; 130 interrupted.

Examples:
  baton try ./app --threads 8
  baton try --budget 5m -o profile -- ./app       keep the profile, to look at
  baton try --lock spin-park,adaptive profile     of a program that was recorded
  baton try --lock cache_lock=mcs,default=glibc profile     another lock for one of its mutexes
  baton try --json ./app | jq -r .run             the command that makes it true
  baton try --against main/profile ./app          a gate: is it slower than the one recorded there?

A server need not end: with --for it runs for so long in each turn, by turns under the locks, while
a load goes on, and progress points per second are compared. Nothing is recorded or predicted then.

  baton try --for 5s --progress recv --load './client 4' -- ./server
  baton try --for 5s --progress sendmsg --ready 11211 -- memcached -u nobody     under your own load
  baton try --for 10s --progress lock:queue --lock mcs,adaptive -- ./server")]
pub(crate) struct Args {
    /// Where to leave the profile; without it none is left.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// How long to measure, at most; recording and prediction come on top. [default: 1m; with --for: 12 turns of each lock]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    budget: Option<Duration>,
    /// Locks to choose from, with commas. Left out: every lock whose waiters sleep. Or locks one by one, which are measured in any
    /// case: NAME=LOCK,…,default=LOCK, with names of the report, as `whatif` takes them. What is not named stays glibc's.
    #[arg(long, value_name = "LOCKS")]
    lock: Vec<String>,
    /// How many of the most promising ones are measured; with --for, which predicts nothing: how many of spin-park, adaptive,
    /// spin-park-once, clh-barging and futex.
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=20))]
    most: u32,
    #[command(flatten)]
    chip: ChipArgs,
    /// Measure the program against the one that was recorded in this profile, each with its own lock, and no other lock.
    #[arg(long, value_name = "BASE", conflicts_with_all = ["lock", "most"])]
    against: Option<PathBuf>,
    /// With --against: so many percent slower are let pass.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, requires = "against")]
    tolerance: f64,
    #[command(flatten)]
    server: server::ServerArgs,
    /// As JSON (docs/schema/try.schema.json; with --for: docs/schema/try-server.schema.json).
    #[arg(long)]
    json: bool,
    /// A profile, or the program and its arguments. Options of Baton stand before it; `--` between them is allowed.
    #[arg(trailing_var_arg = true, value_name = "DIR|PROGRAM")]
    what: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    // From here on Ctrl-C is noted instead of ending the process at once, so that temporary
    // directories are removed.
    let _noted = PassedOn::begin();
    match attempt(&args) {
        Err(error) if asked_to_end() || error.is::<Interrupted>() => {
            ui::warn(Interrupted);
            Ok(ExitCode::from(130))
        }
        answered => answered,
    }
}

/// How long programs are measured if the user does not say it.
const BUDGET: Duration = Duration::from_secs(60);

fn attempt(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(window) = args.server.window() {
        let Args { what, lock: locks, json, budget, .. } = args;
        let asked = server::Asked { what, locks, most: args.most as usize, budget: *budget, json: *json };
        return server::attempt(&args.server, window, &asked);
    }
    let budget = args.budget.unwrap_or(BUDGET);
    // Wrong names are reported before anything runs.
    let chip = args.chip.clone().for_replay().open()?;
    let choices = promising::choices(&args.lock, &chip)?;
    let base = args.against.as_deref().map(against::Base::open).transpose()?;
    let subject = subject(args)?;
    let answer = match base {
        Some(base) => base.gate(&subject, budget, args.tolerance / 100.0)?,
        None => a_lock(args, budget, &subject, &chip, choices)?,
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{}", answer.text());
    }
    Ok(ExitCode::from(answer.exit_code))
}

/// Reads the profile, or records one.
fn subject(args: &Args) -> anyhow::Result<Subject> {
    let Some(first) = args.what.first() else {
        return Err(BadInput::new("nothing to try: name a profile or a program, as in `baton try ./app`").into());
    };
    let place = Path::new(first);
    if args.what.len() == 1 && place.is_dir() {
        let profile = report::open(place)?;
        let meta = measure::described(&profile.trace, place)?;
        let directory = std::path::absolute(place).context("cannot tell the current directory")?;
        return Ok(Subject { profile, meta, place: place.display().to_string(), directory, _temporary: None });
    }
    if program::find(first).is_err() && !place.exists() {
        let name = place.display();
        return Err(BadInput::new(format!("`{name}` is no profile and no program"))
            .hint("`baton profile -o DIR -- PROGRAM` leaves a profile")
            .into());
    }
    record(args)
}

fn record(args: &Args) -> anyhow::Result<Subject> {
    let temporary = match args.output {
        None => {
            Some(tempfile::Builder::new().prefix("baton-try").tempdir().context("cannot make a temporary directory")?)
        }
        Some(_) => None,
    };
    let output = match (&args.output, &temporary) {
        (Some(output), _) => output.clone(),
        (None, Some(temporary)) => temporary.path().join("profile"),
        (None, None) => unreachable!("one of the two was made above"),
    };
    let mut how = Recording::parse_from(["baton", "x"]).args;
    (how.output, how.program) = (output.clone(), args.what.clone());
    ui::note("recording …");
    let Ok(recorded) = profile::record(&how, true)? else {
        anyhow::bail!("there is nothing to try: the program could not be recorded");
    };
    still_wanted()?;
    let end = recorded.end;
    if end.code() != 0 {
        ui::warn(format_args!("the program ended with exit code {}: its runs are compared all the same", end.code()));
    }
    profile::leave_page(recorded.folder.path(), &output, &recorded.meta)?;
    let place = if temporary.is_some() { "DIR".to_owned() } else { output.display().to_string() };
    let directory = recorded.folder.finish()?;
    let profile = Profile::open_as(&directory, &place)?;
    Ok(Subject { profile, meta: recorded.meta, place, directory, _temporary: temporary })
}

/// The options of `baton profile`, with their defaults.
#[derive(clap::Parser)]
struct Recording {
    #[command(flatten)]
    args: profile::Args,
}

/// Finds the best lock, if any is better.
fn a_lock(
    args: &Args,
    budget: Duration,
    subject: &Subject,
    chip: &baton_chip::Chip,
    asked: promising::Asked,
) -> anyhow::Result<Answer> {
    let report = &subject.profile.report;
    // A lock that the user names is measured, whatever it can win.
    if report.verdict.most_by_lock < WORTH_A_LOCK && asked.one_by_one.is_empty() {
        // If other programs took the CPUs, threads may have met less often than usual. Alternating
        // runs affect all locks alike.
        if report.limits.disturbed.is_none() || report.totals.contended == 0 {
            return Ok(Answer::no_lock_helps(subject));
        }
        ui::note("other programs disturbed the recording, so that it decides nothing: locks are measured");
    }
    let ranked = promising::promising(&subject.directory, &subject.profile, chip, asked, args.most as usize)?;
    let mut candidates = vec![measure::recorded(&subject.meta)?];
    candidates.extend(ranked.iter().map(|one| one.candidate.clone()));
    let (program, command) = measure::again(&subject.meta)?;
    let held = by_turns(&program, &command, &candidates, budget)?;
    let measured = Measured::of(&candidates, &ranked, &held);
    Ok(match held.winner() {
        Some((winner, faster)) => Answer::a_lock(subject, &candidates[winner], faster, measured),
        None => Answer::no_winner(subject, measured, &held, budget),
    })
}

/// Runs the candidates alternately, with a bar that shows how much of the budget is used up.
fn by_turns(
    program: &Program,
    command: &[OsString],
    candidates: &[Candidate],
    budget: Duration,
) -> anyhow::Result<Contest> {
    let names: Vec<String> = candidates.iter().map(|c| format!("{}/{}", c.lock(), c.wait())).collect();
    ui::note(format_args!("measuring by turns: {}", names.join(", ")));
    let library = library::find()?;
    let mut turns = Turns::new(program, command, &library);
    hold(candidates.len() - 1, budget, |entrant, limit| turns.run(&candidates[entrant], limit))
}
