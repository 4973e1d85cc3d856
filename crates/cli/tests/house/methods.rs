//! Floors inside chip by method calls. The methods of `Engine` stand in several rooms, and a call of
//! one imports nothing, so the arrows of `floors` do not see it. Here a room calls only methods that
//! it or a room below it in `docs/rooms.md` defines, and guest code enters the engine only through
//! `engine/current.rs`, by a number of entries that is stated.
//!
//! Calls are found by name: `engine.name(…)`, `self.name(…)` inside `impl Engine`, `Engine::name`, and
//! `anything.name(…)` where no other function of the crate has the name.

use crate::floors::lexer::{Token, closing, files_of, tokens, without_tests};
use crate::floors::rooms::{page, room, table};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const STATE: &str = "Engine";
/// The only file that may find the current engine, and what it finds the engine with.
const DOOR: (&str, &str) = ("engine/current.rs", "CURRENT");
/// The entry that gives the whole engine, and the number of its calls: fewer than 100.
const WHOLE: (&str, usize) = ("with", 94);
/// The entries that give one part of the engine, and the number of their calls.
const PARTS: (&[&str], usize) = (&["own", "guest", "memory", "chip", "devices"], 102);

/// The sources of a crate as tokens, without what is built for tests only.
type Sources<'a> = BTreeMap<&'a str, Vec<Token<'a>>>;

fn sources(files: &BTreeMap<String, String>) -> Sources<'_> {
    let mut found = Sources::new();
    let mut for_tests = BTreeSet::new();
    for (file, text) in files {
        let (kept, names) = without_tests(&tokens(text));
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        for_tests.extend(names.iter().map(|name| format!("{folder}/{name}.rs").trim_start_matches('/').to_owned()));
        found.insert(file.as_str(), kept);
    }
    found.retain(|file, _| !for_tests.contains(*file));
    found
}

/// The bodies of the `impl Engine` blocks of a file.
fn blocks(tokens: &[Token]) -> Vec<Range<usize>> {
    let begins = |at: &usize| tokens[*at..].iter().map(|(token, _)| *token).take(3).eq(["impl", STATE, "{"]);
    (0..tokens.len()).filter(begins).map(|at| at + 2..closing(tokens, at + 2)).collect()
}

/// Methods of the engine by name, each with its room, and the names of all other functions.
fn defined<'a>(sources: &Sources<'a>) -> (BTreeMap<&'a str, &'a str>, BTreeSet<&'a str>) {
    let (mut methods, mut others) = (BTreeMap::new(), BTreeSet::new());
    for (file, tokens) in sources {
        let blocks = blocks(tokens);
        for at in (1..tokens.len()).filter(|&at| tokens[at - 1].0 == "fn") {
            if blocks.iter().any(|block| block.contains(&at)) {
                methods.insert(tokens[at].0, room(file));
            } else {
                others.insert(tokens[at].0);
            }
        }
    }
    (methods, others)
}

/// The calls of engine methods that a room above the caller's defines. `rooms` are in the order of the table.
fn upward(sources: &Sources, rooms: &[String]) -> Vec<String> {
    let (methods, others) = defined(sources);
    let place = |room: &str| rooms.iter().position(|other| other == room);
    let mut found = Vec::new();
    for (file, tokens) in sources {
        let blocks = blocks(tokens);
        for at in 2..tokens.len() {
            let (name, line) = tokens[at];
            let Some(&above) = methods.get(name) else { continue };
            let called = tokens.get(at + 1).is_some_and(|(next, _)| matches!(*next, "(" | "::"));
            let (owner, joint) = (tokens[at - 2].0, tokens[at - 1].0);
            let is_call = match joint {
                "::" => owner == STATE,
                "." if owner == "self" && blocks.iter().any(|block| block.contains(&at)) => called,
                "." => called && (owner == "engine" || !others.contains(name)),
                _ => false,
            };
            if is_call && place(above) < place(room(file)) {
                found.push(format!("{file}:{line} calls `{name}`, which `{above}` defines"));
            }
        }
    }
    found
}

/// The calls of these functions.
fn calls(sources: &Sources, names: &[&str]) -> usize {
    let call = |three: &&[Token]| {
        let [before, name, open] = three else { return false };
        names.contains(&name.0) && open.0 == "(" && !matches!(before.0, "." | "::" | "fn")
    };
    sources.values().map(|tokens| tokens.windows(3).filter(call).count()).sum()
}

#[test]
fn rooms_call_no_method_of_a_room_above() {
    let files = files_of("chip");
    let sources = sources(&files);
    let rooms: Vec<String> = table(&page(), "chip").into_iter().map(|row| row.name).collect();
    let (methods, _) = defined(&sources);
    for (name, of) in &methods {
        assert!(
            rooms.iter().any(|room| room == of),
            "`{name}` is a method of `{of}`, which has no row in docs/rooms.md"
        );
    }
    assert!(methods.len() > 100, "{} methods of `{STATE}` in chip: are they found?", methods.len());
    let upward = upward(&sources, &rooms);
    assert!(
        upward.is_empty(),
        "calls of methods of `{STATE}` that run upward in docs/rooms.md:\n{}",
        upward.join("\n")
    );
}

#[test]
fn guests_enter_the_engine_by_one_module() {
    let files = files_of("chip");
    let sources = sources(&files);
    let (door, current) = DOOR;
    for (file, tokens) in &sources {
        let found = tokens.iter().find(|(token, _)| *token == current);
        assert!(*file == door || found.is_none(), "{file}:{} finds the engine past {door}", found.map_or(0, |at| at.1));
    }
    let found = (calls(&sources, &[WHOLE.0]), calls(&sources, PARTS.0));
    assert_eq!(found, (WHOLE.1, PARTS.1), "calls of `{}`, and of {:?}: found, stated", WHOLE.0, PARTS.0);
}

#[test]
fn calls_are_found_by_name_and_receiver() {
    let text = |text: &str| text.to_owned();
    let files = BTreeMap::from([
        (
            "kernel/run.rs".to_owned(),
            text("impl Engine { fn rouse(&mut self) { self.over() } fn leave(&mut self) {} }"),
        ),
        (
            "engine/access.rs".to_owned(),
            text("impl Engine { fn over(&self) { self.rouse() } fn ends(&mut self) { self.leave() } }"),
        ),
        (
            "issue/stall.rs".to_owned(),
            text(
                "fn leave() {} fn stall() { with(Engine::rouse); with(|engine| engine.leave()); buffer.leave(); (engine.rouse)() }",
            ),
        ),
        ("issue/mod.rs".to_owned(), text("#[cfg(test)] mod tests { fn all() { engine.rouse() } }")),
    ]);
    let rooms = ["kernel", "issue", "engine"].map(ToOwned::to_owned);
    let sources = sources(&files);
    let expected = [
        "engine/access.rs:1 calls `rouse`, which `kernel` defines",
        "engine/access.rs:1 calls `leave`, which `kernel` defines",
        "issue/stall.rs:1 calls `rouse`, which `kernel` defines",
        "issue/stall.rs:1 calls `leave`, which `kernel` defines",
    ];
    assert_eq!(upward(&sources, &rooms), expected);
    assert_eq!((calls(&sources, &["with"]), calls(&sources, &["leave"])), (2, 0));
}
