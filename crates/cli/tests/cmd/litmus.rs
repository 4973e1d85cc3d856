//! `baton litmus` from outside: the list that it prints, and that a seed is a result.

use assert_cmd::Command;
use baton_litmus::{Test, tso};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Our own tests.
const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../litmus/tests/litmus");

fn baton(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("baton").unwrap();
    command.arg("litmus").args(args).env("NO_COLOR", "1");
    command
}

fn json(args: &[&str]) -> Vec<Value> {
    let output = baton(args).arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_list_of_results_in_the_order_of_paths() {
    let rows = json(&[OURS, "--runs", "300"]);
    let files = std::fs::read_dir(OURS).unwrap().flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    assert_eq!(rows.len(), files.count());
    let suites: Vec<&str> = rows.iter().map(|row| row["suite"].as_str().unwrap()).collect();
    assert!(suites.is_sorted() && suites.contains(&"locked"), "{suites:?}");
    for row in &rows {
        assert_eq!(row["runs"], 300);
        assert!(row["states"].as_u64().unwrap() >= 1 && row["observed"].is_boolean() && row["test"].is_string());
        assert!(row.get("outcomes").is_none());
    }
}

#[test]
fn a_seed_is_a_result_whatever_else_runs() {
    let one = Path::new(OURS).join("plain/SB.litmus");
    let alone = json(&[one.to_str().unwrap(), "--runs", "700", "--outcomes", "--seed", "5"]);
    let again = json(&[OURS, "--runs", "700", "--outcomes", "--seed", "5"]);
    assert_eq!(alone[0], *again.iter().find(|row| row["test"] == "SB").unwrap());
    let other = json(&[one.to_str().unwrap(), "--runs", "700", "--outcomes", "--seed", "6"]);
    assert_ne!(alone, other);
    let times = |rows: &[Value]| -> u64 {
        rows[0]["outcomes"].as_array().unwrap().iter().map(|seen| seen["times"].as_u64().unwrap()).sum()
    };
    assert_eq!((times(&alone), times(&other)), (700, 700));
}

#[test]
fn files_that_cannot_be_read_stop_everything_or_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.litmus"), "X86_64 B\n{}\n P0 ;\n fxsave (x) ;\nexists (x=1)\n").unwrap();
    std::fs::copy(Path::new(OURS).join("plain/SB.litmus"), folder.path().join("good.litmus")).unwrap();
    let path = folder.path().to_str().unwrap();
    let stopped = baton(&[path, "--runs", "10"]).output().unwrap();
    let said = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(stopped.status.code() == Some(2) && stopped.stdout.is_empty(), "{said}");
    assert!(said.contains("bad.litmus:4: instruction `fxsave` is not supported; supported: mov"), "{said}");
    assert_eq!(json(&[path, "--runs", "10", "--skip-unsupported"]).len(), 1);
}

#[test]
fn verdicts_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("verdicts.csv");
    let run = |text: &str| {
        std::fs::write(&table, text).unwrap();
        let file = format!("{OURS}/plain/LB.litmus");
        let output = baton(&[&file, "--runs", "300", "--verdicts", table.to_str().unwrap()]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run("suite,test,verdict_x86_tso\nplain,LB,Forbid\n");
    assert!(code == Some(0) && said.contains("forbidden: 0 of 1 seen"), "{said}");
    let (code, said) = run("suite,test,verdict_x86_tso\nplain,LB,Allow\n");
    assert!(code == Some(1) && said.contains("allowed and not seen: plain/LB"), "{said}");
    let (code, said) = run("suite,test,verdict_x86_tso\nplain,LB,Maybe\n");
    assert!(code == Some(2) && said.contains("verdicts.csv:2: `Maybe`; expected Allow"), "{said}");
    let (code, said) = run("suite,test\n");
    assert!(code == Some(2) && said.contains("no column `verdict_x86_tso`"), "{said}");
}

/// What x86-TSO allows each of our own tests to leave behind, by suite and name, as the command describes it.
fn allowed() -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for folder in std::fs::read_dir(OURS).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let test = Test::parse(&std::fs::read_to_string(&path).unwrap(), "a test").unwrap();
            let states = tso::allowed(&test, 100_000).unwrap();
            let states = states.iter().map(|state| test.describe(state)).collect();
            all.insert((folder.file_name().into_string().unwrap(), test.name.clone()), states);
        }
    }
    all
}

/// No state that the simulated chip shows is one that x86-TSO forbids, whatever its memory and its atomics are.
#[test]
fn every_state_is_one_that_x86_tso_allows() {
    let allowed = allowed();
    let ocor = concat!(env!("CARGO_MANIFEST_DIR"), "/../../chips/ocor64.toml");
    let coherent = ["--chip", ocor, "--cores", "4", "--set", "core.store_buffer=8"];
    let near = ["--set", "core.atomics=near"];
    let far = ["--set", "core.atomics=far"];
    let overtaking = ["--set", "home.policy=nonblocking", "--set", "network.vcs=1"];
    let chips: [&[&[&str]]; 5] =
        [&[], &[&coherent], &[&coherent, &near], &[&coherent, &far], &[&coherent, &near, &overtaking]];
    for chip in chips {
        let chip = chip.concat();
        let runs = if chip.is_empty() { "500" } else { "50" };
        for row in json(&[&[OURS, "--runs", runs, "--outcomes"], &chip[..]].concat()) {
            let name = |key: &str| row[key].as_str().unwrap().to_owned();
            let allowed = &allowed[&(name("suite"), name("test"))];
            for seen in row["outcomes"].as_array().unwrap() {
                let state = seen["state"].as_str().unwrap();
                assert!(allowed.contains(state), "{}: {state} on {chip:?}", name("test"));
            }
        }
    }
}

/// The reference collection lies beside the workspace, where there is one.
#[test]
fn the_reference_collection_has_its_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/litmus");
    let folder = [folder, Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/reference/litmus")]
        .into_iter()
        .find(|folder| folder.is_dir());
    let Some(folder) = folder else {
        eprintln!("no reference/litmus beside the workspace: the collection was not run");
        return;
    };
    let verdicts = folder.join("verdicts.csv");
    // Forbidden: none in any run; allowed: at least 95% in the default number of runs.
    let output = baton(&[folder.to_str().unwrap(), "--verdicts", verdicts.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("forbidden: 0 of"), "{said}");
}
