//! `baton sched`: dry runs and their logs, exit codes, and masks that are the user's again however a run ends.

use crate::common::root;
use assert_cmd::Command;
use baton_machine::discover::{Kinds, allowed_cpus, cpulist, stay_on};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A second application that is busy for a while.
const BUSY: &str = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done";

pub(crate) fn sched() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("sched");
    command
}

/// The first of at least two CPUs; `None`, with a note, if there is one CPU.
pub(crate) fn fast(test: &str) -> Option<String> {
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
        assert_eq!(report["dry_run"].as_bool(), Some(true));
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
    assert_eq!(line(&mut daemon), "ready\n");
    // SAFETY: the daemon has not been waited for, so that the number is its own.
    unsafe { libc::kill(daemon.id() as i32, libc::SIGTERM) };
    assert_eq!(daemon.wait().unwrap().code(), Some(9));
}

/// A daemon whose actions of signals are set before it begins: SIGINT's is the default one, and `ignored` is ignored.
fn spawn(words: &[&str], ignored: i32, folder: &Path) -> Child {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(["sched", "--quiet"]).args(words).env("XDG_RUNTIME_DIR", folder).stdout(Stdio::piped());
    let set = move || {
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(ignored, libc::SIG_IGN);
        }
        Ok(())
    };
    // SAFETY: the closure calls `signal` alone.
    unsafe { command.pre_exec(set) };
    command.spawn().unwrap()
}

fn send(to: &Child, signal: i32) {
    // SAFETY: the process has not been waited for, so that the number is its own.
    unsafe { libc::kill(to.id() as i32, signal) };
}

/// The child's exit code, if it ends within 20 seconds. It is killed if it does not.
fn code(mut child: Child) -> Option<i32> {
    for _ in 0..2_000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line
}

#[test]
fn a_program_blocks_the_signals_that_it_would_without_the_daemon() {
    let Some(fast) = fast("a_program_blocks_the_signals_that_it_would_without_the_daemon") else { return };
    let grep = ["grep", "SigBlk", "/proc/self/status"];
    let plain = std::process::Command::new(grep[0]).args(&grep[1..]).output().unwrap();
    let output = sched().args(["--quiet", "--fast-cpus", &fast, "--"]).args(grep).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&plain.stdout));
    // A signal to the daemon alone ends a program that handles none. SIGCHLD may have been ignored.
    let folder = tempfile::tempdir().unwrap();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let program = ["--fast-cpus", &fast, "--", "sh", "-c", "echo ready; exec sleep 60"];
        let mut daemon = spawn(&program, libc::SIGCHLD, folder.path());
        assert_eq!(line(&mut daemon), "ready\n");
        send(&daemon, signal);
        assert_eq!(code(daemon), Some(128 + signal));
    }
}

#[test]
fn a_run_over_an_attached_process_ends_with_it() {
    let Some(fast) = fast("a_run_over_an_attached_process_ends_with_it") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleeper.id().to_string();
    let daemon = spawn(&["--fast-cpus", &fast, "--attach", &pid], libc::SIGHUP, folder.path());
    let journals = || std::fs::read_dir(folder.path().join("baton")).map_or(0, Iterator::count);
    while journals() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let attach = |pids: &str, told: &str| {
        let mut command = sched();
        command.args(["--fast-cpus", &fast, "--attach", pids]).env("XDG_RUNTIME_DIR", folder.path());
        let output = command.timeout(Duration::from_secs(20)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(told), "{pids}: {said}");
    };
    attach(&format!("{pid},{pid}"), "is named twice");
    let (told, tid) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        // SAFETY: the call takes nothing and returns a number.
        scope.spawn(move || told.send(unsafe { libc::gettid() }).map(|()| wait.recv()));
        attach(&tid.recv().unwrap().to_string(), &format!("is a thread of process {}", std::process::id()));
        drop(done);
    });
    // The journal names the process from the daemon's first look on.
    std::thread::sleep(Duration::from_millis(100));
    attach(&pid, "another baton sched");
    // `nohup` has it ignored. The test waits for the process only at the end, so that it is a zombie until then.
    send(&daemon, libc::SIGHUP);
    std::thread::sleep(Duration::from_millis(50));
    attach(&pid, "another baton sched");
    sleeper.kill().unwrap();
    assert_eq!(code(daemon), Some(0));
    assert_eq!(journals(), 0);
    sleeper.wait().unwrap();
}

