//! `docs/glossary.md` against the code: each term's place is there, terms stand in order, and the words that it bans become
//! fewer. `words.txt` lists how often each file still has one. With `BLESS=1` it is written anew, if no word has become more.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// How often a file has a word.
type Counts = BTreeMap<(String, String), usize>;

fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().unwrap()
}

/// The cells of the rows of the glossary's table that begins with the cell `first`.
fn rows(first: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let head = format!("| {first} |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let cells = |line: &str| line.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// What stands in backquotes.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

#[test]
fn terms_are_in_order_and_at_home_in_the_code() {
    let rows = rows("term");
    assert!(rows.len() > 60, "{} terms found: the search is broken", rows.len());
    let terms: Vec<String> = rows.iter().map(|row| row[0].to_lowercase()).collect();
    let misplaced = terms.windows(2).find(|pair| pair[0] > pair[1]);
    assert!(misplaced.is_none(), "not in alphabetical order: {misplaced:?}");
    let mut wrong = Vec::new();
    for row in &rows {
        let places = quoted(&row[2]);
        assert!(!places.is_empty(), "{} has no place in the code", row[0]);
        wrong.extend(places.into_iter().filter(|place| !root().join(place).exists()).map(|p| (row[0].clone(), p)));
    }
    assert!(wrong.is_empty(), "terms whose place is not there: {wrong:#?}");
}

/// A word that is not used, and whether it counts in comments alone.
struct Banned {
    word: String,
    in_comments: bool,
}

fn banned() -> Vec<Banned> {
    let rows = rows("not");
    let all = rows.iter().flat_map(|row| {
        let in_comments = match row[2].as_str() {
            "in comments" => true,
            "everywhere" => false,
            other => panic!("where is `{other}`?"),
        };
        quoted(&row[0]).into_iter().map(move |word| Banned { word, in_comments })
    });
    let all: Vec<Banned> = all.collect();
    assert!(all.len() > 10, "{} banned words found: the search is broken", all.len());
    all
}

/// The Rust sources below a folder, as paths from the tree's root; not this one, whose words are examples.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("house/words.rs") {
            into.push(path);
        }
    }
}

/// How often a text has the word, as a word of its own.
fn count(text: &str, word: &str) -> usize {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |&at: &usize| {
        !text[..at].chars().next_back().is_some_and(inside)
            && !text[at + word.len()..].chars().next().is_some_and(inside)
    };
    text.match_indices(word).map(|(at, _)| at).filter(whole).count()
}

/// A source's comments.
fn comments(text: &str) -> String {
    let comments = text.lines().filter_map(|line| line.find("//").map(|at| &line[at..]));
    comments.collect::<Vec<_>>().join("\n")
}

fn found() -> Counts {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 300, "{} sources found: the search is broken", files.len());
    let mut counts = Counts::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let (comments, file) = (comments(&text), path.strip_prefix(root()).unwrap().to_str().unwrap());
        for Banned { word, in_comments } in banned() {
            let times = count(if in_comments { &comments } else { &text }, &word);
            if times > 0 {
                counts.insert((file.to_owned(), word), times);
            }
        }
    }
    counts
}

/// The list: a line is `FILE: COUNT WORD`.
fn listed(text: &str) -> Counts {
    let line = |line: &str| {
        let (file, rest) = line.split_once(": ").unwrap_or_else(|| panic!("words.txt: `{line}`"));
        let (times, word) = rest.split_once(' ').unwrap_or_else(|| panic!("words.txt: `{line}`"));
        ((file.to_owned(), word.to_owned()), times.parse().unwrap_or_else(|_| panic!("words.txt: `{line}`")))
    };
    text.lines().map(line).collect()
}

/// How often each word is there in all.
fn totals(counts: &Counts) -> BTreeMap<&str, usize> {
    let mut totals = BTreeMap::new();
    counts.iter().for_each(|((_, word), times)| *totals.entry(word.as_str()).or_default() += times);
    totals
}

/// What is more than is listed; `BLESS=1` lets words move from file to file, but not become more.
fn grown<'a>(before: &'a Counts, now: &'a Counts) -> Vec<(&'a str, usize, usize)> {
    let (before, now) = (totals(before), totals(now));
    let more = now.into_iter().map(|(word, times)| (word, before.get(word).copied().unwrap_or(0), times));
    more.filter(|(_, before, now)| now > before).collect()
}

#[test]
fn banned_words_become_fewer() {
    let list = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/house/words.txt"));
    let (before, now) = (listed(&fs::read_to_string(list).unwrap()), found());
    if std::env::var_os("BLESS").is_some() {
        let grown = grown(&before, &now);
        assert!(grown.is_empty(), "word, listed, found: {grown:?}. See docs/glossary.md for what to say");
        let mut text = String::new();
        for ((file, word), times) in &now {
            writeln!(text, "{file}: {times} {word}").unwrap();
        }
        fs::write(list, text).unwrap();
        return;
    }
    let more: Vec<_> = now.iter().filter(|(key, times)| before.get(key).is_none_or(|listed| listed < times)).collect();
    assert!(more.is_empty(), "more than words.txt lists; docs/glossary.md says which words to use: {more:#?}");
    let fewer = before.iter().any(|(key, times)| now.get(key) != Some(times));
    assert!(
        !fewer,
        "fewer than words.txt lists: BLESS=1 cargo test -p baton-cli --test house makes the list shorter (or follows a file that moved)"
    );
}

#[test]
fn words_are_counted_as_words() {
    assert_eq!(count("nobody, nobody's nobodys anybody", "nobody"), 2);
    assert_eq!(count("enum Kind {, enum Kinds", "enum Kind"), 1);
    assert_eq!(count("They all. They allow", "They all."), 1);
    assert_eq!(comments("let a = 1; // one\nlet nobody = 2;\n/// two"), "// one\n/// two");
    let list = |text| listed(text);
    let (before, moved) = (list("a.rs: 2 aside"), list("b.rs: 2 aside"));
    assert_eq!(grown(&before, &moved), []);
    assert_eq!(grown(&before, &list("a.rs: 3 aside")), [("aside", 2, 3)]);
    assert_eq!(grown(&before, &list("a.rs: 1 upshot")), [("upshot", 0, 1)]);
}
