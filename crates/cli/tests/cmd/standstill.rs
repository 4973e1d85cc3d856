//! Programs that stand still under `profile`, and lock orders that could deadlock. Each has a twin that looks alike and is
//! sound.

use crate::common;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A test program, compiled once.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<&Path> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let folder = common::lasting();
        common::compiled(folder, "standstill", include_str!("../programs/standstill.c"), &[]);
        common::compiled(folder, "orders", include_str!("../programs/orders.c"), &[]);
        folder
    });
    folder.join(name)
}

fn baton() -> Command {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD");
    command
}

/// What `profile` said of a case, and the report.
struct Ran {
    out: Output,
    report: Value,
    folder: tempfile::TempDir,
}

impl Ran {
    fn of(name: &str, case: &str, options: &[&str]) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("p");
        let out =
            baton().args(["profile", "-o"]).arg(&place).args(options).arg("--").arg(program(name)).arg(case).output();
        let json = baton().arg("report").arg(&place).arg("--json").output().unwrap();
        let report = serde_json::from_slice(&json.stdout);
        Ran { out: out.unwrap(), report: report.unwrap_or_else(|error| panic!("{case}: {error}")), folder }
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.out.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Each case with the kind of its standstill, a part of the headline, and the exit code.
const CASES: [(&str, Option<&str>, &str, i32); 16] = [
    ("both-orders", Some("deadlock"), "holds a_lock (taken at both (standstill.c:", 5),
    ("three", Some("deadlock"), "waits for c_lock (at both (standstill.c:", 5),
    ("itself", Some("deadlock"), "which it holds itself (taken at main (standstill.c:", 5),
    ("upgrade", Some("deadlock"), "waits for table_lock", 5),
    ("ended", Some("deadlock"), "held when it ended (taken at ends_with_lock", 5),
    ("join", Some("deadlock"), "waits for the end of thread 1", 5),
    ("wake-up", Some("deadlock"), "was signalled at the condition variable ready", 5),
    ("part", Some("deadlock"), "1 other thread could still go on", 5),
    ("exits", Some("deadlock"), "2 threads stand still", 7),
    ("lost", Some("nobody-moves"), "lost wake-up: its last signal", 0),
    ("never", Some("nobody-moves"), "no thread ever signalled it", 0),
    ("semaphore", Some("nobody-moves"), "posted once and taken once", 0),
    ("barrier", Some("nobody-moves"), "2 of 3 threads have arrived", 0),
    ("deadline", None, "", 0),
    ("idle", None, "", 0),
    ("holder-sleeps", None, "", 0),
];

#[test]
fn what_stands_still_is_told_and_what_only_waits_is_not() {
    let one = |(case, kind, part, code): (&str, Option<&str>, &str, i32)| {
        let ran = Ran::of("standstill", case, &["--duration", "1500ms"]);
        let still = &ran.report["standstill"];
        assert_eq!(still["kind"].as_str(), kind, "{case}: {}", ran.said());
        assert_eq!(ran.out.status.code(), Some(code), "{case}: {}", ran.said());
        let headline = ran.report["verdict"]["headline"].as_str().unwrap();
        assert!(headline.contains(part), "{case}: {headline}");
        if kind.is_some() {
            let gain = ran.report["verdict"]["gains"][0].as_str().unwrap();
            assert!(gain.contains("nothing can be said") && !ran.said().contains("shorter"), "{case}: {}", ran.said());
        }
        ran
    };
    std::thread::scope(|scope| {
        let one = &one;
        let started: Vec<_> = CASES.into_iter().map(|case| scope.spawn(move || one(case))).collect();
        let ran: Vec<Ran> = started.into_iter().map(|thread| thread.join().unwrap()).collect();
        // Waits for locks last to the end of the process: in case 0 the waits of the two threads in
        // a deadlock, in case 15 the wait for the lock of the thread that sleeps.
        for (case, what) in [(0, "blocked_ns"), (15, "blocked_ns")] {
            let waited = ran[case].report["totals"][what].as_u64().unwrap();
            assert!(waited > 1_000_000_000, "{}: {waited}", CASES[case].0);
        }
        let limit = ran[15].report["verdict"]["limit"].as_str().unwrap();
        assert!(["blocked", "sections"].contains(&limit), "the sleeper is no worker: {limit}");
    });
}

#[test]
fn a_running_program_is_told_once_with_what_is_known() {
    let (deadlock, sleeper) = std::thread::scope(|scope| {
        let deadlock = scope.spawn(|| Ran::of("standstill", "both-orders", &["--duration", "4s"]));
        let sleeper = scope.spawn(|| Ran::of("standstill", "holder-sleeps", &["--duration", "4s"]));
        (deadlock.join().unwrap(), sleeper.join().unwrap())
    });
    for ran in [&deadlock, &sleeper] {
        assert_eq!(ran.said().matches("nobody has moved for").count(), 1, "{}", ran.said());
    }
    let live = |ran: &Ran| ran.said().split("was ended by").next().unwrap().to_owned();
    assert!(
        live(&deadlock).contains("stands still since") && live(&deadlock).contains("deadlock"),
        "{}",
        live(&deadlock)
    );
    let said = live(&sleeper);
    assert!(said.contains("No thread ran (2 threads)") && !said.contains("deadlock"), "{said}");
    // A program that works and ends gets no message about a standstill.
    let ran = Ran::of("standstill", "ends", &[]);
    assert!(!ran.said().contains("nobody has moved") && ran.out.status.success(), "{}", ran.said());
}

const COULD: [&str; 13] = [
    "both",
    "main-thread",
    "three",
    "reader-mutex",
    "writers",
    "spin",
    "try-outside",
    "timed-outside",
    "shared-gate",
    "wake-up",
    "recursive",
    "heap",
    "hand-over-hand",
];
const COULD_NOT: [&str; 15] = [
    "no-same-order",
    "no-gate",
    "no-write-gate",
    "no-try",
    "no-timed",
    "no-rwtry",
    "no-joined",
    "no-created-after",
    "no-one-thread",
    "no-readers",
    "no-reader-inside",
    "no-barrier",
    "no-again",
    "no-nesting",
    "no-chain",
];

#[test]
fn lock_orders_that_could_deadlock_are_found_and_no_others() {
    let circles = |case: &str, options: &[&str]| {
        let ran = Ran::of("orders", case, options);
        assert_eq!((ran.out.status.code(), &ran.report["standstill"]), (Some(0), &Value::Null), "{case}");
        (ran.report["lock_orders"].as_array().unwrap().len(), ran)
    };
    for case in COULD.into_iter().chain(["other-gate"]) {
        let (found, ran) = circles(case, &[]);
        assert_eq!(found, 1, "{case}: {}", ran.report["lock_orders"]);
        assert!(ran.said().contains("lock orders:"), "{case}: {}", ran.said());
    }
    for case in COULD_NOT.into_iter().chain(["no-third-thread"]) {
        let (found, ran) = circles(case, &[]);
        assert_eq!(found, 0, "{case}: {}", ran.report["lock_orders"]);
    }
    // Lock orders are found in the same way when another lock serves the mutexes.
    for (case, expected) in
        [("both", 1), ("try-outside", 1), ("wake-up", 1), ("no-try", 0), ("no-timed", 0), ("no-gate", 0)]
    {
        let (found, ran) = circles(case, &["--lock", "mcs", "--wait", "futex"]);
        assert_eq!(found, expected, "{case} under mcs: {}", ran.report["lock_orders"]);
    }
}

#[test]
fn the_table_of_lock_orders_names_locks_and_places() {
    let (found, none) = (Ran::of("orders", "both", &[]), Ran::of("orders", "no-gate", &[]));
    let table = |ran: &Ran| {
        let out = baton().arg("report").arg(ran.folder.path().join("p")).arg("--lock-order").output().unwrap();
        String::from_utf8(out.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = table(&found);
    assert!(text.contains("1. a and b a at first (orders.c:"), "{text}");
    assert!(text.contains("then a at second (orders.c:"), "{text}");
    assert_eq!(table(&none), "No two locks were taken in orders that could deadlock.");
}
