//! The `baton` command, with the built-in parts.

use baton_cli::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    baton_cli::main_with(Registry::new())
}
