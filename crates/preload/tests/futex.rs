//! Tests of locks that are not pthread's: the program's own futexes, those of its language's
//! library, and locks inside of glibc.

mod common;
use baton_report::Profile;
use baton_report::symbols::Symbols;
use baton_trace::analysis::{Analysis, CriticalPath, Doing, ObjectKind, WaitKind, WaitableReport, Window};
use baton_trace::{FutexEnd, Kinds, SiteId, Trace, Waitable, What};
use common::{Run, folder};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

fn traced(run: Run, name: &str) -> Trace {
    let directory = folder(name);
    run.set("BATON_TRACE", &directory).ok();
    let trace = Trace::open(&directory).expect("a trace");
    assert!(trace.losses.is_empty(), "{:?}", trace.losses);
    std::fs::remove_dir_all(&directory).unwrap();
    trace
}

/// The objects of this kind at which threads waited, the one with the longest waits first.
fn waited(trace: &Trace, kind: Waitable) -> Vec<WaitableReport> {
    let analysis = Analysis::of(trace, Window::whole(trace));
    let mut found = analysis.waitables;
    found.retain(|w| w.object.kind == ObjectKind::Waitable(kind) && w.stats.wait.count > 0);
    found.sort_by_key(|w| std::cmp::Reverse(w.stats.wait.sum));
    found
}

/// The functions of a call site, innermost first.
fn functions(trace: &Trace, object: &WaitableReport, site: SiteId) -> Vec<String> {
    let frames = Symbols::new().site(trace, object.object.process, site);
    frames.into_iter().map(|frame| frame.function).collect()
}

/// The functions of the call site where most waits begin.
fn busiest(trace: &Trace, object: &WaitableReport) -> Vec<String> {
    let site = object.stats.sites.iter().max_by_key(|(_, (count, _))| *count).map(|((_, site), _)| *site);
    functions(trace, object, site.expect("a site"))
}

/// `futex.c` compares every answer with the kernel's: alone, with a lock replaced, and recorded.
#[test]
fn system_calls_answer_as_without_the_library() {
    Run::new("futex.c", &[]).ok();
    for lock in ["", "mcs", "spin-park"] {
        Run::new("futex.c", &[]).set("BATON_LOCK", lock).counted().ok();
        traced(Run::new("futex.c", &[]).set("BATON_LOCK", lock), "futex.answers");
    }
}

#[test]
fn waits_end_as_the_kernel_says_and_wakes_have_their_numbers() {
    let trace = traced(Run::new("futex.c", &[]), "futex.events");
    assert_eq!(trace.processes.len(), 2, "the fork's child is recorded, too");
    let (mut ends, mut wakes): (BTreeMap<FutexEnd, u32>, Vec<_>) = (BTreeMap::new(), Vec::new());
    let mut waiting: BTreeMap<u32, u64> = BTreeMap::new();
    for event in trace.events() {
        match event.what {
            What::FutexWait { futex, site } => {
                assert_eq!(waiting.insert(event.thread.0, futex), None);
                assert!(!trace.site(trace.process_of(event.thread), site).is_empty());
            }
            What::FutexWaitEnd { futex, end } => {
                assert_eq!(waiting.remove(&event.thread.0), Some(futex));
                *ends.entry(end).or_default() += 1;
            }
            What::FutexWoke { asked, woken, .. } if asked == What::MANY => wakes.push(woken),
            _ => {}
        }
    }
    // Three waiters were woken at once. One wait found another value than it expected: that in the
    // comparison of answers.
    assert_eq!(ends.get(&FutexEnd::Woken), Some(&3), "{ends:?}");
    assert_eq!(ends.get(&FutexEnd::Interrupted), Some(&1), "{ends:?}");
    assert_eq!(ends.get(&FutexEnd::Changed), Some(&1), "{ends:?}");
    // Three waits ran out: one of the first process, one of its child, and one in the comparison of
    // answers.
    assert_eq!(ends.get(&FutexEnd::TimedOut), Some(&3), "{ends:?}");
    assert!(ends.get(&FutexEnd::Failed).is_some_and(|failed| *failed >= 2), "{ends:?}");
    assert_eq!(wakes, [0, 3], "a wake of all that found nobody, and one that found three");
    assert!(waiting.is_empty(), "{waiting:?}");
}

