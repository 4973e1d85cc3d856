//! Tests for queues: the critical path goes through messages, and the figures of both sides.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, WaitKind, Window, background, relax};
use baton_trace::{Clock, ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, Waitable, What};

const SITE: SiteId = SiteId(1);
const QUEUE: u64 = 0x1000;
const MARK: What = What::Marker { name: 0, value: 0 };
const PUT: What = What::Put { queue: QUEUE, items: 1 };
const TAKE: What = What::Take { queue: QUEUE, items: 1 };
const FULL: What = What::PutWait { queue: QUEUE, site: SITE };
const EMPTY: What = What::TakeWait { queue: QUEUE, site: SITE };
const ROOM: What = What::PutWaited { queue: QUEUE, gave_up: false };
const ITEM: What = What::TakeWaited { queue: QUEUE, gave_up: false };

fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in events {
        builder.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    builder.build()
}

/// A queue for two items from time 0 on.
fn made() -> Vec<(u64, u32, What)> {
    let init = What::Init { sort: Waitable::Queue, address: QUEUE, site: SITE };
    vec![(0, 0, init), (0, 0, What::QueueCapacity { queue: QUEUE, capacity: 2 })]
}

fn path(trace: &Trace) -> Vec<(u32, u64, u64, Doing)> {
    let path = CriticalPath::of(trace, &Window::whole(trace));
    path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0, s.doing)).collect()
}

fn times(trace: &Trace) -> Vec<(u32, u64, u64)> {
    path(trace).into_iter().map(|(thread, begin, end, _)| (thread, begin, end)).collect()
}

/// Thread 0 puts an item at 80, for which thread 1 has waited since 10. Without the queue's events
/// the path stays in thread 1 all the time, as nothing says that it waited.
#[test]
fn a_starved_consumer_waited_for_the_producer() {
    let mut events = made();
    events.extend([(1, 1, MARK), (10, 1, EMPTY), (80, 0, PUT), (85, 1, ITEM), (85, 1, TAKE), (100, 1, MARK)]);
    let with = trace(&events);
    let handoff = path(&with).into_iter().find(|(.., doing)| matches!(doing, Doing::HandOff { .. })).unwrap();
    assert!(matches!(handoff, (1, 80, 85, Doing::HandOff { kind: WaitKind::Item, object: Some(_) })), "{handoff:?}");
    assert_eq!(times(&with), [(0, 0, 80), (1, 80, 85), (1, 85, 100)]);
    events.retain(|(.., what)| matches!(what, What::Marker { .. }));
    assert_eq!(times(&trace(&events)), [(1, 1, 100)]);
}

/// The queue holds two items. Thread 0 puts the third one when thread 1 has taken the first.
#[test]
fn a_blocked_producer_waited_for_the_take_a_capacity_before() {
    let mut events = made();
    events.extend([(1, 1, MARK), (2, 0, PUT), (3, 0, PUT), (5, 0, FULL), (60, 1, TAKE)]);
    events.extend([(62, 0, ROOM), (62, 0, PUT), (70, 1, TAKE), (90, 0, MARK)]);
    assert_eq!(times(&trace(&events)), [(1, 1, 60), (0, 60, 62), (0, 62, 90)]);
}

/// Items are told apart: the second consumer waited for the second item, which thread 0 put later.
#[test]
fn each_waiter_waited_for_its_own_item() {
    let mut events = made();
    events.extend([(1, 1, EMPTY), (2, 2, EMPTY), (50, 0, PUT), (55, 1, ITEM), (55, 1, TAKE)]);
    events.extend([(60, 3, MARK), (70, 3, PUT), (75, 2, ITEM), (75, 2, TAKE), (80, 2, MARK)]);
    assert_eq!(times(&trace(&events)), [(3, 60, 70), (2, 70, 75), (2, 75, 80)]);
}

