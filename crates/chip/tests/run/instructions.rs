//! Runs `scripts/check/chip-instructions`, which fails if a count has grown by more than 5% over
//! the one written there.

use std::path::Path;
use std::process::Command;

#[test]
fn a_guest_operation_costs_no_more_instructions_than_before() {
    if !baton_needs::has("valgrind", "a_guest_operation_costs_no_more_instructions_than_before") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = Command::new(root.join("scripts/check/chip-instructions")).output().expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    assert_eq!(out.lines().count(), 6, "{out}");
}
