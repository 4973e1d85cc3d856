//! `run` and `profile` on real programs, with the preload library of this build.

use crate::common;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn baton() -> Command {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD");
    command
}

/// A program of four threads that count under a mutex, compiled once.
fn counter() -> &'static Path {
    static COUNTER: OnceLock<&Path> = OnceLock::new();
    COUNTER.get_or_init(|| {
        let dir = common::lasting();
        let source = r#"
            #include <pthread.h>
            #include <stdio.h>
            #include <stdlib.h>
            #include <unistd.h>
            static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
            static long total;
            static useconds_t rest;
            static void *count(void *rounds) {
                for (long i = (long)rounds; i > 0; i--) {
                    pthread_mutex_lock(&lock);
                    total++;
                    pthread_mutex_unlock(&lock);
                    if (rest) usleep(rest);
                }
                return 0;
            }
            int main(int argc, char **argv) {
                pthread_t t[4];
                long rounds = argc > 1 ? atol(argv[1]) : 1000;
                rest = argc > 3 ? atoi(argv[3]) : 0;
                for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, count, (void *)rounds);
                for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
                printf("%ld\n", total);
                return argc > 2 ? atoi(argv[2]) : 0;
            }"#;
        common::compiled(dir, "counter", source, &[]);
        dir
    })
}

/// Arguments with which the counter counts for days, and gives a short recording few events.
const ENDLESS: [&str; 3] = ["1000000000", "0", "100"];

/// The command is linked to a fixed address, so the loader need not write addresses into it at its
/// start, which took longer than all else.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_command_lies_at_a_fixed_address() {
    let command = std::fs::read(env!("CARGO_BIN_EXE_baton")).unwrap();
    assert_eq!(u16::from_le_bytes([command[16], command[17]]), 2, "ET_EXEC in the file's header");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap()
}

#[test]
fn run_serves_every_acquisition_and_keeps_output_and_exit_code() {
    for lock in ["ticket", "mcs", "spin-park"] {
        let stats = tempfile::NamedTempFile::new().unwrap();
        let mut run = baton();
        run.args(["run", "--lock", lock]);
        if lock != "spin-park" {
            run.args(["--wait", "spin-park"]);
        }
        let out =
            output(run.arg("--stats").arg(stats.path()).arg("--").arg(counter().join("counter")).args(["500", "7"]));
        assert_eq!((out.status.code(), text(&out.stdout).as_str()), (Some(7), "2000\n"), "{}", text(&out.stderr));
        assert!(text(&out.stderr).contains("served 2000 of 2000"), "{}", text(&out.stderr));
        let line: serde_json::Value = serde_json::from_slice(&std::fs::read(stats.path()).unwrap()).unwrap();
        assert_eq!((line["lock"].as_str(), line["served"].as_u64()), (Some(lock), Some(2000)));
    }
}

#[test]
fn run_says_whether_waiters_keep_spinning() {
    for (options, says) in [(&["--keep-spinning"][..], "on\n"), (&[], "\n")] {
        let mut run = baton();
        run.args(["run", "--lock", "mcs", "--wait", "pause"]).args(options).args(["--", "sh", "-c"]);
        let out = output(run.arg("echo $BATON_KEEP_SPINNING"));
        assert_eq!(text(&out.stdout), says, "{}", text(&out.stderr));
    }
}

#[test]
fn profile_leaves_a_whole_directory_and_keeps_output_and_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("p");
    let out = output(
        baton().arg("profile").arg("-o").arg(&place).arg("--").arg(counter().join("counter")).args(["500", "3"]),
    );
    assert_eq!((out.status.code(), text(&out.stdout).as_str()), (Some(3), "2000\n"), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("2.00k acquisitions of 1 lock"), "{}", text(&out.stderr));
    let page = std::fs::read_to_string(place.join("report.html")).unwrap();
    assert!(page.contains("</html>") && place.join("meta.json").is_file());
    assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing is left beside it");
    let again = output(baton().arg("profile").arg("-o").arg(&place).args(["--", "true"]));
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn a_program_killed_or_interrupted_still_has_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("killed");
    let out = output(baton().arg("profile").arg("-o").arg(&place).args(["--", "sh", "-c", "kill -KILL $$"]));
    assert_eq!(out.status.code(), Some(128 + 9));
    assert!(text(&out.stderr).contains("ended by signal 9") && place.is_dir(), "{}", text(&out.stderr));

    // A terminal sends Ctrl-C to its whole foreground group, so the command gets a group of its
    // own, which the test interrupts.
    let place = dir.path().join("interrupted");
    let mut profile = baton();
    profile.arg("profile").arg("-o").arg(&place).arg("--").arg(counter().join("counter")).args(ENDLESS);
    std::os::unix::process::CommandExt::process_group(&mut profile, 0);
    // A job in a shell's background is started with SIGINT ignored, and its children inherit that.
    // SAFETY: signal is async-signal-safe.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut profile, || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = profile.stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    // SAFETY: the group is the child's own.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) };
    let start = Instant::now();
    let status = child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!((status.code(), status.signal()), (Some(128 + 2), None));
    assert!(place.join("report.html").is_file());
}