#[test]
fn the_end_of_a_queue_is_an_answer_and_a_deadline_is_none() {
    let gave_up = What::TakeWaited { queue: QUEUE, gave_up: true };
    let mut events = made();
    events.extend([(1, 1, EMPTY), (40, 1, gave_up), (41, 1, EMPTY)]);
    events.extend([(90, 0, What::QueueClose { queue: QUEUE, site: SITE }), (95, 1, gave_up), (99, 1, MARK)]);
    let trace = trace(&events);
    assert_eq!(times(&trace), [(0, 0, 90), (1, 90, 95), (1, 95, 99)]);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let stats = &analysis.waitables[0].stats;
    let queue = stats.queue.as_ref().unwrap();
    assert_eq!((queue.takes.wait.count, queue.takes.timeouts, stats.timeouts), (2, 1, 1));
    assert_eq!(analysis.threads[1].items, Ticks(39 + 54));
}

#[test]
fn both_sides_and_the_depth_are_counted() {
    let mut events = made();
    events.extend([(10, 0, What::Put { queue: QUEUE, items: 2 }), (20, 0, FULL), (30, 1, TAKE)]);
    events.extend([(32, 0, ROOM), (32, 0, PUT), (50, 1, What::Take { queue: QUEUE, items: 2 })]);
    // The wait at the end does not end.
    events.extend([(60, 1, EMPTY), (100, 0, MARK)]);
    let trace = trace(&events);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let queue = analysis.waitables[0].stats.queue.as_ref().unwrap();
    assert_eq!((queue.capacity, queue.puts.items, queue.takes.items, queue.deepest), (Some(2), 3, 3, 2));
    assert_eq!(queue.item_ticks, 2 * 20 + 2 + 2 * 18);
    assert_eq!(queue.puts.threads[&ThreadIndex(0)], (1, Ticks(12)));
    assert_eq!(queue.takes.threads[&ThreadIndex(1)], (0, Ticks(40)));
    assert_eq!(queue.puts.sites[&(ProcessIndex(0), SITE)], (1, Ticks(12)));
    assert_eq!(analysis.threads[0].room, Ticks(12));
}

/// The model of a run without a lock's costs gives the recorded length with nothing changed.
#[test]
fn waits_at_queues_keep_their_length_in_the_relaxed_replay() {
    let lock = baton_trace::Lock::mutex(0x2000);
    let mode = baton_trace::Mode::Exclusive;
    let mut events = made();
    events.extend([(1, 1, EMPTY), (5, 0, What::Acquire { lock, mode, site: SITE })]);
    events.extend([(50, 0, What::Release { lock, mode, site: SITE }), (60, 0, PUT), (64, 1, ITEM), (64, 1, TAKE)]);
    events
        .extend([(80, 1, What::Acquire { lock, mode, site: SITE }), (90, 1, What::Release { lock, mode, site: SITE })]);
    let trace = trace(&events);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let answers = relax(&trace, &[analysis.locks[0].id], &background(&trace));
    assert_eq!((answers[0].recorded, answers[0].without_exclusion), (Ticks(90), Ticks(90)));
}

/// Thread 1 sleeps in a loop, and ends soon after thread 0 has come to join it. Alone it would be a
/// background thread, which thread 0 told to end; but it works on items.
#[test]
fn a_thread_that_moves_items_is_no_background_thread() {
    let loops = |moves: bool| {
        let mut events = made();
        events.extend([(1, 0, What::Create { site: SITE }), (2, 1, What::ThreadStart { handle: 7 })]);
        events.push((3, 0, What::Created { handle: 7, error: 0 }));
        for turn in 0..20 {
            let now = 100 * (turn + 1);
            if moves {
                events.extend([(now - 2, 0, PUT), (now - 1, 1, TAKE)]);
            }
            events.push((now + 50, 1, What::Blocked { site: SITE, ticks: 50 }));
        }
        events.push((2060, 0, What::JoinBegin { handle: 7, site: SITE }));
        events.push((2080, 1, What::ThreadEnd { handle: 7 }));
        events.push((2090, 0, What::JoinEnd { handle: 7, error: 0 }));
        background(&trace(&events)).len()
    };
    assert_eq!((loops(false), loops(true)), (1, 0));
}
