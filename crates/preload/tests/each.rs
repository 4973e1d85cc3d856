//! A lock for each of some places of a program, in one process.

mod common;
use common::{Run, program};
use std::process::Command;

/// The places of `each.c`: its mutexes `hot` and `cold`, the call that makes one, and the call that takes one.
fn places() -> [String; 4] {
    let file = program("each.c");
    let said = Command::new(&file).arg("where").output().unwrap();
    let numbers: Vec<String> = String::from_utf8(said.stdout).unwrap().split_whitespace().map(str::to_owned).collect();
    let name = file.file_name().unwrap().to_str().unwrap();
    std::array::from_fn(|i| format!("{name}+0x{}-0x{}", numbers[2 * i], numbers[2 * i + 1]))
}

fn run(assignment: &str) -> common::Ran {
    Run::new("each.c", &[]).set("BATON_LOCK", assignment).counted().ok()
}

/// How many mutexes each place has settled.
fn mutexes(ran: &common::Ran) -> Vec<u64> {
    ran.stats[0]["places"].as_array().unwrap().iter().map(|place| place["mutexes"].as_u64().unwrap()).collect()
}

/// Acquisitions of one mutex by all threads.
const EACH: u64 = 4 * 500;

#[test]
fn each_place_has_its_lock_and_the_others_stay_glibcs() {
    let [hot, cold, made, taken] = places();
    let ran = run(&format!("{hot}=mcs"));
    // `made` is taken twice before it is made anew.
    assert_eq!((ran.count("served"), ran.count("passed_through/glibc"), mutexes(&ran)), (EACH, 3 * EACH + 2, vec![1]));
    let ran = run(&format!("{hot}=mcs,{made}=ticket:futex,{taken}=cohort,default=glibc"));
    assert_eq!((ran.count("served"), ran.count("passed_through/glibc")), (3 * EACH + 2, EACH), "{:?}", ran.stats);
    assert_eq!((mutexes(&ran), ran.count("passed_through/process_shared")), (vec![1, 2, 1], 1));
    assert_eq!(ran.stats[0]["lock"], "mcs, ticket, cohort, glibc");
    let ran = run(&format!("{cold}=glibc,default=spin-park"));
    assert_eq!((ran.count("served"), ran.count("passed_through/glibc"), mutexes(&ran)), (3 * EACH + 2, EACH, vec![1]));
}

#[test]
fn every_lock_serves_beside_another_one() {
    let [hot, cold, made, taken] = places();
    for lock in common::locks() {
        let (name, other) = (lock.name, if lock.name == "mcs" { "futex" } else { "mcs" });
        let ran = run(&format!("{hot}={name},{made}={other},{taken}={name},{cold}=glibc"));
        assert_eq!((ran.count("served"), mutexes(&ran)), (3 * EACH + 2, vec![1, 2, 1, 1]), "{:?}", ran.stats);
    }
}

/// A broadcast moves its waiters to a mutex of ours, whichever lock serves it, and wakes those of glibc's.
#[test]
fn conditions_go_with_any_of_them() {
    let [hot, cold, ..] = places();
    for lock in ["mcs", "spin-park", "cohort"] {
        for assignment in [format!("{hot}={lock},{cold}=glibc"), format!("{hot}={lock},{cold}=futex,default=ticket")] {
            let ran = Run::new("each.c", &["meet"]).set("BATON_LOCK", assignment).counted().ok();
            assert!(ran.count("condition_waits") >= 50 * 3, "{:?}", ran.stats);
        }
    }
}

#[test]
fn recorded_it_leaves_the_same_events() {
    let [hot, cold, ..] = places();
    let trace = common::folder("each");
    Run::new("each.c", &[]).set("BATON_LOCK", format!("{hot}=mcs,{cold}=spin-park")).set("BATON_TRACE", &trace).ok();
    let trace = baton_trace::Trace::open(&trace).unwrap();
    let analysis = baton_trace::analysis::Analysis::of(&trace, baton_trace::analysis::Window::whole(&trace));
    let acquisitions: u64 = analysis.locks.iter().map(|lock| lock.stats.acquisitions).sum();
    // Beside them: `made` once before it is made anew (the second time is nested), and the process-shared one.
    assert_eq!(acquisitions, 4 * EACH + 2);
}

#[test]
fn a_place_without_a_mutex_is_told_at_exit() {
    let [hot, ..] = places();
    let nowhere = format!("{}+0x0-0x1", hot.split('+').next().unwrap());
    let ran = run(&format!("{hot}=mcs,{nowhere}=ticket"));
    let said = String::from_utf8(ran.output.stderr.clone()).unwrap();
    assert_eq!(said, format!("baton: BATON_LOCK: no mutex of this program is at {nowhere}\n"));
    assert_eq!(mutexes(&ran), [1, 0]);
    let ran = run(&format!("{hot}=mcs"));
    assert_eq!(String::from_utf8_lossy(&ran.output.stderr), "");
}

/// A function names the mutexes that what it calls initialises, or takes first; a number behind a place names one of those.
#[test]
fn callers_name_what_a_wrapper_initialises_and_takes() {
    if !common::compiles("wrapped.cpp", "callers_name_what_a_wrapper_initialises_and_takes") {
        return;
    }
    let file = program("wrapped.cpp");
    let module = file.file_name().unwrap().to_str().unwrap();
    let place = |function: &str| {
        let ranges = baton_report::symbols::find(&file, |name| name == function);
        let [range] = ranges.as_slice() else { panic!("{function}: {ranges:x?}") };
        format!("{module}+{:#x}-{:#x}", range.start, range.end)
    };
    let run = |assignment: String| mutexes(&Run::new("wrapped.cpp", &[]).set("BATON_LOCK", assignment).counted().ok());
    let (red, blue, made) = (place("Red::Red"), place("Blue::Blue"), place("Made::Made"));
    assert_eq!(run(format!("{red}=mcs,{blue}=ticket")), [3, 1]);
    assert_eq!(run(format!("{red}=mcs,{made}=ticket")), [3, 1], "the part that stands first has it");
    assert_eq!(run(format!("{red}#2=glibc,{red}=mcs,{blue}#2=ticket,{made}#4=ticket")), [1, 2, 0, 1]);
    assert_eq!(run(format!("{}=mcs,{}=ticket", place("Red::first"), place("Blue::first"))), [3, 1]);
    // A mutex that a call has initialised is not known by who takes it.
    assert_eq!(run(format!("{}=mcs", place("red_waits"))), [0]);
}
