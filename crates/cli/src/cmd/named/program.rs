//! Names of `baton run --lock NAME=LOCK` in a program's files: the program's own file, and the
//! libraries that the loader loads with it.

use super::name::{Base, Fit, Name, around, fit};
use crate::error::BadInput;
use baton_host::launch::choice::{self, Choice};
use baton_host::launch::program::Program;
use baton_report::symbols;
use baton_sync::lock::assign::{self, DEFAULT, GLIBC, MutexRange, ObjectRange};
use std::collections::BTreeSet;
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

/// The places of a name's mutexes, and the places that the name excepts.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Found {
    pub(in crate::cmd) places: Vec<MutexRange>,
    pub(in crate::cmd) except: Vec<MutexRange>,
}

/// A part of the variable, and the name from which it comes.
struct Settled {
    name: String,
    place: MutexRange,
    value: String,
    /// The library takes the first part that fits, so that exact places come before wide ones: first those with
    /// a number, then exceptions, then all others.
    rank: u8,
}

impl OneByOne {
    /// Checks the parts of `text`, and has `places` look the names up.
    pub(in crate::cmd) fn new(
        text: &str,
        wait: Option<&str>,
        mut places: impl FnMut(&str) -> Result<Found, BadInput>,
    ) -> Result<OneByOne, BadInput> {
        let parts = assign::parse(text).map_err(|error| BadInput::new(format!("--lock {error}")))?;
        let mut choices = Vec::new();
        let mut values = Vec::new();
        for part in &parts {
            values.push(match part.is_glibc() {
                true => part.lock.clone(),
                false => {
                    let choice = choice::check(&part.lock, part.wait.as_deref().or(wait))?;
                    let value = format!("{}:{}", choice.lock.name, choice.wait);
                    choices.push(choice);
                    value
                }
            });
        }
        let default = parts.iter().zip(&values).find(|(part, _)| part.name == DEFAULT).map(|(_, value)| value.clone());
        let mut settled: Vec<Settled> = Vec::new();
        for (part, value) in parts.iter().zip(&values).filter(|(part, _)| part.name != DEFAULT) {
            let found = places(&part.name)?;
            let other = default.as_deref().unwrap_or(GLIBC);
            let meant =
                found.places.into_iter().map(|place| (if place.nth.is_some() { 0 } else { 2 }, place, value.as_str()));
            let excepted = found.except.into_iter().map(|place| (1, place, other));
            settled.extend(meant.chain(excepted).map(|(rank, place, value)| Settled {
                name: part.name.clone(),
                place,
                value: value.to_owned(),
                rank,
            }));
        }
        settled.sort_by_key(|settled| settled.rank);
        let mut variable: Vec<String> = settled.iter().map(|part| format!("{}={}", part.place, part.value)).collect();
        variable.extend(default.map(|value| format!("{DEFAULT}={value}")));
        let names = settled.into_iter().map(|part| part.name).collect();
        Ok(OneByOne { text: text.to_owned(), variable: variable.join(","), choices, names })
    }

    /// Looks the names up in a program's files.
    pub(in crate::cmd) fn of(text: &str, wait: Option<&str>, program: &Program) -> Result<OneByOne, BadInput> {
        let mut files = Files::of(program);
        OneByOne::new(text, wait, |typed| {
            let name = Name::parse(typed);
            if name.counts_takers() {
                return Err(BadInput::new(format!(
                    "`{typed}`: the number counts locks in the order in which one run took them first"
                ))
                .hint("only locks that a call initialises have numbers that hold in another run"));
            }
            let mut place = |name: &Name| {
                let ranges = files.find(&name.base);
                if ranges.is_empty() {
                    Err(unknown(&name.text, program))
                } else {
                    Ok(MutexRange { ranges, nth: name.nth })
                }
            };
            let places = vec![place(&name)?];
            let except = name.except.iter().map(place).collect::<Result<Vec<MutexRange>, BadInput>>()?;
            Ok(Found { places, except })
        })
    }
}

/// The places in a program's files for which a name without a number and exceptions stands.
pub(in crate::cmd) fn look_up(typed: &str, program: &Program) -> Result<Vec<ObjectRange>, BadInput> {
    let name = Name::parse(typed);
    if name.nth.is_some() || !name.except.is_empty() {
        return Err(BadInput::new(format!("`{typed}`: expected a name without a number and exceptions")));
    }
    let found = Files::of(program).find(&name.base);
    if found.is_empty() { Err(unknown(typed, program)) } else { Ok(found) }
}

/// Where the functions of this name begin in a program's own file.
pub(in crate::cmd) fn entries(name: &str, program: &Program) -> Vec<u64> {
    let own = Files::of(program).own;
    let of =
        |fit_at_least: Fit| symbols::functions(&own, |known| fit(name, known).is_some_and(|fit| fit >= fit_at_least));
    Some(of(Fit::Whole)).filter(|found| !found.is_empty()).unwrap_or_else(|| of(Fit::Part))
}

/// The files in which names are looked up.
struct Files<'a> {
    own: PathBuf,
    image: &'a Path,
    libraries: Option<Vec<PathBuf>>,
}

