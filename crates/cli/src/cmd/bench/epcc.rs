//! `baton bench epcc`: the options, and alternating runs, so that changes on the machine affect all
//! runtimes alike.

use super::program::{Bench, Extent, GROUPS};
use super::runtime::{BatonSettings, Runtime};
use super::summary::{Column, tables};
use crate::error::BadInput;
use crate::values;
use anyhow::Context;
use baton_machine::discover::processor::Processor;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Options of `baton bench epcc`.
#[derive(clap::Args)]
#[command(after_help = "\
A C program is compiled once and run by turns under each runtime. Each measurement times a construct
around a delay, and the delay alone; the difference is the overhead. A cell is the median over the
runs' medians, with its 95% interval, or with fewer than six runs the least and the greatest of
them. The first runtime is what the others are compared with. The group `manners` has no reference:
CPU time of an idle worker, an empty region beside a busy process, teams that change their size.

Examples:
  baton bench epcc                                   libgomp and Baton's, 1, 2 and 4 threads a CPU
  baton bench epcc --runtime libgomp,baton,libomp    LLVM's too
  baton bench epcc --groups sync --threads 2 --runs 9 --json > sync.json
  baton bench epcc --barrier gomp,two-level --wait futex,spin-park")]
pub(super) struct Args {
    /// Runtimes, with commas: libgomp (the installed one), baton, libomp.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "libgomp,baton")]
    runtime: Vec<String>,
    /// Groups of measurements, with commas: sync, sched, chunk, array, task, manners. Left out: all.
    #[arg(long, value_name = "GROUP,…", value_delimiter = ',')]
    groups: Vec<String>,
    /// Threads, with commas. Left out: 1, 2 and 4 for each CPU that this process may use.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Vec<u32>,
    /// Locks of Baton's runtime, with commas: each combination of lock, barrier, wait and queue of tasks is a runtime of its own.
    #[arg(long, value_name = "LOCK,…", value_delimiter = ',')]
    lock: Vec<String>,
    /// Barriers of Baton's runtime, with commas.
    #[arg(long, value_name = "BARRIER,…", value_delimiter = ',')]
    barrier: Vec<String>,
    /// Wait policies of Baton's runtime, with commas.
    #[arg(long, value_name = "WAIT,…", value_delimiter = ',')]
    wait: Vec<String>,
    /// Queues of tasks of Baton's runtime, with commas: team, steal.
    #[arg(long, value_name = "QUEUE,…", value_delimiter = ',')]
    tasks: Vec<String>,
    /// Runs of each runtime with each number of threads.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Repetitions of a measurement within a run.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    outer: u32,
    /// Least duration of a repetition, in microseconds.
    #[arg(long, value_name = "US", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    target: u32,
    /// Nanoseconds of the delay in a construct; an iteration of a scheduled loop takes 15 of them.
    #[arg(long, value_name = "NS", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    delay: u32,
    /// A run that takes longer is ended, and is an error.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = values::duration)]
    limit: Duration,
    /// The file of LLVM's library. Left out: the installed one.
    #[arg(long, value_name = "FILE")]
    libomp: Option<PathBuf>,
    /// The C compiler.
    #[arg(long, value_name = "CC", default_value = "cc")]
    cc: String,
    /// As JSON, with every overhead of every run.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Whole<'a> {
    processor: String,
    cpus: usize,
    delay_ns: u32,
    runs: u32,
    outer: u32,
    target_ns: u128,
    columns: &'a [Column],
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for group in &args.groups {
        if !GROUPS.contains(&group.as_str()) {
            return Err(BadInput::unknown("group", group, GROUPS).into());
        }
    }
    let groups =
        if args.groups.is_empty() { GROUPS.iter().map(ToString::to_string).collect() } else { args.groups.clone() };
    let cpus = std::thread::available_parallelism().context("cannot tell how many CPUs there are")?.get();
    let threads =
        if args.threads.is_empty() { [1, 2, 4].map(|each| each * cpus as u32).to_vec() } else { args.threads.clone() };
    let scratch = tempfile::tempdir().context("cannot make a folder for the program")?;
    let settings = BatonSettings { locks: &args.lock, barriers: &args.barrier, waits: &args.wait, tasks: &args.tasks };
    let runtimes = Runtime::all(&args.runtime, &settings, args.libomp.as_deref(), scratch.path())?;
    let bench = Bench::build(&args.cc, scratch.path())?;
    let steps = bench.calibrate(args.delay)?;
    let target = Duration::from_micros(args.target.into());
    let extent = Extent { groups: &groups, outer: args.outer, target, steps, limit: args.limit };

    let each = |&threads: &u32| runtimes.iter().map(move |runtime| Column::new(&runtime.name, threads));
    let mut columns: Vec<Column> = threads.iter().flat_map(each).collect();
    let bar = indicatif::ProgressBar::new(u64::from(args.runs) * columns.len() as u64);
    for _ in 0..args.runs {
        for (at, column) in columns.iter_mut().enumerate() {
            let runtime = &runtimes[at % runtimes.len()];
            column.enter(bench.run(runtime, column.threads, &extent)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if args.json {
        let whole = Whole {
            processor: Processor::discover().model,
            cpus,
            delay_ns: args.delay,
            runs: args.runs,
            outer: args.outer,
            target_ns: target.as_nanos(),
            columns: &columns,
        };
        println!("{}", serde_json::to_string_pretty(&whole)?);
    } else {
        print!("{}", tables(&columns));
    }
    Ok(ExitCode::SUCCESS)
}
