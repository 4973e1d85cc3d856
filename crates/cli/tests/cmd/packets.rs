//! `baton sim` with packets, rules and rows of files: what comes out, and what is said of files that are broken.

use crate::common::root;
use crate::schema;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CHIP: [&str; 4] = ["sim", "--chip", "../../chips/caf16.toml", "--pin"];

fn baton(args: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_baton"));
    let command = command.args(CHIP).args(args).env("NO_COLOR", "1");
    command.timeout(std::time::Duration::from_secs(120)).output().unwrap()
}

/// A run's figures.
fn whole(args: &[&str]) -> Value {
    let output = baton(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs `baton sim` and returns its result without the figures of the host, which differ from run
/// to run.
fn json(args: &[&str]) -> Value {
    let mut result = whole(args);
    for name in ["host_seconds", "cycles_per_second", "guest_operations_per_second"] {
        result.as_object_mut().unwrap().remove(name);
    }
    result
}

/// Checks that the arguments are refused as bad input. Returns the message.
fn refused(args: &[&str]) -> String {
    let output = baton(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{args:?}\n{said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{args:?}\n{said}");
    said
}

fn measured(result: &Value, name: &str) -> f64 {
    result["measured"][name].as_f64().unwrap_or_else(|| panic!("{name}: {}", result["measured"]))
}

/// Makes the sample files by their script. `None`: there is no Python, and the test is skipped.
fn samples(test: &str) -> Option<tempfile::TempDir> {
    if !baton_needs::has("python3", test) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let made =
        Command::new("python3").arg(root().join("scripts/measure/sample-inputs")).arg(folder.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder)
}

fn name(folder: &Path, file: &str) -> String {
    folder.join(file).to_str().unwrap().to_owned()
}

#[test]
fn a_capture_goes_through_the_rules() {
    let Some(folder) = samples("a_capture_goes_through_the_rules") else { return };
    let (packets, rules) = (name(folder.path(), "sample.pcap"), name(folder.path(), "rules.txt"));
    let run = |more: &[&str]| {
        json(&[&["--workload", "firewall", "--packets", &packets, "--rules", &rules, "--bulk", "8"], more].concat())
    };
    let published: Value = serde_json::from_str(include_str!("../../../../docs/schema/sim.schema.json")).unwrap();
    let qmd = run(&["--queue", "qmd", "--prepush", "shared"]);
    let args = ["--workload", "firewall", "--packets", &packets, "--rules", &rules];
    assert_eq!(schema::violations(&published, &whole(&args)), Vec::<String>::new());
    assert_eq!(qmd, run(&["--queue", "qmd", "--prepush", "shared"]));
    let ring = run(&["--queue", "ring"]);
    let counts =
        |result: &Value| ["packets_allowed", "packets_denied", "packets_inspected"].map(|n| measured(result, n));
    // By the script's shares, of 32 packets some 4 go to port 666, which is inspected, and 5 to
    // addresses that no rule allows.
    let [allowed, denied, inspected] = counts(&qmd);
    assert_eq!(allowed + denied + inspected, 300.0);
    assert!((20.0..60.0).contains(&inspected) && (20.0..80.0).contains(&denied), "{:?}", counts(&qmd));
    assert_eq!(counts(&ring), counts(&qmd));
    assert!(measured(&qmd, "cycles_a_packet") > 10.0);
    assert_eq!(qmd["workload_options"]["packets"].as_str(), Some(&*packets));
    // With a rule that allows every packet, all 300 packets pass.
    let all = name(folder.path(), "all.txt");
    std::fs::write(&all, "allow any any any any\n").unwrap();
    let open = json(&["--workload", "firewall", "--queue", "mpmc", "--packets", &packets, "--rules", &all]);
    assert_eq!(counts(&open), [300.0, 0.0, 0.0]);
}

/// The runs check that each packet comes once, and its flow's order.
#[test]
fn a_capture_goes_through_queues_with_flows() {
    let Some(folder) = samples("a_capture_goes_through_queues_with_flows") else { return };
    let (packets, rules) = (name(folder.path(), "sample.pcap"), name(folder.path(), "rules.txt"));
    let firewall = ["--workload", "firewall", "--packets", &packets, "--rules", &rules, "--queue"];
    let counts =
        |result: &Value| ["packets_allowed", "packets_denied", "packets_inspected"].map(|n| measured(result, n));
    let plain = counts(&json(&[&firewall[..], &["qmd"]].concat()));
    let jobs = ["--workload", "distributor", "--packets", &packets, "--kind", "atomic", "--queue"];
    for queue in ["flows", "qmd"] {
        for kind in ["atomic", "ordered"] {
            let result = json(&[&firewall[..], &[queue, "--kind", kind]].concat());
            assert_eq!((counts(&result), measured(&result, "packets_late")), (plain, 0.0), "{queue} {kind}");
            assert_eq!(result["workload_options"]["kind"].as_str(), Some(kind));
        }
        let result = json(&[&jobs[..], &[queue]].concat());
        assert!(measured(&result, "busiest_worker") >= 1.0 && result["algorithm"].as_str() == Some(queue));
    }
    for (more, why) in [
        (&["--kind", "atomic", "--queue", "ring"][..], "`ring`"),
        (&["--kind", "atomic", "--queue", "qmd", "--bulk", "8"], "a bulk of 8 packets; a queue with flows gives one"),
        (&["--kind", "directed", "--queue", "qmd"], "4 filters; a directed queue has one consumer"),
        (&["--kind", "atomic", "--queue", "qmd", "--zipf", "1"], "the packets of --packets have their own"),
    ] {
        let said = refused(&[&firewall[..6], more].concat());
        assert!(said.contains(why), "{said}");
    }
    let said = refused(&[&jobs[..4], &["--queue", "ring"]].concat());
    assert!(said.contains("expected --kind, or --queue flows"), "{said}");
}

/// The runs check that each packet comes once, and the order that is kept.
#[test]
fn packets_of_flows_go_without_a_queue_with_flows() {
    let run = ["--workload", "flows", "--threads", "8", "--iterations", "40", "--zipf", "0.9", "--queue"];
    for (queue, kind) in
        [("plain", "parallel"), ("plain-qmd", "parallel"), ("sharded", "atomic"), ("reorder", "ordered")]
    {
        let result = json(&[&run[..], &[queue, "--kind", kind]].concat());
        assert!(measured(&result, "p99_cycles") > 0.0 && result["algorithm"].as_str() == Some(queue), "{queue}");
    }
    let said = refused(&[&run[..], &["sharded"]].concat());
    assert!(said.contains("expected --kind atomic"), "{said}");
}

#[test]
fn rows_are_learnt_from() {
    let Some(folder) = samples("rows_are_learnt_from") else { return };
    let data = name(folder.path(), "rows.csv");
    let run = |more: &[&str]| json(&[&["--workload", "regression", "--data", &data, "--threads", "4"], more].concat());
    let (queues, device) = (run(&["--queue", "ring-single"]), run(&["--queue", "qmd"]));
    for name in ["loss_after", "accuracy"] {
        assert_eq!(measured(&queues, name), measured(&device, name));
    }
    assert!(measured(&device, "loss_after") < 0.45 && measured(&device, "accuracy") > 0.8, "{}", device["measured"]);
    assert_eq!((device["algorithm"].as_str(), queues["algorithm"].as_str()), (Some("reducer"), Some("ring-single")));
}

#[test]
fn made_packets_and_jobs_need_no_file() {
    for workload in ["clusters", "firewall"] {
        let result = json(&["--workload", workload, "--queue", "spsc", "--iterations", "60", "--think", "0"]);
        assert!(measured(&result, "cycles_a_packet") > 10.0, "{workload}");
    }
    let sweep =
        ["--workload", "distributor", "--queue", "qmd", "--iterations", "60", "--sweep", "dispatch=slots,balanced"];
    let output = baton(&sweep);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with("measured.cycles_a_job (cycles per job), by dispatch"), "{shown}");
    let text = String::from_utf8(baton(&["--workload", "regression", "--iterations", "3"]).stdout).unwrap();
    assert!(text.starts_with("regression mpmc wait pause · 4 threads"), "{text}");
}

#[test]
fn each_kind_of_broken_file_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = |text: &[u8]| -> PathBuf {
        let path = folder.path().join("input");
        std::fs::write(&path, text).unwrap();
        path
    };
    let said = |option: &str, text: &[u8]| {
        let path = file(text);
        let path = path.to_str().unwrap();
        let args: Vec<&str> = match option {
            "--data" => vec!["--workload", "regression", option, path],
            "--packets" => vec!["--workload", "clusters", option, path],
            _ => vec!["--workload", "firewall", option, path],
        };
        refused(&args).replace(path, "FILE")
    };
    let mut capture = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0].to_vec();
    capture.extend([0; 8].iter().chain(&[0xff, 0xff, 0, 0, 1, 0, 0, 0]));
    capture.extend([0; 8].iter().chain(&[60, 0, 0, 0, 60, 0, 0, 0, 1, 2, 3]));
    for (option, text, expected) in [
        ("--packets", &capture[..], "FILE: packet 1, at byte 24: the file ends 3 bytes into a packet; expected 60"),
        ("--packets", &capture[..12], "FILE: has 12 bytes; expected 24 bytes of header at least"),
        ("--packets", b"\x0a\x0d\x0d\x0a", "FILE: at byte 0: is a pcapng file; expected classic pcap"),
        ("--packets", b"text", "FILE: at byte 0: begins with 74 65 78 74; expected a pcap file"),
        ("--rules", b"allow any any any any\ndeny tcp any\n", "FILE:2: 3 words; expected 5: ACTION PROTOCOL"),
        ("--rules", b"\nallow tcp any any 99999\n", "FILE:2: ports `99999`; expected any, or ports from 0 to 65535"),
        ("--rules", b"", "FILE: has no rules; expected one at least"),
        ("--data", b"a,b,label\n1,2,0\n1,x,1\n", "FILE:3: column 2 is `x`; expected a finite number"),
        ("--data", b"1,2,0\n1,1\n", "FILE:2: 2 columns; expected 3"),
        ("--data", b"1,0\n2,0\n", "FILE: has no label but 0; expected two values in the last column"),
    ] {
        let said = said(option, text);
        assert!(said.contains(expected), "{option}: expected `{expected}`, heard {said}");
    }
    let none = "/no/such/file: cannot be read: ";
    assert!(refused(&["--workload", "clusters", "--packets", "/no/such/file"]).contains(none));
    let device = "/dev/zero: is no regular file; expected one";
    assert!(refused(&["--workload", "regression", "--data", "/dev/zero"]).contains(device));
}

#[test]
fn settings_that_cannot_be_are_explained() {
    for (args, expected) in [
        (
            &["--workload", "ring", "--packets", "x"][..],
            "--packets is for --workload firewall, clusters and distributor, not ring",
        ),
        (&["--workload", "clusters", "--rules", "x"], "--rules is for --workload firewall, not clusters"),
        (&["--workload", "lock", "--data", "x"], "--data is for --workload regression, not lock"),
        (
            &["--workload", "firewall", "--threads", "3"],
            "a source, a filter at least, an analyser and a sink: at least 4 threads, not 3",
        ),
        (&["--workload", "clusters", "--clusters", "4"], "clusters of 4 threads; expected two stages at least"),
        (&["--workload", "clusters", "--clusters", "1,0,1"], "clusters of 1,0,1 threads; expected two stages at least"),
        (&["--workload", "clusters", "--clusters", "1,2", "--threads", "4"], "these clusters have 3 threads, not 4"),
        (&["--workload", "firewall", "--pool", "6"], "a pool of 6 buffers; expected 7 at least"),
        (&["--workload", "firewall", "--bulk", "128"], "a bulk of 128 packets; expected 1 to the queues' capacity, 64"),
        (&["--workload", "firewall", "--blocks", "33"], "33 blocks of a packet; expected 1 to 32"),
        (
            &["--workload", "firewall", "--queue", "qmd", "--capacity", "1024"],
            "room for another queue of 1024 items; fewer or smaller",
        ),
        (&["--workload", "distributor", "--dispatch", "slot"], "a similar value exists: 'slots'"),
        (&["--workload", "distributor", "--threads", "1"], "at least 2 threads"),
        (&["--workload", "distributor", "--sweep", "dispatch=slots,balance"], "did you mean `balanced`?"),
        (&["--workload", "distributor", "--queue", "spsc", "--dispatch", "shared"], "queue `spsc` is for one consumer"),
        (&["--workload", "regression", "--rows", "0"], "0 rows for each worker; expected 1 at least"),
        (&["--workload", "regression", "--step", "0"], "a step of 0; expected a number above 0"),
        (&["--workload", "regression", "--threads", "16", "--queue", "qmd"], "has room for 32 queues of 16 items"),
        (&["--workload", "firewall", "--packets", "Cargo.toml"], "Cargo.toml: at byte 0: begins with 5b 70 61 63"),
    ] {
        let said = refused(args);
        assert!(said.contains(expected), "{args:?}: expected `{expected}`, heard {said}");
    }
}
