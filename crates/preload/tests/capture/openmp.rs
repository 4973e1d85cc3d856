//! Tests of recorded OpenMP regions, barriers, tasks and locks.

use crate::common::{Run, compiles, folder};
use crate::{balanced, count, recorded, whole};
use baton_trace::{Construct, Event, LockKind, Trace, What};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn openmp() {
    for name in ["omp.c", "omp.clang"] {
        if compiles(name, "openmp") {
            locks(name);
        }
    }
}

fn locks(name: &str) {
    recorded(name, &[], |trace| {
        let taken = balanced(trace, true);
        let by_kind = |kind| taken.iter().filter(|(lock, _)| lock.kind == kind).map(|(_, n)| n).sum::<u64>();
        assert_eq!((by_kind(LockKind::OmpCritical), by_kind(LockKind::OmpLock)), (2000, 3002));
        // Two threads arrive at two `barrier` directives, at the barrier of `single`, and at the
        // ends of two regions: 10 arrivals.
        assert_eq!(count(trace, |what| matches!(what, What::BarrierArrive { .. })), 10);
    });
}

/// Records each form of region of `omp_regions.c`, also with the process ending inside of a region,
/// and compares the counts of regions, tasks and waits with those in the program.
#[test]
fn openmp_regions() {
    for name in ["omp_regions.c", "omp_regions.clang"] {
        if compiles(name, "openmp_regions") {
            regions(name);
        }
    }
}

fn regions(name: &str) {
    Run::new(name, &[]).set("BATON_LOCK", "mcs").set("BATON_WAIT", "futex").ok();
    for inside in ["", "1"] {
        let directory = folder("omp_regions");
        Run::new(name, &[]).set("INSIDE", inside).set("BATON_TRACE", &directory).ok();
        let trace = whole(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
        let counted = |what: fn(&What) -> bool| count(&trace, what);
        let open = usize::from(!inside.is_empty());
        assert_eq!(counted(|what| matches!(what, What::Fork { .. })), 21 + open);
        // Nine regions have three threads each: five of the loop, two that are loops themselves,
        // one with barriers, and one with tasks. One region has a single thread.
        let alone = counted(|what| matches!(what, What::TeamBegin { threads: 1, .. }));
        let triples = counted(|what| matches!(what, What::TeamBegin { threads: 3, .. }));
        assert_eq!((alone, triples), (1, 9 * 3));
        // fibonacci(10) creates 88 tasks, the task group 4, the task at a region's end makes 6 with
        // its own five, and two depend on each other. The task that an event completes and those of
        // the loop are passed on unrecorded.
        for of in [
            |what: &What| matches!(what, What::TaskCreate { .. }),
            |what: &What| matches!(what, What::TaskBegin { .. }),
            |what: &What| matches!(what, What::TaskEnd { .. }),
        ] {
            assert_eq!(counted(of), 88 + 4 + 6 + 2);
        }
        assert_eq!(counted(|what| matches!(what, What::TaskWaitBegin { .. })), 88 + 1 + 1);
        assert_eq!(counted(|what| matches!(what, What::TaskWaitEnd)), 88 + 1 + 1);
        barriers_of_regions(&trace, open);
    }
}

/// Checks that each thread leaves each barrier as often as it arrives, and only once all threads
/// have arrived; and that in the first region, which runs five times with three threads, the worker
/// that sleeps arrives last each time.
fn barriers_of_regions(trace: &Trace, open: usize) {
    let mut constructs = BTreeMap::new();
    let (mut first, mut opened) = (None, BTreeMap::new());
    let (mut there, mut last, mut leaving) = (BTreeMap::<_, BTreeSet<_>>::new(), Vec::new(), BTreeMap::new());
    let (mut idle, mut idled) = (BTreeSet::new(), 0);
    for Event { thread, what, .. } in trace.events() {
        match what {
            What::Construct { barrier, construct } => {
                assert_eq!(constructs.insert(barrier, construct), None, "told once");
            }
            What::Fork { region, .. } => {
                first = first.or(Some((region, thread)));
                opened.insert(region, thread);
            }
            What::BarrierArrive { barrier, .. } => {
                assert!(there.entry(barrier).or_default().insert(thread), "{barrier:#x}: arrives twice");
                if first.is_some_and(|(region, _)| region == barrier) {
                    last.push(thread);
                }
            }
            What::BarrierLeave { barrier, .. } => {
                let arrived = there.get_mut(&barrier).expect("arrived");
                let left: &mut BTreeSet<_> = leaving.entry(barrier).or_default();
                left.append(arrived);
                assert!(left.remove(&thread), "{barrier:#x}: leaves before all have arrived, or twice");
            }
            What::IdleBegin { .. } => assert!(idle.insert(thread)),
            What::TaskBegin { .. } | What::TaskEnd { .. } => assert!(!idle.contains(&thread), "a task of no region"),
            What::TeamBegin { idled: true, .. } => {
                assert!(idle.remove(&thread));
                idled += 1;
            }
            _ => {}
        }
    }
    let (_, master) = first.expect("a region");
    // Workers of other masters than the first may still wait as the process ends, so only waits
    // behind the first master's regions count. If the process ends inside of a region, two may be
    // open: the region's worker may have arrived at its end, and the third thread of earlier
    // regions waits for its next region.
    let left_open =
        there.iter().chain(&leaving).filter(|(barrier, _)| opened.get(barrier).is_none_or(|by| *by == master));
    let waiting: usize = left_open.map(|(_, threads)| threads.len()).sum();
    assert!(waiting <= 2 * open, "{waiting} threads have not left");
    assert_eq!(last.len(), 15);
    let late: BTreeSet<_> = last.chunks(3).map(|round| round[2]).collect();
    assert!(late.len() == 1 && !late.contains(&master), "{late:?} came last");
    assert!(idled >= 2 * 4, "workers waited for the next of five regions: {idled}");
    let kinds: BTreeSet<Construct> = constructs.into_values().collect();
    let all = [Construct::Barrier, Construct::Region, Construct::Loop, Construct::Single];
    assert_eq!(kinds, BTreeSet::from(all));
}
