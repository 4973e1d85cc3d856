//! Runs `scripts/check/compat`: real programs that are installed here are recorded, and run under
//! locks of different kinds.

mod common;
use baton_needs::has;
use common::library;
use std::path::Path;
use std::process::Command;

#[test]
fn compressors_give_the_same_bytes_under_other_locks() {
    let test = "compressors_give_the_same_bytes_under_other_locks";
    if !has("python3", test) {
        return;
    }
    let programs: Vec<_> = ["pigz", "xz", "zstd"].into_iter().filter(|program| has(program, test)).collect();
    if programs.is_empty() {
        return;
    }
    let locks = ["spin-park", "mcs", "cohort"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new("python3")
        .arg(root.join("scripts/check/compat"))
        .args([
            "--json",
            "--asleep",
            "--size",
            "2",
            "--limit",
            "100",
            "--only",
            &programs.join(","),
            "--locks",
            &locks.join(","),
        ])
        .arg("--library")
        .arg(library())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), programs.len());
    for row in rows {
        let runs = row["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1 + 3, "{row}");
        for run in runs {
            assert_eq!(run["state"], "ok", "{}: {run}", row["program"]);
            let passed: u64 = run["passed_through"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            let served = run["served"].as_u64().unwrap();
            if run["lock"] == "" {
                assert!(run["trace_bytes"].as_u64().unwrap() > 4096 && served == 0 && passed > 0, "{run}");
            } else {
                assert!(served > 10 && served * 100 >= (served + passed) * 99, "{}: {run}", row["program"]);
            }
        }
    }
}
