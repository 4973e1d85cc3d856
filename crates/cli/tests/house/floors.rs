//! Floors inside the rooms of the house: `docs/architecture.md` has a table for the inside of `chip` and one for the inside
//! of `noc`; the paths in their sources (`use`, `crate::…`, `super::…`) say who uses whom. Arrows run only downward in the
//! tables, and files that use each other in a circle are few. Beside that: how many fields a struct has in these two
//! crates, and how many lines a function has anywhere.
//!
//! Where a bar is not reached yet, the exception stands in a list here with its present figure. The test fails when that
//! improves, too, so that the lists shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("../../../../docs/architecture.md");
/// Files of a circle, fields of a struct, lines of a function, at most.
const CIRCLE: usize = 5;
const FIELDS: usize = 20;
const LINES: usize = 80;

/// Arrows that the tables do not allow: crate, the file that uses, the room that is used and how many of its files.
const UPWARD: &[(&str, &str, usize)] = &[];
/// Larger circles: crate, the circle's first file, files.
const LARGE_CIRCLES: &[(&str, &str, usize)] = &[];
/// Wider structs: crate, name, fields.
const WIDE_STRUCTS: &[(&str, &str, usize)] = &[];
/// Longer functions: file, name, lines.
const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// All Rust files below a folder, by their path from there, with `/` between the parts.
fn sources(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(folder).expect("below the folder").to_str().expect("UTF-8").to_owned();
                found.insert(name, bare(&fs::read_to_string(&path).expect("a source file")));
            }
        }
    }
    found
}

