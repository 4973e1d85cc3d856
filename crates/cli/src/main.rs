//! The `baton` command, with the parts that are built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    baton_cli::main()
}
