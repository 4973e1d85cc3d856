//! Floors inside the crates: `docs/rooms.md` has a table of the rooms of each crate that has more than a handful of
//! files, and the paths in the sources (`use`, `crate::…`, `super::…`) say which room uses which. Arrows run only downward in the tables,
//! and files that use each other in a circle are few. Structs and functions have a largest size.
//!
//! Where a crate misses a bar, the exception stands in a list here with its present figure. The test fails when the figure
//! improves as well, so that the lists shrink.

mod arrows;
pub(crate) mod lexer;
mod reader;
pub(crate) mod rooms;
mod sizes;

use crate::root;
use arrows::{arrows, circles};
use lexer::{files_of, sources};
use std::fs;

/// The most files of a circle, fields of a struct, lines of a function.
const CIRCLE: usize = 3;
const FIELDS: usize = 20;
const LINES: usize = 80;
/// A crate with more files than these has a table of its rooms.
const HANDFUL: usize = 6;

/// A crate, what exceeds a bar in it, and its figure.
type Exception<'a> = (&'a str, &'a str, usize);

/// Wider structs: crate, name, fields.
const WIDE_STRUCTS: &[Exception] = &[
    ("cli", "Args", 42),
    ("cli", "SimFigures", 31),
    ("replay", "Walk", 25),
    ("report", "Report", 24),
    ("report", "Thread", 29),
    ("trace", "LockStats", 27),
    ("workloads", "Knobs", 26),
];
/// Longer functions: file, name, lines.
const LONG_FUNCTIONS: &[Exception] = &[];

/// The crates of the workspace, by name.
fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the crates");
    let names = entries.map(|entry| entry.expect("a crate").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn as_known(mut found: Vec<(String, String, usize)>, known: &[Exception], what: &str) {
    found.sort();
    let found: Vec<_> = found.iter().map(|(a, b, n)| (a.as_str(), b.as_str(), *n)).collect();
    assert_eq!(found, known, "{what}: found on the left, listed on the right (crates/cli/tests/house/floors/mod.rs)");
}

#[test]
fn arrows_inside_the_rooms_run_downward() {
    if std::env::var_os("BLESS").is_some() {
        rooms::bless();
    }
    let page = rooms::page();
    let mut wrong = Vec::new();
    for name in rooms::tabled(&page) {
        let arrows = arrows(&files_of(name));
        wrong.extend(rooms::wrong(&page, name, &arrows));
        let not_allowed = rooms::not_allowed(&page, name, &arrows);
        wrong.extend(not_allowed.iter().map(|(file, room)| format!("{name}: {file} may not use `{room}`")));
    }
    assert!(wrong.is_empty(), "docs/rooms.md (`make tables` writes its rows anew):\n{}", wrong.join("\n"));
}

#[test]
fn every_crate_of_more_than_a_handful_of_files_has_a_table() {
    let page = rooms::page();
    let tabled = rooms::tabled(&page);
    for name in crates().iter().filter(|name| files_of(name).len() > HANDFUL) {
        assert!(tabled.contains(&name.as_str()), "docs/rooms.md has no heading `## Inside {name}` with an empty table");
    }
}

#[test]
fn circles_of_files_are_small() {
    let mut large = Vec::new();
    for name in crates() {
        let arrows = arrows(&files_of(&name));
        for circle in circles(&arrows).into_iter().filter(|circle| circle.len() > CIRCLE) {
            large.push(format!("{name}: {circle:?}"));
            for file in &circle {
                let inside: Vec<_> = arrows[*file].iter().filter(|target| circle.contains(target)).collect();
                large.push(format!("    {file} uses {inside:?}"));
            }
        }
    }
    assert!(large.is_empty(), "circles of more than {CIRCLE} files:\n{}", large.join("\n"));
}

#[test]
fn structs_have_few_fields() {
    let mut found = Vec::new();
    for name in crates() {
        for text in files_of(&name).values() {
            found.extend(sizes::structs(text).into_iter().map(|(of, fields)| (name.clone(), of, fields)));
        }
    }
    found.retain(|(.., fields)| *fields > FIELDS);
    as_known(found, WIDE_STRUCTS, "structs of more than 20 fields");
}

#[test]
fn functions_fit_a_screen() {
    let mut found = Vec::new();
    for (file, text) in sources(&root().join("crates")) {
        found.extend(sizes::functions(&text).into_iter().map(|(name, lines)| (file.clone(), name, lines)));
    }
    found.retain(|(.., lines)| *lines > LINES);
    as_known(found, LONG_FUNCTIONS, "functions of more than 80 lines");
}
