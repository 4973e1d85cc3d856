//! `baton sched`: dry runs and their logs, exit codes, and masks that are the user's again however a run ends.

use crate::common::root;
use assert_cmd::Command;
use baton_machine::discover::{Kinds, allowed_cpus};

/// A second application that is busy for a while.
const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";

fn sched() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("sched");
    command
}

/// The first of at least two CPUs; `None`, with a note, if there is one CPU.
fn fast(test: &str) -> Option<String> {
    let cpus = allowed_cpus();
    if cpus.len() < 2 {
        baton_needs::absent("second CPU", test);
        return None;
    }
    Some(cpus[0].to_string())
}

#[test]
fn a_dry_run_is_logged_and_replays() {
    let Some(fast) = fast("a_dry_run_is_logged_and_replays") else { return };
    let folder = tempfile::tempdir().unwrap();
    for more in [&[][..], &["--poll"]] {
        let log = folder.path().join("run.log");
        let mut command = sched();
        command.args(["--dry-run", "--json", "--fast-cpus", &fast, "--log"]).arg(&log).args(more);
        command.args(["--", "sh", "-c", "echo told; exit 7", "::", "sh", "-c", BUSY]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(7), "the first program's exit code: {said}");
        assert!(said.contains("told\n"), "the program's output: {said}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("only the statistics");
        let codes: Vec<_> = report["apps"].as_array().unwrap().iter().map(|app| app["code"].as_u64()).collect();
        assert_eq!(codes, [Some(7), Some(0)]);
        assert_eq!((report["dry_run"].as_bool(), report["masks"].as_u64()), (Some(true), Some(0)));
        assert_eq!(report["source"] == "/proc", !more.is_empty() || report["source_because"].is_string());
        let busy = &report["apps"][1];
        assert!(busy["fast_ns"].as_u64().unwrap() + busy["slow_ns"].as_u64().unwrap() > 0, "{report}");

        let same = sched().arg("replay").arg(&log).output().unwrap();
        let told = String::from_utf8_lossy(&same.stdout).into_owned();
        assert!(same.status.success() && told.ends_with("decisions: the same\n"), "{told}");
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, text.replacen(" tick:", " tick: demoted 0;", 1)).unwrap();
        let other = sched().arg("replay").arg(&log).output().unwrap();
        let told = String::from_utf8_lossy(&other.stdout).into_owned();
        assert!(other.status.code() == Some(1) && told.contains(" differs\n  logged:   "), "{told}");
        std::fs::write(&log, text.replacen(" tick:", " tock:", 1)).unwrap();
        let damaged = sched().arg("replay").arg(&log).output().unwrap();
        let told = String::from_utf8_lossy(&damaged.stderr).into_owned();
        assert!(
            damaged.status.code() == Some(2) && told.contains(" tock:") && told.contains("expected `TIME INPUT"),
            "{told}"
        );
    }
}

#[test]
fn equal_cpus_need_a_name() {
    if Kinds::discover().kinds.len() > 1 {
        baton_needs::absent("machine with equal CPUs", "equal_cpus_need_a_name");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("ran");
    let output = sched().args(["--", "touch"]).arg(&mark).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("are of one kind"), "{said}");
    assert!(!mark.exists(), "the program ran");
}

#[test]
fn signals_go_to_the_program_and_its_code_is_kept() {
    let Some(fast) = fast("signals_go_to_the_program_and_its_code_is_kept") else { return };
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done";
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(["sched", "--quiet", "--fast-cpus", &fast, "--", "sh", "-c", script]);
    let mut daemon = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(daemon.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    // SAFETY: the daemon has not been waited for, so that the number is its own.
    unsafe { libc::kill(daemon.id() as i32, libc::SIGTERM) };
    assert_eq!(daemon.wait().unwrap().code(), Some(9));
}

/// Runs that end by themselves, are killed, stopped or interrupted leave the user's masks (some ten seconds).
#[test]
fn masks_are_the_users_however_a_run_ends() {
    let test = "masks_are_the_users_however_a_run_ends";
    if fast(test).is_none() || !baton_needs::has("python3", test) || !baton_needs::has("taskset", test) {
        return;
    }
    let mut script = Command::new(root().join("scripts/check/sched-robust"));
    script.args(["--rounds", "8", "--within", "5", "--baton", env!("CARGO_BIN_EXE_baton")]);
    let output = script.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}
