//! Tests that programs of Baton's C library are recorded: each call once, at the program's own call sites,
//! and none of what the library does inside of a call.

use crate::common::compiles;
use crate::{balanced, count, recorded};
use baton_report::symbols::{Frame, Symbols};
use baton_trace::analysis::{Analysis, QueueSide, Window};
use baton_trace::{Address, LockKind, Trace, What};
use std::collections::BTreeMap;

/// The items that went into each queue and out of it, and its capacity.
fn queues(trace: &Trace) -> Vec<(u64, u64, u32)> {
    let mut all: BTreeMap<Address, (u64, u64, u32)> = BTreeMap::new();
    for event in trace.events() {
        match event.what {
            What::Put { queue, items } => all.entry(queue).or_default().0 += u64::from(items),
            What::Take { queue, items } => all.entry(queue).or_default().1 += u64::from(items),
            What::QueueCapacity { queue, capacity } => all.entry(queue).or_default().2 = capacity,
            _ => {}
        }
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_unstable();
    all
}

#[test]
fn every_object_of_the_c_library_is_there() {
    recorded("library.c", &[], |trace| {
        let taken = balanced(trace, false);
        let (most, kind) = (
            |n| taken.values().filter(|count| **count == n).count(),
            |kind| taken.iter().filter(|(lock, _)| lock.kind == kind).map(|(_, n)| n).sum::<u64>(),
        );
        // The counter's mutex is also tried once, alone; the lock by name is not.
        assert_eq!((most(3001), most(3000)), (1, 1), "{taken:?}");
        // Alone: a write, a downgrade, an upgrade. Then each of 300 times a read, a write, two downgrades and
        // an upgrade.
        assert_eq!(kind(LockKind::RwLock), 3 + 300 * 5);
        assert_eq!(queues(trace), [(200, 200, 0), (201, 201, 8), (250, 250, 4)]);

        let of = |what: fn(&What) -> bool| count(trace, what);
        assert_eq!(of(|what| matches!(what, What::SemPost { .. })), 200);
        assert_eq!(of(|what| matches!(what, What::SemTake { .. } | What::SemTaken { .. })), 200);
        assert_eq!(of(|what| matches!(what, What::SemTimeout { .. } | What::SemTryFail { .. })), 2);
        assert_eq!(of(|what| matches!(what, What::BarrierArrive { .. })), 2 * 3 * 10);
        assert_eq!(of(|what| matches!(what, What::BarrierLeave { serial: true, .. })), 2 * 10);
        let waits = of(|what| matches!(what, What::CondWait { .. }));
        assert!(waits >= 1 && waits == of(|what| matches!(what, What::CondWake { .. })), "{waits} waits");
        assert!(of(|what| matches!(what, What::PutWait { .. })) >= 1, "a producer came to a full queue");
        assert_eq!(
            of(|what| matches!(what, What::PutWait { .. } | What::TakeWait { .. })),
            of(|what| matches!(what, What::PutWaited { .. } | What::TakeWaited { .. }))
        );
        assert_eq!(of(|what| matches!(what, What::QueueClose { .. })), 3);
        no_inner_events(trace);
    });
}

/// What the library does inside of its calls is no event of its own.
fn no_inner_events(trace: &Trace) {
    let inner = |what: &What| matches!(what, What::FutexWait { .. } | What::FutexWake { .. } | What::FutexWoke { .. });
    assert_eq!(count(trace, inner), 0);
}

#[test]
fn a_queue_of_the_cpp_template_is_a_queue() {
    if !compiles("queue.cpp", "a_queue_of_the_cpp_template_is_a_queue") {
        return;
    }
    recorded("queue.cpp", &[], |trace| {
        let (analysis, mut symbols) = (Analysis::of(trace, Window::whole(trace)), Symbols::new());
        let queues = analysis.waitables.iter().filter_map(|one| Some((one, one.stats.queue.as_ref()?)));
        let mut told: Vec<_> =
            queues.clone().map(|(_, queue)| (queue.puts.items, queue.takes.items, queue.capacity)).collect();
        told.sort_unstable();
        // Two queues had the same address in turn.
        assert_eq!(told, [(2, 1, Some(2)), (3, 1, Some(3)), (200, 200, Some(4))]);
        for (one, queue) in queues {
            let of = |site| symbols.site(trace, one.object.process, site);
            let full: Vec<_> = queue.puts.sites.keys().map(|(_, site)| *site).map(of).collect();
            assert!(queue.puts.wait.count >= 1 && !full.is_empty(), "a producer came to a full queue");
            let expected = if queue.puts.items == 200 { "produces" } else { "fills" };
            let is = |frames: &Vec<Frame>| frames.iter().any(|frame| frame.function.contains(expected));
            assert!(full.iter().all(is), "{full:?}");
        }
        let lock = |what: &What| matches!(what, What::Acquire { .. } | What::Acquired { .. } | What::CondWait { .. });
        assert_eq!(count(trace, lock), 0, "the queue's mutex and conditions are no objects of their own");
        no_inner_events(trace);
    });
}

#[test]
fn a_queue_between_processes_is_one_queue() {
    recorded("between.c", &[], |trace| {
        assert_eq!(trace.processes.len(), 2);
        assert_eq!(queues(trace), [(100, 100, 4)]);
        let analysis = Analysis::of(trace, Window::whole(trace));
        let [queue] = &analysis.waitables.iter().filter_map(|one| one.stats.queue.as_ref()).collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", analysis.waitables)
        };
        let process = |side: &QueueSide| {
            let [thread] = side.movers.keys().collect::<Vec<_>>()[..] else { panic!("{side:?}") };
            trace.process_of(*thread)
        };
        assert_ne!(process(&queue.puts), process(&queue.takes));
        assert!(queue.puts.wait.count >= 1 && queue.takes.wait.count >= 1, "{queue:?}");
        assert_eq!((queue.puts.items, queue.takes.items, queue.takes.timeouts), (100, 100, 0));
        no_inner_events(trace);
    });
}

#[test]
fn a_call_site_is_the_programs() {
    recorded("library.c", &[], |trace| {
        let (analysis, mut symbols) = (Analysis::of(trace, Window::whole(trace)), Symbols::new());
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for lock in &analysis.locks {
            let object = &lock.object;
            let name = symbols.data(trace, object.process, object.address, object.loaded).unwrap_or_default();
            for (site, stats) in lock.stats.sites.iter().filter(|_| name == "mutex") {
                let function = symbols.site(trace, object.process, *site)[0].function.clone();
                *functions.entry(function).or_default() += stats.acquisitions;
            }
        }
        // The compiler may put `alone` into `main`.
        assert_eq!(functions.get("locks"), Some(&3000), "{functions:?}");
        assert_eq!(functions.values().sum::<u64>(), 3001, "{functions:?}");
    });
}