/// The lock of `futex.c` under a profile: what holds in every recording is asserted here. Returns the share of the critical
/// path that nothing in the recording explains.
fn unseen_of_a_futex_lock() -> f64 {
    let trace = traced(Run::new("futex.c", &["3000"]), "futex.lock");
    let found = waited(&trace, Waitable::Futex);
    let [object] = &found[..] else { panic!("{found:?}") };
    assert_eq!(busiest(&trace, object)[..2], ["wait_for", "lock"]);
    assert!(object.stats.signals > 0 && object.stats.wake.count > 0, "{:?}", object.stats);
    // Almost every wait that ended by a wake is joined with its wake, because the kernel wakes
    // waiters in the order of arrival.
    let caused = object.stats.wake.count as f64 / object.stats.wait.count as f64;
    assert!(caused > 0.95, "{:?}", object.stats);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let hops = path.segments.iter().filter(|s| matches!(s.doing, Doing::HandOff { kind: WaitKind::Futex, .. })).count();
    assert!(hops > 0);
    let report = Profile::of(trace).report;
    let waitable = report.waitables.iter().find(|w| w.kind == "futex").unwrap();
    assert_eq!(waitable.name, "lock_word");
    assert!(waitable.at.as_ref().unwrap().contains("called from lock (futex.c"), "{:?}", waitable.at);
    assert!(!report.verdict.gains[0].starts_with("by another lock: nothing"), "{:?}", report.verdict);
    report.verdict.unseen_share
}

#[test]
fn a_lock_made_of_futex_hands_the_path_on() {
    // A page that comes from a busy disk blocks a thread outside of what Baton sees: another run is recorded then.
    let mut unseen = Vec::new();
    for _ in 0..10 {
        let share = unseen_of_a_futex_lock();
        if share < 0.1 {
            return;
        }
        unseen.push(share);
    }
    panic!("a tenth or more of each critical path is not explained: {unseen:?}");
}

/// Baton's locks sleep in futex too, but their waits are not the program's, so the trace has none
/// of them.
#[test]
fn the_librarys_own_futexes_are_not_recorded() {
    for lock in common::locks() {
        let run = Run::new("counter.c", &["4", "2000"]).set("BATON_LOCK", lock.name);
        let trace = traced(run.set("BATON_WAIT", common::sleeping(lock)), "futex.own");
        let futexes =
            trace.events().filter(|e| matches!(e.what, What::FutexWait { .. } | What::FutexWake { .. })).count();
        assert_eq!(futexes, 0, "{}", lock.name);
    }
}

#[test]
fn atomic_waits_of_cpp_are_futexes() {
    if !common::compiles("atomic_wait.cpp", "atomic_waits_of_cpp_are_futexes") {
        return;
    }
    // A thread that gets no CPU in time finds the value changed and does not sleep: another run is recorded then.
    let mut seen = Vec::new();
    for _ in 0..10 {
        let trace = traced(Run::new("atomic_wait.cpp", &[]), "futex.cpp");
        let found = waited(&trace, Waitable::Futex);
        let slept: u64 = found.iter().map(|w| trace.clock.nanos(w.stats.wait.sum.0).0).sum();
        let woken: u64 = found.iter().map(|w| w.stats.wake.count).sum();
        if slept > 10_000_000 && woken >= 1 {
            return;
        }
        seen.push((slept, woken));
    }
    panic!("no recording has waits of 10 ms and a wake (ns, wakes): {seen:?}");
}

