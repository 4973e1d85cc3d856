//! Applications beside the one that the command line describes: `--app`.
//!
//! An application is described as the command itself would describe it, with commas: `--app
//! lock,threads=4,lock=ticket,runs=background` is `--workload lock --threads 4 --lock ticket`,
//! again and again. It consists of the same workloads. Each run has data of its own, and its result
//! is checked like that of the main application. `copies=N` makes N applications of one text, and
//! `start=` and `arrive=` say when each begins.

use super::args::Args;
use super::places;
use super::probe::Recorder;
use super::workload::{self, Chosen};
use crate::error::BadInput;
use anyhow::Context;
use baton_chip::act::{self, Nice};
use baton_chip::{Application, Chip, Runs, Simulation, Spawn, arrivals};
use baton_units::{CpuId, Cycles};
use clap::FromArgMatches;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// Options that an application cannot have, because they concern the whole run.
const WHOLE_RUNS: [&str; 20] = [
    "chip", "cores", "set", "window", "app", "off", "on", "pin", "cycles", "cpus", "seed", "no-trace", "sweep",
    "least", "most", "figure", "pairs", "energy", "plot", "json",
];

/// An application that the user asked for.
pub(super) struct App {
    /// The text on the command line.
    pub(super) name: String,
    pub(super) args: Args,
    runs: Runs,
    /// The cycle at which the application begins.
    start: Cycles,
    /// The CPUs of the application's threads, in order; empty if none were given.
    pub(super) cpus: Vec<u32>,
    nice: Vec<Nice>,
    pub(super) chosen: Chosen,
}

/// The options within an `--app`, with their values.
pub(super) fn words(text: &str) -> Vec<(String, String)> {
    let words = text.split(',').filter_map(|word| word.trim().split_once('='));
    words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The applications of all `--app`. An impossible one is refused before anything runs.
pub(super) fn choose(args: &Args, chip: &Chip) -> anyhow::Result<Vec<App>> {
    let mut all = Vec::new();
    for (number, text) in (0..).zip(&args.app) {
        let said = || format!("--app {text}");
        let wanted = Wanted::parse(text).with_context(said)?;
        for (copy, start) in (1..).zip(wanted.starts(args.seed, number)) {
            all.push(wanted.app(copy, start, chip).with_context(said)?);
        }
    }
    Ok(all)
}

/// The content of an `--app`: one application, or several that are alike.
struct Wanted {
    name: Option<String>,
    args: Args,
    runs: Runs,
    copies: u32,
    /// The earliest cycle at which an application begins.
    start: u64,
    /// The mean of the cycles from the start of one copy to that of the next, which the seed draws.
    arrive: Option<u64>,
}

impl Wanted {
    fn parse(text: &str) -> anyhow::Result<Wanted> {
        let (mut name, mut runs, mut options) = (None, Runs::Times(1), Vec::new());
        let (mut copies, mut start, mut arrive) = (1, 0, None);
        for (turn, word) in text.split(',').map(str::trim).enumerate() {
            match word.split_once('=') {
                None if turn == 0 => options.push(format!("--workload={word}")),
                None => return Err(BadInput::new(format!("`{word}`: expected NAME=VALUE")).into()),
                Some(("name", value)) => name = Some(value.to_owned()),
                Some(("runs", value)) => runs = parse_runs(value)?,
                Some(("copies", value)) => copies = parse_number("copies", value, 1..=MOST_COPIES)? as u32,
                Some(("start", value)) => start = parse_number("start", value, 0..=LATEST)?,
                Some(("arrive", value)) => arrive = Some(parse_number("arrive", value, 1..=LATEST)?),
                Some((key, _)) if WHOLE_RUNS.contains(&key) => {
                    return Err(BadInput::new(format!("`{key}` is the whole run's; give it as --{key}")).into());
                }
                // The values of these options are lists too: `+` stands for the comma in them.
                Some((key @ ("at" | "nice" | "clusters"), value)) => {
                    options.push(format!("--{key}={}", value.replace('+', ",")))
                }
                Some(_) => options.push(format!("--{word}")),
            }
        }
        let command = <Args as clap::Args>::augment_args(clap::Command::new("--app").no_binary_name(true));
        let parsed = command.disable_help_flag(true).try_get_matches_from(options);
        let args = parsed.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|error| {
            let said = error.to_string();
            let said = said.lines().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
            BadInput::new(said.trim_start_matches("error: "))
        })?;
        Ok(Wanted { name, args, runs, copies, start, arrive })
    }

    /// The cycles at which the copies begin; `number` is the number of the `--app`.
    fn starts(&self, seed: u64, number: u32) -> Vec<Cycles> {
        let later = match self.arrive {
            Some(mean) => arrivals(seed, number, Cycles(mean), self.copies),
            None => vec![Cycles(0); self.copies as usize],
        };
        later.into_iter().map(|after| Cycles(self.start.saturating_add(after.0))).collect()
    }

    /// One of the copies, which are numbered from 1.
    fn app(&self, copy: u32, start: Cycles, chip: &Chip) -> anyhow::Result<App> {
        let args = self.args.clone();
        let mut chosen = workload::choose(&args, chip)?;
        // The account of locks is the main application's, because both number their locks from 0.
        chosen.recorder = Recorder::quiet();
        let threads = chosen.threads();
        let name = self.name.clone().unwrap_or_else(|| args.workload.text().to_owned());
        Ok(App {
            name: if self.copies == 1 { name } else { format!("{name}#{copy}") },
            runs: self.runs,
            start,
            cpus: places::cpus(&args, threads, chip)?,
            nice: places::nice(&args, threads)?,
            args,
            chosen,
        })
    }
}

