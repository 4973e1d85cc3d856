//! The `baton` command. Each subcommand is one file under `cmd/`; this file only names them.
mod cmd;

use std::process::ExitCode;

fn main() -> ExitCode {
    cmd::main()
}
