//! Reads `kmp.txt`: the symbols of LLVM's libomp, each served, the same as another one, or absent.

use std::fmt::Write;

pub(crate) const DECLARED: &str = include_str!("../../kmp.txt");
/// The version of all these symbols.
pub(crate) const VERSION: &str = "VERSION";

/// What a part of the file says about its symbols.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    Served { file: &'a str },
    Same,
    Absent { reason: &'a str },
}

/// A line of a part: the names as they are written, and the other name that a line of `same` may
/// have.
struct Line<'a> {
    written: &'a str,
    other: Option<&'a str>,
}

pub(crate) struct Part<'a> {
    pub(crate) kind: Kind<'a>,
    lines: Vec<Line<'a>>,
}

/// The words for which `{a,b}` in a name stand, and the name itself if it has none.
fn expanded(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let (words, after) = rest.split_once('}').unwrap_or((rest, ""));
    words.split(',').flat_map(|word| expanded(&format!("{before}{word}{after}"))).collect()
}

impl<'a> Part<'a> {
    /// The names of the part, each with the name whose code it has.
    pub(crate) fn names(&self) -> impl Iterator<Item = (String, String)> {
        self.lines.iter().flat_map(|line| {
            expanded(line.written).into_iter().map(|name| {
                let code = line.other.map_or_else(|| name.clone(), ToOwned::to_owned);
                (name, code)
            })
        })
    }
}

/// Reads the declarations. The error names the line and says what was expected.
pub(crate) fn read(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts: Vec<Part> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let bad = |expected: &str| Err(format!("kmp.txt:{}: `{line}`: expected {expected}", at + 1));
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            let kind = match line.split_once(' ') {
                Some(("served", file)) => Kind::Served { file },
                Some(("absent", reason)) => Kind::Absent { reason },
                None if line == "same" => Kind::Same,
                _ => return bad("`served FILE`, `same` or `absent REASON`"),
            };
            parts.push(Part { kind, lines: Vec::new() });
            continue;
        }
        let Some(part) = parts.last_mut() else { return bad("a part before its symbols") };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (written, other) = match (part.kind, &words[..]) {
            (_, [name]) => (*name, None),
            (Kind::Same, [name, other]) => (*name, Some(*other)),
            _ => return bad("`NAME`, or `NAME OTHER` in the part `same`"),
        };
        if part.lines.last().is_some_and(|last| last.written >= written) && part.kind == Kind::Same {
            return bad("the symbols of `same` in order");
        }
        part.lines.push(Line { written, other });
    }
    Ok(parts)
}

/// The functions of the sources, for the map of versions.
pub(crate) fn served(parts: &[Part]) -> Vec<String> {
    let served = parts.iter().filter(|part| matches!(part.kind, Kind::Served { .. }));
    let mut names: Vec<String> = served.flat_map(Part::names).map(|(name, _)| name).collect();
    names.sort();
    names
}

/// The linker's script that gives the functions of `same` their second name.
pub(crate) fn script(parts: &[Part]) -> String {
    let mut out = String::from(
        "/* Made from kmp.txt by `make tables`: code that has a name at LLVM's version too. GNU ld reads a version in a name. */\n",
    );
    for (name, code) in parts.iter().filter(|part| part.kind == Kind::Same).flat_map(Part::names) {
        writeln!(out, "\"{name}@{VERSION}\" = {code};").unwrap();
    }
    out
}

/// Names between fences, with at most 96 columns a line.
fn block(names: impl Iterator<Item = String>) -> String {
    let (mut out, mut column) = (String::from("```text"), 96);
    for name in names {
        let begins = column + 1 + name.len() > 96;
        out += if begins { "\n" } else { " " };
        column = if begins { 0 } else { column + 1 } + name.len();
        out += &name;
    }
    out + "\n```\n"
}

/// What the page says about the symbols.
pub(crate) fn text(parts: &[Part]) -> String {
    let written = |line: &Line| line.written.to_owned();
    let mut out = format!("\n### {VERSION}\n\nFunctions of LLVM's interface, by their source:\n");
    for part in parts {
        if let Kind::Served { file } = part.kind {
            write!(out, "\n`crates/gomp/src/{file}.rs`:\n\n{}", block(part.lines.iter().map(written))).unwrap();
        }
    }
    for part in parts.iter().filter(|part| part.kind == Kind::Same) {
        let as_above = part.lines.iter().filter(|line| line.other.is_none()).map(written);
        write!(out, "\nFunctions of the tables above, at `{VERSION}` too:\n\n{}", block(as_above)).unwrap();
        let other = part.lines.iter().filter_map(|line| Some(format!("{}={}", line.written, line.other?)));
        write!(out, "\nFunctions with the code of another one:\n\n{}", block(other)).unwrap();
    }
    out += "\n### Absent\n\nA program that needs one of these symbols stops when it is loaded, or at its first call.\n";
    for part in parts {
        if let Kind::Absent { reason } = part.kind {
            let (first, rest) = reason.split_at(1);
            let reason = first.to_uppercase() + rest;
            write!(out, "\n{reason}:\n\n{}", block(part.lines.iter().map(written))).unwrap();
        }
    }
    out
}
