//! The `baton` command, with the parts that are built in.

use baton_cli::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    baton_cli::main_with(Registry::new())
}
