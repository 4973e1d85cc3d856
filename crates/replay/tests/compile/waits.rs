//! Tests what becomes of waits at conditions, barriers and semaphores.

use super::{END, LOCK, MODE, SITE, START, acquire, chip, program, release, request, trace};
use baton_replay::compile::{Probes, compile};
use baton_replay::program::Op;
use baton_replay::scale::{self, ScaleError};
use baton_replay::{Ask, predict};
use baton_trace::{FutexEnd, How, WakeReason, What};

#[test]
fn a_condition_wait_is_a_token_of_its_signal() {
    let condition = 128;
    let program = program(&[
        (0, 0, START),
        (0, 1, START),
        (10, 0, acquire()),
        (20, 0, What::CondWait { condition, site: SITE }),
        (21, 0, What::CondMutex { mutex: 64 }),
        (22, 0, release()),
        (100, 1, acquire()),
        (110, 1, What::CondSignal { condition, site: SITE }),
        (120, 1, release()),
        (150, 0, What::CondWake { condition, reason: WakeReason::Woken }),
        (160, 0, acquire()),
        (200, 0, release()),
        (300, 0, What::CondWait { condition, site: SITE }),
        (301, 0, release()),
        (900, 0, What::CondWake { condition, reason: WakeReason::TimedOut }),
        (901, 0, acquire()),
        (910, 0, release()),
        (911, 0, END),
        (911, 1, END),
    ]);
    let waiter = &program.threads[0].ops.to_vec();
    let at = waiter.iter().position(|op| *op == Op::TokenWait(0)).unwrap();
    assert_eq!((waiter[at - 1], waiter[at + 1]), (Op::Unlock(0), Op::Lock(0)), "{waiter:?}");
    assert!(program.threads[1].ops.to_vec().contains(&Op::TokenPost(0)));
    assert!(waiter.iter().any(|op| matches!(op, Op::Delay(590..=610))), "a time-out is a delay: {waiter:?}");
    assert_eq!(program.replayability.unmatched_waits, 1, "the last wait released a lock that it did not hold");
}

#[test]
fn a_futex_wait_is_a_token_of_the_wake_that_woke_it() {
    let futex = 128;
    let (wait, wake) = (What::FutexWait { futex, site: SITE }, What::FutexWake { futex, site: SITE });
    let woke = |woken| What::FutexWoke { futex, asked: 1, woken };
    let ended = |end| What::FutexWaitEnd { futex, end };
    let program = program(&[
        (0, 0, START),
        (0, 1, START),
        (100, 0, wait),
        // The first wake, at 150, wakes no thread; the second, at 400, wakes thread 0.
        (150, 1, wake),
        (150, 1, woke(0)),
        (400, 1, wake),
        (400, 1, woke(1)),
        (500, 0, ended(FutexEnd::Woken)),
        (600, 0, wait),
        (610, 0, ended(FutexEnd::Changed)),
        (700, 0, wait),
        (1300, 0, ended(FutexEnd::TimedOut)),
        (1400, 0, END),
        (1400, 1, END),
    ]);
    let [waiter, waker] = [0, 1].map(|thread| program.threads[thread].ops.to_vec());
    assert_eq!(program.tokens, 1);
    assert_eq!(waiter.iter().filter(|op| matches!(op, Op::TokenWait(0))).count(), 1, "{waiter:?}");
    assert!(waiter.iter().any(|op| matches!(op, Op::Delay(590..=610))), "a time-out is a delay: {waiter:?}");
    let post = waker.iter().position(|op| *op == Op::TokenPost(0)).unwrap();
    let before: u64 = waker[..post].iter().map(|op| if let Op::Work(cycles) = op { *cycles } else { 0 }).sum();
    assert!((350..=400).contains(&before), "the second wake put it down: {waker:?}");
    assert_eq!(program.replayability.unmatched_waits, 0);
}

#[test]
fn what_cannot_be_replayed_is_counted() {
    let condition = 128;
    let lost = program(&[
        (0, 0, START),
        (10, 0, What::TryFail { lock: LOCK, mode: MODE, site: SITE }),
        (20, 0, request()),
        (30, 0, What::Timeout { lock: LOCK, mode: MODE }),
        (40, 0, acquire()),
        (50, 0, What::CondWait { condition, site: SITE }),
        (51, 0, release()),
        (90, 0, What::CondWake { condition, reason: WakeReason::Woken }),
        (91, 0, acquire()),
        (99, 0, release()),
        (5, 1, acquire()),
        (6, 1, release()),
        (100, 0, END),
    ]);
    let told = &lost.replayability;
    assert_eq!((told.failed_tries, told.expired_waits, told.unmatched_waits, told.from_outside), (1, 1, 1, 1));
    assert!(told.share() > 0.3);
}

