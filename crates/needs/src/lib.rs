//! What tests share: ways to skip when a program (a browser, a compressor, a second compiler) is
//! missing, and the one command that [repeats](repeat) a test that failed.
//!
//! A test that cannot run reports that: it prints `SKIP <test>: no <what>`, appends the same line
//! to the file that `BATON_SKIPPED` names (`make test` prints that file at its end), and returns.
//! With `CI=true` it fails instead; only what no package manager provides may be [`absent`] there
//! too. Every test that skips does so through this crate: `crates/cli/tests/house/skips.rs` looks
//! for others. Other crates have it as a dev-dependency; only `check`, whose suites are tests, has
//! it as a normal one.

pub mod repeat;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

/// A configuration of proptest for `$cases` draws; a failure prints the command that repeats it.
/// (It is a macro, because this crate does not depend on proptest.)
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

/// Returns whether a program answers to `--version`. If it does not, the test is skipped with
/// [`missing`].
pub fn has(program: &str, test: &str) -> bool {
    answers(program) || missing(program, test)
}

/// Returns the first of the programs that answers to `--version`. If none does, the test is skipped
/// with [`missing`], which names the first program.
///
/// # Panics
/// If the list is empty, and where [`missing`] panics.
pub fn first_of<'a>(programs: &[&'a str], test: &str) -> Option<&'a str> {
    let found = programs.iter().copied().find(|program| answers(program));
    if found.is_none() {
        missing(programs[0], test);
    }
    found
}

/// Reports that `test` is skipped because `what` is missing; always returns false.
///
/// # Panics
/// With `CI=true`, where no test may be skipped, and if the list of skipped tests cannot be
/// written.
pub fn missing(what: &str, test: &str) -> bool {
    let line = format!("SKIP {test}: no {what}");
    note(&line);
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{line}");
    false
}

/// Reports that `test` is skipped because `what` is absent, which no package manager provides and
/// which may therefore be absent in CI too. Always returns false.
///
/// # Panics
/// If the list of skipped tests cannot be written.
pub fn absent(what: &str, test: &str) -> bool {
    note(&format!("ABSENT {test}: no {what}"));
    false
}

/// Prints a line on standard error and appends it to the list of skipped tests.
fn note(line: &str) {
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("BATON_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        // The line is written at once, because other tests append to the file at the same time.
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

    /// Runs the test binary itself again with the given environment. Returns whether it succeeded.
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
