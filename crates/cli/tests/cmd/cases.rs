//! `scripts/measure/cases`: of no program whose right answer is known may the verdict be wrong.

use crate::common;
use std::process::Command;

/// Runs the cases without their measurements, which need a quiet machine. On a busy machine some
/// answers are "cannot tell", and a fault may not show in one recording (no thread polls while the
/// others have no CPU).
#[test]
fn no_verdict_on_a_known_program_is_wrong() {
    if !baton_needs::has("python3", "cli") {
        return;
    }
    let mut script = Command::new(common::root().join("scripts/measure/cases"));
    script
        .args(["--verdicts", "--again", "1", "--baton"])
        .arg(common::installed().join("bin/baton"))
        .env("NO_COLOR", "1");
    let out = script.output().unwrap();
    let (table, said) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{table}{said}");
    let right = table.lines().filter(|row| row.ends_with("| right |")).count();
    assert!(right >= 16, "at most half of the programs have an answer:\n{table}{said}");
}
