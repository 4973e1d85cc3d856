//! Every tutorial of `docs/tutorials` is carried out as a reader would: its files are saved and its commands run in order in an
//! empty folder, and what they print is compared with the page.
//!
//! The word behind the language of a block says what it is:
//!
//! | block | what is done with it |
//! | --- | --- |
//! | `sh` | run by bash; a command that fails fails the test |
//! | `sh setup` | not run: the test brings a build, a folder and `BATON` |
//! | `text` | what the commands before it print, exactly; `…` stands for anything in a line, or for any lines |
//! | `text like` | lines that they print in this order, others between them; a figure stands for any figure, or for none (`-`) |
//! | `LANGUAGE FILE` | saved as this file; a second block of the same name goes behind the first |

mod common;
/// The lock that the reader of `docs/tutorials/write-a-lock.md` makes, compiled with the tests.
#[allow(dead_code, reason = "its `main` is the example's")]
#[path = "../../chip/examples/own_lock.rs"]
mod own_lock;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A block of code of a page: the line it begins on, its language, the word behind it, its text.
struct Block {
    line: usize,
    language: String,
    word: String,
    text: String,
}

/// The blocks of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                let (language, word) = info.split_once(' ').unwrap_or((info, ""));
                let (language, word) = (language.to_owned(), word.to_owned());
                found.push(Block { line: at + 1, language, word, text: String::new() });
                inside = true;
            }
            None if inside => {
                let text = &mut found.last_mut().expect("a block was begun").text;
                text.push_str(line);
                text.push('\n');
            }
            None => (),
        }
    }
    assert!(!inside, "a block of code has no end");
    found
}

/// Whether a line is `pattern`, in which `…` stands for anything.
fn fits(pattern: &str, line: &str) -> bool {
    let Some((before, after)) = pattern.split_once('…') else { return pattern == line };
    let Some(rest) = line.strip_prefix(before) else { return false };
    (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(|at| fits(after, &rest[at..]))
}

/// Whether lines are the patterns, in which a line `…` stands for any lines.
fn equal(patterns: &[&str], lines: &[&str]) -> bool {
    match patterns {
        [] => lines.is_empty(),
        ["…", rest @ ..] => (0..=lines.len()).any(|at| equal(rest, &lines[at..])),
        [first, rest @ ..] => {
            lines.split_first().is_some_and(|(line, others)| fits(first, line) && equal(rest, others))
        }
    }
}

/// A line's words, figures as `#`; whether it ends with `…`, which stands for any words.
fn shape(line: &str) -> (Vec<String>, bool) {
    let open = line.ends_with('…');
    let words = line.trim_end_matches('…').split_whitespace();
    let figure = |word: &str| word == "-" || word.contains(|c: char| c.is_ascii_digit());
    let word = |word: &str| if figure(word) { "#".to_owned() } else { word.to_owned() };
    (words.map(word).collect(), open)
}

/// The first pattern that no line has the shape of, in order.
fn unlike<'a>(patterns: &[&'a str], lines: &[&str]) -> Option<&'a str> {
    let mut lines = lines.iter();
    patterns.iter().copied().find(|pattern| {
        let (words, open) = shape(pattern);
        let alike = |line: &&str| {
            let (seen, _) = shape(line);
            seen == words || open && seen.starts_with(&words)
        };
        !lines.any(alike)
    })
}

/// Compares what a block printed with the block of text behind it.
fn compare(page: &str, expected: &Block, output: &str) {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let patterns: Vec<&str> = expected.text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    let place = format!("{page}:{}", expected.line);
    match expected.word.as_str() {
        "" => {
            let full: Vec<&str> = expected.text.lines().map(str::trim_end).collect();
            assert!(equal(&full, &lines), "{place} says\n{}\nbut the commands printed\n{output}", expected.text);
        }
        "like" => {
            let missing = unlike(&patterns, &lines);
            assert!(missing.is_none(), "{place}: no line like\n{}\nin\n{output}", missing.unwrap_or_default());
        }
        other => panic!("{place}: a block of text is `text` or `text like`, not `text {other}`"),
    }
}

/// Saves a block of code. Pieces of one file go one behind the other, an empty line between them.
fn save(block: &Block, folder: &Path, saved: &mut BTreeMap<String, String>) {
    let file = saved.entry(block.word.clone()).or_default();
    if !file.is_empty() {
        file.push('\n');
    }
    file.push_str(&block.text);
    std::fs::write(folder.join(&block.word), file).unwrap();
}

/// Runs a block of commands; what they print, errors among it.
fn run(page: &str, block: &Block, folder: &Path) -> String {
    let script = format!("exec 2>&1\n{}", block.text);
    let mut bash = Command::new("bash");
    bash.args(["-e", "-c", &script]).current_dir(folder);
    common::environment(&mut bash, &folder.join("bin"));
    let done = bash.output().unwrap_or_else(|e| panic!("bash: {e}"));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{page}:{}: {}\n{}\n{said}", block.line, done.status, block.text);
    said
}

