//! Runs the quick part of `scripts/check/attack`: programs that attack the library must behave
//! under it as they do alone.

mod common;
use baton_sync::lock::Waits;
use common::{library, locks};
use std::path::Path;
use std::process::Command;

#[test]
fn programs_do_as_they_do_alone() {
    if !baton_needs::has("python3", "programs_do_as_they_do_alone") {
        return;
    }
    let named =
        |lock: &baton_sync::lock::LockInfo| format!("{}{}", lock.name, if lock.waits == Waits::Any { "" } else { "!" });
    let names: Vec<String> = locks().map(named).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check/attack");
    let ran = Command::new(script)
        .args(["--quick", "--locks", &names.join(","), "--library"])
        .arg(library())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{err}");
    // At least eight programs ran, each recorded and under every lock.
    let runs: usize = out.split(' ').next().unwrap().parse().unwrap();
    assert!(runs >= 8 * (1 + names.len()), "{out}{err}");
}
