//! The tables as Markdown: the generated parts of `docs/reference/protocol.md`.

use crate::table::{Row, Then};
use crate::{BLOCKING, Kind, NONBLOCKING, cache, home};
use std::fmt::{Display, Write};

/// Returns the text of `page` in which each part between `<!-- begin NAME -->` and
/// `<!-- end NAME -->` is replaced by the one of that name in `parts`. Fails, with the part's name,
/// if it is not in `parts` or has no end.
pub fn filled(page: &str, parts: &[(&str, String)]) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("<!-- begin ") {
        let (name, after) = after.split_once(" -->").ok_or("a part's begin has no `-->`")?;
        let end = format!("<!-- end {name} -->");
        let (_, after) = after.split_once(&end).ok_or(format!("the part {name} has no end"))?;
        let (_, text) = parts.iter().find(|(known, _)| *known == name).ok_or(format!("no part is named {name}"))?;
        write!(filled, "{before}<!-- begin {name} -->\n{text}{end}").expect("a string takes everything");
        rest = after;
    }
    Ok(filled + rest)
}

/// Returns the parts that come from the tables: messages, rows of both controllers under the
/// blocking policy, those in which the non-blocking policy differs, and counts of rows.
pub fn tables() -> Vec<(&'static str, String)> {
    let (cache, home) = (&BLOCKING.cache, &BLOCKING.home);
    let own_cache = NONBLOCKING.cache.iter().filter(|(s, e, row)| cache.row(*s, *e).ok() != Some(row));
    let own_home = NONBLOCKING.home.iter().filter(|(s, e, row)| home.row(*s, *e).ok() != Some(row));
    vec![
        ("messages", messages()),
        ("cache-blocking", rows(cache.iter())),
        ("home-blocking", rows(home.iter())),
        ("cache-nonblocking", rows(own_cache)),
        ("home-nonblocking", rows(own_home)),
        ("row-counts", counts()),
    ]
}

fn counts() -> String {
    let count = |cache: &cache::Table, home: &home::Table| (cache.iter().count(), home.iter().count());
    let ((a, b), (c, d)) = (count(&BLOCKING.cache, &BLOCKING.home), count(&NONBLOCKING.cache, &NONBLOCKING.home));
    format!("The blocking protocol has {a} rows for caches and {b} for homes, the non-blocking one {c} and {d}.\n")
}

fn messages() -> String {
    let mut text = String::from("| message | class | carries a line |\n| --- | --- | --- |\n");
    for kind in Kind::ALL {
        let line = if kind.carries_line() { "yes" } else { "" };
        writeln!(text, "| {kind} | {} | {line} |", kind.class()).expect("a string takes everything");
    }
    text
}

/// Prints a line for each state and each set of events that have the same row there.
fn rows<S, E, A>(rows: impl Iterator<Item = (S, E, Row<S, A>)>) -> String
where
    S: Copy + PartialEq + Display,
    E: Display,
    A: Copy + PartialEq + Display,
{
    let mut groups: Vec<(S, Vec<String>, Row<S, A>)> = Vec::new();
    for (state, event, row) in rows {
        match groups.iter_mut().find(|(s, _, r)| *s == state && *r == row) {
            Some((_, events, _)) => events.push(event.to_string()),
            None => groups.push((state, vec![event.to_string()], row)),
        }
    }
    let mut text = String::from("| state | event | next | actions |\n| --- | --- | --- | --- |\n");
    let mut last = None;
    for (state, events, row) in groups {
        let shown = if last == Some(state) { String::new() } else { format!("**{state}**") };
        last = Some(state);
        let actions: Vec<String> = row.actions.iter().map(|action| format!("`{action}`")).collect();
        let (next, actions) = match row.then {
            Then::Take if row.next == state => ("".to_owned(), actions.join(", ")),
            Then::Take => (row.next.to_string(), actions.join(", ")),
            Then::Wait => (String::new(), "*waits*".to_owned()),
            Then::Retain => (row.next.to_string(), format!("{}, *and waits*", actions.join(", "))),
        };
        writeln!(text, "| {shown} | {} | {next} | {actions} |", events.join(", ")).expect("a string takes everything");
    }
    text
}
