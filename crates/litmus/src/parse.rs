//! Reads a test in herd's x86-64 format.
//!
//! ```text
//! X86_64 SB
//! "a comment"
//! Key=what generators leave; not read
//! { x=0; uint64_t y; 0:rbx=1; 1:rdi=x; }
//!  P0            | P1               ;
//!  movq $1,(x)   | movq $1,(y)      ;
//!  movq (y),%rax | movq (%rdi),%rax ;
//! exists (0:rax=0 /\ 1:rax=0)
//! ```

use super::code::Code;
use super::condition::Reader;
use super::initial::{Initial, Names};
use super::{Condition, Proposition, Quantifier, Test};
use thiserror::Error;

/// An error in a test's file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}: {message}")]
pub struct LitmusError {
    /// The name of the file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong, and what is supported.
    pub message: String,
}

/// The largest number of bytes that a file may have.
pub const MOST_BYTES: usize = 1 << 20;

/// The line of an error, and its message.
type Wrong = (usize, String);

const SECTIONS: [&str; 5] = ["exists", "~exists", "forall", "filter", "locations"];

impl Test {
    /// Reads a test; `file` is the name for messages.
    pub fn parse(text: &str, file: &str) -> Result<Test, LitmusError> {
        read(text).map_err(|(line, message)| LitmusError { file: file.to_owned(), line, message })
    }
}

fn read(text: &str) -> Result<Test, Wrong> {
    if text.len() > MOST_BYTES {
        return Err((1, format!("the file is longer than {MOST_BYTES} bytes")));
    }
    let text = without_comments(text)?;
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, l)| !l.trim().is_empty());
    let name = header(lines.next())?;
    let rest: Vec<(usize, &str)> = lines.collect();
    let open = rest.iter().position(|(_, line)| line.trim_start().starts_with('{'));
    let open = open.ok_or((1, "there is no initial state: expected `{ … }` after the header".to_owned()))?;
    let close = rest[open..].iter().position(|(_, line)| line.contains('}')).map(|at| open + at);
    let close = close.ok_or((rest[open].0, "the initial state is never closed: expected `}`".to_owned()))?;

    let mut names = Names::default();
    let mut initial = Vec::new();
    for &(line, text) in &rest[open..=close] {
        let text = text.trim().trim_start_matches('{').trim_end_matches('}');
        if text.contains(['{', '}']) {
            return Err((line, "expected nothing after the `}` of the initial state".into()));
        }
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            initial.push((line, Initial::read(entry, &mut names).map_err(|message| (line, message))?));
        }
    }
    let sections = |line: &str| SECTIONS.iter().any(|word| section(line, word).is_some());
    let table = &rest[close + 1..];
    let end = table.iter().position(|(_, line)| sections(line)).unwrap_or(table.len());
    let last = table.last().map_or(rest[close].0, |(line, _)| *line);
    let mut code = Code::header(table.first().filter(|_| end > 0), last)?;
    let mut pointers = Vec::new();
    for (line, entry) in &initial {
        entry.apply(&mut code.threads, &mut names, &mut pointers).map_err(|message| (*line, message))?;
    }
    for &(line, row) in &table[1..end] {
        code.row(line, row, &mut names, &pointers)?;
    }
    let threads = code.finish()?;
    for location in &mut names.all {
        location.initial = location.width.low(location.initial);
    }
    let test = Test { name, threads, locations: names.all, queues: names.queues, ..Test::default() };
    questions(test, &table[end..], last)
}

/// Reads the part of a file behind the code: locations, filter and condition.
fn questions(test: Test, lines: &[(usize, &str)], last: usize) -> Result<Test, Wrong> {
    let (threads, locations) = (&test.threads, &test.locations);
    let find = |name: &str| locations.iter().position(|l| l.name == name).map(|at| (at, locations[at].width));
    let (mut shown, mut filter, mut condition) = (Vec::new(), None, None);
    let mut at = 0;
    while at < lines.len() {
        let (line, first) = lines[at];
        let words = SECTIONS.iter().find_map(|word| section(first, word).map(|rest| (*word, rest)));
        let Some((word, first)) = words else {
            return Err((line, format!("`{}` is left over after the condition", first.trim())));
        };
        let mut body = first.to_owned();
        at += 1;
        while at < lines.len() && SECTIONS.iter().all(|word| section(lines[at].1, word).is_none()) {
            body.push('\n');
            body.push_str(lines[at].1);
            at += 1;
        }
        let reader = Reader::new(body.trim().trim_end_matches(';'), threads.len(), find);
        let place = |message| (line, message);
        match word {
            "locations" => shown.extend(reader.list().map_err(place)?),
            "filter" => filter = Some(reader.whole().map_err(place)?),
            _ if condition.is_some() => return Err((line, "there is a second condition".into())),
            _ => {
                let quantifier = match word {
                    "exists" => Quantifier::Exists,
                    "~exists" => Quantifier::NotExists,
                    _ => Quantifier::Forall,
                };
                condition = Some(Condition { quantifier, proposition: reader.whole().map_err(place)? });
            }
        }
    }
    let Some(condition) = condition else {
        return Err((last, "there is no condition: expected `exists`, `~exists` or `forall`".into()));
    };
    condition.proposition.collect(&mut shown);
    if let Some(filter) = &filter {
        Proposition::collect(filter, &mut shown);
    }
    shown.sort_unstable();
    shown.dedup();
    Ok(Test { condition, filter, shown, ..test })
}

/// The rest of a line that begins with `word`.
fn section<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let line = if word == "~exists" { line.strip_prefix('~')?.trim_start() } else { line };
    let rest = line.strip_prefix(word.trim_start_matches('~'))?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')).then_some(rest)
}

fn header(first: Option<(usize, &str)>) -> Result<String, Wrong> {
    let Some((line, first)) = first else { return Err((1, "the file is empty".into())) };
    let (architecture, name) = first.trim().split_once(char::is_whitespace).unwrap_or((first.trim(), ""));
    if architecture != "X86_64" {
        return Err((line, format!("`{architecture}` is not supported; expected `X86_64` and the test's name")));
    }
    match name.trim() {
        "" => Err((line, "the test has no name: expected `X86_64 NAME`".into())),
        name => Ok(name.to_owned()),
    }
}

/// The text without `(* … *)`; line breaks inside a comment are kept.
fn without_comments(text: &str) -> Result<String, Wrong> {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut opened, mut line) = (0usize, 0, 1);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("(*") {
            if depth == 0 {
                opened = line;
            }
            depth += 1;
            rest = &rest[2..];
        } else if depth > 0 && rest.starts_with("*)") {
            depth -= 1;
            rest = &rest[2..];
        } else {
            line += usize::from(c == '\n');
            if depth == 0 || c == '\n' {
                out.push(c);
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    if depth > 0 { Err((opened, "a comment is never closed: expected `*)`".into())) } else { Ok(out) }
}
