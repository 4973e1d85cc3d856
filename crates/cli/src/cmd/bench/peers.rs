//! `baton bench locks`, `queues`, `barriers` and `waits`: starts the program `baton-peers`. It is built by
//! itself, so that no other build waits for the crates of others that it times.

use crate::error::BadInput;
use crate::places;
use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The environment variable with the program's path.
const VARIABLE: &str = "BATON_PEERS";

/// Options of the benchmarks beside others.
#[derive(clap::Args)]
#[command(after_help = "\
The options go to the program baton-peers, which `make peers` builds by itself. It is looked for
beside `baton`, in ../lib/baton and in ../peers/release, or where BATON_PEERS says.

Its options:
  --each N,…      threads a CPU; left out: 1, 2 and 4
  --only WORD,…   only what has one of these words in its name
  --pinned WHICH  threads bound to CPUs: yes, no, both
  --runs N        runs of each point, 5
  --window MS     length of a run, 100
  --quick         at most two minutes
  --seed N        seed of the order of the runs
  --json          as JSON, with every run

Examples:
  baton bench locks --quick                   locks of Baton, std, parking_lot, spin and glibc
  baton bench queues --only baton,crossbeam   two of the peers
  baton bench barriers --each 1 --json        with every run
  baton bench waits                           a round trip between two threads, by wait policy")]
pub(super) struct Args {
    /// Options of the program.
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
}

/// Replaces this program by the benchmark.
pub(super) fn run(what: &str, args: &Args) -> anyhow::Result<ExitCode> {
    let exe = std::env::current_exe().context("cannot find out where `baton` itself lies")?;
    let program = program(std::env::var_os(VARIABLE), &exe)?;
    let why = Command::new(&program).arg(what).args(&args.options).exec();
    Err(why).with_context(|| format!("cannot start {}", program.display()))
}

fn program(set: Option<OsString>, exe: &Path) -> Result<PathBuf, BadInput> {
    places::program("baton-peers", set, exe)
        .map_err(|why| BadInput::new(why).hint("in Baton's source tree `make peers` builds it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let exe = folder.path().join("bin/baton");
        let missing = program(None, &exe).unwrap_err();
        assert!(missing.to_string().contains("bin/../lib/baton/baton-peers"), "{missing}");
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        std::fs::create_dir_all(folder.path().join("lib/baton")).unwrap();
        let there = folder.path().join("bin/../lib/baton/baton-peers");
        std::fs::write(&there, "").unwrap();
        assert_eq!(program(None, &exe).unwrap(), there);
        let set = program(Some("/none/peers".into()), &exe).unwrap_err();
        assert!(set.to_string().contains("(looked at /none/peers)"), "{set}");
    }
}
