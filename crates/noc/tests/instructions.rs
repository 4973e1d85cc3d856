//! The counts of `scripts/noc-instructions.sh --network`, which fails where one has grown by more than 5% over what is
//! written there, or where a sparse network costs more than 1.5 times as much a flit-hop as a small one.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

#[test]
fn a_flit_hop_costs_no_more_instructions_than_before() {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|v| v.status.success()) {
        return skip("valgrind");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run =
        Command::new(root.join("scripts/noc-instructions.sh")).arg("--network").output().expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    assert_eq!(out.lines().count(), 5, "{out}");
}

/// Says that the check is skipped for want of a program, where `make test` reads it (a failure with `CI=true`).
fn skip(program: &str) {
    let line = format!("SKIP noc/instructions: no {program}");
    eprintln!("{line}");
    if let Some(file) = std::env::var_os("BATON_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        writeln!(file.unwrap(), "{line}").unwrap();
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{line}");
}
