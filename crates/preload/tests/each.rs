//! Tests of `BATON_LOCK` with a lock for each of some places of a program.

mod common;
use common::{Run, program};
use std::process::Command;

/// The places of `each.c` as the library takes them: the mutexes `hot` and `cold`, the function
/// that initialises a mutex, and the function that takes one.
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

/// The number of mutexes that got their lock from each place.
fn mutexes(ran: &common::Ran) -> Vec<u64> {
    ran.stats[0]["places"].as_array().unwrap().iter().map(|place| place["mutexes"].as_u64().unwrap()).collect()
}

/// Acquisitions of one of the four mutexes: 500 by each of four threads.
const EACH: u64 = 4 * 500;

#[test]
fn each_place_has_its_lock_and_the_others_stay_glibcs() {
    let [hot, cold, made, taken] = places();
    let ran = run(&format!("{hot}=mcs"));
    // One mutex gets the lock, three stay glibc's. The main thread takes `made` twice more, before
    // it initialises it again.
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

/// Threads meet at condition variables whose mutexes have different locks: whichever lock serves a
/// mutex, the waits end, and there are at least three in each of 50 meetings.
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
    // Two acquisitions come from the main thread: one of `made` (its second one is nested, and not
    // recorded), and one of the process-shared mutex.
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

/// A place may be a function that calls the wrapper which initialises a mutex, or first takes it.
/// With a number, as in `#2`, the place means the second mutex that is initialised there.
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
    // The wrapper's caller at the first lock does not count for a mutex that a call has
    // initialised.
    assert_eq!(run(format!("{}=mcs", place("red_waits"))), [0]);
}
