//! The command line's one definition: parsing, help, man pages and completions all come from [`Cli`].
//!
//! A subcommand is a file (or folder) here with an `Args` struct that derives `clap::Args` and
//! `pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode>`, and one line in `commands!`
//! (`docs/extend.md`). Its help ends with examples (`#[command(after_help = …)]`). Data goes to
//! standard output, notes and progress to standard error. Exit codes: 0 done, 1 failed, 2 bad input
//! ([`crate::error::BadInput`]); `run`, `profile` and `sched` keep the program's exit code.

mod alone;
mod analysing;
mod deferred;
mod ends;
mod load;
mod named;
mod openmp;
mod progress;
mod still;
mod writing;

use crate::ui;
use clap::{CommandFactory, FromArgMatches, Parser};
use deferred::{Deferred, deferred};
use std::process::ExitCode;

/// Shows where a multithreaded program's threads wait, replaces its locks without rebuilding it, and predicts what
/// another lock, wait policy or chip would do to it.
#[derive(Parser)]
#[command(name = "baton", version, about, propagate_version = true, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    /// Colour the output.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ui::Color,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  baton try ./app --threads 8                      would another lock help? one answer
  baton profile -o before -- ./app --threads 8     see where threads wait
  baton whatif before --lock mcs,ticket,tas        what would another lock do?
  baton run --lock mcs -- ./app --threads 8        make it true, unmodified
  baton doctor                                     what this machine offers

Exit codes: 0 done, 1 failed, 2 bad input. `run`, `profile` and `sched` keep the program's own, or
128 + the signal that killed it. Data goes to standard output, all else to standard error.";

/// Declares the subcommands: the one-line help (the doc comment), the variant whose name clap gives
/// to the subcommand, and the module.
macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident($room:ident),)*) => {
        $(pub(crate) mod $room;)*

        #[derive(clap::Subcommand)]
        enum Command { $($(#[$meta])* $name(Deferred<$room::Args>)),* }

        fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
            match command { $(Command::$name(args) => $room::run(*args.0)),* }
        }
    };
}

commands! {
    /// Record an unmodified program: where do its threads wait?
    Profile(profile),
    /// Say what a profile holds; export it
    Report(report),
    /// Compare two profiles
    Diff(diff),
    /// Find out whether another lock makes a program faster: record, predict, measure
    Try(r#try),
    /// Run a program, unmodified, with another lock
    Run(run),
    /// Run the recorded program under other locks, beside what was predicted
    Measure(measure),
    /// Measure OpenMP runtimes on this machine beside each other
    Bench(bench),
    /// Say what this machine offers, measured; write a chip file of it
    Doctor(doctor),
    /// Predict what another lock, wait policy or chip would do to a recorded program
    Whatif(whatif),
    /// Give a machine's fast cores to the threads that a policy chooses
    Sched(sched),
    /// Simulate a micro-workload on a chip
    Sim(sim),
    /// Sweep a space of points: any number of axes, a store that resumes
    Sweep(sweep),
    /// Search a space for its best designs; say which of its axes decide
    Search(search),
    /// Judge a paper's claims by simulation: claims, falsifiers, a report
    Study(study),
    /// Run litmus tests on a chip: which final states can be seen?
    Litmus(litmus),
    /// Simulate a network on chip: latency, saturation, traces, deadlocks
    Noc(noc),
    /// List chip files, and show one: every key, and a picture of where everything is
    Chips(chips),
    /// Say what can be chosen: locks, waits, barriers, queues, chips, studies
    List(list),
    /// Print a shell's completion script
    Completions(completions),
    /// Print a man page
    Man(man),
}

/// The definition of the command line, from which man pages and completions are generated.
fn definition() -> clap::Command {
    Cli::command()
}

/// Parses the command line, or ends the process with help or an error.
fn parsed() -> Cli {
    let mut matches = deferred(Cli::command).get_matches();
    Cli::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut definition()).exit())
}

/// Parses the command line and runs the subcommand.
pub(crate) fn main() -> ExitCode {
    let cli = parsed();
    ui::set_color(cli.color);
    dispatch(cli.command).unwrap_or_else(|error| crate::error::report(&error))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_holds_together() {
        super::definition().debug_assert();
    }

    /// A subcommand has its options, and the same help, once it is parsed; the others have none.
    #[test]
    fn options_are_made_for_the_subcommand_that_is_parsed() {
        let help = |mut whole: clap::Command, name: &str| {
            let asked = whole.try_get_matches_from_mut(["baton", name, "--help"]);
            asked.expect_err("help is told as an error").to_string()
        };
        for name in super::definition().get_subcommands().map(clap::Command::get_name) {
            let lazy = super::deferred(<super::Cli as clap::CommandFactory>::command);
            let below = lazy.find_subcommand(name).expect("the same subcommands");
            assert_eq!(below.get_arguments().count(), 0, "{name}");
            assert_eq!(help(lazy, name), help(super::definition(), name), "{name}");
        }
    }

    #[test]
    fn every_subcommand_shows_examples() {
        let whole = super::definition();
        let below = whole.get_subcommands().flat_map(clap::Command::get_subcommands);
        for command in whole.get_subcommands().chain(below).filter(|command| command.get_name() != "help") {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("baton "), "`baton {} --help` shows no example", command.get_name());
            // clap breaks longer lines at any blank, and a broken example cannot be copied.
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "`baton {} --help`: a long line: {line}", command.get_name());
            }
        }
    }
}