impl Files<'_> {
    fn of(program: &Program) -> Files<'_> {
        let own = program.image.canonicalize().unwrap_or_else(|_| program.image.clone());
        Files { own, image: &program.image, libraries: None }
    }

    /// The addresses for which a name stands: those in the program's own file, otherwise those in its libraries.
    fn find(&mut self, base: &Base) -> Vec<ObjectRange> {
        if let Base::Range(range) = base {
            return vec![range.clone()];
        }
        let found = find(&self.own, base);
        if !found.is_empty() {
            return found;
        }
        let libraries = self.libraries.get_or_insert_with(|| libraries(self.image));
        let found: Vec<ObjectRange> = libraries.iter().flat_map(|file| find(file, base)).collect();
        match base {
            // A library may be loaded later.
            Base::Offset { of, offset } if found.is_empty() && of.contains(".so") => vec![around(of, *offset)],
            _ => found,
        }
    }
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
fn find(file: &Path, base: &Base) -> Vec<ObjectRange> {
    let Some(module) = file.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let best = |find: &dyn Fn(Fit) -> Vec<std::ops::Range<u64>>| {
        Some(find(Fit::Whole)).filter(|found| !found.is_empty()).unwrap_or_else(|| find(Fit::Part))
    };
    let fits = |typed: &str, known: &str, best: Fit| fit(typed, known).is_some_and(|fit| fit >= best);
    let ranges = match base {
        Base::Range(range) => return vec![range.clone()],
        Base::Offset { of, offset } if of == module => return vec![around(module, *offset)],
        Base::Offset { of, offset } => {
            let globals = best(&|best| symbols::globals(file, |known| fits(of, known, best)));
            let inside = globals.into_iter().filter(|global| offset < &(global.end - global.start));
            inside.map(|global| global.start + offset..global.start + offset + 1).collect()
        }
        // In `from make (svc.cpp:12)` the line is the most exact part.
        Base::Line(line) => symbols::find(file, |known| known == line),
        Base::Text(text) => best(&|best| symbols::find(file, |known| fits(text, known, best))),
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

/// The names of which no place matched a mutex in any process, each once, in the order of the
/// places. `names` has the name of each place; `settled` has, for each process, the number of
/// mutexes that each place matched.
pub(in crate::cmd) fn unmatched<'a>(names: &'a [String], settled: &[Vec<u64>]) -> Vec<&'a str> {
    let had = |name: &str| {
        settled.iter().any(|places| names.iter().zip(places).any(|(other, &mutexes)| other == name && mutexes > 0))
    };
    // A name may have several places, which need not stand side by side.
    let mut told = BTreeSet::new();
    names.iter().map(String::as_str).filter(|name| !had(name) && told.insert(*name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(start: u64) -> MutexRange {
        MutexRange { ranges: vec![ObjectRange { module: "app".into(), range: start..start + 1 }], nth: None }
    }

    fn places(places: Vec<MutexRange>) -> Result<Found, BadInput> {
        Ok(Found { places, except: Vec::new() })
    }

    #[test]
    fn a_name_becomes_its_places_and_keeps_its_lock() {
        let found = OneByOne::new("a=mcs,b=glibc,default=ticket", Some("spin-park"), |name| {
            places(if name == "a" { vec![place(1), place(2)] } else { vec![place(3)] })
        });
        let found = found.unwrap();
        let expected = "app+0x1-0x2=mcs:spin-park(128),app+0x2-0x3=mcs:spin-park(128),app+0x3-0x4=glibc,default=ticket:spin-park(128)";
        assert_eq!(found.variable, expected);
        assert_eq!((found.names.join(" "), found.choices.len()), ("a a b".to_owned(), 2));
        assert_eq!(unmatched(&found.names, &[vec![0, 1, 0], vec![0, 0, 0]]), ["b"]);
        assert!(unmatched(&found.names, &[vec![1, 0, 0], vec![0, 0, 2]]).is_empty());
    }

    /// The preload library takes the first part that fits a mutex, so a part with a number and an
    /// exception must come before the name that they are taken from.
    #[test]
    fn numbers_and_exceptions_come_before_what_they_are_taken_from() {
        let third = MutexRange { nth: Some(3), ..place(1) };
        let found = OneByOne::new("rest=mcs,hot=clh,default=ticket", Some("futex"), |name| match name {
            "hot" => places(vec![third.clone()]),
            _ => Ok(Found { places: vec![place(1)], except: vec![third.clone()] }),
        });
        let found = found.unwrap();
        assert_eq!(
            found.variable,
            "app+0x1-0x2#3=clh:futex,app+0x1-0x2#3=ticket:futex,app+0x1-0x2=mcs:futex,default=ticket:futex"
        );
        assert_eq!(found.names, ["hot", "rest", "rest"]);
    }

    /// The exceptions of all names stand before all places, so the parts of a name are apart.
    #[test]
    fn a_name_without_a_mutex_is_told_once() {
        let first = MutexRange { nth: Some(1), ..place(1) };
        let found =
            OneByOne::new("x=mcs,y=mcs", None, |_| Ok(Found { places: vec![place(1)], except: vec![first.clone()] }));
        let found = found.unwrap();
        assert_eq!(found.names, ["x", "y", "x", "y"]);
        assert_eq!(unmatched(&found.names, &[vec![0; 4]]), ["x", "y"]);
        assert_eq!(unmatched(&found.names, &[vec![0, 0, 0, 1]]), ["x"]);
    }
}
