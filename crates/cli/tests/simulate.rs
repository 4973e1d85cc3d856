//! `sim` and `whatif`: their JSON fits the published schemas, the same seed gives the same bytes, workloads compute
//! what they must, and the programs and the script of prediction against measurement run.

use assert_cmd::Command;
use baton_chip::{Chip, Options, Simulation, Spawn, act};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[path = "../../report/tests/support/schema.rs"]
mod schema;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn baton(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.current_dir(root()).args(args).env("NO_COLOR", "1").timeout(Duration::from_secs(120));
    command
}

const CHIP: [&str; 2] = ["--chip", "chips/sample-host.toml"];

/// Standard output of a run that must succeed.
fn output(args: &[&str]) -> String {
    let output = baton(args).args(CHIP).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "baton {args:?}\n{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    let text = output(&[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
}

fn fits(value: &Value, name: &str) {
    let text = std::fs::read_to_string(root().join("docs/schema").join(name)).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema::violations(&schema, value), Vec::<String>::new(), "{name}");
}

#[test]
fn every_workload_of_sim_fits_the_schema_and_adds_up() {
    for args in [
        &["sim", "--lock", "mcs", "--threads", "6", "--iterations", "50", "--lines", "2", "--spread", "0.5"][..],
        &["sim", "--lock", "spin-park", "--threads", "5", "--cycles", "400000"],
        &["sim", "--workload", "barrier", "--barrier", "tree", "--threads", "2", "--iterations", "40"],
        &["sim", "--workload", "pingpong", "--wait", "futex", "--iterations", "40"],
        &["sim", "--workload", "ring", "--queue", "spsc", "--iterations", "40", "--wait", "spin-park"],
        &["sim", "--workload", "ring", "--queue", "mpmc", "--threads", "5", "--iterations", "40"],
    ] {
        let value = json(args);
        fits(&value, "sim.schema.json");
        let lock = &value["lock"];
        if lock.is_object() {
            let figure = |name: &str| lock[name].as_u64().unwrap();
            assert_eq!(figure("blocking_cycles"), figure("sections_cycles") + figure("overhead_cycles"), "{args:?}");
            assert!(value["acquisitions"].as_u64().unwrap() > 100, "{args:?}");
        }
        assert!(value["chip"]["cache.hit"].is_u64());
    }
}

#[test]
fn a_seed_gives_the_same_bytes() {
    let run = |seed: &str| {
        let mut value = json(&["sim", "--lock", "ttas", "--threads", "4", "--iterations", "60", "--seed", seed]);
        // Figures of the host.
        for host in ["host_seconds", "cycles_per_second", "guest_operations_per_second"] {
            value.as_object_mut().unwrap().remove(host);
        }
        value.to_string()
    };
    assert_eq!(run("3"), run("3"));
    assert_ne!(run("3"), run("4"));
}

/// A trace directory of a small program: two guests that contend for a lock, recorded on the simulated chip and written
/// as a program would write it.
fn recorded() -> tempfile::TempDir {
    use baton_trace::writer::{Options as Recording, Session, ThreadWriter};
    use baton_trace::{Lock, Mode, SiteId, What};
    let sample = std::fs::read_to_string(root().join("chips/sample-host.toml")).unwrap();
    let chip = Chip::from_toml(&sample, "sample-host.toml").unwrap();
    let mut simulation = Simulation::new(&chip, &Options { record: true, ..Options::default() }).unwrap();
    let body = || {
        act::record(act::time(), What::ThreadStart { handle: 1 });
        for _ in 0..200 {
            <baton_chip::Simulated as baton_machine::Machine>::work(baton_units::Cycles(5000));
            let (lock, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId::UNKNOWN);
            act::record(act::time(), What::Acquire { lock, mode, site });
            <baton_chip::Simulated as baton_machine::Machine>::work(baton_units::Cycles(500));
            act::record(act::time(), What::Release { lock, mode, site });
        }
        act::record(act::time(), What::ThreadEnd { handle: 1 });
    };
    simulation.spawn(Spawn::default(), body).unwrap();
    simulation.run().unwrap();
    let trace = simulation.into_trace();
    let directory = tempfile::tempdir().unwrap();
    let path = std::ffi::CString::new(directory.path().to_str().unwrap()).unwrap();
    let session: &'static Session = Box::leak(Box::new(Session::new()));
    session.open(&path, Recording::default()).unwrap();
    let pen = ThreadWriter::new();
    let start = baton_trace::clock::now(session.source());
    for event in trace.events() {
        let ticks = trace.clock.nanos(event.time.0).0 * 3;
        pen.post_at(session, start + ticks, event.what);
    }
    pen.finish();
    session.finish();
    directory
}

#[test]
fn whatif_fits_the_schema_and_writes_its_page() {
    let trace = recorded();
    let directory = trace.path().to_str().unwrap();
    let page = trace.path().join("whatif.html");
    let args = ["whatif", directory, "--lock", "mcs,ticket,spin-park", "--seeds", "2"];
    let value = json(&args);
    fits(&value, "whatif.schema.json");
    assert_eq!(value["results"].as_array().unwrap().len(), 4);
    assert_eq!(json(&args), value, "the same bytes again");
    let text = output(&[&args[..], &["--html", page.to_str().unwrap()]].concat());
    assert!(text.contains("self-check") && text.contains("recorded lock"), "{text}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<svg") && page.contains("default-src 'none'") && !page.contains("http://"),
        "not self-contained"
    );
    let all = json(&["whatif", directory, "--lock", "all", "--wait", "futex", "--seeds", "1"]);
    assert!(all["results"].as_array().unwrap().len() > 8);
}

#[test]
fn the_programs_of_prediction_compile_and_compute() {
    let directory = tempfile::tempdir().unwrap();
    let mut programs = 0;
    for entry in std::fs::read_dir(root().join("examples/predict")).unwrap() {
        let source = entry.unwrap().path();
        if source.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let binary = directory.path().join(source.file_stem().unwrap());
        let mut cc = std::process::Command::new("cc");
        cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&binary).arg(&source).arg("-lpthread");
        assert!(cc.status().unwrap().success(), "{}", source.display());
        let single = source.file_stem().unwrap() == "pipeline";
        let arguments: &[&str] = if single { &["300"] } else { &["3", "300"] };
        let mut run = Command::new(&binary);
        run.args(arguments).timeout(Duration::from_secs(60)).assert().success();
        programs += 1;
    }
    assert!(programs >= 8, "{programs}");
}