fn rust_program(name: &str, test: &str) -> Option<std::path::PathBuf> {
    if !baton_needs::has("rustc", test) {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let out = common::scratch().join(format!("{}.{}", name.replace('.', "-"), std::process::id()));
    let built = Command::new("rustc").args(["-O", "-g", "--edition", "2021", "-o"]).arg(&out).arg(&source).output();
    let built = built.expect("rustc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(out)
}

#[test]
fn rusts_mutex_is_a_futex_of_its_caller() {
    let Some(program) = rust_program("std_mutex.rs", "rusts_mutex_is_a_futex_of_its_caller") else { return };
    let trace = traced(Run::of(Command::new(program), "std_mutex.rs"), "futex.rust");
    let found = waited(&trace, Waitable::Futex);
    let object = found.first().expect("a futex that was waited at");
    let functions = busiest(&trace, object);
    assert!(functions.iter().any(|function| function.contains("work")), "{functions:?}");
    let report = Profile::of(trace).report;
    let at = report.waitables.iter().filter_map(|w| w.at.as_deref()).collect::<Vec<_>>();
    assert!(at.iter().any(|at| at.contains("work (std_mutex.rs")), "{at:?}");
    assert!(!report.verdict.gains[0].starts_with("by another lock: nothing"), "{:?}", report.verdict);
}

/// How often the threads of `libc_lock.c` meet at its lock depends on the CPUs that other programs leave to the threads.
/// The test therefore records longer and longer runs, until the threads met often and the critical path meets the lock.
#[test]
fn a_lock_inside_of_glibc_is_found_by_its_caller() {
    let mut seen = Vec::new();
    for draws in ["1500000", "3000000", "6000000", "12000000", "24000000"] {
        let trace = traced(Run::new("libc_lock.c", &[draws]), "futex.libc");
        if trace.events_of(Kinds::SWITCHES).next().is_none() {
            eprintln!("the kernel tells no context switches here");
            return;
        }
        let Some(most) = waited(&trace, Waitable::LibcLock).into_iter().max_by_key(|w| w.stats.wait.count) else {
            continue;
        };
        check_libc_waits(&trace);
        let met_often = most.stats.wait.count > 20 && most.stats.signals > 20;
        if met_often {
            let functions = busiest(&trace, &most);
            assert!(functions[0].contains("random"), "{functions:?}");
            assert!(functions.iter().any(|function| function == "roll"), "{functions:?}");
        }
        let report = Profile::of(trace).report;
        let waitable = report.waitables.iter().find(|w| w.kind == "libc-lock").unwrap();
        assert!(waitable.at.as_ref().unwrap().contains("called from roll (libc_lock.c"), "{:?}", waitable.at);
        if met_often && report.verdict.shares.iter().any(|share| share.limit == "libc-lock") {
            return;
        }
        seen.push((most.stats.wait.count, most.stats.signals, report.verdict.shares));
    }
    if seen.is_empty() {
        baton_needs::absent("breakpoints for ordinary programs", "a_lock_inside_of_glibc_is_found_by_its_caller");
        return;
    }
    panic!("no recording has the lock on its critical path (waits, signals, shares): {seen:?}");
}

/// Threads that leave their CPU often have breakpoints at glibc's locks for a part of the time only. They
/// get them back for good once they wait for such a lock, and their samples are fewer, but each stands for
/// more time.
#[test]
fn threads_that_left_their_cpu_often_are_seen_to_wait_inside_of_glibc() {
    let waits = |run| {
        let trace = traced(run, "futex.later");
        let waits = waited(&trace, Waitable::LibcLock).iter().map(|one| one.stats.wait.count).sum::<u64>();
        let periods = trace.events().filter_map(|event| match event.what {
            What::Sample { micros, .. } => Some(micros),
            _ => None,
        });
        (waits, periods.collect::<BTreeSet<u32>>())
    };
    for draws in ["1500000", "3000000", "6000000", "12000000", "24000000"] {
        let (waits, periods) = waits(Run::new("libc_lock_later.c", &["20000", draws]));
        assert!(periods.is_subset(&BTreeSet::from([1_000, 10_000])), "{periods:?}");
        if waits > 100 && periods.contains(&10_000) {
            return;
        }
    }
    if waits(Run::new("libc_lock.c", &["12000000"])).0 == 0 {
        let name = "threads_that_left_their_cpu_often_are_seen_to_wait_inside_of_glibc";
        baton_needs::absent("breakpoints for ordinary programs", name);
        return;
    }
    panic!("no wait inside of glibc is seen, or no thread was sampled less often");
}

/// Checks that a thread's waits for locks of glibc do not overlap, and that each has an end.
fn check_libc_waits(trace: &Trace) {
    let mut waits: BTreeMap<u32, u64> = BTreeMap::new();
    for event in trace.events() {
        match event.what {
            What::LibcWait { lock, .. } => assert_eq!(waits.insert(event.thread.0, lock), None),
            What::LibcTaken { lock } => assert_eq!(waits.remove(&event.thread.0), Some(lock)),
            _ => {}
        }
    }
    assert!(waits.is_empty(), "{waits:?}");
}

/// Threads that never meet at a lock of glibc's leave no record of it, and no samples are taken.
#[test]
fn a_lock_inside_of_glibc_without_contention_is_not_recorded() {
    let trace = traced(Run::new("counter.c", &["2", "100"]), "futex.none");
    assert_eq!(waited(&trace, Waitable::LibcLock).len(), 0);
}
