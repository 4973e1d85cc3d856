//! Tests that locks, condition variables and the other objects of POSIX are recorded: every call
//! once, in the right order.

use crate::common::{Run, compiles, folder, locks, program, sleeping};
use crate::{balanced, count, recorded, whole};
use baton_trace::{LockKind, Mode, What};

#[test]
fn every_acquisition_is_there_once() {
    recorded("counter.c", &["3", "1000"], |trace| {
        let taken = balanced(trace, false);
        let most = taken.values().max().copied().unwrap();
        // The counter's mutex also guards a queue: it is taken once more for each of 500 puts and
        // 500 takes, and after each wait.
        let waits = count(trace, |what| matches!(what, What::CondWait { .. })) as u64;
        assert_eq!(most, 3 * 1000 + 1000 + waits);
        assert_eq!(taken.values().filter(|n| **n == 2).count(), 1000, "the mutexes that were freed at once");
        assert_eq!(count(trace, |what| matches!(what, What::Created { error: 0, .. })), 7);
        assert_eq!(count(trace, |what| matches!(what, What::JoinEnd { error: 0, .. })), 7);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadStart { .. })), 8);
        assert_eq!(count(trace, |what| matches!(what, What::ThreadEnd { .. })), 7);
    });
}

#[test]
fn kinds_and_errors() {
    recorded("kinds.c", &[], |trace| {
        // Threads may end holding a lock: the first thread keeps a thousand mutexes at its end, and
        // another thread dies with its mutex locked.
        balanced(trace, true);
        assert!(count(trace, |what| matches!(what, What::TryFail { .. })) >= 8);
        assert!(count(trace, |what| matches!(what, What::Timeout { .. })) >= 8);
    });
}

#[test]
fn conditions_and_cancellation() {
    recorded("cond.c", &[], |trace| {
        balanced(trace, false);
        let waits = count(trace, |what| matches!(what, What::CondWait { .. }));
        let wakes = count(trace, |what| matches!(what, What::CondWake { .. }));
        assert!(waits > 1000 && waits == wakes, "{waits} waits, {wakes} ends");
    });
    recorded("cancel.c", &["20"], |trace| {
        balanced(trace, false);
        let cancelled = |what: &What| matches!(what, What::CondWake { reason: baton_trace::WakeReason::Cancelled, .. });
        assert!(count(trace, cancelled) >= 10);
    });
}

#[test]
fn objects_under_a_storm_of_signals() {
    recorded("objects.c", &[], |trace| {
        let taken = balanced(trace, false);
        let by_kind = |kind| taken.iter().filter(|(lock, _)| lock.kind == kind).map(|(_, n)| n).sum::<u64>();
        assert_eq!((by_kind(LockKind::RwLock), by_kind(LockKind::Spin), by_kind(LockKind::Mutex)), (901, 901, 18000));
        let writes = |what: &What| {
            matches!(what, What::Acquire { lock, mode: Mode::Exclusive, .. } | What::Acquired { lock, mode: Mode::Exclusive, .. }
                if lock.kind == LockKind::RwLock)
        };
        assert_eq!(count(trace, writes), 91);
        assert_eq!(count(trace, |what| matches!(what, What::BarrierArrive { .. })), 30);
        assert_eq!(count(trace, |what| matches!(what, What::BarrierLeave { serial: true, .. })), 10);
        assert!(count(trace, |what| matches!(what, What::SemPost { .. })) >= 301);
        let value = |what: &What| matches!(what, What::Attribute { value: 3, .. });
        assert_eq!(count(trace, value), 1, "the barrier's participants");
    });
}

#[test]
fn how_a_lock_was_entered() {
    // Baton's locks record whether a waiter slept. glibc's locks do not (`known` is false): there,
    // CPU times or context switches tell.
    for (lock, wait, known, slept) in [
        ("mcs", "futex", true, true),
        ("mcs", "pause", true, false),
        ("spin-park", "", true, true),
        ("", "", false, false),
    ] {
        let directory = folder(&format!("entered.{lock}.{wait}"));
        Run::new("entered.c", &[]).set("BATON_LOCK", lock).set("BATON_WAIT", wait).set("BATON_TRACE", &directory).ok();
        let trace = whole(&directory);
        let waits: Vec<_> = trace
            .events()
            .filter_map(|event| match event.what {
                What::Acquired { how, .. } => Some(how),
                _ => None,
            })
            .collect();
        assert!(!waits.is_empty() && waits.iter().all(|how| how.known == known), "{lock} {wait}: {waits:?}");
        assert_eq!(waits.iter().any(|how| how.slept), slept, "{lock} {wait}: {waits:?}");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn cpp() {
    if !compiles("cxx.cpp", "cpp") {
        return;
    }
    recorded("cxx.cpp", &[], |trace| {
        balanced(trace, false);
    });
}

#[test]
fn hard_programs() {
    for name in ["ending.c", "c11.c", "allocator.c"] {
        recorded(name, &[], |trace| {
            balanced(trace, true);
        });
    }
    let plugin = program("plugin.c");
    recorded("loads.c", &[plugin.to_str().unwrap()], |trace| {
        balanced(trace, false);
        let name = plugin.file_name().unwrap().to_str().unwrap();
        assert!(
            trace.processes[0].modules.iter().any(|module| module.path.ends_with(name)),
            "the library that came late"
        );
    });
}

#[test]
fn the_edges_of_posix() {
    recorded("edges.c", &[], |trace| {
        balanced(trace, true);
    });
}

#[test]
fn every_lock_can_be_recorded() {
    for lock in locks() {
        let directory = folder("every");
        Run::new("counter.c", &["2", "500"])
            .set("BATON_LOCK", lock.name)
            .set("BATON_WAIT", sleeping(lock))
            .set("BATON_TRACE", &directory)
            .ok();
        balanced(&whole(&directory), false);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn mutexes_that_stay_glibcs_are_noted() {
    recorded("kinds.c", &[], |trace| {
        let noted = |wanted| count(trace, |what| matches!(what, What::Note { code, .. } if *code == wanted));
        use baton_trace::notes::{PRIORITY_INHERIT, PROCESS_SHARED, ROBUST};
        // The shared mutex is noted where it is initialised, and where its copy in shared memory is waited for.
        assert_eq!((noted(ROBUST), noted(PRIORITY_INHERIT), noted(PROCESS_SHARED)), (1, 1, 2));
    });
}
