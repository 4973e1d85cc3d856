//! `baton noc` from outside: the figures that programs read, the same bytes for the same seed, traces, deadlocks.

use assert_cmd::Command;
use serde_json::Value;

fn baton(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("noc").args(args).env("NO_COLOR", "1").timeout(std::time::Duration::from_secs(120));
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&baton(args)).unwrap()
}

#[test]
fn json_has_every_figure_and_the_whole_configuration() {
    let v = json(&["--rate", "0.1", "--cycles", "5000", "--json"]);
    for latency in ["packet_latency", "network_latency"] {
        for figure in ["mean", "p50", "p99", "max"] {
            assert!(v[latency][figure].is_number(), "{latency}.{figure}");
        }
    }
    for figure in ["hops", "offered_packets", "accepted_flits", "flit_hops", "cycles", "host_seconds"] {
        assert!(v[figure].is_number(), "{figure}");
    }
    assert_eq!(v["saturated"], false);
    assert!(v["energy"]["total"].as_f64().unwrap() > 0.0);
    assert_eq!(v["configuration"]["network"]["vcs"], 6);
    let mean = v["packet_latency"]["mean"].as_f64().unwrap();
    assert!((20.5..21.5).contains(&mean), "{mean}");
}

#[test]
fn saturated_runs_show_no_mean() {
    let v = json(&["--size", "4x4", "--rate", "0.95", "--cycles", "2000", "--json"]);
    assert_eq!((&v["saturated"], &v["packet_latency"]["mean"]), (&Value::Bool(true), &Value::Null));
    assert!(baton(&["--size", "4x4", "--rate", "0.95", "--cycles", "2000"]).contains("did not settle"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let mut v = json(&["--size", "4x4", "--rate", "0.3", "--cycles", "2000", "--seed", seed, "--json"]);
        v["host_seconds"] = Value::Null;
        v.to_string()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn a_sweep_finds_the_knee_however_many_threads_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("curve.html");
    let sweep = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        let args = ["noc", "sweep", "--size", "2x2", "--rates", "0.1,0.5", "--cycles", "900", "--precision", "0.3"];
        command.args(args).arg("--plot").arg(&page).arg("--json").env("RAYON_NUM_THREADS", threads);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    let one = sweep("1");
    assert_eq!(one, sweep("3"));
    let v: Value = serde_json::from_str(&one).unwrap();
    assert!(v["saturation_load"].is_null() || v["saturation_load"].as_f64().unwrap() > 0.5);
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<polyline") && !html.contains("http"), "one file, no network");
}

#[test]
fn replay_and_explain() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.txt");
    std::fs::write(&trace, "baton-noc-trace 1\nnodes 16\n0 0 15 1 0\n3 15 0 5 1 after 0\n").unwrap();
    let v = json(&["replay", "--json", trace.to_str().unwrap()]);
    assert_eq!((&v[0]["result"]["packets"], &v[0]["result"]["dependencies"]), (&2.into(), &1.into()));
    let torus = ["--topology", "torus", "--size", "4x4", "--vcs", "1", "--routing", "table", "--allow-deadlock"];
    let said = baton(&[&["explain"], &torus[..], &["--rate", "0.3", "--packet", "8", "--cycles", "8000"]].concat());
    assert!(said.contains("deadlock: nothing has moved") && said.contains("which packet"), "{said}");
    let way = baton(&["explain", "--rate", "0.05", "--cycles", "500", "--follow", "3"]);
    assert!(way.contains("created at node") && way.contains("tail flit leaves the network"), "{way}");
}
