//! Options of a subcommand that are made only if the subcommand is parsed: making those of all
//! subcommands would take most of the time before `baton run` starts its program.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::cell::Cell;

thread_local! {
    static DEFERS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `make`, which makes a definition; its subcommands get their options when they are parsed.
pub(super) fn deferred<T>(make: impl FnOnce() -> T) -> T {
    DEFERS.set(true);
    let made = make();
    DEFERS.set(false);
    made
}

/// The options of a subcommand. Boxed, because some subcommands have many and others none.
pub(super) struct Deferred<T>(pub(super) Box<T>);

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if DEFERS.get() { command.defer(augmented::<T>) } else { T::augment_args(command) }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Adds the options. The line of help above them stays that of the list of subcommands.
fn augmented<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let command = T::augment_args(command);
    match about {
        Some(about) => command.about(about).long_about(None),
        None => command,
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Deferred<T>, clap::Error> {
        T::from_arg_matches(matches).map(|args| Deferred(Box::new(args)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Deferred<T>, clap::Error> {
        T::from_arg_matches_mut(matches).map(|args| Deferred(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