#[test]
fn an_ignored_sigpipe_is_inherited_and_other_signals_are_passed_on() {
    let baton = common::installed().join("bin/baton");
    let baton = baton.display().to_string();
    let ended = |trap: &str, command: &str| {
        let script = format!("{trap} {{ {command}; echo $? >&2; }} | head -1 >/dev/null");
        let shell = Command::new("bash").args(["-c", &script]).output().unwrap();
        text(&shell.stderr).lines().last().unwrap_or_default().to_owned()
    };
    for trap in ["", "trap '' PIPE;"] {
        // `yes` writes until the pipe is closed: SIGPIPE kills it, or, where the signal is ignored,
        // its write fails.
        let wrapped = format!("{baton} run --quiet -- yes 2>/dev/null");
        assert_eq!(ended(trap, &wrapped), ended(trap, "yes 2>/dev/null"), "{trap}");
    }
    for signal in ["USR1", "USR2"] {
        let program = format!("trap 'echo got; exit 7' {signal}; kill -{signal} $PPID; sleep 10 >&- 2>&- & wait");
        let ran = Command::new(&baton).args(["run", "--quiet", "--", "sh", "-c", &program]).output().unwrap();
        assert_eq!((ran.status.code(), text(&ran.stdout).as_str()), (Some(7), "got\n"), "{signal}");
    }
}

#[test]
fn a_time_limit_ends_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("p");
    let mut profile = baton();
    let start = Instant::now();
    profile.arg("profile").arg("-o").arg(&place).args(["--duration", "200ms", "--"]);
    let out = output(profile.arg(counter().join("counter")).args(ENDLESS));
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(start.elapsed() < Duration::from_secs(60) && place.join("report.html").is_file());
}

#[test]
fn only_the_program_itself_is_recorded_unless_its_children_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let events = |place: &Path| {
        let names = place.read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("events.")).count()
    };
    let script = format!("{0} 10 >/dev/null; {0} 10 >/dev/null; exit 0", counter().join("counter").display());
    let (alone, all) = (dir.path().join("alone"), dir.path().join("all"));
    assert!(output(baton().arg("profile").arg("-o").arg(&alone).args(["--", "sh", "-c", &script])).status.success());
    let mut follow = baton();
    follow.arg("profile").arg("--follow-children").arg("-o").arg(&all).args(["--", "sh", "-c", &script]);
    assert!(output(&mut follow).status.success());
    assert_eq!(events(&alone), 1);
    assert!(events(&all) >= 3, "{}", events(&all));
}

#[test]
fn measure_sets_runs_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("p");
    let counter = counter().join("counter");
    assert!(output(baton().arg("profile").arg("-o").arg(&place).arg("--").arg(&counter).arg("300")).status.success());
    let measure = ["--lock", "mcs:spin-park,futex", "--runs", "2", "--json"];
    let out = output(baton().arg("measure").arg(&place).args(measure));
    assert!(out.status.success(), "{}", text(&out.stderr));
    let rows: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let locks: Vec<_> = rows.as_array().unwrap().iter().map(|r| r["lock"].as_str().unwrap()).collect();
    assert_eq!(locks, ["glibc", "mcs", "futex"]);
    assert!(rows.as_array().unwrap().iter().all(|r| r["measured_ns"].as_u64().unwrap() > 0), "{rows}");
}

/// A program that prints its process number or the time is measured, by its exit code. A program
/// that prints something else, or fails, only under another lock is an error.
#[test]
fn a_program_whose_output_differs_by_itself_is_measured_by_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let measured = |script: &str| {
        let record = ["profile", "--force", "-o", "p", "--", "sh", "-c", script];
        assert!(output(baton().current_dir(&dir).args(record)).status.success());
        output(baton().current_dir(&dir).args(["measure", "p", "--lock", "futex", "--runs", "2"]))
    };
    let own = measured("echo $$");
    assert!(own.status.success(), "{}", text(&own.stderr));
    assert_eq!(text(&own.stderr).matches("differs from run to run").count(), 1, "{}", text(&own.stderr));
    let by_lock = measured("echo under $BATON_LOCK");
    assert_eq!(by_lock.status.code(), Some(1), "{}", text(&by_lock.stdout));
    assert!(text(&by_lock.stderr).contains("printed something else"), "{}", text(&by_lock.stderr));
    let code = measured("test -z \"$BATON_LOCK\"");
    assert_eq!(code.status.code(), Some(1), "{}", text(&code.stdout));
    assert!(text(&code.stderr).contains("ended with exit code 1, and with 0 at first"), "{}", text(&code.stderr));
}

