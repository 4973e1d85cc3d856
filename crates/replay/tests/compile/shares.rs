//! Tests what becomes of work that threads share out among themselves.

use super::{MODE, SITE, START, acquire, chip, program, release, trace};
use baton_replay::compile::{Probes, Work, compile, compile_with};
use baton_replay::program::{Op, Program, Store};
use baton_trace::{Lock, SiteId, Trace, WakeReason, What};

#[test]
fn unequal_shares_of_threads_of_one_kind_are_dynamic_work() {
    let shares = |counts: [u64; 2]| {
        let mut events = vec![(0, 0, START)];
        for i in 0..2u32 {
            let handle = 10 + u64::from(i);
            events.push((10 * handle, 0, What::Create { site: SiteId(5) }));
            events.push((10 * handle + 1, 0, What::Created { handle, error: 0 }));
            events.push((10 * handle + 2, i + 1, What::ThreadStart { handle }));
            for turn in 0..counts[i as usize] {
                let t = 1000 + turn * 100 + u64::from(i) * 50;
                events.extend([(t, i + 1, acquire()), (t + 10, i + 1, release())]);
            }
        }
        let trace = trace(&events);
        let recorded = compile_with(&trace, &chip(), Probes::Kept, Work::AsRecorded);
        (recorded.replayability.dynamic, program(&events))
    };
    for (counts, dynamic, items) in [([100, 100], 0, None), ([100, 101], 0, None), ([150, 50], 200, Some(149 + 49))] {
        let (recorded, shared) = shares(counts);
        assert_eq!((recorded, shared.replayability.dynamic), (dynamic, 0));
        assert_eq!(shared.stores.first().map(Store::len), items);
        let takes =
            |thread: usize| shared.threads[thread].ops.to_vec().iter().filter(|op| **op == Op::Share(0)).count();
        assert_eq!((takes(1), takes(2)), if items.is_some() { (1, 1) } else { (0, 0) });
        // A thread's last acquisition begins no item, so it stays among the thread's own steps.
        let own =
            |thread: usize| shared.threads[thread].ops.to_vec().iter().filter(|op| matches!(op, Op::Lock(_))).count();
        assert_eq!([own(1), own(2)], if items.is_some() { [1, 1] } else { counts.map(|n| n as usize) });
    }
}

/// Compiles a program of two threads of one kind, which have these events.
fn kind(first: &[(u64, What)], second: &[(u64, What)]) -> Program {
    let mut events = vec![(0, 0, START)];
    for (thread, of) in [(1, first), (2, second)] {
        let handle = 10 + u64::from(thread);
        events.push((10 * handle, 0, What::Create { site: SiteId(5) }));
        events.push((10 * handle + 1, 0, What::Created { handle, error: 0 }));
        events.push((10 * handle + 2, thread, What::ThreadStart { handle }));
        events.extend(of.iter().map(|&(time, what)| (time, thread, what)));
    }
    events.sort_by_key(|event| event.0);
    program(&events)
}

/// Makes `n` acquisitions from the time `from` on, one every 100 ticks, each followed by the events
/// `each`.
fn takes(n: u64, from: u64, each: &[What]) -> Vec<(u64, What)> {
    let one = |i: u64| {
        let t = from + 100 * i;
        [(t, acquire()), (t + 10, release())].into_iter().chain(each.iter().map(move |&what| (t + 20, what)))
    };
    (0..n).flat_map(one).collect()
}

#[test]
fn items_are_in_the_order_in_which_they_were_taken() {
    let program = kind(&takes(30, 1000, &[]), &takes(10, 1050, &[]));
    let store = &program.stores[0];
    let work = |item| store.item(item).map(|op| if let Op::Work(cycles) = op { cycles } else { 0 }).sum::<u64>();
    let works: Vec<u64> = (0..store.len()).map(work).collect();
    // The first thread has 29 items and the second 9, because the last acquisition of each begins
    // none.
    assert_eq!(works.len(), 29 + 9);
    // An item takes 100 ticks, less what taking the lock costs.
    assert!(works.iter().all(|work| (90..=100).contains(work)), "{works:?}");
    assert!(
        program.notes.iter().any(|note| note.contains("38 items are replayed by whoever comes first")),
        "{:?}",
        program.notes
    );
}

