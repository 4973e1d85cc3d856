//! Tests for pipes, sockets and eventfds: the critical path goes from a thread that waited there to the thread
//! that it waited for, if the recording has that one.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, OffCpu, WaitKind, Window, background};
use baton_trace::{
    Clock, OffReason, Outcome, ProcessIndex, SiteId, Stream, SystemCall, ThreadIndex, Ticks, Trace, TraceBuilder, What,
    point,
};

const SITE: SiteId = SiteId(1);
const PIPE: u64 = Stream::Pipe.address(7);
const MARK: What = What::Marker { name: 0, value: 0 };

type Events = Vec<(u64, u32, What)>;

fn built(mut builder: TraceBuilder, events: &[(u64, u32, What)]) -> Trace {
    for (time, thread, what) in events {
        builder.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    builder.build()
}

fn trace(events: &[(u64, u32, What)]) -> Trace {
    built(TraceBuilder::new(Clock::nanoseconds()), events)
}

fn put(items: u32) -> What {
    What::Put { queue: PIPE, items }
}

fn take(items: u32) -> What {
    What::Take { queue: PIPE, items }
}

/// A call of the thread in which it left its CPU: what it did at a stream lies before or after, as the recorder
/// writes it.
fn call(thread: u32, name: &str, (begin, end): (u64, u64), moved: What) -> Events {
    let number = point::CALLS.iter().position(|call| *call == name).unwrap() as u8;
    let call = SystemCall { number, outcome: Outcome::Done, file: Some(3), ticks: (end - begin) as u32 };
    let at = if matches!(moved, What::Put { .. }) { begin } else { end };
    vec![
        (at, thread, moved),
        (begin, thread, What::OffCpu { tid: 0, reason: OffReason::Blocked }),
        (end, thread, What::OnCpu { tid: 0, cpu: 0 }),
        (end, thread, What::Blocked { site: SITE, ticks: end - begin }),
        (end, thread, What::Called { call, site: SITE }),
    ]
}

fn times(trace: &Trace) -> Vec<(u32, u64, u64)> {
    let path = CriticalPath::of(trace, &Window::whole(trace));
    path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0)).collect()
}

/// Thread 0 writes 4 bytes at 80, for which thread 1 has waited since 10.
fn fed() -> Events {
    let mut events = vec![(1, 1, MARK), (2, 0, MARK), (80, 0, put(4))];
    events.extend(call(1, "read", (10, 85), take(4)));
    events.push((100, 1, MARK));
    events
}

#[test]
fn a_read_waited_for_the_thread_that_wrote_its_first_byte() {
    let trace = trace(&fed());
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let handoff = path.segments.iter().find(|s| matches!(s.doing, Doing::HandOff { .. })).unwrap();
    assert!(matches!(handoff.doing, Doing::HandOff { kind: WaitKind::Item, object: Some(_) }), "{handoff:?}");
    assert_eq!(times(&trace), [(0, 2, 80), (1, 80, 85), (1, 85, 100)]);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    let queue = analysis.waitables[0].stats.queue.as_ref().unwrap();
    assert_eq!((queue.takes.wait.count, queue.takes.wait.sum), (1, Ticks(75)));
    assert_eq!(queue.takes.sites[&(ProcessIndex(0), SITE)], (1, Ticks(75)));
    assert_eq!((queue.puts.items, queue.takes.items), (4, 4));
}

/// No one recorded writes, or more is read than was written: another writer is not recorded.
#[test]
fn what_an_unknown_thread_wrote_has_no_cause() {
    for written in [None, Some(3)] {
        let mut events: Events = fed().into_iter().filter(|(.., what)| *what != put(4)).collect();
        events.extend(written.map(|items| (80, 0, put(items))));
        let trace = trace(&events);
        let path = CriticalPath::of(&trace, &Window::whole(&trace));
        assert!(path.segments.iter().all(|s| s.thread.0 == 1), "{written:?}: {:?}", path.segments);
        assert_eq!(path.time(|doing| *doing == Doing::OffCpu(OffCpu::Call)), Ticks(75), "{written:?}");
        assert!(Analysis::of(&trace, Window::whole(&trace)).waitables.is_empty(), "{written:?}");
        assert!(trace.interpreted_events().all(|event| event.what.queue().is_none()), "{written:?}");
    }
}

#[test]
fn a_read_that_found_its_bytes_did_not_wait_for_them() {
    // The bytes lay there before the read began; the thread left its CPU for another reason.
    let mut events = vec![(1, 1, MARK), (2, 0, MARK), (5, 0, put(4))];
    events.extend(call(1, "read", (10, 85), take(4)));
    events.push((100, 1, MARK));
    assert!(times(&trace(&events)).iter().all(|(thread, ..)| *thread == 1));
}

