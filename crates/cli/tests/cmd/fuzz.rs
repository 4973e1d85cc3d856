//! The fuzzers, a short while each with fixed seeds: what was found once does not come back. For longer: `scripts/check/fuzz-traces --seconds N`,
//! `scripts/check/fuzz-files --seconds N`.

use std::process::Command;

fn fuzz(script: &str, cases: u32) {
    if !baton_needs::has("python3", script) {
        return;
    }
    let script = format!("{}/../../scripts/check/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .args([&script, "--baton", env!("CARGO_BIN_EXE_baton"), "--seed", "1", "--cases", &cases.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(&format!("{cases} cases, 0 failures")), "{said}");
}

#[test]
fn changed_recordings_are_answered() {
    fuzz("fuzz-traces", 12);
}

#[test]
fn changed_files_are_answered() {
    fuzz("fuzz-files", 25);
}

/// The fuzzer reports a failure of the command under test. `false` stands for such a command,
/// because it fails without a message.
#[test]
fn a_failure_is_told_with_the_command_that_repeats_it() {
    if !baton_needs::has("python3", "fuzz-traces") {
        return;
    }
    let script = format!("{}/../../scripts/check/fuzz-traces", env!("CARGO_MANIFEST_DIR"));
    let output =
        Command::new("python3").args([&script, "--baton", "/bin/false", "--seed", "7", "--cases", "1"]).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("repeat: scripts/check/fuzz-traces --seed 7 --cases 1"), "{said}");
}
