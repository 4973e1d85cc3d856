//! `baton completions SHELL`.

use crate::chips;
use baton_machine::wait;
use baton_noc::topology::TopologyConfig;
use baton_sync::barrier::BARRIERS;
use baton_sync::lock;
use clap::Command;
use clap::builder::PossibleValuesParser;
use std::process::ExitCode;

/// The shell for which to print completions.
#[derive(clap::Args)]
#[command(after_help = "\
Locks, waits, barriers, topologies and the chips that are found complete by their names.

Example:
  baton completions bash > ~/.local/share/bash-completion/completions/baton")]
pub(crate) struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut named(super::definition()), "baton", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// The definition with the names that an option may have. Only completions use this form: when a
/// command is parsed, an option takes any text, and an error names the nearest known name, because
/// several names and other forms are allowed.
fn named(command: Command) -> Command {
    let known: [(&str, Vec<&'static str>); 5] = [
        ("lock", lock::locks().iter().map(|lock| lock.name).collect()),
        ("wait", wait::policies().iter().map(|(_, info)| info.name).collect()),
        ("barrier", BARRIERS.iter().map(|barrier| barrier.name).collect()),
        ("topology", TopologyConfig::names().collect()),
        // clap keeps names for ever, so they are leaked; this process prints a script and ends.
        ("chip", chips::names().into_iter().map(|name| &*name.leak()).collect()),
    ];
    fn with(command: Command, known: &[(&str, Vec<&'static str>)]) -> Command {
        let command = command.mut_args(|arg| match known.iter().find(|(name, _)| arg.get_id() == name) {
            Some((_, names)) => arg.value_parser(PossibleValuesParser::new(names.clone())),
            None => arg,
        });
        command.mut_subcommands(|below| with(below, known))
    }
    with(command, &known)
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_complete_their_names() {
        let mut script = Vec::new();
        let mut command = super::named(crate::cmd::definition());
        clap_complete::generate(clap_complete::Shell::Bash, &mut command, "baton", &mut script);
        let script = String::from_utf8(script).unwrap();
        let after = |option: &str| {
            let mut lines = script.lines().skip_while(|line| line.trim() != format!("{option})"));
            lines.nth(1).unwrap_or_default().to_owned()
        };
        for (option, name) in
            [("--lock", "spin-park"), ("--wait", "futex"), ("--chip", "ocor64"), ("--topology", "mesh")]
        {
            assert!(after(option).contains(name), "{option}: {}", after(option));
        }
    }
}
