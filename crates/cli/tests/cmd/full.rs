//! A full disk behind standard output: exit code 1 and a sentence, never a panic.

use std::fs::File;
use std::process::Command;

#[test]
fn what_cannot_be_written_is_a_failure_with_a_message() {
    for args in [
        &["list", "locks"][..],
        &["list", "waits", "--json"],
        &["completions", "bash"],
        &["man"],
        &["sim", "--threads", "2", "--cpus", "2"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_baton")).args(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "baton {args:?}\n{said}");
        assert!(
            said.contains("error: ") && said.contains("No space left") && !said.contains("panicked"),
            "{args:?}: {said}"
        );
    }
    // With standard error full as well, the command says nothing and does not panic: exit code 2.
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let status =
        Command::new(env!("CARGO_BIN_EXE_baton")).args(["list", "lock"]).stdout(full()).stderr(full()).status();
    assert_eq!(status.unwrap().code(), Some(2));
}