#[test]
fn what_depends_on_who_does_it_is_left_as_recorded() {
    let other = Lock::mutex(640);
    let holds = [What::Acquire { lock: other, mode: MODE, site: SiteId(2) }];
    let meets = [What::BarrierArrive { barrier: 512, site: SITE }, What::BarrierLeave { barrier: 512, serial: false }];
    for each in [&holds[..1], &meets[..]] {
        let program = kind(&takes(30, 1000, each), &takes(10, 1050, each));
        assert!(
            program.stores.is_empty() && program.replayability.dynamic >= 40,
            "{each:?}: {:?}",
            program.replayability
        );
    }
    // The second thread takes nothing, so no work is shared out.
    let program = kind(&takes(30, 1000, &[]), &[]);
    assert!(program.stores.is_empty());
}

/// Workers 1 and 2 share out work, and worker 1 leaves early. An item of worker 2 waits for an
/// answer, which thread 0 gives when it has been signalled: with `by_way` by worker 1, which has
/// left, otherwise by worker 3, which has no part in the work.
fn items_and_a_leaver(by_way: bool) -> Trace {
    let (condition, answer) = (600, 700);
    let other = |n: u64| Lock::mutex(1000 + 64 * n);
    let take = |lock| What::Acquire { lock, mode: MODE, site: SiteId(9) };
    let give = |lock| What::Release { lock, mode: MODE, site: SiteId(9) };
    let mut events = vec![(0, 0, START)];
    for thread in 1..=3 {
        let handle = 10 + u64::from(thread);
        events.push((1 + 3 * u64::from(thread), 0, What::Create { site: SITE }));
        events.push((2 + 3 * u64::from(thread), thread, What::ThreadStart { handle }));
        events.push((3 + 3 * u64::from(thread), 0, What::Created { handle, error: 0 }));
    }
    let wait = |t, thread, lock, condition| {
        vec![
            (t, thread, take(lock)),
            (t + 1, thread, What::CondWait { condition, site: SITE }),
            (t + 2, thread, What::CondMutex { mutex: lock.address }),
            (t + 3, thread, give(lock)),
        ]
    };
    let woken = |t, thread, lock, condition| {
        vec![
            (t, thread, What::CondWake { condition, reason: WakeReason::Woken }),
            (t + 1, thread, take(lock)),
            (t + 2, thread, give(lock)),
        ]
    };
    // Thread 0 waits for the signal. Worker 1 takes 5 of the 40 items, and worker 2 the rest.
    events.extend(wait(50, 0, other(0), condition));
    for item in 0..40u64 {
        let (t, thread) = (100 + 100 * item, if item < 10 { 1 + (item % 2) as u32 } else { 2 });
        events.extend([(t, thread, acquire()), (t + 10, thread, release())]);
        if item == 20 {
            events.extend(wait(t + 20, 2, other(1), answer));
            events.push((t + 30, if by_way { 1 } else { 3 }, What::CondSignal { condition, site: SITE }));
            events.extend(woken(t + 40, 0, other(0), condition));
            events.push((t + 50, 0, What::CondSignal { condition: answer, site: SITE }));
            events.extend(woken(t + 60, 2, other(1), answer));
        }
    }
    events.sort_by_key(|&(time, ..)| time);
    trace(&events)
}

#[test]
fn no_store_is_made_whose_items_wait_by_way_of_others_for_a_thread_that_has_left() {
    let made = |by_way| compile(&items_and_a_leaver(by_way), &chip(), Probes::Subtracted);
    assert_eq!((made(false).stores.len(), made(true).stores.len()), (1, 0));
    for program in [made(false), made(true)].map(std::sync::Arc::new) {
        for seed in 1..20 {
            let choice = baton_replay::run::Choice { lock: "futex".into(), wait: baton_machine::Wait::Futex };
            let setup = baton_replay::run::Setup { seed, ..baton_replay::run::Setup::new(choice, 2) };
            assert!(baton_replay::run::run(&program, &chip(), &setup).is_ok(), "seed {seed}");
        }
    }
}
