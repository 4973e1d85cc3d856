//! `scripts/check/semver`: what it says without its tool, and what it makes of the tool's answer.

use crate::package::said;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Runs the script with the programs of a folder and those of the system.
fn semver(programs: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new("scripts/check/semver");
    said(
        command.current_dir(crate::root()).env("PATH", format!("{}:/usr/bin:/bin", programs.display())).args(arguments),
    )
}

#[test]
fn the_check_of_public_items_tells_three_answers_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, error) = semver(folder.path(), &["HEAD"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("cargo install cargo-semver-checks --locked"), "{error}");
    for (arguments, says) in
        [(&["nowhere"][..], "no revision `nowhere`"), (&["HEAD", "chip"], "got `chip`"), (&[], "expected a revision")]
    {
        let (code, _, error) = semver(folder.path(), arguments);
        assert!(code == Some(2) && error.contains(says), "{error}");
    }
    let tool = folder.path().join("cargo-semver-checks");
    for (answer, expected) in [(0, 0), (100, 1), (1, 2)] {
        std::fs::write(&tool, format!("#!/bin/sh\necho asked: \"$@\"\nexit {answer}\n")).unwrap();
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (code, out, error) = semver(folder.path(), &["HEAD", "sync", "trace"]);
        assert_eq!(code, Some(expected), "{error}");
        assert!(out.contains("--all-features -p baton-sync -p baton-trace\n"), "{out}");
    }
}
