//! `baton sched` over programs under `baton run`: what threads tell of locks, and the masks that they are answered; and cpusets that change.

use crate::common::{self, installed, root};
use crate::sched::{fast, sched};
use baton_machine::discover::{allowed_cpus, cpulist};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Compiles the program that holds a lock for long.
fn compiled(folder: &Path, options: &[&str]) -> PathBuf {
    common::compiled(folder, "holds_long", include_str!("programs/holds_long.c"), options)
}

/// Runs `crit` over a program, with `command` in front of it. Returns the statistics and the log.
fn crit(folder: &Path, fast: &str, command: &[&std::ffi::OsStr], program: &Path) -> (Value, String) {
    let log = folder.join("run.log");
    let mut run = sched();
    run.args(["--policy", "crit", "--json", "--fast-cpus", fast, "--log"])
        .arg(&log)
        .arg("--")
        .args(command)
        .arg(program);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("done\n"), "{said}");
    let same = sched().arg("replay").arg(&log).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    (serde_json::from_slice(&output.stdout).unwrap(), std::fs::read_to_string(log).unwrap())
}

/// All that was told of locks, without times and numbers of locks: `lock 2 wants`.
fn told(log: &str) -> Vec<String> {
    let inputs = log.lines().filter_map(|line| line.split_once(':')?.0.split_once(' '));
    let locks = inputs.map(|(_, input)| input).filter(|input| input.starts_with("lock "));
    locks.map(|input| input.rsplit_once(' ').unwrap().0.split(' ').nth(2).unwrap().to_owned()).collect()
}

fn assert_told(report: &Value, log: &str) {
    let told = told(log);
    for what in ["wants", "takes", "leaves", "arrives"] {
        assert!(told.iter().any(|told| told == what), "nothing {what}: {report}\n{log}");
    }
    let told = &report["told"];
    assert_eq!((told["threads"].as_u64(), told["without_room"].as_u64()), (Some(3), Some(0)), "{report}");
    let waits = &told["waits"];
    assert!(waits["samples"].as_u64() > Some(0) && waits["p50_us"].as_u64() > Some(0), "{report}");
}

#[test]
fn crit_hears_of_mutexes_and_barriers() {
    let test = "crit_hears_of_mutexes_and_barriers";
    let Some(fast) = fast(test).filter(|_| baton_needs::has("cc", test)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), &[]);
    let baton = installed().join("bin/baton");
    for lock in ["mcs", "spin-park"] {
        let command = [baton.as_os_str(), "run".as_ref(), "--quiet".as_ref(), "--lock".as_ref(), lock.as_ref()];
        let (report, log) = crit(folder.path(), &fast, &command, &program);
        assert_told(&report, &log);
    }
    // Without `baton run` a program tells nothing, and the statistics say so.
    let (report, log) = crit(folder.path(), &fast, &[], &program);
    assert_eq!((report["told"]["threads"].as_u64(), told(&log).len()), (Some(0), 0), "{report}");
    let said = sched().args(["--policy", "crit", "--fast-cpus", &fast, "--", "true"]).output().unwrap().stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("no thread told of locks, so crit had nothing to act on"), "{said}");
    let attach = sched().args(["--policy", "crit", "--fast-cpus", &fast, "--attach", "1"]).output().unwrap();
    assert_eq!(attach.status.code(), Some(2));
}

#[test]
fn crit_hears_of_openmp() {
    let test = "crit_hears_of_openmp";
    let Some(fast) = fast(test).filter(|_| baton_needs::has("gcc", test)) else { return };
    let folder = crate::openmp::folder(true);
    let program = compiled(folder.path(), &["-fopenmp"]);
    let baton = folder.path().join("bin/baton");
    let command = [baton.as_os_str(), "run".as_ref(), "--openmp".as_ref(), "baton".as_ref()];
    let (report, log) = crit(folder.path(), &fast, &command, &program);
    assert_told(&report, &log);
}

/// The script that measures policies gives a table with each treatment, and figures of each run (some three seconds).
#[test]
fn policies_are_measured_beside_plain_linux() {
    let test = "policies_are_measured_beside_plain_linux";
    let programs = ["python3", "taskset", "cc"];
    if fast(test).is_none() || !programs.into_iter().all(|program| baton_needs::has(program, test)) {
        return;
    }
    let (folder, cases) = (tempfile::tempdir().unwrap(), ["short holds"]);
    let raw = folder.path().join("raw.json");
    let mut script = Command::new(root().join("scripts/measure/sched-experiment"));
    script.args(cases).args(["--quick", "--rounds", "1", "--policies", "crit", "--raw"]).arg(&raw);
    let output = script.arg("--baton").arg(installed().join("bin/baton")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&std::fs::read(&raw).unwrap()).unwrap();
    let of = |case: &str, treatment: &str, figure: &str| {
        let runs = found["runs"].as_array().unwrap().iter();
        let mut runs = runs.filter(|run| run["case"] == case && run["treatment"] == treatment);
        runs.next().unwrap_or_else(|| panic!("{said}"))[figure].as_f64()
    };
    assert_eq!(of("short holds", "taskset", "fast"), Some(1.0), "{said}");
    for treatment in ["plain", "taskset", "crit"] {
        assert!(of("short holds", treatment, "held").is_some_and(|share| (0.0..=1.0).contains(&share)), "{said}");
        // Thirty holds of 10 ms, each of which takes twice as long on a slow CPU.
        assert!(of("short holds", treatment, "ns") >= Some(0.28e9), "{said}");
        assert!(said.contains(&format!("| {treatment} | ")), "{said}");
    }
    let told = &found["cases"]["short holds"];
    for kind in [&told["foretold"]["shares"]["crit"], &told["simulated"]["crit"]] {
        let shares: Vec<f64> = serde_json::from_value(kind.clone()).unwrap();
        assert!(shares.len() == 4 && shares.iter().all(|share| (0.4..=1.1).contains(share)), "{said}");
    }
}

