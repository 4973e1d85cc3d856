//! Tests of the environment variables, and of what the counters say.

mod common;
use common::{Run, compiles, folder, library};
use std::process::Command;

/// Checks that with these variables the program does not run: the exit status is 2, and the message
/// has all parts of `says`.
fn refused(variables: &[(&str, &str)], says: &[&str]) {
    let mut run = Run::new("kinds.c", &[]);
    for (variable, value) in variables {
        run = run.set(variable, value);
    }
    let ran = run.run();
    let errors = String::from_utf8(ran.output.stderr).unwrap();
    assert_eq!(ran.output.status.code(), Some(2), "{}: {errors}", ran.what);
    assert!(ran.output.stdout.is_empty());
    for part in says {
        assert!(errors.contains(part), "{}: {errors}", ran.what);
    }
}

#[test]
fn bad_values_end_the_run_before_main() {
    refused(&[("BATON_LOCK", "msc")], &["BATON_LOCK", "`msc`", "mcs"]);
    refused(&[("BATON_LOCK", "mcs"), ("BATON_WAIT", "nap")], &["BATON_WAIT", "`nap`"]);
    refused(&[("BATON_LOCK", "mcs"), ("BATON_WAIT", "wfe")], &["BATON_WAIT", "`wfe`", "not available"]);
    refused(&[("BATON_LOCK", "spin-park"), ("BATON_WAIT", "pause")], &["BATON_WAIT", "own policy"]);
    refused(&[("BATON_BARRIER", "fence")], &["BATON_BARRIER", "`fence`", "central"]);
    refused(&[("BATON_WAIT", "pause")], &["BATON_WAIT", "only with BATON_LOCK"]);
    refused(&[("BATON_TRACE", "/tmp"), ("BATON_TRACE_MAX", "lots")], &["BATON_TRACE_MAX", "lots"]);
}

#[test]
fn nothing_asked_changes_nothing() {
    for name in ["kinds.c", "cond.c", "cancel.c", "objects.c", "cxx.cpp", "omp.c", "allocator.c"] {
        if !compiles(name, "nothing_asked_changes_nothing") {
            continue;
        }
        Run::new(name, &[]).ok();
    }
}

#[test]
fn another_process_is_left_alone() {
    let ran = Run::new("kinds.c", &[]).set("BATON_LOCK", "mcs").set("BATON_ONLY_PID", "1").counted().ok();
    assert!(ran.stats.is_empty());
}

#[test]
fn counters_say_who_served() {
    let ran = Run::new("kinds.c", &[]).set("BATON_LOCK", "futex").counted().ok();
    let stats = &ran.stats[0];
    assert_eq!((stats["lock"].as_str(), stats["wait"].as_str()), (Some("futex"), Some("futex")));
    assert!(stats["program"].as_str().unwrap().contains("kinds"));
    assert!(ran.count("served") > 2000 && ran.count("served") < 3000, "{stats}");
    for (why, least) in [("robust", 2), ("priority", 1), ("process_shared", 4), ("invalid", 1), ("unaligned", 2)] {
        assert!(ran.count(&format!("passed_through/{why}")) >= least, "{why}: {stats}");
    }
    assert_eq!(ran.count("passed_through/glibc"), 0);
    let ran = Run::new("kinds.c", &[]).counted().ok();
    assert_eq!((ran.count("served"), ran.stats[0]["lock"].is_null()), (0, true));
    assert!(ran.count("passed_through/glibc") > 2000);
}

#[test]
fn each_process_of_a_family_counts_for_itself() {
    let ran = Run::new("forks.c", &[]).set("BATON_LOCK", "futex").counted().ok();
    // Six processes write counters: the parent, its three children, a child of a child, and the
    // program that vfork and exec ran.
    assert_eq!(ran.stats.len(), 6, "{:?}", ran.stats);
    let mut pids: Vec<_> = ran.stats.iter().map(|line| line["pid"].as_u64().unwrap()).collect();
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 6);
    // The first process ends last, so its line is the last one. It counts all of that process's
    // acquisitions.
    let last = ran.stats.last().unwrap();
    assert!(last["served"].as_u64().unwrap() >= 100 && last["program"].as_str().unwrap().contains("forks"), "{last}");
}

#[test]
fn a_refused_condition_wait_is_counted_and_said() {
    let ran = Run::new("cond.c", &[]).set("BATON_LOCK", "futex").counted().ok();
    assert_eq!(ran.count("refused_condition_waits"), 1);
    assert!(String::from_utf8(ran.output.stderr).unwrap().contains("process-shared condition variable"));
}

#[test]
fn barriers_are_replaced() {
    for barrier in baton_sync::barrier::BARRIERS {
        for lock in ["", "futex"] {
            let run = Run::new("objects.c", &[]).set("BATON_BARRIER", barrier.name).set("BATON_LOCK", lock).counted();
            // The futex lock accepts no other policy than `futex`, and the barrier takes the same
            // one from BATON_WAIT.
            let ran = run.set("BATON_WAIT", "futex").ok();
            assert_eq!(ran.count("barrier_waits"), 30, "{}", ran.what);
        }
    }
}

#[test]
fn scripts_and_their_commands() {
    let mut command = Command::new("sh");
    command.args(["-c", "echo one | cat; exec echo two"]);
    let ran = Run::of(command, "sh").set("BATON_LOCK", "mcs").set("BATON_TRACE", folder("script")).counted().run();
    assert!(ran.output.status.success());
    assert_eq!(String::from_utf8(ran.output.stdout).unwrap(), "one\ntwo\n");
}

#[test]
fn the_library_depends_on_the_c_library_alone() {
    if !baton_needs::has("readelf", "the_library_depends_on_the_c_library_alone") {
        return;
    }
    let listed = Command::new("readelf").arg("--dynamic").arg(library()).output().unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    let needed: Vec<_> = text.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(!needed.is_empty());
    for line in needed {
        assert!(["libc.so", "libgcc_s.so", "ld-linux"].iter().any(|known| line.contains(known)), "{line}");
    }
}
