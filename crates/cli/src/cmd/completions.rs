//! `baton completions SHELL`.

use std::process::ExitCode;

/// What to complete for.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  baton completions bash > ~/.local/share/bash-completion/completions/baton")]
pub(crate) struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "baton", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
