//! The `baton` command, with the built-in parts.

use baton_cli::Registry;
use std::process::ExitCode;

/// A simulated run that is cut off leaves small values behind for as long as the process lives, and among these glibc's
/// allocator does not use freed memory again (docs/reference/studio.md has the figures).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    baton_cli::main_with(Registry::new())
}
