//! The command line's one definition: parsing, help, man page and completions all come from [`Cli`].
//!
//! A subcommand is a file here with an `Args` struct and `fn run(args: Args) -> anyhow::Result<ExitCode>`,
//! and one line in [`Command`].

use clap::Parser;
use std::process::ExitCode;

/// The synchronization workbench for many-core machines.
#[derive(Parser)]
#[command(name = "baton", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {}

/// Parses the command line and runs the subcommand. Exit codes: 0 done, 1 failed, 2 bad input.
pub(crate) fn main() -> ExitCode {
    match Cli::parse().command {}
}