/// The text without comments and without what strings hold; lines stay where they are.
fn bare(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let skipped = if rest.starts_with(b"//") {
            rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            text[at..].find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with(b"pub(in ") {
            // Who may see an item is no arrow.
            text[at..].find(')').map_or(rest.len(), |end| end + 1)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if rest[0] == b'"' {
            string(rest)
        } else if rest.starts_with(b"'\\") {
            2 + rest[3..].iter().position(|&byte| byte == b'\'').map_or(0, |end| end + 2)
        } else if rest[0] == b'\'' && text[at + 1..].chars().nth(1) == Some('\'') {
            2 + text[at + 1..].chars().next().map_or(0, char::len_utf8)
        } else {
            0
        };
        if skipped == 0 {
            out.push(rest[0]);
            at += 1;
        } else {
            out.push(b' ');
            out.extend(rest[..skipped].iter().filter(|&&byte| byte == b'\n'));
            at += skipped;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The length of the string that begins here, its quotes included.
fn string(rest: &[u8]) -> usize {
    let mut end = 1;
    while end < rest.len() && rest[end] != b'"' {
        end += if rest[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(rest.len())
}

/// The length of the raw string that begins here, if one does.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.strip_prefix(b"r")?.iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = &rest[2 + hashes..];
    let length = body.windows(end.len()).position(|window| window == end.as_bytes())?;
    Some(2 + hashes + length + end.len())
}

/// Words, `::`, `->` and single signs, each with its line.
fn tokens(text: &str) -> Vec<(&str, usize)> {
    let (mut found, mut line, mut at) = (Vec::new(), 1, 0);
    let word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = text[at..].chars().next() {
        let length = if word(first) {
            text[at..].find(|c| !word(c)).unwrap_or(text.len() - at)
        } else if ["::", "->", "=>"].iter().any(|two| text[at..].starts_with(two)) {
            2
        } else {
            first.len_utf8()
        };
        line += usize::from(first == '\n');
        if !first.is_whitespace() {
            found.push((&text[at..at + length], line));
        }
        at += length;
    }
    found
}

/// The place of the bracket that closes the one at `open`.
fn closing(tokens: &[(&str, usize)], open: usize) -> usize {
    let mut depth = 0;
    for (at, (token, _)) in tokens.iter().enumerate().skip(open) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// The tokens without modules that are built for tests only, and the names of those that are files.
fn without_tests<'a>(tokens: &[(&'a str, usize)]) -> (Vec<(&'a str, usize)>, Vec<&'a str>) {
    let (mut kept, mut files, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let here: Vec<&str> = tokens[at..].iter().take(9).map(|(token, _)| *token).collect();
        if here.starts_with(&["#", "[", "cfg", "(", "test", ")", "]", "mod"]) {
            files.push(here[8]);
            at = if tokens[at + 9].0 == ";" { at + 10 } else { closing(tokens, at + 9) + 1 };
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    (kept, files)
}

/// The module that a file is.
fn module(file: &str) -> Vec<&str> {
    let mut path: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(path.last(), Some(&"mod" | &"lib")) {
        path.pop();
    }
    path
}

/// The paths that a tree of them stands for, from `at` on; where it ends.
fn paths<'a>(tokens: &[(&'a str, usize)], mut at: usize, before: &[&'a str], out: &mut Vec<Vec<&'a str>>) -> usize {
    let mut path = before.to_vec();
    loop {
        if tokens[at].0 == "{" {
            let end = closing(tokens, at);
            at += 1;
            while at < end {
                at = paths(tokens, at, &path, out);
                while at < end && tokens[at].0 != "," {
                    at += 1;
                }
                at += 1;
            }
            return end + 1;
        }
        path.push(tokens[at].0);
        if tokens.get(at + 1).is_none_or(|(token, _)| *token != "::") || at + 2 >= tokens.len() {
            out.push(path);
            return at + 1;
        }
        at += 2;
    }
}

/// By file: the files of its crate that its paths lead to.
fn arrows(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeMap<Vec<&str>, &str> = files.keys().map(|file| (module(file), file.as_str())).collect();
    let mut found = BTreeMap::new();
    let mut for_tests = BTreeSet::new();
    for (file, text) in files {
        let all = tokens(text);
        let (tokens, test_modules) = without_tests(&all);
        let own = module(file);
        for name in test_modules {
            for_tests.insert([own.as_slice(), &[name]].concat());
        }
        let mut used = Vec::new();
        for at in 0..tokens.len() {
            let first = tokens[at].0;
            let begins = at == 0 || !matches!(tokens[at - 1].0, "::" | "." | "mod");
            if !begins || tokens.get(at + 1).is_none_or(|(token, _)| *token != "::") {
                continue;
            }
            // `$crate::name`: an exported macro, whose name stands at the top whatever file defines it.
            let exported = first == "crate" && at > 0 && tokens[at - 1].0 == "$";
            if exported && tokens.get(at + 3).is_none_or(|(token, _)| *token != "::") {
                continue;
            }
            let child = [own.as_slice(), &[first]].concat();
            let before = match first {
                "crate" | "self" | "super" => Vec::new(),
                // The language's own crate of that name.
                _ if own.is_empty() && first == "core" => continue,
                _ if modules.contains_key(&child) => own.clone(),
                _ => continue,
            };
            paths(&tokens, at, &before, &mut used);
        }
        let targets: BTreeSet<String> = used.iter().filter_map(|path| target(path, &own, &modules)).collect();
        found.insert(file.clone(), targets.into_iter().filter(|target| target != file).collect());
    }
    let is_test = |file: &String| (0..=module(file).len()).any(|n| for_tests.contains(&module(file)[..n]));
    found.retain(|file, _| !is_test(file));
    found
}

/// The file that a path leads to: its longest beginning that is a module.
fn target(path: &[&str], own: &[&str], modules: &BTreeMap<Vec<&str>, &str>) -> Option<String> {
    let mut base = if path[0] == "crate" { Vec::new() } else { own.to_vec() };
    let mut rest = path;
    while let Some((first, more)) = rest.split_first() {
        match *first {
            "super" => drop(base.pop()),
            "crate" | "self" => {}
            _ => break,
        }
        rest = more;
    }
    if path[0] != "crate" && path[0] != "self" && path[0] != "super" {
        base = Vec::new();
    }
    base.extend(rest);
    (0..=base.len()).rev().find_map(|n| modules.get(&base[..n]).map(|file| (*file).to_owned()))
}

/// The room of a file: its folder at the top, or itself.
fn room(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

/// The words in backquotes of a cell.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// The table of a crate's rooms, from the top down: a room and what it may use.
fn table(name: &str) -> Vec<(String, Vec<String>)> {
    let heading = format!("## Inside {name}");
    let section = TABLE.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "));
    let rows = section.skip_while(|line| !line.starts_with("| room | holds | may use |")).skip(2);
    let rows: Vec<_> = rows
        .take_while(|line| line.starts_with('|'))
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            assert_eq!(cells.len(), 3, "a row of three cells: {row}");
            (names(cells[0])[0].clone(), names(cells[2]))
        })
        .collect();
    assert!(!rows.is_empty(), "docs/architecture.md has no table under `{heading}`");
    rows
}

/// Crates that have such a table; `noc` comes with its own.
fn tabled() -> Vec<&'static str> {
    let has = |name: &&str| *name == "chip" || TABLE.lines().any(|line| line == format!("## Inside {name}"));
    ["chip", "noc"].into_iter().filter(has).collect()
}

fn files_of(name: &str) -> BTreeMap<String, String> {
    sources(&root().join("crates").join(name).join("src"))
}

/// What is wrong with a crate's table, and the arrows that it does not allow: the file that uses, the room that is used, how
/// many of its files.
fn wrong_floors(name: &str) -> (Vec<String>, Vec<(String, String, usize)>) {
    let rows = table(name);
    let place = |room: &str| rows.iter().position(|(other, _)| other == room);
    let mut wrong = Vec::new();
    for (at, (room, uses)) in rows.iter().enumerate() {
        for used in uses.iter().filter(|used| place(used).is_none_or(|below| below <= at)) {
            wrong.push(format!("{name}: `{room}` may use `{used}`, which does not stand below it"));
        }
    }
    let files = files_of(name);
    let rooms: BTreeSet<&str> = files.keys().map(|file| room(file)).filter(|room| *room != "lib").collect();
    let listed: BTreeSet<&str> = rows.iter().map(|(room, _)| room.as_str()).collect();
    wrong.extend(
        rooms.symmetric_difference(&listed).map(|room| format!("{name}: `{room}` is a room or a row, not both")),
    );
    let mut upward: BTreeMap<String, usize> = BTreeMap::new();
    for (file, targets) in arrows(&files) {
        let from = room(&file);
        let Some(at) = place(from) else { continue };
        for to in targets.iter().map(|target| room(target)) {
            if to != from && !rows[at].1.iter().any(|used| used == to) {
                *upward.entry(format!("{file}: {to}")).or_default() += 1;
            }
        }
    }
    (wrong, upward.into_iter().map(|(arrow, files)| (name.to_owned(), arrow, files)).collect())
}

/// Circles of files that use each other, largest first.
fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<&String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = arrows
        .keys()
        .map(|from| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(file) = next.pop() {
                for to in arrows.get(file).into_iter().flatten() {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (from, seen)
        })
        .collect();
    let circle = |file: &String| -> Vec<&String> {
        reach
            .iter()
            .filter(|(other, seen)| seen.contains(file) && reach[file].contains(*other))
            .map(|(f, _)| *f)
            .collect()
    };
    let mut found: Vec<Vec<&String>> = arrows.keys().map(circle).filter(|circle| circle.len() > 1).collect();
    found.sort_by_key(|circle| (std::cmp::Reverse(circle.len()), circle.clone()));
    found.dedup();
    found
}

/// Structs with their fields.
fn structs(text: &str) -> Vec<(String, usize)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|&at| tokens[at].0 == "struct") {
        let Some(open) = (at..tokens.len()).find(|&at| matches!(tokens[at].0, "{" | "(" | ";")) else { continue };
        if tokens[open].0 != "{" {
            continue;
        }
        let (mut fields, mut inside, mut next) = (0, 0_usize, open + 1);
        let end = closing(&tokens, open);
        while next < end {
            match tokens[next].0 {
                "{" | "(" | "[" => next = closing(&tokens, next),
                "<" => inside += 1,
                ">" => inside = inside.saturating_sub(1),
                ":" if inside == 0 => fields += 1,
                _ => {}
            }
            next += 1;
        }
        found.push((tokens[at + 1].0.to_owned(), fields));
    }
    found
}

