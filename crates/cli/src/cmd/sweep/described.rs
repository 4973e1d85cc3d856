//! The options of a command as programs in other languages see them.

use super::matched::{Matched, parse};
use super::subject::Swept;
use crate::error::{BadInput, Place};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction};
use std::any::TypeId;
use std::path::PathBuf;

/// An option of a command that concerns one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOption {
    /// The name, without its dashes.
    pub name: String,
    /// The sort of its values.
    pub kind: CallKind,
    /// Whether it takes several values.
    pub many: Many,
    /// What it does.
    pub help: String,
    /// The values that it takes, if these are names of a list.
    pub known: Vec<String>,
    /// The value if it is left out; empty for none, or if the help says it.
    pub default: String,
}

/// The sort of an option's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// True if given.
    Switch,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// The path of a file.
    Path,
    /// A number of bytes, which may have a unit, such as `64K`.
    Size,
    /// A text or a name.
    Text,
}

/// How an option takes several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// It takes one.
    No,
    /// Between commas.
    Commas,
    /// It is given several times.
    Repeated,
}

fn kind(option: &Arg) -> CallKind {
    if !option.get_action().takes_values() {
        return CallKind::Switch;
    }
    let is = |of: TypeId| option.get_value_parser().type_id() == of;
    let wholes =
        [TypeId::of::<u8>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<i64>(), TypeId::of::<usize>()];
    let is_size = option.get_value_names().is_some_and(|names| names.iter().any(|name| name == "SIZE"));
    if is(TypeId::of::<PathBuf>()) {
        CallKind::Path
    } else if is(TypeId::of::<f64>()) {
        CallKind::Number
    } else if is_size {
        CallKind::Size
    } else if wholes.into_iter().any(is) {
        CallKind::Whole
    } else {
        CallKind::Text
    }
}

fn described(option: &Arg) -> Option<CallOption> {
    let many = match (option.get_value_delimiter(), option.get_action()) {
        (Some(_), _) => Many::Commas,
        (None, ArgAction::Append) => Many::Repeated,
        _ => Many::No,
    };
    let help = option.get_long_help().or_else(|| option.get_help()).map(ToString::to_string);
    let kind = kind(option);
    let defaults = option.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = if kind == CallKind::Switch { String::new() } else { defaults.collect::<Vec<_>>().join(",") };
    let known = option.get_possible_values();
    let known = if kind == CallKind::Text { known } else { Vec::new() };
    Some(CallOption {
        name: option.get_long()?.to_owned(),
        kind,
        many,
        help: help.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "),
        known: known.iter().map(|value| value.get_name().to_owned()).collect(),
        default,
    })
}

/// The options of a command, except those that a caller does not have.
pub(crate) fn call_options<C: Swept>(without: &[&str]) -> Vec<CallOption> {
    let mut command = C::options().disable_help_flag(true);
    command.build();
    let options = command.get_arguments().filter_map(described);
    options.filter(|option| !without.contains(&option.name.as_str())).collect()
}

/// Parses arguments as the command would, and refuses options that do not concern one run.
pub(crate) fn call_parse<C: Swept>(arguments: &[String]) -> anyhow::Result<Matched> {
    let parsed = parse::<C>(arguments)?;
    let given = |option: &&super::matched::Opt| {
        let name = option.name.as_deref().unwrap_or_default();
        C::NOT_OF_A_POINT.contains(&name) && parsed.matches.value_source(&option.id) == Some(ValueSource::CommandLine)
    };
    if let Some(option) = parsed.options.iter().find(given) {
        let key = format!("--{}", option.name.as_deref().unwrap_or_default());
        let bad = BadInput::new(format!("`{key}` does not concern one run of `baton {}`", C::COMMAND));
        return Err(bad.at(Place { key: Some(key), ..Place::default() }).into());
    }
    Ok(parsed)
}
