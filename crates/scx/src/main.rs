//! `baton-scx`: loads Baton's scheduler into the kernel, and tells it which thread belongs where.
//!
//! `baton sched --backend scx` starts it and writes lines to its standard input; [`protocol`] has
//! them. When standard input ends, so does the scheduler: threads are the kernel's own again.
//!
//! | file | holds |
//! | --- | --- |
//! | [`protocol`] | the lines that come and go |
//! | [`tables`] | queues and the order in which CPUs look at them, from the machine's caches and kinds of cores |
//! | [`kernel`] | the scheduler in the kernel: loading, classes, the sign of life, what it counts |
//! | [`members`] | threads as members of the class `SCHED_EXT`, and their way back |
//! | [`serve`] | lines in, answers out, until the end |

mod kernel;
mod members;
mod protocol;
mod serve;
mod tables;

use baton_machine::discover::{self, Topology, cpulist};
use clap::Parser;
use std::process::ExitCode;
use std::time::Duration;

/// Loads Baton's sched_ext scheduler until standard input ends, and places threads by the lines that
/// it reads there. `baton sched --backend scx` starts this program; by hand it is of use for a look.
#[derive(Parser)]
#[command(name = "baton-scx")]
struct Args {
    /// The fast CPUs, such as 0-3,8.
    #[arg(long, value_name = "LIST", required_unless_present = "check")]
    fast: Option<String>,
    /// Schedule all threads of the machine, not only those that are placed.
    #[arg(long)]
    all: bool,
    /// How long a thread runs while others wait, at nice 0.
    #[arg(long, value_name = "MS", default_value = "5", value_parser = clap::value_parser!(u64).range(1..=100))]
    slice_ms: u64,
    /// After how long without a line all threads may run anywhere.
    #[arg(long, value_name = "MS", default_value = "200", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    stale_ms: u64,
    /// Use the names that Linux 6.12 had for functions, where the kernel has both.
    #[arg(long, hide = true)]
    old_names: bool,
    /// Say whether a scheduler can be loaded here, and load none.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("baton-scx: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    kernel::check()?;
    if args.check {
        println!("a scheduler can be loaded");
        return Ok(ExitCode::SUCCESS);
    }
    let text = args.fast.as_deref().unwrap_or_default();
    let fast = cpulist::parse(text).filter(|list| !list.is_empty());
    let fast = fast.ok_or_else(|| anyhow::anyhow!("--fast {text}: expected a list of CPUs, such as 0-3,8"))?;
    let topology = Topology::discover();
    let caches: Vec<(u32, u32)> =
        topology.cpus.iter().map(|cpu| (cpu.id, cpu.cluster.first().copied().unwrap_or(cpu.id))).collect();
    let mut setup = tables::setup(&caches, &discover::possible_cpus(), &fast)?;
    setup.slice_ns = args.slice_ms * 1_000_000;
    setup.stale_ns = args.stale_ms * 1_000_000;
    setup.old_names = u32::from(args.old_names);
    let kernel = kernel::Kernel::load(&setup, args.all)?;
    serve::serve(kernel, args.all, Duration::from_millis(50))
}