/// The watchdog gives masks back from a journal that was deleted, and leaves them if the daemon has given them back.
#[test]
fn a_watchdog_needs_the_daemons_word() {
    if fast("a_watchdog_needs_the_daemons_word").is_none() {
        return;
    }
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let pids = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let user = allowed_cpus();
    let narrowed = user[..1].to_vec();
    let mut sleeper = std::thread::spawn(move || {
        stay_on(&narrowed).unwrap();
        std::process::Command::new("sleep").arg("60").spawn().unwrap()
    })
    .join()
    .unwrap();
    let pid = sleeper.id();
    let field = |number: usize| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(number - 3).unwrap().to_owned()
    };
    let mask = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        cpulist::parse(list).unwrap()
    };
    let text = format!(
        "baton-sched-journal 1\nboot {}\npids {}\ndaemon 1 1\nprograms -\nfast {}\nslow {}\nthread {pid} {pid} {} {}\n",
        boot.trim(),
        pids.display(),
        user[0],
        cpulist::show(&user[1..]),
        field(22),
        cpulist::show(&user)
    );
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("x.journal");
    for (word, left) in [("done", &user[..1]), ("don", &user[..])] {
        std::fs::write(&journal, &text).unwrap();
        let mut watchdog = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
        watchdog.args(["sched", "restore", "--watch"]).arg(&journal).stdin(Stdio::piped());
        let mut watchdog = watchdog.spawn().unwrap();
        // It has the journal open before it is deleted.
        let fds = format!("/proc/{}/fd", watchdog.id());
        let is_open = |fd: std::fs::DirEntry| std::fs::read_link(fd.path()).is_ok_and(|path| path == journal);
        while !std::fs::read_dir(&fds).unwrap().flatten().any(is_open) {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::remove_file(&journal).unwrap();
        std::io::Write::write_all(&mut watchdog.stdin.take().unwrap(), word.as_bytes()).unwrap();
        assert_eq!(code(watchdog), Some(0));
        assert_eq!(mask(), left, "{word}");
    }
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
}

#[test]
fn a_run_in_a_run_is_refused() {
    let Some(fast) = fast("a_run_in_a_run_is_refused") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = sched();
    command.args(["--quiet", "--fast-cpus", &fast, "--", env!("CARGO_BIN_EXE_baton"), "sched", "--fast-cpus", &fast]);
    let output = command.args(["--", "true"]).env("XDG_RUNTIME_DIR", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("places this command's programs already"), "{said}");
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

#[test]
fn a_scheduler_in_the_kernel_is_refused_before_a_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let scx = folder.path().join("baton-scx");
    std::fs::write(&scx, "#!/bin/sh\necho 'baton-scx: this kernel has no sched_ext' >&2\nexit 2\n").unwrap();
    std::fs::set_permissions(&scx, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let Some(fast) = fast("a_scheduler_in_the_kernel_is_refused_before_a_program_starts") else { return };
    let cases = [
        (&["--backend", "scx"][..], scx.as_path(), "--backend scx: this kernel has no sched_ext"),
        (&["--backend", "scx"], Path::new("/none"), "the program baton-scx is not built (looked at /none)"),
        (&["--all"], scx.as_path(), "--all is for a scheduler in the kernel"),
    ];
    for (options, program, told) in cases {
        let mut command = sched();
        command.args(options).args(["--fast-cpus", &fast, "--", "echo", "ran"]).env("BATON_SCX", program);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(told), "{said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    }
}
