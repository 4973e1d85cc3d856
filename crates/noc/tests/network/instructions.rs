//! Checks the counts of instructions with `scripts/check/noc-instructions --network`. It fails if a
//! count has grown by more than 5% over the one written there, or if a flit-hop in a sparse network
//! costs more than 1.5 times one in a small network.

use std::path::Path;
use std::process::Command;

#[test]
fn a_flit_hop_costs_no_more_instructions_than_before() {
    if !baton_needs::has("valgrind", "a_flit_hop_costs_no_more_instructions_than_before") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run =
        Command::new(root.join("scripts/check/noc-instructions")).arg("--network").output().expect("the script runs");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    assert_eq!(out.lines().count(), 5, "{out}");
}