/// The most copies of one `--app`; below, the latest cycle at which an application may begin: some
/// hours on any chip.
const MOST_COPIES: u64 = 1024;
const LATEST: u64 = 1 << 46;

fn parse_number(key: &str, text: &str, range: RangeInclusive<u64>) -> Result<u64, BadInput> {
    let (least, most) = (range.start(), range.end());
    let expected = || BadInput::new(format!("`{key}={text}`: expected a whole number from {least} to {most}"));
    text.replace('_', "").parse().ok().filter(|number| range.contains(number)).ok_or_else(expected)
}

fn parse_runs(text: &str) -> Result<Runs, BadInput> {
    let times = text.parse().ok().filter(|&times| times >= 1).map(Runs::Times);
    let together = text.strip_prefix("together:").and_then(|n| n.parse().ok()).filter(|&n| n >= 1).map(Runs::Together);
    let runs = if text == "background" { Some(Runs::Background) } else { times.or(together) };
    runs.ok_or_else(|| {
        BadInput::new(format!("`runs={text}`: expected a number from 1, `together:` and one, or background"))
    })
}

/// The error of the first run of an application that had an error.
pub(super) type Error = Rc<RefCell<Option<String>>>;

/// Adds an application to the simulation.
pub(super) fn start(simulation: &mut Simulation, app: App) -> anyhow::Result<Error> {
    let error = Error::default();
    let result = error.clone();
    let App { name, runs, start, cpus, nice, chosen, .. } = app;
    let spawn = {
        let name = name.clone();
        move |thread: usize| placed(format!("{name} {thread}"), thread, &cpus, &nice)
    };
    let main = spawn(0);
    let body = move || {
        let fail = |what: String| _ = error.borrow_mut().get_or_insert(what);
        let team = match act::outside(|| chosen.team()) {
            Ok(team) => team,
            Err(error) => return fail(format!("{error:#}")),
        };
        let mut bodies = team.bodies.into_iter();
        let Some(first) = bodies.next() else { return };
        let others: Vec<_> = bodies.enumerate().map(|(turn, body)| act::spawn(spawn(turn + 1), body)).collect();
        first();
        others.into_iter().for_each(act::join);
        if let Err(error) = act::outside(team.verify) {
            fail(error);
        }
    };
    simulation.application(Application { name, runs, start, main }, body).map_err(BadInput::new)?;
    Ok(result)
}

/// A thread with its place. An empty name stands for the simulation's own name.
pub(super) fn placed(name: String, thread: usize, cpus: &[u32], nice: &[Nice]) -> Spawn {
    let cpus = cpus.get(thread).map(|&cpu| vec![CpuId(cpu)]).unwrap_or_default();
    Spawn { name, cpus, nice: nice.get(thread).copied(), ..Spawn::default() }
}
