//! What the OpenMP runtime takes, in instructions and accesses, is what the simulated chip charges
//! for it.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the test starts a program")]

use std::path::Path;
use std::process::Command;

#[test]
fn what_is_charged_for_the_openmp_runtime_is_what_it_takes() {
    if !baton_needs::has("valgrind", "what_is_charged_for_the_openmp_runtime_is_what_it_takes") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check/omp-instructions");
    let output = Command::new(script).output().expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out.lines().count(), 2, "{out}");
}
