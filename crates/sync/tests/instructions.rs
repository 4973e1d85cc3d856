//! Checks that an uncontended pair of lock and unlock takes no more instructions than
//! `docs/reference/locks.md` says, and that the generic MCS lock takes no more than a hand-written
//! one.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the test starts a program")]

use baton_sync::lock::LOCKS;
use std::path::Path;
use std::process::Command;

#[test]
fn no_lock_costs_more_instructions_than_documented() {
    if !baton_needs::has("valgrind", "no_lock_costs_more_instructions_than_documented") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check/sync-instructions");
    let output = Command::new(script).args(LOCKS.iter().map(|lock| lock.name)).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
    for name in LOCKS.iter().map(|lock| lock.name).chain(["generic", "hand"]) {
        assert!(said.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} was not counted:\n{said}");
    }
}
