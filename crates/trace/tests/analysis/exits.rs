//! Tests for the end of a process: by a thread that only slept while others worked, and by a signal's
//! handler inside of a wait.

use baton_trace::analysis::{CriticalPath, Ending, OffCpu, Window, background, exits};
use baton_trace::{
    Clock, How, Lock, Mode, OffReason, Outcome, ProcessIndex, SiteId, SystemCall, ThreadIndex, Ticks, Trace,
    TraceBuilder, What,
};

const LOCK: Lock = Lock::mutex(0x10);
const MODE: Mode = Mode::Exclusive;
const END: u64 = 10_000;

type Events = Vec<(u64, u32, What)>;

fn sleep(events: &mut Events, thread: u32, (begin, end): (u64, u64), site: SiteId) {
    let number = baton_trace::point::CALLS.iter().position(|call| *call == "sleep").unwrap() as u8;
    let ticks = end - begin;
    let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: ticks as u32 };
    events.push((begin, thread, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
    events.push((end, thread, What::OnCpu { tid: 0, cpu: thread }));
    events.push((end, thread, What::Blocked { site, ticks }));
    events.push((end, thread, What::Called { call, site }));
}

/// Thread 0 starts three threads. Threads 1 and 2 hand a lock to each other, each holding it for 90 of
/// 100 ticks; thread 3 sleeps in a loop. None of them ends before the process does.
fn workers() -> Events {
    let mut events: Events = vec![(0, 0, What::OnCpu { tid: 0, cpu: 0 })];
    for thread in 1..4u32 {
        let handle = u64::from(thread);
        events.push((handle, 0, What::Create { site: SiteId(9) }));
        events.push((handle, 0, What::Created { handle, error: 0 }));
        events.push((handle + 2, thread, What::ThreadStart { handle }));
        events.push((handle + 2, thread, What::OnCpu { tid: 0, cpu: thread }));
    }
    let (lock, mode, site) = (LOCK, MODE, SiteId(1));
    for turn in 0..99u64 {
        let (at, thread) = (20 + 100 * turn, 1 + (turn % 2) as u32);
        events.push((at.max(121) - 100, thread, What::Request { lock, mode, site }));
        events.push((at + 5, thread, What::Acquired { lock, mode, how: How::OPAQUE }));
        events.push((at + 95, thread, What::Release { lock, mode, site }));
    }
    for turn in 0..9 {
        sleep(&mut events, 3, (30 + 1_000 * turn, 1_010 + 1_000 * turn), SiteId(3));
    }
    events
}

fn trace(mut events: Events) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.ends(Ticks(END + 10));
    builder.build()
}

fn along(path: &CriticalPath, thread: u32) -> u64 {
    path.segments.iter().filter(|s| s.thread.0 == thread).map(|s| s.end.0 - s.begin.0).sum()
}

fn path(trace: &Trace) -> CriticalPath {
    CriticalPath::of(trace, &Window::until(trace, Ending::of(trace).until))
}

#[test]
fn a_thread_that_sleeps_and_ends_the_process_does_not_limit_those_that_work() {
    let ends = |sleeps: u64| {
        let mut events = workers();
        let each = (END - 30) / sleeps;
        (0..sleeps).for_each(|n| sleep(&mut events, 0, (20 + n * each, 20 + (n + 1) * each - 1), SiteId(2)));
        events.push((END, 0, What::Exit));
        trace(events)
    };
    for sleeps in [1, 5] {
        let trace = ends(sleeps);
        let exit = &exits(&trace)[&ProcessIndex(0)];
        assert!(std::ptr::eq(exits(&trace), exits(&trace)), "found once");
        assert_eq!((exit.thread.0, exit.time.0), (0, END));
        assert!(exit.working.iter().any(|thread| matches!(thread.0, 1 | 2)), "{exit:?}");
        assert!(!exit.working.contains(&ThreadIndex(3)), "thread 3 sleeps: {exit:?}");
        assert!(background(&trace).iter().all(|one| one.thread.0 == 3), "the workers go round, and are none");
        let path = path(&trace);
        assert!(along(&path, 1) > 4_500 && along(&path, 2) > 4_500, "{:?}", path.segments);
        assert_eq!(path.beside, []);
        assert!(path.sections.running.0 > 8_500, "{:?}", path.sections);
        assert_eq!(path.time(|_| true).0, END);
    }
    // With this many sleeps the thread may look again and again at what the others do.
    let trace = ends(20);
    assert_eq!(exits(&trace)[&ProcessIndex(0)].working, []);
    let path = path(&trace);
    assert_eq!(path.beside.len(), 1, "{:?}", path.segments);
    assert!(path.time(|doing| matches!(doing, baton_trace::analysis::Doing::OffCpu(OffCpu::Blocked))).0 > 9_000);
}

/// A signal's handler ends the process while thread 0 joins thread 1.
#[test]
fn an_exit_inside_of_a_wait_says_nothing_of_its_thread() {
    let mut events = workers();
    events.push((20, 0, What::JoinBegin { handle: 1, site: SiteId(4) }));
    events.push((END, 0, What::Exit));
    let trace = trace(events);
    assert!(exits(&trace).is_empty());
    assert_eq!(background(&trace), []);
    let path = path(&trace);
    assert!(along(&path, 0) < 100, "{:?}", path.segments);
    assert_eq!(path.time(|_| true).0, END + 10);
}
