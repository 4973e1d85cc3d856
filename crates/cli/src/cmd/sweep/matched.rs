//! The settings of a point as parsed options.

use super::subject::Swept;
use crate::error::{BadInput, Place};
use anyhow::Context;
use clap::error::ContextKind;
use clap::{ArgMatches, Command, FromArgMatches};
use std::any::TypeId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// An option of a command.
pub(crate) struct Opt {
    pub(super) id: String,
    /// Its name in a space: without dashes, or that of an argument without an option.
    pub(super) name: Option<String>,
    /// Whether the argument stands without an option, such as the folder of a recording.
    pub(super) is_positional: bool,
    /// Whether the command cannot do without it.
    pub(super) is_needed: bool,
    /// Whether the value is the path of a file or folder.
    pub(super) is_path: bool,
}

/// The options of a command, made once a thread: making them takes longer than parsing.
struct Definition {
    command: RefCell<Command>,
    options: Rc<[Opt]>,
}

thread_local! {
    static DEFINED: RefCell<HashMap<&'static str, Rc<Definition>>> = RefCell::default();
}

fn defined<C: Swept>() -> Rc<Definition> {
    let make = || {
        let mut command = C::options().no_binary_name(true).disable_help_flag(true);
        command.build();
        let option = |argument: &clap::Arg| Opt {
            id: argument.get_id().to_string(),
            name: argument
                .get_long()
                .or(argument.is_positional().then(|| argument.get_id().as_str()))
                .map(ToOwned::to_owned),
            is_positional: argument.is_positional(),
            is_needed: argument.is_required_set(),
            is_path: argument.get_value_parser().type_id() == TypeId::of::<PathBuf>(),
        };
        let options = command.get_arguments().map(option).collect();
        Rc::new(Definition { command: RefCell::new(command), options })
    };
    DEFINED.with_borrow_mut(|all| all.entry(C::COMMAND).or_insert_with(make).clone())
}

/// The options of a command.
pub(super) fn options<C: Swept>() -> Rc<[Opt]> {
    defined::<C>().options.clone()
}

/// Parsed options, with their definitions.
pub(crate) struct Matched {
    pub(super) options: Rc<[Opt]>,
    pub(crate) matches: ArgMatches,
}

impl Matched {
    /// The options as the command has them.
    ///
    /// # Errors
    /// They are those of another command.
    pub(crate) fn args<A: FromArgMatches>(&self) -> anyhow::Result<A> {
        A::from_arg_matches(&self.matches).context("the options of a point")
    }
}

/// Parses arguments as the command would.
///
/// # Errors
/// What the command would say.
pub(super) fn parse<C: Swept>(arguments: &[String]) -> Result<Matched, BadInput> {
    let defined = defined::<C>();
    let parsed = defined.command.borrow_mut().try_get_matches_from_mut(arguments);
    Ok(Matched { options: defined.options.clone(), matches: parsed.map_err(bad)? })
}

/// The arguments of a command that is no subject of a sweep.
///
/// # Errors
/// What the command would say.
pub(crate) fn parsed<A: clap::Args>(name: &'static str, arguments: &[String]) -> Result<A, BadInput> {
    let mut command = A::augment_args(Command::new(name)).no_binary_name(true).disable_help_flag(true);
    let matches = command.try_get_matches_from_mut(arguments).map_err(bad)?;
    A::from_arg_matches(&matches).map_err(bad)
}

/// An error of parsing as bad input.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn bad(error: clap::Error) -> BadInput {
    let said = error.to_string();
    let said = said.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect::<Vec<_>>().join(" ");
    let option = error.get(ContextKind::InvalidArg).map(|value| value.to_string());
    // `--threads <N>` has the name `--threads`.
    let key = option.and_then(|option| option.split_whitespace().next().map(ToOwned::to_owned));
    BadInput::new(said.trim_start_matches("error: ")).at(Place { key, ..Place::default() })
}

impl Matched {
    /// The value of an option, given or by default; `None` for an unknown option and for one with
    /// no value or several.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let option = self.options.iter().find(|option| option.name.as_deref() == Some(name))?;
        let mut values = self.matches.try_get_raw(&option.id).ok()??;
        let first = values.next()?.to_str()?.to_owned();
        values.next().is_none().then_some(first)
    }
}
