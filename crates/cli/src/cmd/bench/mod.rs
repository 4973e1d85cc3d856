//! `baton bench`: benchmarks of OpenMP runtimes, and of locks, queues, barriers and waits.
//!
//! | file | holds |
//! | --- | --- |
//! | [`epcc`] | the options of `baton bench epcc`, alternating runs |
//! | [`peers`] | starts the program that times locks, queues, barriers and waits beside those of others |
//! | [`program`] | the C program: compiled once, run under a runtime, its output read |
//! | [`runtime`] | which runtimes there are, and how a program comes to run on each |
//! | [`summary`] | medians, tables, and the comparison with the first runtime |

mod epcc;
mod peers;
mod program;
mod runtime;
mod summary;

use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton bench epcc                            overheads of OpenMP's constructs, by runtime
  baton bench epcc --groups task --threads 2  of tasks alone
  baton bench locks --quick                   locks of Baton and of others, within two minutes
  baton bench queues --each 2                 queues, with two threads a CPU")]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Overheads of OpenMP's constructs on this machine, by EPCC's reference-time method, of several runtimes by turns
    Epcc(Box<epcc::Args>),
    /// Locks of Baton beside those of std, parking_lot, spin and glibc, by turns in random order
    Locks(peers::Args),
    /// Queues of Baton beside those of std, crossbeam, flume, kanal, rtrb and concurrent-queue
    Queues(peers::Args),
    /// Barriers of Baton beside those of std and glibc
    Barriers(peers::Args),
    /// Round trips between two threads under each wait policy of this machine
    Waits(peers::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.benchmark {
        Benchmark::Epcc(args) => epcc::run(&args),
        Benchmark::Locks(args) => peers::run("locks", &args),
        Benchmark::Queues(args) => peers::run("queues", &args),
        Benchmark::Barriers(args) => peers::run("barriers", &args),
        Benchmark::Waits(args) => peers::run("waits", &args),
    }
}
