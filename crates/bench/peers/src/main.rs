//! Times locks, queues, barriers and waits of Baton beside those of others, by turns in random order:
//! `baton bench locks|queues|barriers|waits`.
//!
//! | file | holds |
//! | --- | --- |
//! | [`window`] | the threads of a run, and the proof that they overlapped |
//! | [`numbers`] | percentiles, Jain's index, a generator of random numbers |
//! | [`machine`] | the machine, and whether other programs used it |
//! | [`locks`], [`queues`], [`barriers`], [`waits`] | what is timed |
//! | [`foreign`] | queues of C and C++, compiled when they are timed |
//! | [`show`] | tables and JSON |

mod barriers;
mod foreign;
mod locks;
mod machine;
mod numbers;
mod queues;
mod show;
mod waits;
mod window;

use anyhow::{Context, bail, ensure};
use clap::{Parser, ValueEnum};
use foreign::Absent;
use numbers::Draw;
use show::{Raw, Report};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use window::Load;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum What {
    Locks,
    Queues,
    Barriers,
    Waits,
}

/// Times locks, queues, barriers or waits of Baton beside those of others, by turns in random order
#[derive(Parser)]
#[command(
    name = "baton bench",
    disable_help_subcommand = true,
    after_help = "\
Each run has a window in which all threads work at once. A figure of several threads is shown only if
each of its runs proves that they overlapped: all threads worked before the window and after it, and
the object went from thread to thread in it. Other figures are `-`. A star marks runs during which
other programs took more than a tenth of the CPUs.

Figures are medians of the runs. `p50` to `longest` are the times to get a lock, from the send of an
item to its receipt (the sender computes 2 us in between), of a meeting, or of a round trip.
`stopped` is what all other threads do in a second while one of them is stopped for 10 ms: one that
holds the lock, or a sender at a random moment. `CPUs then` are those that they use meanwhile. `energy` is that of the processor's packages for an
operation, where Linux shows it (RAPL).

Queues of C and C++ come from Debian's packages dpdk-dev, libdpdk-dev, libck-dev, libtbb-dev,
libconcurrentqueue-dev and libreaderwriterqueue-dev. They are compiled when they are timed; those
that cannot be are named.

Examples:
  baton bench locks                      every lock, 1, 2 and 4 threads a CPU, pinned and not
  baton bench queues --quick             at most two minutes
  baton bench locks --only baton,std --each 2 --json > locks.json
  baton bench waits                      a round trip between two threads, by wait policy"
)]
struct Args {
    /// What to time.
    what: What,
    /// Threads a CPU, with commas. Left out: 1, 2 and 4, and one thread alone.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    each: Vec<u32>,
    /// Only what has one of these words in its name, with commas.
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Threads bound to CPUs: yes, no, or both by turns.
    #[arg(long, value_name = "WHICH", default_value = "both")]
    pinned: Pinned,
    /// Runs of each point.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Length of a run's window, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    window: u64,
    /// At most two minutes: shorter windows, and fewer runs where they would not fit.
    #[arg(long, conflicts_with_all = ["runs", "window"])]
    quick: bool,
    /// Seed of the order of the runs.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Print JSON, with every run.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Pinned {
    Yes,
    No,
    Both,
}

/// What is timed under a name.
struct Subject {
    name: String,
    run: Box<dyn Fn(&Load) -> window::Outcome>,
}

impl Subject {
    fn new(name: impl Into<String>, run: impl Fn(&Load) -> window::Outcome + 'static) -> Subject {
        Subject { name: name.into(), run: Box::new(run) }
    }
}

/// A subject with a number of threads.
struct Point {
    subject: usize,
    threads: usize,
    pinned: bool,
}

/// How long a run takes besides its two windows.
const OVERHEAD: Duration = Duration::from_millis(70);
/// The time of a program with `--quick`, unless the first run takes longer.
const MOST: Duration = Duration::from_secs(115);
/// The time that is thought to be enough for all runs with `--quick`.
const QUICK: Duration = Duration::from_secs(100);