/// Carries a tutorial out, and checks that it has at least `commands` blocks of commands and
/// `outputs` blocks of output. Returns the folder with what the tutorial left.
fn carry_out(name: &str, commands: usize, outputs: usize) -> tempfile::TempDir {
    let page = format!("docs/tutorials/{name}.md");
    let text = std::fs::read_to_string(common::root().join(&page)).unwrap_or_else(|e| panic!("{page}: {e}"));
    // Shorter turns than a reader has: what is printed has the same form.
    let text = text.replace("--for 2s --warmup 500ms --budget 40s", "--for 500ms --warmup 200ms --budget 10s");
    let folder = tempfile::tempdir().unwrap();
    stand_in_for_cargo(folder.path());
    let (mut printed, mut ran, mut compared, mut saved) = (None, 0, 0, BTreeMap::new());
    for block in blocks(&text) {
        match (block.language.as_str(), block.word.as_str()) {
            ("sh", "setup") => (),
            ("sh", "") => {
                printed = Some(run(&page, &block, folder.path()));
                ran += 1;
            }
            ("text", _) => {
                let output = printed.take().unwrap_or_else(|| panic!("{page}:{}: output of nothing", block.line));
                compare(&page, &block, &output);
                compared += 1;
            }
            (_, file) if !file.is_empty() => save(&block, folder.path(), &mut saved),
            (language, word) => panic!("{page}:{}: what is to be done with a block `{language} {word}`?", block.line),
        }
    }
    assert!(ran >= commands && compared >= outputs, "{page}: {ran} blocks of commands, {compared} of output");
    folder
}

/// A `cargo` that runs the example `mine`, which is [`own_lock`] here: it starts this test program again, as a build in release
/// form of the checkers and the chip would take minutes. The first two lines are the test harness's.
fn stand_in_for_cargo(folder: &Path) {
    let script = format!(
        r#"#!/usr/bin/env bash
set -o pipefail
[ "$1 $2 $3 $4 $5 $6 $7 $8" = "run --release -q -p baton-chip --example mine --" ] || {{ echo "cargo $*"; exit 1; }}
export BATON_MUTANT=${{BATON_MUTANT/mine.rs/own_lock.rs}} BATON_OWN_LOCK=$9
[ -n "$BATON_MUTANT" ] || unset BATON_MUTANT
'{}' --exact own_lock_when_asked --nocapture | tail -n +3
"#,
        std::env::current_exe().unwrap().display()
    );
    let path = folder.join("bin");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("cargo"), script).unwrap();
    std::fs::set_permissions(path.join("cargo"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// The example's `main`, where a tutorial's `cargo` asks for it.
#[test]
fn own_lock_when_asked() {
    if let Some(what) = std::env::var_os("BATON_OWN_LOCK") {
        let done = own_lock::with(what.to_str());
        done.inspect_err(|error| eprintln!("{error}")).unwrap();
        std::process::exit(0);
    }
}

#[test]
fn write_a_lock() {
    let folder = carry_out("write-a-lock", 4, 4);
    let mine = std::fs::read_to_string(folder.path().join("mine.rs")).unwrap();
    let ours = std::fs::read_to_string(common::root().join("crates/chip/examples/own_lock.rs")).unwrap();
    assert!(mine == ours, "the tutorial's pieces are not crates/chip/examples/own_lock.rs");
}

#[test]
fn find_a_slow_lock() {
    if baton_needs::has("cc", "find_a_slow_lock") {
        carry_out("find-a-slow-lock", 6, 6);
    }
}

#[test]
fn find_a_slow_lock_in_a_server() {
    if baton_needs::has("cc", "find_a_slow_lock_in_a_server") {
        carry_out("find-a-slow-lock-in-a-server", 4, 4);
    }
}

#[test]
fn describe_a_chip() {
    carry_out("describe-a-chip", 8, 8);
}

#[test]
fn judge_a_claim() {
    carry_out("judge-a-claim", 7, 7);
}

#[test]
fn patterns_fit_what_they_say() {
    assert!(fits("a … c", "a b c") && fits("…", "") && fits("saved …%", "saved -1.5%") && fits("same", "same"));
    assert!(!fits("a … c", "a b d") && !fits("same", "same ") && !fits("…b", "a"));
    assert!(equal(&["a", "…", "d"], &["a", "b", "c", "d"]) && equal(&["…"], &[]) && !equal(&["a"], &["a", "b"]));
    assert!(!equal(&["a", "…", "d"], &["a", "b"]) && !equal(&["a", "b"], &["a"]));
    assert_eq!(unlike(&["lock 5ms", "all 1 of 2"], &["warning: 3", "lock 77µs", "x", "all 9 of 9"]), None);
    assert_eq!(unlike(&["lock 5ms", "none"], &["lock 1ms", "nine"]), Some("none"));
    assert_eq!(unlike(&["b 1", "a 1"], &["a 1", "b 1"]), Some("a 1"), "the order counts");
    assert_eq!(unlike(&["lock 5ms …"], &["lock 5ms and more"]), None);
    assert_eq!(unlike(&["lock -"], &["lock 5ms"]), None);
    assert_eq!(unlike(&["lock 5ms 7"], &["lock 5ms"]), Some("lock 5ms 7"));
}

#[test]
fn every_tutorial_is_carried_out() {
    let source = include_str!("tutorials.rs");
    for entry in std::fs::read_dir(common::root().join("docs/tutorials")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".md").unwrap_or_else(|| panic!("docs/tutorials/{name} is no page"));
        assert!(source.contains(&format!("carry_out(\"{name}\"")), "no test carries docs/tutorials/{name}.md out");
    }
}
