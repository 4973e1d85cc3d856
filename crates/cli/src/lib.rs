//! The `baton` command as a library. Each subcommand is one file (or folder) under `cmd/`; the
//! files beside it are shared.
//!
//! | file | holds |
//! | --- | --- |
//! | [`call`] | results of commands without printing, for programs in other languages |
//! | [`chips`] | which chip a simulation runs on |
//! | [`cmd`] | the command line's definition, and the subcommands |
//! | [`error`] | bad input and failure, and hints at the nearest known name |
//! | [`exact`] | the bytes of commands and directories whose names are not text |
//! | [`folder`] | directories and files that have their name only when they are complete |
//! | [`places`] | where shipped files and this machine's calibration lie |
//! | [`plot`] | pages with one picture each |
//! | [`registry`] | parts that a command of your own adds |
//! | [`values`] | sizes and durations |
//! | [`ui`] | tables on standard output, notes on standard error, colour |

// This comes first: its macros replace those of `std`.
#[macro_use]
mod ui;

pub mod call;
mod chips;
mod cmd;
mod error;
mod exact;
mod folder;
mod places;
mod plot;
mod registry;
mod values;

pub use registry::Registry;

// The crates against which parts are written, so that a crate with parts needs one dependency.
pub use baton_chip as chip;
pub use baton_machine as machine;
pub use baton_noc as noc;
pub use baton_sched as sched;
pub use baton_sync as sync;
pub use baton_workloads as workloads;

use std::process::ExitCode;

/// Parses the process's command line, runs the subcommand with the built-in parts and those of
/// `registry`, and returns the exit code. `main` calls this once, at its beginning.
pub fn main_with(registry: Registry) -> ExitCode {
    // A reader that goes away (`baton list | head -1`) ends the process quietly, as it ends any
    // Unix filter. Rust ignores the signal by default and would panic in `println!`.
    // SAFETY: no other thread runs yet, and the default action needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    match registry.refused() {
        None => cmd::main(),
        Some(refused) => error::report(&anyhow::Error::new(refused).context("this command cannot start")),
    }
}