#[test]
fn markers_and_regions_of_baton_h_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let source = r#"
        #include <baton.h>
        #include <pthread.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        int main(void) {
            for (int i = 0; i < 3; i++) {
                baton_roi_begin("round");
                pthread_mutex_lock(&lock);
                baton_marker("held", 40 + i);
                pthread_mutex_unlock(&lock);
                baton_roi_end("round");
            }
            return 0;
        }"#;
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../capi/include");
    common::compiled(dir.path(), "marked", source, &[include]);
    let place = dir.path().join("p");
    let out = output(baton().arg("profile").arg("-o").arg(&place).arg("--").arg(dir.path().join("marked")));
    assert!(out.status.success(), "{}", text(&out.stderr));
    let trace = baton_trace::Trace::open(&place).unwrap();
    let name = |n| trace.marker_name(baton_trace::ProcessIndex(0), n).unwrap_or("?").to_owned();
    let seen: Vec<String> = trace
        .events()
        .filter_map(|event| match event.what {
            baton_trace::What::RoiBegin { name: n } => Some(format!("begin {}", name(n))),
            baton_trace::What::Marker { name: n, value } => Some(format!("{} {value}", name(n))),
            baton_trace::What::RoiEnd { name: n } => Some(format!("end {}", name(n))),
            _ => None,
        })
        .collect();
    let expected = (40..43).flat_map(|v| ["begin round".to_owned(), format!("held {v}"), "end round".to_owned()]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

/// Forty children leave no trace: the first is named on the terminal, the others are counted, and
/// the report knows of them.
#[test]
fn processes_that_run_unrecorded_are_said_once_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("p");
    // The limit leaves no room for the first page of a trace file. The shell's own trace began
    // before the limit.
    let script = "/bin/echo first; ulimit -f 1; for i in $(seq 40); do /bin/echo $i; done | tail -1";
    let ran = output(baton().args(["profile", "--follow-children", "-o"]).arg(&out).args(["--", "sh", "-c", script]));
    let err = text(&ran.stderr);
    assert!(ran.status.success() && text(&ran.stdout) == "first\n40\n", "{}{err}", text(&ran.stdout));
    let warned = err.lines().filter(|line| line.starts_with("warning:") && line.contains("runs unrecorded"));
    assert_eq!(warned.count(), 1, "{err}");
    assert!(!err.contains("not an events file"), "{err}");
    let counted = err.lines().find_map(|line| line.split_once(" processes ran unrecorded in all"));
    let counted: u32 = counted.expect(&err).0.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(counted >= 40, "{err}");
    let meta = std::fs::read_to_string(out.join("meta.json")).unwrap();
    assert!(meta.contains("runs unrecorded") && meta.contains("more processes"), "{meta}");
    assert!(!err.contains("BATON_") && !err.contains(".baton"), "{err}");
}

/// A child is forked when the process may not write files any more, so that it leaves no trace.
#[test]
fn a_child_beyond_the_trace_is_named_in_the_report() {
    let dir = tempfile::tempdir().unwrap();
    let source = r#"
        #include <pthread.h>
        #include <sys/wait.h>
        #include <sys/resource.h>
        #include <unistd.h>
        int main(void) {
            static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
            pthread_mutex_lock(&m);
            pthread_mutex_unlock(&m);
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_FSIZE, &none);
            int status = 1;
            if (fork() == 0) _exit(pthread_mutex_lock(&m));
            wait(&status);
            return status;
        }"#;
    common::compiled(dir.path(), "forks", source, &[]);
    let ran = output(baton().current_dir(&dir).args(["profile", "--follow-children", "-o", "p", "--", "./forks"]));
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let meta = std::fs::read_to_string(dir.path().join("p/meta.json")).unwrap();
    assert!(meta.contains("runs unrecorded"), "{meta}{}", text(&ran.stderr));
}

#[test]
fn a_trace_whose_events_were_lost_is_said_to_be_so_by_both() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("p");
    let counter = counter().join("counter");
    let ran = output(baton().args(["profile", "--max-size", "4K", "-o"]).arg(&out).arg("--").arg(counter));
    let again = output(baton().arg("report").arg(&out));
    let (first, again) = (text(&ran.stderr), text(&again.stderr));
    let said = first.lines().find(|line| line.contains("events dropped")).expect(&first);
    assert!(again.contains(said.trim_end_matches('.')), "{first}\n{again}");
    assert!(!first.contains("took no lock"), "{first}");
}

#[test]
fn a_command_that_is_no_text_is_measured_as_it_was() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"count\xe9r");
    std::fs::copy(counter().join("counter"), dir.path().join(name)).unwrap();
    let program = Path::new("./").join(name);
    let ran = output(baton().current_dir(&dir).args(["profile", "-o", "p", "--"]).arg(&program));
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let measured = output(baton().current_dir(&dir).args(["measure", "p", "--lock", "futex", "--runs", "1"]));
    assert!(measured.status.success(), "{}", text(&measured.stderr));
}
