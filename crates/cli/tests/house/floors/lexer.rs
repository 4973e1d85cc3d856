//! Reads Rust sources as tokens: enough to see paths, structs and functions, and no more.

use crate::root;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A word, `::`, `->`, `=>` or a single sign, with its line.
pub(crate) type Token<'a> = (&'a str, usize);

/// The sources of a crate, by their paths below its `src`: see [`bare`].
pub(crate) fn files_of(name: &str) -> BTreeMap<String, String> {
    sources(&root().join("crates").join(name).join("src"))
}

/// All Rust files below a folder, by their paths from there with `/` between the parts: see [`bare`].
pub(crate) fn sources(folder: &Path) -> BTreeMap<String, String> {
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

/// The text without comments, without what strings hold and without `pub(in …)`; lines keep their numbers.
pub(crate) fn bare(text: &str) -> String {
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
            // A restricted visibility names a module without using it.
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

/// The length of the string that begins here, with its quotes.
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

/// The tokens of a [`bare`] text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
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

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
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

/// The tokens without modules that are built for tests only, and the names of those modules that are files.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    let (mut kept, mut files, mut at) = (Vec::new(), Vec::new(), 0);
    while at < tokens.len() {
        let here: Vec<&str> = tokens[at..].iter().take(12).map(|(token, _)| *token).collect();
        let named = here.iter().position(|token| *token == "mod").filter(|_| here.starts_with(TEST));
        let name =
            named.map(|of| at + of + 1).filter(|&of| here[TEST.len()..of - 1 - at].iter().all(|t| visibility(t)));
        if let Some(name) = name {
            files.push(tokens[name].0);
            at = if tokens[name + 1].0 == ";" { name + 2 } else { closing(tokens, name + 1) + 1 };
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    (kept, files)
}

const TEST: &[&str] = &["#", "[", "cfg", "(", "test", ")", "]"];

fn visibility(token: &str) -> bool {
    matches!(token, "pub" | "(" | "crate" | "super" | ")")
}