/// Functions with their lines.
fn functions(text: &str) -> Vec<(String, usize)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in (1..tokens.len().saturating_sub(1)).filter(|&at| tokens[at].0 == "fn" && tokens[at + 1].0 != "(") {
        let mut open = at;
        while open < tokens.len() && !matches!(tokens[open].0, "{" | ";") {
            open = if matches!(tokens[open].0, "(" | "[") { closing(&tokens, open) } else { open } + 1;
        }
        if tokens.get(open).is_some_and(|(token, _)| *token == "{") {
            let lines = tokens[closing(&tokens, open)].1 - tokens[at].1 + 1;
            found.push((tokens[at + 1].0.to_owned(), lines));
        }
    }
    found
}

fn as_known(found: Vec<(String, String, usize)>, known: &[(&str, &str, usize)], what: &str) {
    let found: Vec<_> = found.iter().map(|(a, b, n)| (a.as_str(), b.as_str(), *n)).collect();
    assert_eq!(found, known, "{what}: found on the left, listed on the right (crates/cli/tests/house/floors.rs)");
}

#[test]
fn arrows_inside_the_rooms_run_downward() {
    let (mut wrong, mut upward) = (Vec::new(), Vec::new());
    for name in tabled() {
        let (rows, arrows) = wrong_floors(name);
        wrong.extend(rows);
        upward.extend(arrows);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    as_known(upward, UPWARD, "arrows that docs/architecture.md does not allow");
}

#[test]
fn circles_of_files_are_small() {
    let mut found = Vec::new();
    for name in tabled() {
        let arrows = arrows(&files_of(name));
        for circle in circles(&arrows).into_iter().filter(|circle| circle.len() > CIRCLE) {
            println!("{name}: {circle:?}");
            found.push((name.to_owned(), circle[0].clone(), circle.len()));
        }
    }
    as_known(found, LARGE_CIRCLES, "circles of more than 5 files");
}

#[test]
fn structs_have_few_fields() {
    let mut found = Vec::new();
    for name in tabled() {
        for text in files_of(name).values() {
            found.extend(structs(text).into_iter().map(|(of, fields)| (name.to_owned(), of, fields)));
        }
    }
    found.retain(|(.., fields)| *fields > FIELDS);
    as_known(found, WIDE_STRUCTS, "structs of more than 20 fields");
}

#[test]
fn functions_fit_a_screen() {
    let mut found = Vec::new();
    for (file, text) in sources(&root().join("crates")) {
        found.extend(functions(&text).into_iter().map(|(name, lines)| (file.clone(), name, lines)));
    }
    found.retain(|(.., lines)| *lines > LINES);
    as_known(found, LONG_FUNCTIONS, "functions of more than 80 lines");
}

#[test]
fn the_reader_of_sources_reads() {
    let text = bare(
        "use crate::a::{self, b::{C, D as E}}; // crate::gone\nlet s = \"crate::gone\"; let c = '\"'; 'a: loop {}\nsuper::x::y();",
    );
    let files = BTreeMap::from([
        ("m/mod.rs".to_owned(), text),
        (
            "a.rs".to_owned(),
            "#[cfg(test)]\nmod tests { use crate::gone; }\nfn f<'a>(x: [u8; 2]) -> u8 {\n0\n}".to_owned(),
        ),
        (
            "a/b.rs".to_owned(),
            "pub struct S<T: Copy> {\n pub(crate) one: Vec<(u8, T)>,\n two: fn(u8) -> u8,\n}".to_owned(),
        ),
        ("x.rs".to_owned(), String::new()),
        ("gone.rs".to_owned(), "use crate::m::z;".to_owned()),
        ("lib.rs".to_owned(), String::new()),
        ("macros.rs".to_owned(), "$crate::then!($crate::a::b::S [$crate::with])".to_owned()),
    ]);
    let arrows = arrows(&files);
    assert_eq!(arrows["m/mod.rs"], BTreeSet::from(["a.rs".to_owned(), "a/b.rs".to_owned(), "x.rs".to_owned()]));
    assert!(arrows["a.rs"].is_empty());
    assert_eq!(arrows["macros.rs"], BTreeSet::from(["a/b.rs".to_owned()]));
    assert_eq!(functions(&files["a.rs"]), [("f".to_owned(), 3)]);
    assert_eq!(structs(&files["a/b.rs"]), [("S".to_owned(), 2)]);
    let ring = BTreeMap::from([
        ("a".to_owned(), BTreeSet::from(["b".to_owned()])),
        ("b".to_owned(), BTreeSet::from(["a".to_owned(), "c".to_owned()])),
        ("c".to_owned(), BTreeSet::new()),
    ]);
    assert_eq!(circles(&ring), [[&"a".to_owned(), &"b".to_owned()]]);
}
