//! `baton man`: man pages, from the same definition as the help.

use crate::error::BadInput;
use anyhow::Context;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `baton man`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  baton man | man -l -
  baton man profile | man -l -
  baton man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// The subcommand's page; baton's own without it.
    command: Option<String>,
    /// Write all pages into this directory instead.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut root = super::definition().disable_help_subcommand(true);
    root.build();
    if let Some(dir) = args.dir {
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
        clap_mangen::generate_to(root, &dir)
            .with_context(|| format!("cannot write the man pages into {}", dir.display()))?;
        crate::ui::note(format_args!("man pages are in {}", dir.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let page = match args.command {
        None => root,
        Some(name) => match root.find_subcommand(&name) {
            Some(command) => command.clone(),
            None => {
                let known = root.get_subcommands().map(clap::Command::get_name);
                return Err(BadInput::unknown("subcommand", &name, known).into());
            }
        },
    };
    clap_mangen::Man::new(page).render(&mut std::io::stdout()).context("cannot write the man page")?;
    Ok(ExitCode::SUCCESS)
}