#[test]
fn barriers_semaphores_and_families_are_replayed() {
    let (barrier, semaphore) = (256, 512);
    let mut events = vec![
        (0, 0, START),
        (1, 0, What::Init { sort: baton_trace::Waitable::Barrier, address: barrier, site: SITE }),
        (1, 0, What::Attribute { address: barrier, value: 2 }),
        (2, 0, What::Init { sort: baton_trace::Waitable::Semaphore, address: semaphore, site: SITE }),
        (2, 0, What::Attribute { address: semaphore, value: 1 }),
        (5, 0, What::Create { site: SITE }),
        (6, 0, What::Created { handle: 77, error: 0 }),
        (7, 1, What::ThreadStart { handle: 77 }),
    ];
    for thread in 0..2 {
        let t = 100 + 40 * u64::from(thread);
        events.extend([
            (t, thread, What::SemTake { semaphore, site: SITE }),
            (t + 10, thread, What::SemPost { semaphore, site: SITE }),
            (t + 50, thread, What::BarrierArrive { barrier, site: SITE }),
            (t + 200, thread, What::BarrierLeave { barrier, serial: thread == 0 }),
        ]);
    }
    events.extend([
        (400, 1, What::ThreadEnd { handle: 77 }),
        (350, 0, What::JoinBegin { handle: 77, site: SITE }),
        (420, 0, What::JoinEnd { handle: 77, error: 0 }),
    ]);
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    assert_eq!((&program.barriers, &program.semaphores), (&vec![2], &vec![1]));
    assert!(
        program.threads[0].ops.to_vec().contains(&Op::Spawn(1))
            && program.threads[0].ops.to_vec().contains(&Op::Join(1))
    );
    assert_eq!((program.threads[0].at.is_some(), program.threads[1].at), (true, None));
    let ask = Ask::default();
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    assert_eq!(prediction.results.len(), 1);
    let depends = scale::to(program, 8).unwrap_err();
    assert!(matches!(depends, ScaleError::Depends { .. }), "{depends}");
}

#[test]
fn a_semaphore_that_signals_is_a_token_a_unit() {
    let semaphore = 512;
    let mut events = vec![
        (0, 0, START),
        (0, 1, START),
        (1, 0, What::Init { sort: baton_trace::Waitable::Semaphore, address: semaphore, site: SITE }),
        (1, 0, What::Attribute { address: semaphore, value: 1 }),
        (10, 0, What::SemTake { semaphore, site: SITE }),
        (20, 0, What::SemWait { semaphore, site: SITE }),
        (300, 1, What::SemPost { semaphore, site: SITE }),
        (310, 0, What::SemTaken { semaphore, how: How::OPAQUE }),
    ];
    events.extend([(400, 0, END), (400, 1, END)]);
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    let steps = |thread: usize| -> Vec<Op> {
        program.threads[thread].ops.iter().filter(|op| !matches!(op, Op::Work(_))).collect()
    };
    assert_eq!((steps(0), steps(1)), (vec![Op::TokenWait(0)], vec![Op::TokenPost(0)]), "the first unit was there");
    let ask = Ask::default();
    let prediction = predict(&trace, &chip(), &ask, &|| {}).unwrap();
    assert!(prediction.check.replayed_ns.median >= 300, "the wait ends after the post");
}

/// Thread 1 waits for the items of thread 0, which works for 300 and 500 before it puts them in; the queue
/// holds one item. Thread 0 closes the queue 200 later.
#[test]
fn items_of_a_queue_and_its_places_are_tokens() {
    let queue = 512;
    let (put, take) = (What::Put { queue, items: 1 }, What::Take { queue, items: 1 });
    let empty = What::TakeWait { queue, site: SITE };
    let waited = |gave_up| What::TakeWaited { queue, gave_up };
    let events = [
        (0, 0, START),
        (0, 1, START),
        (1, 0, What::Init { sort: baton_trace::Waitable::Queue, address: queue, site: SITE }),
        (1, 0, What::QueueCapacity { queue, capacity: 1 }),
        (10, 1, empty),
        (300, 0, put),
        (310, 1, waited(false)),
        (310, 1, take),
        (320, 1, empty),
        (800, 0, put),
        (810, 1, waited(false)),
        (810, 1, take),
        (820, 1, empty),
        (1000, 0, What::QueueClose { queue, site: SITE }),
        (1010, 1, waited(true)),
        (1100, 0, END),
        (1100, 1, END),
    ];
    let trace = trace(&events);
    let program = compile(&trace, &chip(), Probes::Kept);
    let steps = |thread: usize| -> Vec<Op> {
        program.threads[thread].ops.iter().filter(|op| !matches!(op, Op::Work(_))).collect()
    };
    let waits = |op: &Op| matches!(op, Op::TokenWait(_));
    assert_eq!(steps(0).iter().filter(|op| waits(op)).count(), 1, "the second item needs the place of the first");
    assert_eq!(steps(1).iter().filter(|op| waits(op)).count(), 3, "{:?}", steps(1));
    let prediction = predict(&trace, &chip(), &Ask::default(), &|| {}).unwrap();
    assert!(prediction.notes.iter().any(|note| note.contains("queues are replayed as messages")), "{prediction:?}");
    assert!(prediction.check.replayed_ns.median >= 1000, "the last wait ends after the close: {prediction:?}");
}

#[test]
fn a_meeting_that_nobody_left_holds_up_no_replay() {
    let barrier = 256;
    let mut events = vec![(0, 0, START), (0, 1, START)];
    for (round, left) in [(100, true), (1000, false)] {
        for thread in 0..2 {
            events.push((round + u64::from(thread), thread, What::BarrierArrive { barrier, site: SITE }));
        }
        for thread in (0..2).filter(|_| left) {
            // Thread 0 leaves at 110 and comes back at 120; thread 1 leaves at 150.
            let at = round + 10 + 40 * u64::from(thread);
            events.push((at, thread, What::BarrierLeave { barrier, serial: thread == 0 }));
        }
    }
    events.push((120, 0, What::BarrierArrive { barrier, site: SITE }));
    events.push((160, 1, What::BarrierArrive { barrier, site: SITE }));
    events.push((170, 0, What::BarrierLeave { barrier, serial: true }));
    events.push((171, 1, What::BarrierLeave { barrier, serial: false }));
    events.sort_by_key(|&(time, ..)| time);
    let program = program(&events);
    assert_eq!(program.barriers, [2], "never three, though three stood there between an arrival and a leaving");
    for thread in &program.threads {
        assert_eq!(thread.ops.iter().filter(|op| *op == Op::Meet(0)).count(), 2);
    }
}
