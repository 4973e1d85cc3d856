//! `baton bench`: benchmarks of OpenMP runtimes.
//!
//! | file | holds |
//! | --- | --- |
//! | [`epcc`] | the options of `baton bench epcc`, alternating runs |
//! | [`program`] | the C program: compiled once, run under a runtime, its output read |
//! | [`runtime`] | which runtimes there are, and how a program comes to run on each |
//! | [`summary`] | medians, tables, and the comparison with the first runtime |

mod epcc;
mod program;
mod runtime;
mod summary;

use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton bench epcc                            overheads of OpenMP's constructs, by runtime
  baton bench epcc --groups task --threads 2  of tasks alone")]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    /// Overheads of OpenMP's constructs on this machine, by EPCC's reference-time method, of several runtimes by turns
    Epcc(Box<epcc::Args>),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.benchmark {
        Benchmark::Epcc(args) => epcc::run(&args),
    }
}
