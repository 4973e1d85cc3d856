//! `baton sweep`: what is in the store, whatever ended the sweep before, and what it refuses.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// 24 points of some ten milliseconds.
const SPACE: &str = r#"
command = "sim"
seeds = 2
constraints = ["threads <= core.count"]
metrics = ["lock.rate_per_kilocycle", "cycles", { name = "each", value = "= cycles / acquisitions", unit = "cycles" }]
goal = "most lock.rate_per_kilocycle"

[axes]
lock = ["tas", "ticket", "mcs"]
threads = [1, 2, 3]
think = [200, 500]

[set]
chip = "../../chips/sample-host.toml"
iterations = 2000
cs = "= think / 10"
"#;

fn baton(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(arguments);
    command
}

pub(crate) fn run(arguments: &[&str]) -> Output {
    baton(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a space into a folder. Returns its path, and that of its store.
pub(crate) fn space(folder: &Path, content: &str) -> (String, String) {
    let file = folder.join("space.toml");
    std::fs::write(&file, content).unwrap();
    (file.display().to_string(), folder.join("space.store").display().to_string())
}

/// All rows of a store, with the path of the folder left out.
fn rows(store: &str) -> String {
    let exported = run(&["sweep", "export", store, "--csv"]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    text(&exported.stdout)
}

#[test]
fn a_space_is_swept_shown_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = space(folder.path(), SPACE);
    let dry = run(&["sweep", &file, "--dry-run"]);
    assert_eq!(text(&dry.stdout), "12 points, 24 rows\n");
    let swept = run(&["sweep", &file, "--store", &store, "--json"]);
    let said = text(&swept.stderr);
    assert_eq!(swept.status.code(), Some(0), "{said}");
    assert!(
        said.contains("24 rows added; 24 of 24 are in ") && said.contains("most lock.rate_per_kilocycle"),
        "{said}"
    );
    let printed: Vec<Value> = text(&swept.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(printed.len(), 24);
    // The command of a row gives the figures of the row.
    let row = printed.iter().find(|row| row["lock"] == "mcs" && row["threads"] == 2 && row["seed"] == 2).unwrap();
    let command: Vec<&str> = row["command"].as_str().unwrap().split(' ').skip(1).chain(["--json"]).collect();
    let alone: Value = serde_json::from_slice(&run(&command).stdout).unwrap();
    assert_eq!(row["cycles"], alone["cycles"]);
    assert_eq!(row["lock.rate_per_kilocycle"], alone["lock"]["rate_per_kilocycle"]);
    assert_eq!(row["cs"].as_f64().unwrap() * 10.0, row["think"].as_f64().unwrap());
    // A second sweep runs nothing.
    let again = run(&["sweep", "resume", &store, "--json"]);
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(0), String::new()), "{}", text(&again.stderr));
    let shown = run(&[
        "sweep",
        "show",
        &store,
        "--where",
        "threads == 2 and seed == 1",
        "--sort=-cycles",
        "--limit",
        "2",
        "--columns",
        "lock,cycles",
        "--json",
    ]);
    let shown: Vec<Value> = text(&shown.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        shown.len() == 2
            && shown[0]["cycles"].as_u64() >= shown[1]["cycles"].as_u64()
            && shown[0].as_object().unwrap().len() == 2
    );
    let status: Value = serde_json::from_slice(&run(&["sweep", "status", &store, "--json"]).stdout).unwrap();
    assert_eq!((&status["rows"], &status["rows_of_space"], &status["running"]), (&24.into(), &24.into(), &0.into()));
    let csv = rows(&store);
    assert!(
        csv.starts_with("key,lock,threads,think,chip,iterations,cs,seed,lock.rate_per_kilocycle,cycles,each,failure,"),
        "{csv}"
    );
    for name in ["all.csv", "all.jsonl", "all.parquet"] {
        let out = folder.path().join(name);
        let exported = run(&["sweep", "export", &store, "--out", out.to_str().unwrap()]);
        assert!(exported.status.success() && out.metadata().unwrap().len() > 100, "{}", text(&exported.stderr));
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("all.csv")).unwrap(), csv);
}

#[test]
fn a_network_is_swept_and_its_failures_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let network = "command = \"noc\"\nmetrics = [\"hops\", \"packet_latency.mean\"]\n[axes]\nrouting = [\"xy\", \"yx\", \"zz\"]\nrate = [0.05]\n[set]\nsize = \"4x4\"\ncycles = 500\n";
    let (file, store) = space(folder.path(), network);
    let swept = run(&["sweep", &file, "--store", &store]);
    assert_eq!(swept.status.code(), Some(1), "{}", text(&swept.stderr));
    assert!(text(&swept.stderr).contains("unknown routing `zz`"), "{}", text(&swept.stderr));
    let shown = text(&run(&["sweep", "show", &store, "--columns", "routing,hops,failure", "--json"]).stdout);
    let shown: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(shown[0]["hops"].as_f64().unwrap() > 2.0 && shown[2]["failure"] == "invalid", "{shown:?}");
}

