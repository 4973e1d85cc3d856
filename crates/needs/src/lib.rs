//! What tests share: what they need that may not be there (a browser, a compressor, a second compiler), and the one command that
//! [repeats](repeat) a test that failed.
//!
//! A test that cannot run says so: it prints `SKIP <test>: no <what>`, appends the same line to the file that `BATON_SKIPPED`
//! names (`make test` prints that file at its end), and returns. With `CI=true` it fails instead. Every test that
//! skips does so through here: `crates/cli/tests/house/skips.rs` looks for others. A dev-dependency; a normal one only of `check`, whose suites are tests.

pub mod repeat;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

/// A configuration of proptest's for so many draws, whose failure prints the command that repeats it. (A macro, as this crate knows
/// nothing of proptest.)
#[macro_export]
macro_rules! property {
    ($cases:expr) => {
        ::proptest::test_runner::Config {
            cases: $cases,
            rng_seed: ::proptest::test_runner::RngSeed::Fixed($crate::repeat::seed()),
            failure_persistence: None,
            ..Default::default()
        }
    };
}

/// Whether a program answers to `--version`; if not, the test is [`missing`] it.
pub fn has(program: &str, test: &str) -> bool {
    answers(program) || missing(program, test)
}

/// The first of the programs that answers to `--version`; if none does, the test is [`missing`] the first.
///
/// # Panics
/// If the list is empty, and as [`missing`].
pub fn first_of<'a>(programs: &[&'a str], test: &str) -> Option<&'a str> {
    let found = programs.iter().copied().find(|program| answers(program));
    if found.is_none() {
        missing(programs[0], test);
    }
    found
}

/// Says that `test` is skipped for want of `what`; always false.
///
/// # Panics
/// With `CI=true`, where nothing may be skipped, and if the list of skipped tests cannot be written.
pub fn missing(what: &str, test: &str) -> bool {
    let line = format!("SKIP {test}: no {what}");
    note(&line);
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{line}");
    false
}

/// Says that `test` is skipped for want of `what`, which no package manager brings: in CI, too, it may be absent. Always false.
///
/// # Panics
/// If the list of skipped tests cannot be written.
pub fn absent(what: &str, test: &str) -> bool {
    note(&format!("ABSENT {test}: no {what}"));
    false
}

/// Puts a line on standard error and into the list.
fn note(line: &str) {
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("BATON_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // One write, as other tests append meanwhile.
        let written = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test binary itself, run again with the environment that is wanted.
    fn again(ci: bool, list: &std::path::Path) -> bool {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::body", "--nocapture"]).env("BATON_NEEDS_BODY", "1").env("BATON_SKIPPED", list);
        command.env("CI", if ci { "true" } else { "false" });
        command.output().unwrap().status.success()
    }

    #[test]
    fn body() {
        if std::env::var_os("BATON_NEEDS_BODY").is_some() {
            assert!(!has("no-such-program-7", "body"));
            assert_eq!(first_of(&["no-such-program-7", "no-such-program-8"], "body"), None);
        }
    }

    #[test]
    fn a_skip_is_listed_and_in_ci_a_failure() {
        let list = std::env::temp_dir().join(format!("baton-needs.{}", std::process::id()));
        assert!(again(false, &list));
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "SKIP body: no no-such-program-7\n".repeat(2));
        assert!(!again(true, &list));
        std::fs::remove_file(&list).unwrap();
    }
}
