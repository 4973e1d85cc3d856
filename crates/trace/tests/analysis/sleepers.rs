//! Tests for threads that sleep while others work: for those that wait until others have ended, and for
//! those of which nothing tells what they wait for. And for processes that wait for their children.

use baton_trace::analysis::{CriticalPath, Doing, OffCpu, WaitKind, Window, background, sleepers, unexplained};
use baton_trace::{
    Clock, Lock, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason,
    What,
};

const SLEEPS: SiteId = SiteId(5);
const WORKS: SiteId = SiteId(6);
const TURN: u64 = 100;
const COND: u64 = 0x40;

type Events = Vec<(u64, u32, What)>;

fn number(name: &str) -> u8 {
    baton_trace::point::CALLS.iter().position(|call| *call == name).unwrap() as u8
}

/// A call in which the thread was blocked from `begin` to `end`.
fn blocked(events: &mut Events, thread: u32, name: &str, (begin, end): (u64, u64)) {
    let ticks = end - begin;
    let (number, ticks32) = (number(name), ticks as u32);
    let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: ticks32 };
    events.push((begin, thread, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
    events.push((end, thread, What::OnCpu { tid: 0, cpu: 0 }));
    events.push((end, thread, What::Blocked { site: SLEEPS, ticks }));
    events.push((end, thread, What::Called { call, site: SLEEPS }));
}

fn trace(mut events: Events) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

/// Thread 0 starts two workers and sleeps `turns` times for [`TURN`]; the workers hold a lock by turns, and
/// end at `ends`, or do not end.
fn polled(turns: u64, ends: Option<[u64; 2]>, timed: bool) -> Events {
    let mut events: Events = Vec::new();
    let last = 20 + turns * TURN;
    for thread in 1..3u32 {
        let handle = u64::from(thread);
        events.push((handle, 0, What::Create { site: SiteId(9) }));
        events.push((handle, 0, What::Created { handle, error: 0 }));
        events.push((handle + 2, thread, What::ThreadStart { handle }));
        events.push((handle + 2, thread, What::OnCpu { tid: 0, cpu: thread }));
        let end = ends.map_or(last, |ends| ends[thread as usize - 1]);
        let (lock, mode, site) = (Lock::mutex(0x10), Mode::Exclusive, WORKS);
        for at in (10 + 20 * handle..end - 20).step_by(40) {
            events.push((at, thread, What::Acquire { lock, mode, site }));
            events.push((at + 19, thread, What::Release { lock, mode, site }));
        }
        if ends.is_some() {
            events.push((end, thread, What::ThreadEnd { handle }));
        }
    }
    events.push((0, 0, What::OnCpu { tid: 0, cpu: 0 }));
    for turn in 0..turns {
        let (begin, end) = (20 + turn * TURN, 20 + (turn + 1) * TURN);
        match timed {
            true => {
                events.push((begin, 0, What::CondWait { condition: COND, site: SLEEPS }));
                events.push((end, 0, What::CondWake { condition: COND, reason: WakeReason::TimedOut }));
            }
            false => blocked(&mut events, 0, "usleep", (begin, end)),
        }
    }
    for handle in ends.iter().flat_map(|_| [1, 2]) {
        events.push((last + 10, 0, What::JoinBegin { handle, site: SiteId(8) }));
        events.push((last + 11, 0, What::JoinEnd { handle, error: 0 }));
    }
    events.push((last + 30, 0, What::Exit));
    events
}

fn path(trace: &Trace) -> CriticalPath {
    CriticalPath::of(trace, &Window::whole(trace))
}

fn along(path: &CriticalPath, thread: u32) -> u64 {
    path.segments.iter().filter(|s| s.thread.0 == thread).map(|s| s.end.0 - s.begin.0).sum()
}

#[test]
fn sleeps_that_last_until_threads_have_ended_are_a_wait_for_the_last_of_them() {
    for timed in [false, true] {
        let trace = trace(polled(20, Some([1_500, 1_950]), timed));
        let found = sleepers(&trace);
        assert_eq!(found.len(), 1, "{found:?}");
        let ended: Vec<u32> = found[0].ended.iter().map(|thread| thread.0).collect();
        assert_eq!((found[0].turns.len(), ended, found[0].by_calls), (20, vec![1, 2], !timed));
        let path = path(&trace);
        assert!(along(&path, 2) > 1_900, "{:?}", path.segments);
        let hand_off = Doing::HandOff { kind: WaitKind::Join, object: None };
        assert!(path.segments.iter().any(|s| (s.begin.0, s.end.0, s.doing) == (1_950, 2_020, hand_off)));
        assert_eq!(unexplained(&trace, &background(&trace)).0, []);
    }
}

/// A second series leaves out the threads that ended in the first one, and the path goes through both.
#[test]
fn each_series_is_a_wait_for_the_threads_that_ended_in_it() {
    let mut events: Events = vec![(0, 0, What::OnCpu { tid: 0, cpu: 0 })];
    for (thread, created, end) in [(1, 1, 950), (2, 1_032, 1_500), (3, 1_034, 1_990)] {
        let handle = u64::from(thread);
        events.push((created, 0, What::Create { site: SiteId(9) }));
        events.push((created, 0, What::Created { handle, error: 0 }));
        events.push((created + 1, thread, What::ThreadStart { handle }));
        events.push((created + 1, thread, What::OnCpu { tid: 0, cpu: thread }));
        events.push((end, thread, What::ThreadEnd { handle }));
    }
    for begin in [20, 1_040] {
        (0..10).for_each(|turn| blocked(&mut events, 0, "usleep", (begin + turn * TURN, begin + (turn + 1) * TURN)));
    }
    events.push((1_030, 0, What::JoinBegin { handle: 1, site: SiteId(8) }));
    events.push((1_031, 0, What::JoinEnd { handle: 1, error: 0 }));
    events.push((2_050, 0, What::Exit));
    let trace = trace(events);
    let ended: Vec<Vec<u32>> = sleepers(&trace).iter().map(|s| s.ended.iter().map(|t| t.0).collect()).collect();
    assert_eq!(ended, [vec![1], vec![2, 3]]);
    let path = path(&trace);
    let hand_off = Doing::HandOff { kind: WaitKind::Join, object: None };
    let joined = path.segments.iter().filter(|s| s.doing == hand_off).map(|s| (s.begin.0, s.end.0));
    assert_eq!(joined.collect::<Vec<_>>(), [(950, 1_020), (1_990, 2_040)], "{:?}", path.segments);
}

#[test]
fn sleeps_that_end_otherwise_are_not_explained_while_others_work() {
    for (case, events) in [
        ("the workers go on", polled(20, None, false)),
        ("they ended in another turn", polled(20, Some([500, 1_100]), false)),
        ("too few sleeps", polled(4, Some([300, 390]), false)),
        ("a deadline", polled(20, None, true)),
    ] {
        let trace = trace(events);
        assert_eq!(sleepers(&trace), [], "{case}");
        let path = path(&trace);
        assert_eq!(path.beside.len(), 1, "{case}: {:?}", path.segments);
        assert!(path.time(|doing| *doing == Doing::OffCpu(OffCpu::Blocked)).0 >= 380, "{case}: {:?}", path.segments);
        assert_eq!(path.time(|doing| *doing == Doing::OffCpu(OffCpu::Call)).0, 0, "{case}");
        let call = if case == "a deadline" { "pthread_cond_timedwait" } else { "usleep" };
        assert_eq!((path.beside[0].call, path.beside[0].site), (call, SLEEPS), "{case}");
    }
}

#[test]
fn a_sleep_beside_nobody_or_beside_sleepers_is_a_sleep() {
    let mut alone: Events = vec![(0, 0, What::OnCpu { tid: 0, cpu: 0 })];
    let mut two = alone.clone();
    two.push((0, 1, What::OnCpu { tid: 0, cpu: 1 }));
    for turn in 0..20 {
        blocked(&mut alone, 0, "usleep", (20 + turn * TURN, 110 + turn * TURN));
        // Each of two threads computes while the other one sleeps, at the same place.
        blocked(&mut two, 0, "usleep", (20 + turn * TURN, 70 + turn * TURN));
        blocked(&mut two, 1, "usleep", (70 + turn * TURN, 119 + turn * TURN));
    }
    for events in [alone, two] {
        let path = path(&trace(events));
        assert_eq!(path.beside, []);
        assert!(path.time(|doing| *doing == Doing::OffCpu(OffCpu::Call)).0 >= 900, "{:?}", path.segments);
    }
}

/// Thread 0 reads `file` in a loop, each time for 90 ticks, while thread 1 works, or sleeps and has no
/// recorded context switches.
#[test]
fn a_wait_for_input_from_outside_or_beside_a_sleeper_is_explained() {
    let found = |file: u16, accepted: bool, connects: bool, switched: bool| {
        let mut events: Events = vec![(0, 0, What::OnCpu { tid: 0, cpu: 0 })];
        events.push((1, 1, What::ThreadStart { handle: 1 }));
        if switched {
            events.push((1, 1, What::OnCpu { tid: 0, cpu: 1 }));
        }
        let called = |name, file| {
            let call = SystemCall { number: number(name), outcome: Outcome::Done, file, ticks: 1 };
            What::Called { call, site: WORKS }
        };
        events.extend(accepted.then(|| (5, 0, called("accept", Some(file)))));
        events.extend(connects.then(|| (6, 0, called("connect", None))));
        for turn in 0..20 {
            blocked(&mut events, 0, "read", (20 + turn * TURN, 110 + turn * TURN));
        }
        for (_, _, what) in &mut events {
            if let What::Called { call, site: SLEEPS } = what {
                call.file = Some(file);
            }
        }
        events.push((2_030, 1, What::Marker { name: 0, value: 0 }));
        events.push((2_040, 0, What::Exit));
        path(&trace(events)).beside.len()
    };
    assert_eq!(found(5, false, false, true), 1, "a pipe or socket that thread 1 may write");
    assert_eq!(found(0, false, false, true), 0, "the standard input");
    assert_eq!(found(5, true, false, true), 0, "a connection from outside");
    assert_eq!(found(5, true, true, true), 1, "the program may have connected to itself");
    assert_eq!(found(5, false, false, false), 0, "nothing tells that thread 1 is at work");
}

/// Process 7 forks process 8 at 100, which works until 900; process 7 waits for it until 910. Without the
/// child's events, nothing tells what the child does.
#[test]
fn a_wait_for_a_child_leads_to_the_child_if_it_was_recorded() {
    let of = |child: bool| {
        let mut builder = TraceBuilder::new(Clock::nanoseconds());
        let parent = builder.thread("parent");
        let mut events: Events = vec![(0, 0, What::ThreadStart { handle: 1 }), (1, 0, What::OnCpu { tid: 0, cpu: 0 })];
        blocked(&mut events, 0, "waitpid", (110, 910));
        events.push((950, 0, What::Exit));
        if child {
            let child = builder.child(8);
            events.push((102, child.0, What::ThreadStart { handle: 1 }));
            events.push((900, child.0, What::Exit));
        }
        events.sort_by_key(|(time, ..)| *time);
        for (time, thread, what) in events {
            builder.push(Ticks(time), ThreadIndex(thread), what);
        }
        assert_eq!(parent.0, 0);
        builder.build()
    };
    let alone = of(false);
    let found = path(&alone).beside;
    assert_eq!((found.len(), found[0].call, found[0].time.0), (1, "waitpid", 800));
    let both = path(&of(true));
    assert_eq!((both.beside.len(), along(&both, 1)), (0, 798), "{:?}", both.segments);
    assert_eq!(along(&both, 0), 950 - 798, "the parent until the fork, and after the child's end");
    assert_eq!(both.time(|_| true).0, 950);
    assert_eq!(unexplained(&of(true), &background(&of(true))).0.len(), 1, "a replay does not follow it");
}

/// Process 7 is in a read until 910, and its child ends at 900. Then `waitpid` returns at once. The read's
/// length is not that of `waitpid`.
#[test]
fn a_call_that_returned_at_once_was_no_wait_for_a_child_that_had_ended_before() {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    builder.thread("parent");
    let child = builder.child(8);
    let mut events: Events = vec![(0, 0, What::ThreadStart { handle: 1 }), (1, 0, What::OnCpu { tid: 0, cpu: 0 })];
    blocked(&mut events, 0, "read", (110, 910));
    let at_once = SystemCall { number: number("waitpid"), outcome: Outcome::Done, file: None, ticks: 2 };
    events.push((922, 0, What::Called { call: at_once, site: WORKS }));
    events.push((950, 0, What::Exit));
    events.push((102, child.0, What::ThreadStart { handle: 1 }));
    events.push((900, child.0, What::Exit));
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    let path = path(&builder.build());
    assert_eq!((along(&path, 0), along(&path, child.0)), (950, 0), "{:?}", path.segments);
}
