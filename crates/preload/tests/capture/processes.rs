//! Tests of recordings of threads and processes that end, fork, are killed, change their root, or
//! cannot be recorded.

use crate::common::{Run, folder, library, program};
use crate::{balanced, count, recorded, whole};
use baton_trace::{Event, Trace, What};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// 2,000 threads take locks after their key destructors have run. These acquisitions are recorded
/// too, under a record of their own, so that the trace has more than 4,000 threads.
#[test]
fn threads_that_lock_after_their_end() {
    recorded("late.c", &["2000"], |trace| {
        balanced(trace, true);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadStart { .. })), 2001);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadEnd { .. })), 2000);
        assert!(trace.threads.len() > 4000, "{} threads", trace.threads.len());
    });
}

#[test]
fn five_thousand_threads() {
    recorded("crowd.c", &["5000"], |trace| {
        let taken = balanced(trace, false);
        assert!(*taken.values().max().unwrap() >= 5000);
        assert_eq!(trace.threads.len(), 5001);
    });
}

#[test]
fn each_process_has_a_file_of_its_own() {
    let directory = folder("forks");
    Run::new("forks.c", &[]).set("BATON_LOCK", "futex").set("BATON_TRACE", &directory).ok();
    let trace = whole(&directory);
    assert_eq!(trace.processes.len(), 6);
    // A child's trace begins in the middle: it releases locks that its parent took. So the test
    // only checks that all events can be read.
    assert!(trace.events().count() > 1000);
    std::fs::remove_dir_all(&directory).unwrap();
    // With BATON_ONLY_PID set to the first process, only that process is recorded.
    let directory = folder("alone");
    let mut command = Command::new("sh");
    command.args(["-c", "BATON_ONLY_PID=$$ exec \"$0\""]).arg(program("forks.c"));
    let ran = Run::of(command, "forks.c").set("BATON_LOCK", "futex").set("BATON_TRACE", &directory).counted().ok();
    let trace = whole(&directory);
    let forks =
        trace.processes.iter().filter(|process| process.modules.iter().any(|m| m.path.contains("forks"))).count();
    assert_eq!(forks, 1, "{:?}", trace.processes.iter().map(|p| p.pid).collect::<Vec<_>>());
    assert_eq!(ran.stats.iter().filter(|line| line["program"].as_str().unwrap().contains("forks")).count(), 1);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn closed_descriptors_limits_and_privileges() {
    let directory = folder("hostile");
    Run::new("hostile.c", &[]).set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(&directory).unwrap();
    // The program has closed the trace's descriptor after its first round, so the library opens the
    // file again. That fails once the program has no privileges; the trace then notes what is lost.
    // Two rounds at least are there: 2 threads, 5,000 pairs of lock and unlock in each.
    let events = trace.events().count();
    assert!(events > 2 * 2 * 10_000, "{events} events; {:?}", trace.losses);
    std::fs::remove_dir_all(&directory).unwrap();
    // Under a limit on the size of files the program gets no signal and goes on, and the trace
    // notes that events are lost.
    let directory = folder("hostile.limit");
    Run::new("hostile.c", &["limit"]).set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(&directory).unwrap();
    assert!(!trace.losses.is_empty());
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Copies programs and the libraries that they need to the same places below another root.
fn copy_with_libraries(programs: &[&Path], root: &Path) {
    let told = Command::new("ldd").args(programs).output().unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    // `ldd` prints `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`. A word that ends with a colon
    // names one of the programs; the kernel's own page has no path.
    let libraries = told.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(Path::new);
    for file in programs.iter().copied().chain(libraries) {
        let copy = root.join(file.strip_prefix("/").unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
}

/// A recorded shell runs a command under a new root, which has no folder for the trace, and has the
/// library only in the first run. The command runs in both.
#[test]
fn a_child_that_changes_its_root_runs() {
    let may = Command::new("chroot").args(["/", "true"]).output().is_ok_and(|output| output.status.success());
    if !may {
        baton_needs::absent("right to change the root directory", "a_child_that_changes_its_root_runs");
        return;
    }
    let echo = std::fs::canonicalize("/bin/echo").unwrap();
    let script = format!("chroot \"$0\".root {} ran; exit $?", echo.display());
    for library_too in [true, false] {
        let directory = folder(if library_too { "root.with" } else { "root.without" });
        let root = directory.with_added_extension("root");
        let library = std::fs::canonicalize(library()).unwrap();
        let programs = [echo.as_path(), library.as_path()];
        copy_with_libraries(&programs[..1 + usize::from(library_too)], &root);
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(&directory);
        let ran = Run::of(command, &script).set("LD_PRELOAD", &library).set("BATON_TRACE", &directory).run();
        let (out, err) = (String::from_utf8_lossy(&ran.output.stdout), String::from_utf8_lossy(&ran.output.stderr));
        assert!(ran.output.status.success() && out == "ran\n", "{}: {}\n{out}{err}", ran.what, ran.output.status);
        // Without the library in the new root, the loader complains in place of the library.
        assert_eq!(err.matches("runs unrecorded").count(), usize::from(library_too), "{}: {err}", ran.what);
        // The trace has at least the shell, and perhaps its child until the child executes
        // `chroot`.
        assert!(!whole(&directory).processes.is_empty());
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// Runs a recorded shell whose last command cannot be recorded. The command must run, and exactly
/// one message must say that a process runs unrecorded.
fn unrecorded(script: &str, directory: &Path) {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(directory);
    let ran = Run::of(command, script).set("BATON_TRACE", directory).run();
    let (out, err) = (String::from_utf8_lossy(&ran.output.stdout), String::from_utf8_lossy(&ran.output.stderr));
    assert!(ran.output.status.success() && out == "ran\n", "{}: {}\n{out}{err}", ran.what, ran.output.status);
    assert_eq!(err.matches("runs unrecorded").count(), 1, "{}: {err}", ran.what);
}

#[test]
fn a_program_that_cannot_be_recorded_runs() {
    // The trace's folder is gone, as when Baton has ended and renamed it while other processes live
    // on. Several programs are executed one after another then, and only the first writes a
    // message.
    let directory = folder("gone");
    unrecorded("rm -r \"$0\"; exec env sh -c 'env echo ran'", &directory);
    // Under this limit on the size of files there is no room for the trace's first page.
    let directory = folder("limit");
    unrecorded("ulimit -f 1; exec env echo ran", &directory);
    std::fs::remove_dir_all(&directory).unwrap();
    // The program gives up the right to write the trace, where the test is run with that right.
    // SAFETY: `geteuid` takes no argument and cannot fail.
    if unsafe { libc::geteuid() } == 0 && baton_needs::has("setpriv", "a_program_that_cannot_be_recorded_runs") {
        let directory = folder("rights");
        unrecorded("exec setpriv --reuid=65534 --regid=65534 --clear-groups /bin/echo ran", &directory);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_full_trace_leaves_the_program_alone() {
    let directory = folder("full");
    let run =
        Run::new("counter.c", &["2", "100000"]).set("BATON_TRACE", &directory).set("BATON_TRACE_MAX", "1M").counted();
    assert!(run.ok().count("passed_through/glibc") > 200_000);
    let trace = Trace::open(&directory).unwrap();
    assert!(!trace.losses.is_empty());
    assert!((30_000..70_000).contains(&trace.events().count()), "{}", trace.events().count());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_killed_program_leaves_all_it_did() {
    for lock in ["", "spin-park"] {
        let directory = folder("killed");
        let mut child = Command::new(program("endless.c"))
            .env("LD_PRELOAD", crate::common::library())
            .env("BATON_TRACE", &directory)
            .env("BATON_LOCK", lock)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 3]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        child.kill().unwrap();
        child.wait().unwrap();
        let trace = Trace::open(&directory).unwrap();
        assert!(trace.losses.iter().all(|loss| !format!("{loss}").is_empty()));
        let events = trace.events().count();
        assert!(events > 500, "{events} events");
        balanced(&trace, true);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

/// Each of two processes notes that the mutex is shared, also the one that did not initialise it. Both say
/// that they ended, and the parent waited for the child.
#[test]
fn what_processes_share_is_noted_in_each() {
    recorded("shared.c", &[], |trace| {
        let process = |number: u32| move |event: &Event| trace.process_of(event.thread).0 == number;
        let mutexes: BTreeSet<u64> = trace
            .events()
            .filter_map(|event| match event.what {
                What::Request { lock, .. } => Some(lock.address),
                _ => None,
            })
            .collect();
        for number in 0..2 {
            let noted = |event: &Event| match event.what {
                What::Note { address, code } => {
                    code == baton_trace::notes::PROCESS_SHARED && mutexes.contains(&address)
                }
                _ => false,
            };
            assert_eq!(trace.events().filter(process(number)).filter(noted).count(), 1, "process {number}");
            assert_eq!(trace.events().filter(process(number)).filter(|event| event.what == What::Exit).count(), 1);
        }
        let waited = |what: &What| matches!(what, What::Called { call, .. } if call.name() == "waitpid");
        assert_eq!(count(trace, waited), 1);
    });
}