/// Waits until the kernel's mask has fewer CPUs than its second argument says, for the seconds of the first one at most. Then prints
/// the number of CPUs that the C library tells of, that of a child which inherits the narrowed mask, and whether a mask of the
/// program's own is told.
const ASKS: &str = r#"
import os, subprocess, sys, time
def real():
    mask = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("Cpus_allowed:"))
    return bin(int(mask.replace(",", ""), 16)).count("1")
user = os.sched_getaffinity(0)
# With these, threads are swapped in every round.
busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
end = time.time() + float(sys.argv[1])
while time.time() < end:
    if real() < int(sys.argv[2]):
        told = len(os.sched_getaffinity(0))
        child = subprocess.run(["nproc"], stdout=subprocess.PIPE, text=True).stdout.strip()
        os.sched_setaffinity(0, {min(user)})
        print("narrowed", told, child, os.sched_getaffinity(0) == {min(user)})
        break
for each in busy:
    each.kill()
"#;

fn asks(fast: &str, command: &[&std::ffi::OsStr], options: &[&str], seconds: &str) -> Output {
    let mut run = sched();
    run.args(["--quiet", "--policy", "rr", "--time-slice", "1ms", "--fast-cpus", fast]).args(options).arg("--");
    run.args(command).args(["python3", "-c", ASKS, seconds, &allowed_cpus().len().to_string()]).output().unwrap()
}

#[test]
fn programs_are_told_the_users_mask() {
    let test = "programs_are_told_the_users_mask";
    let Some(fast) = fast(test).filter(|_| baton_needs::has("python3", test)) else { return };
    let cpus = allowed_cpus().len().to_string();
    let baton = installed().join("bin/baton");
    let command = [baton.as_os_str(), "run".as_ref(), "--quiet".as_ref(), "--".as_ref()];
    let output = asks(&fast, &command, &[], "20");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, format!("narrowed {cpus} {cpus} True\n"), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A dry run changes no mask; the same program sees a narrowed mask in a run that does.
#[test]
fn a_dry_run_changes_no_mask() {
    let test = "a_dry_run_changes_no_mask";
    let Some(fast) = fast(test).filter(|_| baton_needs::has("python3", test)) else { return };
    let said = |options: &[&str], seconds: &str| {
        String::from_utf8_lossy(&asks(&fast, &[], options, seconds).stdout).into_owned()
    };
    assert_eq!(said(&["--dry-run"], "0.5"), "");
    let narrowed = said(&[], "20");
    assert!(narrowed.starts_with("narrowed "), "{narrowed}");
}

/// A cpuset of two CPUs, which goes with the value.
struct Cpuset(PathBuf);

impl Cpuset {
    /// `None`, with a note, if this user may not make one.
    fn make(cpus: &str, test: &str) -> Option<Cpuset> {
        let root = Path::new("/sys/fs/cgroup/cpuset");
        let set = Cpuset(root.join(format!("baton-test-{}", std::process::id())));
        let made = std::fs::create_dir(&set.0).and_then(|()| {
            std::fs::write(set.0.join("cpuset.mems"), std::fs::read(root.join("cpuset.mems"))?)?;
            set.cpus(cpus)
        });
        if made.is_err() {
            baton_needs::absent("right to make cpusets of version 1", test);
        }
        made.ok().map(|()| set)
    }

    fn cpus(&self, cpus: &str) -> std::io::Result<()> {
        std::fs::write(self.0.join("cpuset.cpus"), cpus)
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A cpuset that shrinks and grows is no mask of the program's own: the program may use all of its CPUs afterwards.
#[test]
fn a_cpuset_that_shrinks_is_told_from_the_programs_own_mask() {
    let test = "a_cpuset_that_shrinks_is_told_from_the_programs_own_mask";
    let Some(fast) = fast(test) else { return };
    let user = allowed_cpus();
    let all = cpulist::show(&user);
    let Some(set) = Cpuset::make(&all, test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let stop = folder.path().join("stop");
    let script = format!("echo $$ > {}/tasks; echo $$; while [ ! -e {} ]; do :; done", set.0.display(), stop.display());
    let mut run = Command::new(env!("CARGO_BIN_EXE_baton"));
    run.args([
        "sched",
        "--json",
        "--policy",
        "rr",
        "--time-slice",
        "1ms",
        "--fast-cpus",
        &fast,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let mut daemon = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // With --json the program writes to standard error.
    let mut line = String::new();
    BufReader::new(daemon.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let mask = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", line.trim())).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    };
    let pause = || std::thread::sleep(Duration::from_millis(400));
    pause();
    set.cpus(&user[1].to_string()).unwrap();
    pause();
    assert_eq!(mask(), user[1].to_string());
    set.cpus(&all).unwrap();
    pause();
    std::fs::write(&stop, "").unwrap();
    let output = daemon.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["cut"].as_u64() > Some(0) && report["changed_own"] == 0, "{report}");
}
