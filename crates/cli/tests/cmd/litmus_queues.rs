//! `baton litmus` with queue instructions: the table of the model, chips that do not fit, and that the chip stays within the model.

use assert_cmd::Command;
use baton_litmus::Test;
use baton_litmus::tso::{Model, YoungerStores};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The tests with queues.
const QUEUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../litmus/tests/litmus-queues");
const CAF16: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../chips/caf16.toml");
const CAF64: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../chips/caf64.toml");

fn baton(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("baton").unwrap();
    command.arg("litmus").args(args).env("NO_COLOR", "1");
    command
}

/// The exit code, and what was said on standard error.
fn said(args: &[&str]) -> (Option<i32>, String) {
    let output = baton(args).output().unwrap();
    assert!(output.status.code() != Some(2) || output.stdout.is_empty());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn file(name: &str) -> String {
    let path = Path::new(QUEUES).join(name);
    assert!(path.is_file(), "{}", path.display());
    path.display().to_string()
}

#[test]
fn the_committed_table_is_what_the_model_writes() {
    let output = baton(&[QUEUES, "--model"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let committed = std::fs::read_to_string(Path::new(QUEUES).join("verdicts.csv")).unwrap();
    assert!(String::from_utf8(output.stdout).unwrap() == committed, "baton litmus DIR --model > DIR/verdicts.csv");
}

/// Some of each shape, few runs: `docs/reference/litmus.md` has the commands for all of them, and what they found.
const FEW: [&str; 11] = [
    "passing/MP+st-enq+deq-po-ld.litmus",
    "passing/MP+st-enq+deq-use-ld.litmus",
    "buffering/SB+deq-use+deq-use.litmus",
    "younger/LB+deq-po-st+ld-enq.litmus",
    "younger/MP+deq-st-st+ld-ld-both.litmus",
    "order/enq-enq+deq-use-st+ld-deq.litmus",
    "order/IRIW+opposite-ways.litmus",
    "capacity/token+three.litmus",
    "priority/full-enq-low-enq-high.litmus",
    "priority/two-queues+enq-low-po-enq-high.litmus",
    "prepush/CoRR+push.litmus",
];

/// No state that the chip shows is one that the model forbids, with either choice for younger
/// stores, on a bus and on a mesh with several devices, without store buffers, and with two
/// priorities.
#[test]
fn every_state_is_one_that_the_model_allows() {
    let quick: &[&str] = &["--set", "network.contention=none"];
    let pass: &[&str] = &["--set", "device.younger_stores=pass"];
    let bare: &[&str] = &["--set", "core.store_buffer=0"];
    let chips: [(YoungerStores, &str, Vec<&[&str]>); 5] = [
        (YoungerStores::Wait, CAF16, vec![quick, &["--set", "device.qmd.priorities=2"]]),
        (YoungerStores::Pass, CAF16, vec![quick, pass]),
        (YoungerStores::Pass, CAF16, vec![quick, pass, bare]),
        (YoungerStores::Wait, CAF16, vec![]),
        (YoungerStores::Wait, CAF64, vec![]),
    ];
    let files = FEW.map(file);
    for (younger_stores, chip, set) in chips {
        let contended = !set.contains(&quick);
        let runs = if contended { "12" } else { "60" };
        let some = if chip == CAF64 { &files[..4] } else { &files[..] };
        let mut args: Vec<&str> = some.iter().map(String::as_str).collect();
        args.extend(["--chip", chip, "--runs", runs, "--outcomes", "--json"]);
        args.extend(set.concat());
        let output = baton(&args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(rows.len(), some.len());
        for row in rows {
            let path = format!("{}/{}.litmus", row["suite"].as_str().unwrap(), row["test"].as_str().unwrap());
            let test = Test::parse(&std::fs::read_to_string(file(&path)).unwrap(), &path).unwrap();
            let outcomes = Model::paper(younger_stores).outcomes(&test, 1_000_000).unwrap();
            let allowed: BTreeSet<String> = outcomes.states.iter().map(|state| test.describe(state)).collect();
            for seen in row["outcomes"].as_array().unwrap() {
                let state = seen["state"].as_str().unwrap();
                assert!(allowed.contains(state), "{path}: {state} on {chip} {set:?}");
            }
        }
    }
}

/// The setting of the chip chooses the column of verdicts.
#[test]
fn the_chip_says_which_verdicts_count() {
    let table = Path::new(QUEUES).join("verdicts.csv");
    let (early, table) = (file("younger/LB+deq-po-st+ld-enq.litmus"), table.to_str().unwrap());
    let args = [&early, "--chip", CAF16, "--set", "network.contention=none", "--runs", "40", "--verdicts", table];
    let (code, waits) = said(&args);
    assert!(code == Some(0) && waits.contains("forbidden: 0 of 1 seen"), "{waits}");
    let (code, passes) = said(&[&args[..], &["--set", "device.younger_stores=pass"]].concat());
    assert!(code == Some(0) && passes.contains("allowed: 1 of 1 seen"), "{passes}");
    // Compared with the verdicts of the other column, a state that the chip shows is forbidden.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.csv");
    std::fs::write(&other, "suite,test,verdict_caf_pass\nyounger,LB+deq-po-st+ld-enq,Forbid\n").unwrap();
    let args = [&args[..7], &["--verdicts", other.to_str().unwrap(), "--set", "device.younger_stores=pass"]].concat();
    let (code, wrong) = said(&args);
    assert!(code == Some(1) && wrong.contains("forbidden: 1 of 1 seen: younger/LB+deq-po-st+ld-enq"), "{wrong}");
    let args = [&args[..9], &["--set", "device.younger_stores=wait"]].concat();
    let (code, none) = said(&args);
    assert!(code == Some(2) && none.contains("other.csv:1: no column `verdict_x86_tso`"), "{none}");
    assert!(none.contains("verdict_caf_wait"), "{none}");
}

/// Writes a test into `T.litmus` in `folder`: a row has one instruction of each thread. Returns the
/// path.
fn written(folder: &Path, initial: &str, rows: &[&str], condition: &str) -> PathBuf {
    let path = folder.join("T.litmus");
    let threads = rows[0].split('|').count();
    let header: Vec<String> = (0..threads).map(|thread| format!("P{thread}")).collect();
    let rows: String = rows.iter().map(|row| format!(" {row} ;\n")).collect();
    let text = format!("X86_64 T\n{{ {initial} }}\n {} ;\n{rows}{condition}\n", header.join(" | "));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn chips_that_do_not_fit_are_errors() {
    let one = file("passing/MP+st-enq+deq-po-ld.litmus");
    let four = file("order/IRIW+same-way.litmus");
    let cases: [(&[&str], &str); 5] = [
        (
            &[&four, "--chip", CAF16, "--cores", "2"],
            "IRIW+same-way.litmus: 4 threads; chip `caf16 at 2 cores` has 2 cores (core.count)",
        ),
        (&[&one], "a test with queues; chip `litmus8` has no queue device (device.kind = \"qmd\")"),
        (
            &[&four, "--chip", CAF16, "--set", "device.qmd.queues=1"],
            "2 queues; a queue device of chip `caf16` has 1 (device.qmd.queues)",
        ),
        (
            &[&four, "--chip", CAF16, "--set", "device.qmd.entries=7"],
            "queues of 8 entries together; a queue device of chip `caf16` has 7 (device.qmd.entries)",
        ),
        (
            &[&one, "--chip", CAF16, "--set", "device.qmd.timeout=9"],
            "a queue device of chip `caf16` drops requests (device.qmd.timeout = 9; expected 0)",
        ),
    ];
    for (args, expected) in cases {
        let (code, said) = said(args);
        assert!(code == Some(2) && said.contains(expected), "{args:?}: expected `{expected}`, got: {said}");
    }
}

#[test]
fn a_test_in_which_a_thread_can_wait_for_ever_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path, more: &[&str], expected: &str| {
        let (code, said) = said(&[&[path.to_str().unwrap()], more].concat());
        assert!(code == Some(2) && said.contains(expected), "{more:?}: expected `{expected}`, got: {said}");
    };
    let (chip, quick) = (["--chip", CAF16], ["--set", "network.contention=none"]);
    let on = [&chip[..], &quick[..], &["--runs", "4"]].concat();
    let never = written(folder.path(), "queue q[1];", &["dequeue %rax,q"], "exists (0:rax=1)");
    refused(&never, &on, "T.litmus: P0 can wait for ever for queue `q` on chip `caf16`");
    refused(&never, &["--model"], "T.litmus: P0 can wait for ever for queue `q` in the model");
    // P1 waits for ever in some executions only: if P1 comes first, P0 enqueues no item.
    let rows = [
        "movq (x),%rax | movq $1,(x)",
        "testq %rax,%rax | dequeue %rax,q",
        "jne out |",
        "enqueue $1,q |",
        "out: nop |",
    ];
    let some = written(folder.path(), "queue q[1];", &rows, "exists (0:rax=1)");
    refused(&some, &on, "T.litmus: P1 can wait for ever");
    // The model lets the enqueue pass; a chip with one request under way does not.
    let own = written(folder.path(), "queue q[1];", &["dequeue %rax,q", "enqueue $1,q"], "exists (0:rax=1)");
    let (code, fine) = said(&[&[own.to_str().unwrap()], &on[..]].concat());
    assert_eq!(code, Some(0), "{fine}");
    refused(&own, &[&on[..], &["--set", "device.outstanding=1"]].concat(), "T.litmus: P0 can wait for ever");
    // Figure 4 of CAF's paper.
    let rows = ["enqueue $1,full | enqueue $2,q", "dequeue %rax,q |", "testq %rax,%rax |", "dequeue %rbx,full |"];
    let figure = written(folder.path(), "queue full[1]=1; queue q[1];", &rows, "exists (0:rax=2)");
    let (code, fine) = said(&[&[figure.to_str().unwrap()], &on[..]].concat());
    assert_eq!(code, Some(0), "{fine}");
    refused(&figure, &[&on[..], &["--set", "device.qmd.buffers=shared"]].concat(), "can wait for ever");
    // A test whose `forall` does not hold in every execution gets no verdict.
    let forall = written(folder.path(), "queue q[2]=1,2;", &["dequeue %rax,q | dequeue %rax,q"], "forall (0:rax=1)");
    refused(&forall, &["--model"], "its `forall` need not hold");
}
