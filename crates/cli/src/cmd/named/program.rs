//! Names of `baton run --lock NAME=LOCK` in a program's files: the program's own file, and the
//! libraries that the loader loads with it.

use super::{Fit, fit};
use crate::error::BadInput;
use baton_host::launch::choice::{self, Choice};
use baton_host::launch::program::Program;
use baton_report::symbols;
use baton_sync::lock::assign::{self, DEFAULT, ObjectRange};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Locks for some mutexes of a program, in the form of `BATON_LOCK`.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct OneByOne {
    /// The text that the user typed.
    pub(in crate::cmd) text: String,
    /// The value of the variable.
    pub(in crate::cmd) variable: String,
    /// The locks, each with its policy.
    pub(in crate::cmd) choices: Vec<Choice>,
    /// The name from which each place of the variable comes, in the order of the places.
    pub(in crate::cmd) names: Vec<String>,
}

impl OneByOne {
    /// Checks the parts of `text`, and has `places` look the names up.
    pub(in crate::cmd) fn new(
        text: &str,
        wait: Option<&str>,
        mut places: impl FnMut(&str) -> Result<Vec<ObjectRange>, BadInput>,
    ) -> Result<OneByOne, BadInput> {
        let parts = assign::parse(text).map_err(|error| BadInput::new(format!("--lock {error}")))?;
        let (mut choices, mut variable, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let value = match part.is_glibc() {
                true => part.lock.clone(),
                false => {
                    let choice = choice::check(&part.lock, part.wait.as_deref().or(wait))?;
                    let value = format!("{}:{}", choice.lock.name, choice.wait);
                    choices.push(choice);
                    value
                }
            };
            if part.name == DEFAULT {
                variable.push(format!("{DEFAULT}={value}"));
                continue;
            }
            for place in places(&part.name)? {
                variable.push(format!("{place}={value}"));
                names.push(part.name.clone());
            }
        }
        Ok(OneByOne { text: text.to_owned(), variable: variable.join(","), choices, names })
    }

    /// Looks the names up in a program's files. A name that is already a place of an object file
    /// stays as it is.
    pub(in crate::cmd) fn of(text: &str, wait: Option<&str>, program: &Program) -> Result<OneByOne, BadInput> {
        OneByOne::new(text, wait, |name| look_up(name, program))
    }
}

/// The places in a program's files for which a name stands. A name that is already a place of an
/// object file stays as it is.
pub(in crate::cmd) fn look_up(name: &str, program: &Program) -> Result<Vec<ObjectRange>, BadInput> {
    if let Ok(place) = name.parse() {
        return Ok(vec![place]);
    }
    let own = program.image.canonicalize().unwrap_or_else(|_| program.image.clone());
    let found = find(&own, name);
    if !found.is_empty() {
        return Ok(found);
    }
    let found: Vec<ObjectRange> = libraries(&program.image).iter().flat_map(|file| find(file, name)).collect();
    if found.is_empty() { Err(unknown(name, program)) } else { Ok(found) }
}

fn unknown(name: &str, program: &Program) -> BadInput {
    let image = program.image.display();
    BadInput::new(format!("`{name}`: no global, function or line of this name in {image} and its libraries")).hint(
        "`baton report` names the locks of a profile; a place in a library that is loaded later is written FILE+0xSTART-0xEND, and \
         lines need debug information (-g)",
    )
}

/// The places of a file for which a name stands: those that the name fits as a whole, otherwise
/// those of which it is a part.
fn find(file: &Path, name: &str) -> Vec<ObjectRange> {
    let Some(module) = file.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let fits = |best| symbols::find(file, |known| fit(name, known).is_some_and(|fit| fit >= best));
    let (_, line) = super::place(name);
    let ranges = match line {
        // In `from make (svc.cpp:12)` the line is the most exact part.
        Some(line) => symbols::find(file, |known| known == line),
        None => Some(fits(Fit::Whole)).filter(|found| !found.is_empty()).unwrap_or_else(|| fits(Fit::Part)),
    };
    ranges.into_iter().map(|range| ObjectRange { module: module.to_owned(), range }).collect()
}

/// The libraries that the loader loads with a program, as the loader itself lists them.
fn libraries(image: &Path) -> Vec<PathBuf> {
    let mut loader = Command::new(image);
    loader.env("LD_TRACE_LOADED_OBJECTS", "1").env_remove("LD_PRELOAD").stdin(Stdio::null()).stderr(Stdio::null());
    let said = loader.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let path = |line: &str| Some(PathBuf::from(line.split_once("=> ")?.1.split(" (0x").next()?));
    said.lines().filter_map(path).filter(|path| path.is_file()).collect()
}

/// Names of a variable's places that matched no mutex in any process. Each name appears once.
pub(in crate::cmd) fn unmatched<'a>(names: &'a [String], settled: &[Vec<u64>]) -> Vec<&'a str> {
    let had = |name: &str| {
        settled.iter().any(|places| names.iter().zip(places).any(|(other, &mutexes)| other == name && mutexes > 0))
    };
    let mut missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !had(name)).collect();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_its_places_and_keeps_its_lock() {
        let place = |start: u64| ObjectRange { module: "app".into(), range: start..start + 1 };
        let found = OneByOne::new("a=mcs,b=glibc,default=ticket", Some("spin-park"), |name| {
            Ok(if name == "a" { vec![place(1), place(2)] } else { vec![place(3)] })
        });
        let found = found.unwrap();
        let expected = "app+0x1-0x2=mcs:spin-park(128),app+0x2-0x3=mcs:spin-park(128),app+0x3-0x4=glibc,default=ticket:spin-park(128)";
        assert_eq!(found.variable, expected);
        assert_eq!((found.names.join(" "), found.choices.len()), ("a a b".to_owned(), 2));
        assert_eq!(unmatched(&found.names, &[vec![0, 1, 0], vec![0, 0, 0]]), ["b"]);
        assert!(unmatched(&found.names, &[vec![1, 0, 0], vec![0, 0, 2]]).is_empty());
    }
}