/// Kills sweeps after some tenths of a second, again and again, and goes on: the store is that of a
/// sweep that was not killed.
#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = space(folder.path(), SPACE);
    let other = folder.path().join("undisturbed").display().to_string();
    assert!(run(&["sweep", &file, "--store", &other]).status.success());
    for (moment, signal) in [(150, libc::SIGKILL), (250, libc::SIGINT), (200, libc::SIGKILL)] {
        let mut sweep = baton(&["sweep", &file, "--store", &store]);
        let mut child = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(moment));
        // SAFETY: the process is a child that was not waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let status = child.wait().unwrap();
        let ended = status.code().is_none_or(|code| [0, 130].contains(&code));
        assert!(ended, "{status}");
    }
    let last = run(&["sweep", &file, "--store", &store]);
    assert!(last.status.success(), "{}", text(&last.stderr));
    assert_eq!(rows(&store), rows(&other));
}

/// The last point would run for hours.
#[test]
fn a_short_sweep_that_is_ended_prints_the_points_that_it_has() {
    let arguments = ["sim", "--chip", "../../chips/sample-host.toml", "--no-trace", "--figure", "cycles"];
    let mut sweep = baton(&arguments);
    sweep.args(["--sweep", "iterations=1,2,3,1000000000000"]);
    let child = sweep.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    // SAFETY: the process is a child that was not waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let ended = child.wait_with_output().unwrap();
    let (shown, said) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped: 3 of 4 points are done"), "{said}");
    let last = shown.lines().find(|line| line.starts_with("1000000000000")).unwrap_or_else(|| panic!("{shown}"));
    assert!(last.ends_with('-') && shown.lines().filter(|line| line.ends_with('-')).count() == 1, "{shown}");
}

#[test]
fn a_full_disk_ends_the_sweep_and_loses_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = space(folder.path(), SPACE);
    // A file may have 4 KiB: some rows of the journal fit.
    let script =
        format!("trap '' XFSZ; ulimit -f 4; exec {} sweep {file} --store {store}", env!("CARGO_BIN_EXE_baton"));
    let full = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = text(&full.stderr);
    assert_eq!(full.status.code(), Some(1), "{said}");
    assert!(
        said.contains("journal-") && said.contains("cannot be written: File too large") && !said.contains("panicked"),
        "{said}"
    );
    let kept = rows(&store).lines().count() - 1;
    assert!((1..24).contains(&kept), "{kept} rows");
    let on = run(&["sweep", &file, "--store", &store]);
    assert!(text(&on.stderr).contains(&format!("{} rows added; 24 of 24", 24 - kept)), "{}", text(&on.stderr));
}

#[test]
fn bad_spaces_and_stores_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |content: &str, says: &str| {
        let (file, store) = space(folder.path(), content);
        let out = run(&["sweep", &file, "--store", &store]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{content}\n{said}");
        assert!(said.contains(says) && out.stdout.is_empty(), "{content}\n{said}");
        assert!(!Path::new(&store).exists(), "{content}");
    };
    refused("command = \"simm\"", "did you mean `sim`?");
    refused(
        "command = \"sim\"\n[axes]\nthread = [1]",
        "space.toml:3: `baton sim` has no option `--thread`; did you mean `threads`?",
    );
    refused("command = \"sim\"\n[axes]\nsweep = [1]", "space.toml:3: `sweep` is no setting of a point");
    refused(
        "command = \"sim\"\n[axes]\n\"core.cont\" = [1]",
        "space.toml:3: unknown key `core.cont` of a chip; did you mean `core.count`?",
    );
    refused(
        "command = \"sim\"\nmetrics = [\"cycle\"]\n[axes]\nthreads = [1]",
        "space.toml:2: unknown metric `cycle` of `baton sim`",
    );
    refused("command = \"sim\"\n[axes]\nthreads = []", "the space is empty");
    refused(
        "command = \"sim\"\nconstraints = [\"threads > 4\"]\n[axes]\nthreads = [1]",
        "no point meets the constraint `threads > 4`",
    );
    refused("command = \"sim\"\n[set]\nthreads = \"= core.cuont\"", "did you mean `core.count`?");
    let (file, store) = space(
        folder.path(),
        &SPACE.replace("think = [200, 500]", "think = [200]").replace("iterations = 2000", "iterations = 5"),
    );
    assert!(run(&["sweep", &file, "--store", &store]).status.success());
    let before = rows(&store);
    let (file, _) = space(folder.path(), "command = \"sim\"\n[axes]\nlock = [\"mcs\"]");
    let out = run(&["sweep", &file, "--store", &store]);
    let said = text(&out.stderr);
    assert!(
        out.status.code() == Some(2) && said.contains("is of another space") && said.contains("--store DIR"),
        "{said}"
    );
    assert_eq!(rows(&store), before);
    let out = run(&["sweep", "show", &store, "--columns", "locks"]);
    assert!(
        out.status.code() == Some(2) && text(&out.stderr).contains("unknown column `locks`"),
        "{}",
        text(&out.stderr)
    );
}