/// Each of two reads takes 2 of 3 bytes and 2 of 5: the second one's first byte is of the first write.
#[test]
fn bytes_are_counted_over_reads_and_writes() {
    let mut events = vec![(1, 1, MARK), (2, 0, MARK), (50, 0, put(3)), (60, 2, MARK), (90, 2, put(2))];
    events.extend(call(1, "read", (10, 55), take(2)));
    events.push((70, 1, take(1)));
    events.extend(call(1, "read", (75, 95), take(2)));
    events.push((100, 1, MARK));
    assert_eq!(times(&trace(&events)), [(2, 60, 90), (1, 90, 95), (1, 95, 100)]);
}

#[test]
fn a_write_that_left_its_cpu_waited_for_the_last_read() {
    let mut events =
        vec![(1, 1, MARK), (2, 0, MARK), (3, 0, put(9000)), (70, 1, take(9000)), (90, 1, take(9000)), (98, 0, MARK)];
    events.extend(call(0, "write", (10, 75), put(9000)));
    let expected = [(1, 1, 70), (0, 70, 75), (0, 75, 98)];
    assert_eq!(times(&trace(&events)), expected);
    // A stream with little in it has room: the thread left its CPU for another reason.
    let few = |what| match what {
        What::Put { .. } => put(9),
        What::Take { .. } => take(9),
        what => what,
    };
    let short: Events = events.iter().map(|(time, thread, what)| (*time, *thread, few(*what))).collect();
    assert!(times(&trace(&short)).iter().all(|(thread, ..)| *thread == 0));
    // A write that did not leave its CPU had room, whatever others read meanwhile.
    events.retain(|(.., what)| !matches!(what, What::OffCpu { .. } | What::OnCpu { .. } | What::Blocked { .. }));
    assert!(times(&trace(&events)).iter().all(|(thread, ..)| *thread == 0));
}

#[test]
fn a_wait_for_readiness_waited_for_what_is_read_next() {
    let number = point::CALLS.iter().position(|call| *call == "poll").unwrap() as u8;
    let polled = SystemCall { number, outcome: Outcome::Done, file: None, ticks: 74 };
    let mut events = vec![(1, 1, MARK), (2, 0, MARK), (80, 0, put(4))];
    events.extend([(84, 1, What::Called { call: polled, site: SITE }), (88, 1, take(4)), (100, 1, MARK)]);
    assert_eq!(times(&trace(&events)), [(0, 2, 80), (1, 80, 84), (1, 84, 100)]);
    // What came after the wait did not end it.
    events[2].0 = 86;
    assert!(times(&trace(&events)).iter().all(|(thread, ..)| *thread == 1));
}

#[test]
fn the_end_of_a_stream_comes_with_its_last_close() {
    let close = What::QueueClose { queue: PIPE, site: SITE };
    let mut events = vec![(1, 1, MARK), (2, 0, MARK), (3, 0, put(4)), (4, 1, take(4)), (5, 2, close), (80, 0, close)];
    events.extend(call(1, "read", (10, 85), take(0)));
    events.push((100, 1, MARK));
    assert_eq!(times(&trace(&events)), [(0, 2, 80), (1, 80, 85), (1, 85, 100)]);
}

/// Thread 1 sleeps again and again until thread 0 tells it to end, and writes in one of its turns, for which thread 0
/// has waited since 50,000. What thread 1 did before delayed no one.
#[test]
fn a_background_thread_delays_a_reader_only_while_it_waits() {
    let (handle, site) = (5, SiteId(9));
    let mut events = vec![(1, 0, MARK), (2, 0, What::Create { site }), (3, 0, What::Created { handle, error: 0 })];
    events.push((4, 1, What::ThreadStart { handle }));
    events.extend((1..=20).map(|turn| (10_000 * turn, 1, What::Blocked { site, ticks: 9_900 })));
    events.push((60_010, 1, put(4)));
    events.extend(call(0, "read", (50_000, 60_050), take(4)));
    events.push((200_100, 0, What::JoinBegin { handle, site: SITE }));
    events.extend([(205_000, 1, What::ThreadEnd { handle }), (205_200, 0, What::JoinEnd { handle, error: 0 })]);
    events.push((205_300, 0, MARK));
    let trace = trace(&events);
    assert_eq!(background(&trace).len(), 1);
    let there: Vec<_> = times(&trace).into_iter().filter(|(thread, ..)| *thread == 1).collect();
    assert_eq!(there, [(1, 50_000, 60_010)]);
}

/// The writer is in a child process; each process has call sites of its own.
#[test]
fn a_stream_is_one_object_for_all_processes() {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    let parent = builder.thread("parent");
    let child = builder.child(77);
    let mut events = vec![(1, parent.0, MARK), (2, child.0, MARK), (80, child.0, put(4))];
    events.extend(call(parent.0, "read", (10, 85), take(4)));
    events.push((100, parent.0, MARK));
    let trace = built(builder, &events);
    assert_eq!(times(&trace), [(child.0, 2, 80), (parent.0, 80, 85), (parent.0, 85, 100)]);
    let analysis = Analysis::of(&trace, Window::whole(&trace));
    assert_eq!(analysis.waitables.len(), 1);
}
