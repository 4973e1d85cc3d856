//! The tables "Inside X" of `docs/rooms.md`: the rooms of a crate from the top down, what each holds and which others it uses.
//!
//! Each folder at the top of a crate's `src` is a room, and so is each file there. With `BLESS=1`
//! the tables are written anew: rows in the order that they have, new rooms where their arrows
//! allow, arrows as the sources have them. The second column is written by hand and kept.

use super::arrows::{Arrows, arrows};
use super::lexer::files_of;
use crate::root;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const PAGE: &str = "docs/rooms.md";
const HEADER: &str = "| room | holds | may use |";
/// The second column of a room that nobody has described yet.
const UNDESCRIBED: &str = "–";

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) holds: String,
    pub(crate) uses: Vec<String>,
}

/// The room of a file: its folder at the top, or the file itself.
pub(crate) fn room(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// The page as it is in the tree.
pub(crate) fn page() -> String {
    std::fs::read_to_string(root().join(PAGE)).expect("docs/rooms.md")
}

/// The crates that have a table, in the page's order.
pub(crate) fn tabled(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("## Inside ")).collect()
}

/// The rows of a crate's table.
pub(crate) fn table(page: &str, name: &str) -> Vec<Room> {
    let (_, rows, _) = parts(page, name);
    rows.lines().map(row).collect()
}

/// The page before a crate's rows, these rows, and the page after them.
fn parts<'a>(page: &'a str, name: &str) -> (&'a str, &'a str, &'a str) {
    let heading = format!("## Inside {name}\n");
    let section = page.find(&heading).unwrap_or_else(|| panic!("{PAGE} has no heading `## Inside {name}`"));
    let header = page[section..].find(HEADER).unwrap_or_else(|| panic!("{PAGE}: no table under `## Inside {name}`"));
    let mut begin = section + header;
    for _ in 0..2 {
        begin += page[begin..].find('\n').map_or(page.len() - begin, |end| end + 1);
    }
    let rows: usize = page[begin..].split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    (&page[..begin], &page[begin..begin + rows], &page[begin + rows..])
}

fn row(line: &str) -> Room {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let [name, holds, uses] = cells[..] else { panic!("{PAGE}: a row of three cells: {line}") };
    let names = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect() };
    let name = names(name).pop().unwrap_or_else(|| panic!("{PAGE}: a room in backquotes: {line}"));
    Room { name, holds: holds.to_owned(), uses: names(uses) }
}

/// The rooms that each room of a crate uses, as the sources have it; the crate's own top is no room.
pub(crate) fn used(arrows: &Arrows) -> BTreeMap<String, BTreeSet<String>> {
    let top = |room: &str| matches!(room, "lib" | "main");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, targets) in arrows.iter().filter(|(file, _)| !top(room(file))) {
        let from = room(file);
        let others = targets.iter().map(|target| room(target)).filter(|to| *to != from && !top(to));
        found.entry(from.to_owned()).or_default().extend(others.map(ToOwned::to_owned));
    }
    found
}

/// What is wrong with a crate's table.
pub(crate) fn wrong(page: &str, name: &str, arrows: &Arrows) -> Vec<String> {
    let rows = table(page, name);
    let used = used(arrows);
    let place = |room: &str| rows.iter().position(|other| other.name == room);
    let mut wrong = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for other in row.uses.iter().filter(|other| place(other).is_none_or(|below| below <= at)) {
            wrong.push(format!("{name}: `{}` may use `{other}`, which does not stand below it", row.name));
        }
        if row.holds == UNDESCRIBED {
            wrong.push(format!("{name}: nobody has written what `{}` holds", row.name));
        }
    }
    let listed: BTreeSet<&String> = rows.iter().map(|row| &row.name).collect();
    wrong.extend(
        used.keys()
            .collect::<BTreeSet<_>>()
            .symmetric_difference(&listed)
            .map(|room| format!("{name}: `{room}` is a room or a row, not both")),
    );
    wrong
}

/// The arrows that a crate's table does not allow: the file that uses, and the room that is used.
pub(crate) fn not_allowed(page: &str, name: &str, arrows: &Arrows) -> Vec<(String, String)> {
    let rows: BTreeMap<String, Vec<String>> = table(page, name).into_iter().map(|row| (row.name, row.uses)).collect();
    let mut found = BTreeSet::new();
    for (file, targets) in arrows {
        let Some(allowed) = rows.get(room(file)) else { continue };
        let others = targets.iter().map(|target| room(target)).filter(|to| *to != room(file) && *to != "lib");
        found
            .extend(others.filter(|to| !allowed.iter().any(|use_| use_ == to)).map(|to| (file.clone(), to.to_owned())));
    }
    found.into_iter().collect()
}

/// The page with a crate's rows as the sources have them.
pub(crate) fn blessed(page: &str, name: &str, arrows: &Arrows) -> String {
    let (before, old, after) = parts(page, name);
    let mut out = before.to_owned();
    for Room { name, holds, uses } in ordered(&old.lines().map(row).collect::<Vec<_>>(), &used(arrows)) {
        let uses: Vec<String> = uses.iter().map(|other| format!("`{other}`")).collect();
        let uses = if uses.is_empty() { "–".to_owned() } else { uses.join(", ") };
        out += &format!("| `{name}` | {holds} | {uses} |\n");
    }
    out + after
}

/// The rooms from the top down: those that no remaining room uses, first in the order of the old rows, then by name. In a circle of
/// rooms the first of the old rows comes first; an arrow that runs upward is not written, so that the test names it.
fn ordered(old: &[Room], used: &BTreeMap<String, BTreeSet<String>>) -> Vec<Room> {
    let place = |name: &str| old.iter().position(|row| row.name == name).unwrap_or(old.len());
    let mut left: Vec<&String> = used.keys().collect();
    left.sort_by_key(|name| (place(name), (*name).clone()));
    let mut names: Vec<&String> = Vec::new();
    while !left.is_empty() {
        let free = |name: &&String| left.iter().all(|other| other == name || !used[*other].contains(*name));
        let next = left.iter().position(free).unwrap_or(0);
        names.push(left.remove(next));
    }
    let rank = |name: &String| names.iter().position(|other| *other == name);
    let row = |name: &&String| {
        let mut uses: Vec<String> = used[*name].iter().filter(|other| rank(other) > rank(name)).cloned().collect();
        uses.sort_by_key(rank);
        let holds = old.iter().find(|row| row.name == **name).map_or(UNDESCRIBED, |row| &row.holds);
        Room { name: (*name).clone(), holds: holds.to_owned(), uses }
    };
    names.iter().map(row).collect()
}

/// Writes the page anew from the sources.
pub(crate) fn bless() {
    let mut page = page();
    for name in tabled(&page).into_iter().map(ToOwned::to_owned).collect::<Vec<_>>() {
        page = blessed(&page, &name, &arrows(&files_of(&name)));
    }
    std::fs::write(root().join(PAGE), page).expect("docs/rooms.md can be written");
}