fn points(args: &Args, subjects: &[Subject], cpus: usize) -> Vec<Point> {
    let each = if args.each.is_empty() { vec![1, 2, 4] } else { args.each.clone() };
    let mut threads: Vec<usize> = match args.what {
        What::Waits => vec![2],
        _ => each.iter().map(|each| *each as usize * cpus).collect(),
    };
    if args.what == What::Locks && args.each.is_empty() {
        threads.insert(0, 1);
    }
    // A queue and a barrier need two threads.
    if args.what != What::Locks {
        threads.iter_mut().for_each(|threads| *threads = (*threads).max(2));
    }
    threads.dedup();
    let pinned: &[bool] = match args.pinned {
        Pinned::Yes => &[true],
        Pinned::No => &[false],
        Pinned::Both => &[true, false],
    };
    let mut points = Vec::new();
    for &pinned in pinned {
        for &threads in &threads {
            points.extend((0..subjects.len()).map(|subject| Point { subject, threads, pinned }));
        }
    }
    points
}

fn main() -> ExitCode {
    match bench(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("baton bench: {why:#}");
            ExitCode::from(2)
        }
    }
}

fn subjects(args: &Args) -> anyhow::Result<(Vec<Subject>, Vec<Absent>)> {
    let mut subjects = match args.what {
        What::Locks => locks::subjects(),
        What::Queues => queues::subjects(),
        What::Barriers => barriers::subjects(),
        What::Waits => waits::subjects(),
    };
    let mut names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    if args.what == What::Queues {
        names.extend(foreign::names().map(str::to_owned));
    }
    for word in &args.only {
        if !names.iter().any(|name| name.contains(word.as_str())) {
            bail!("--only {word}: no name has this word; there are {}", names.join(", "));
        }
    }
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|word| name.contains(word.as_str()));
    subjects.retain(|subject| wanted(&subject.name));
    let mut absent = Vec::new();
    if args.what == What::Queues {
        let (built, others) = foreign::subjects(queues::CAPACITY, &wanted)?;
        subjects.extend(built);
        absent = others;
    }
    Ok((subjects, absent))
}

/// The number of runs of each of `points` points, and the length of a window.
fn extent(args: &Args, points: usize) -> (u32, Duration) {
    if !args.quick {
        return (args.runs, Duration::from_millis(args.window));
    }
    let (mut runs, mut window) = (3, Duration::from_millis(40));
    let fits = |runs: u32, window: Duration| (2 * window + OVERHEAD) * runs * points as u32 <= QUICK;
    while runs > 1 && !fits(runs, window) {
        runs -= 1;
    }
    while window > Duration::from_millis(2) && !fits(runs, window) {
        window -= Duration::from_millis(2);
    }
    (runs, window)
}

fn bench(args: &Args) -> anyhow::Result<()> {
    let cpus = baton_machine::discover::allowed_cpus();
    ensure!(!cpus.is_empty(), "the kernel names no CPU that this process may use");
    let (subjects, absent) = subjects(args)?;
    let points = points(args, &subjects, cpus.len());
    let (runs, window) = extent(args, points.len());
    let shows = std::io::stderr().is_terminal();
    let (mut draw, mut raw) = (Draw(args.seed), Vec::new());
    let begin = Instant::now();
    for run in 0..runs {
        // A loaded machine takes longer than was thought.
        if args.quick && run > 0 && begin.elapsed() + begin.elapsed() / run > MOST {
            break;
        }
        let mut order: Vec<usize> = (0..points.len()).collect();
        draw.shuffle(&mut order);
        for (done, at) in order.into_iter().enumerate() {
            let Point { subject, threads, pinned } = points[at];
            if shows {
                eprint!("\rrun {} of {runs}: {} of {} ", run + 1, done + 1, points.len());
            }
            let busy = machine::Busy::now().context("cannot read /proc/stat")?;
            let load = Load { threads, window, pins: if pinned { cpus.clone() } else { Vec::new() }, stops: None };
            let outcome = (subjects[subject].run)(&load);
            let foreign = busy.foreign(&machine::Busy::now()?);
            raw.push(Raw { name: subjects[subject].name.clone(), threads, pinned, run, foreign, outcome });
        }
    }
    if shows {
        eprintln!();
    }
    let report = Report::new(args.what, window, begin.elapsed(), &cpus, args.seed, (raw, absent));
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?)
    } else {
        print!("{}", report.text())
    }
    Ok(())
}
