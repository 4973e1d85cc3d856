//! Tests for threads that end because another thread tells them to, and for threads that only seem
//! to.

use baton_trace::analysis::{
    CriticalPath, Doing, LoopPoint, PathSegment, WaitKind, Window, background, relax, turns, unknown_names,
};
use baton_trace::meta::Ends;
use baton_trace::{
    Clock, FutexEnd, How, Lock, Meta, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What,
};

const MODE: Mode = Mode::Exclusive;

/// The events of a program in which thread 0 starts the other threads and joins them.
pub(crate) struct Program(Vec<(u64, u32, What)>);

impl Program {
    pub(crate) fn new() -> Program {
        Program(Vec::new())
    }

    pub(crate) fn push(&mut self, time: u64, thread: u32, what: What) {
        self.0.push((time, thread, what));
    }

    pub(crate) fn start(&mut self, time: u64, thread: u32) {
        let handle = u64::from(thread);
        self.push(time, 0, What::Create { site: SiteId(90) });
        self.push(time, 0, What::Created { handle, error: 0 });
        self.push(time + 1, thread, What::ThreadStart { handle });
    }

    /// Thread 0 begins to join `thread` at `came`, and `thread` ends at `ended`.
    pub(crate) fn join(&mut self, came: u64, ended: u64, thread: u32) {
        let handle = u64::from(thread);
        self.push(came, 0, What::JoinBegin { handle, site: SiteId(91) });
        self.push(ended, thread, What::ThreadEnd { handle });
        self.push(ended.max(came) + 1, 0, What::JoinEnd { handle, error: 0 });
    }

    /// The thread holds a lock for 5 ticks.
    pub(crate) fn hold(&mut self, time: u64, thread: u32, lock: u64, site: u32) {
        let (lock, site) = (Lock::mutex(lock), SiteId(site));
        self.push(time, thread, What::Acquire { lock, mode: MODE, site });
        self.push(time + 5, thread, What::Release { lock, mode: MODE, site });
    }

    pub(crate) fn trace(mut self, ends: Ends) -> Trace {
        let mut builder = TraceBuilder::new(Clock::nanoseconds());
        builder.meta(Meta { ends, ..Meta::default() });
        self.0.sort_by_key(|(time, ..)| *time);
        for (time, thread, what) in self.0 {
            builder.push(Ticks(time), ThreadIndex(thread), what);
        }
        builder.build()
    }
}

/// Thread 1 works until 905. Thread 2 looks at a flag every 100 ticks, under a lock of its own, and
/// ends at `ended`; thread 0, which has joined thread 1 at 906, comes to join thread 2 at `came`.
pub(crate) fn monitored(ended: u64, came: u64) -> Program {
    let mut program = Program::new();
    program.start(0, 1);
    program.start(2, 2);
    for turn in 0..10 {
        program.hold(10 + 90 * turn, 1, 0x10, 1);
        program.hold(5 + 100 * turn, 2, 0x20, 2);
    }
    program.join(20, 905, 1);
    program.join(came, ended, 2);
    program
}

/// Thread 2 ends at 1010, and thread 0 comes to join it at 910. So thread 2 is a background thread.
fn with_monitor() -> Program {
    let mut program = monitored(1010, 910);
    program.push(1020, 0, What::Marker { name: 0, value: 0 });
    program
}

/// Thread 1 works until 905. Thread 2 waits with a deadline of 100 ticks in each turn of its loop, under a
/// mutex, until thread 0 signals at 950; it ends at 955, and thread 0 comes to join it at 960. At its end
/// thread 2 releases the mutex as thread 0 does.
fn with_waiting_monitor(by_futex: bool) -> Program {
    const WAIT: SiteId = SiteId(7);
    let (mutex, condition) = (Lock::mutex(0x20), 0x28);
    let mut program = Program::new();
    program.start(0, 1);
    program.start(2, 2);
    (0..10).for_each(|turn| program.hold(10 + 90 * turn, 1, 0x10, 1));
    program.push(4, 2, What::Acquire { lock: mutex, mode: MODE, site: SiteId(8) });
    for turn in 0..10 {
        let (begin, last) = (5 + 100 * turn, turn == 9);
        let end = if last { 951 } else { begin + 100 };
        program.push(begin, 2, What::Release { lock: mutex, mode: MODE, site: WAIT });
        if by_futex {
            let ended = if last { FutexEnd::Woken } else { FutexEnd::TimedOut };
            program.push(begin, 2, What::FutexWait { futex: condition, site: WAIT });
            program.push(end, 2, What::FutexWaitEnd { futex: condition, end: ended });
        } else {
            let reason = if last { WakeReason::Woken } else { WakeReason::TimedOut };
            program.push(begin, 2, What::CondWait { condition, site: WAIT });
            program.push(end, 2, What::CondWake { condition, reason });
        }
        program.push(end, 2, What::Acquire { lock: mutex, mode: MODE, site: WAIT });
    }
    program.push(952, 2, What::Release { lock: mutex, mode: MODE, site: SiteId(9) });
    program.join(20, 905, 1);
    program.push(940, 0, What::Acquire { lock: mutex, mode: MODE, site: SiteId(9) });
    program.push(941, 0, What::Release { lock: mutex, mode: MODE, site: SiteId(9) });
    program.push(
        950,
        0,
        match by_futex {
            true => What::FutexWake { futex: condition, site: SiteId(10) },
            false => What::CondSignal { condition, site: SiteId(10) },
        },
    );
    program.join(960, 955, 2);
    program.push(1020, 0, What::Marker { name: 0, value: 0 });
    program
}

#[test]
fn a_thread_that_is_told_to_end_before_its_joiner_comes_is_background() {
    for by_futex in [false, true] {
        let trace = with_waiting_monitor(by_futex).trace(Ends::default());
        let all = background(&trace);
        assert_eq!(found(&trace), [2], "by a futex: {by_futex}");
        assert_eq!((all[0].came.0, all[0].ended.0), (950, 955));
        assert_eq!(all[0].turns_at, Some(LoopPoint::TimedOut(SiteId(7))));
        let said = Ends { background: vec!["2".into()], ..Ends::default() };
        let all_said = background(&with_waiting_monitor(by_futex).trace(said));
        assert_eq!((all_said[0].came.0, all_said[0].ended.0), (950, 955), "named by the user");
        let turns = turns(&trace, &all);
        assert_eq!(turns[&ThreadIndex(2)], (0..9).map(|turn| Ticks(105 + 100 * turn)).collect::<Vec<_>>());
    }
}

pub(crate) fn found(trace: &Trace) -> Vec<u32> {
    background(trace).iter().map(|one| one.thread.0).collect()
}

#[test]
fn a_thread_that_ends_within_a_turn_after_its_joiner_came_is_background() {
    let trace = with_monitor().trace(Ends::default());
    let all = background(&trace);
    assert_eq!(found(&trace), [2]);
    assert_eq!((all[0].joiner.0, all[0].came.0, all[0].ended.0), (0, 910, 1010));
    assert_eq!(all[0].turns_at, Some(LoopPoint::Release(SiteId(2))));
    let turns = turns(&trace, &all);
    assert_eq!(turns[&ThreadIndex(2)], (0..10).map(|turn| Ticks(10 + 100 * turn)).collect::<Vec<_>>());
}

#[test]
fn the_path_stays_with_the_joiner_and_goes_to_who_worked() {
    let trace = with_monitor().trace(Ends::default());
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let on =
        |thread: u32| path.segments.iter().filter(|s| s.thread.0 == thread).map(|s| s.end.0 - s.begin.0).sum::<u64>();
    assert_eq!(on(2), 0, "{:?}", path.segments);
    assert_eq!(on(1), 905, "from its creation to its end");
    let waits = Doing::Waiting { kind: WaitKind::Join, object: None };
    assert!(path.segments.iter().any(|s| (s.thread.0, s.begin.0, s.end.0, s.doing) == (0, 910, 1011, waits)));
    assert_eq!(path.time(|_| true).0, 1020);
}

#[test]
fn a_hold_of_a_background_thread_delays_those_that_wait_for_it_and_no_longer() {
    let mut program = with_monitor();
    // The background thread holds a lock from 315 to 350, and thread 1 waits for it from 320 on.
    let (lock, site, its) = (Lock::mutex(0x30), SiteId(3), SiteId(4));
    program.push(315, 2, What::Acquire { lock, mode: MODE, site: its });
    program.push(320, 1, What::Request { lock, mode: MODE, site });
    program.push(350, 2, What::Release { lock, mode: MODE, site: its });
    program.push(352, 1, What::Acquired { lock, mode: MODE, how: How::default() });
    program.push(355, 1, What::Release { lock, mode: MODE, site });
    let trace = program.trace(Ends::default());
    assert_eq!(found(&trace), [2]);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let near: Vec<_> = path.segments.iter().filter(|s| s.end.0 > 20 && s.begin.0 < 600).collect();
    let runs = |s: &PathSegment| (s.doing == Doing::Running).then_some((s.thread.0, s.begin.0, s.end.0));
    let running: Vec<_> = near.iter().filter_map(|s| runs(s)).collect();
    assert!(running.contains(&(2, 320, 350)), "{near:?}");
    assert!(running.iter().all(|(thread, begin, _)| *thread == 1 || *begin == 320), "{near:?}");
    assert_eq!(path.time(|_| true).0, 1020);
}

#[test]
fn without_its_work_the_run_is_as_long() {
    let trace = with_monitor().trace(Ends::default());
    assert!(relax(&trace, &[], &background(&trace)).is_empty());
    let analysis = baton_trace::analysis::Analysis::of(&trace, Window::whole(&trace));
    let locks: Vec<_> = analysis.locks.iter().map(|lock| lock.id).collect();
    for answer in relax(&trace, &locks, &background(&trace)) {
        assert_eq!(answer.recorded.0, 1020);
    }
}

#[test]
fn what_the_user_says_comes_first() {
    let named = |background: &[&str], until: &[&str]| {
        let list = |of: &[&str]| of.iter().map(|&name| name.to_owned()).collect();
        with_monitor().trace(Ends { background: list(background), until: list(until) })
    };
    assert!(found(&named(&[], &["thread 2"])).is_empty());
    assert!(found(&named(&[], &["2"])).is_empty());
    assert_eq!(found(&named(&["1"], &[])), [1, 2]);
    assert_eq!(unknown_names(&named(&["1", "nobody"], &["thread 2", "77"])), ["nobody", "77"]);
}

#[test]
fn workers_that_are_joined_in_a_row_are_not_background() {
    let mut program = Program::new();
    (1..=3).for_each(|thread| program.start(u64::from(thread), thread));
    for turn in 0..10 {
        (1..=3).for_each(|thread| program.hold(10 + 30 * turn + 7 * u64::from(thread), thread, 0x10, 1));
    }
    // Threads 2 and 3 end within one turn of their loop after thread 0 came to join them, but they
    // are peers of thread 1, for which it came at 20.
    program.join(20, 320, 1);
    program.join(322, 330, 2);
    program.join(332, 340, 3);
    assert!(found(&program.trace(Ends::default())).is_empty());
}

/// Threads 1 and 2 do the same at one place, in turns of 10 ticks. Thread 1 ends at `first`. Thread 0 comes at 600 to join
/// both, and thread 2 ends at 645, after a turn of 80 ticks.
fn joined_late(first: u64) -> Vec<u32> {
    let mut program = Program::new();
    program.start(0, 1);
    program.start(2, 2);
    for turn in 0..25 {
        program.hold(10 + 10 * turn, 1, 0x10, 1);
        program.hold(315 + 10 * turn, 2, 0x10, 1);
    }
    program.hold(635, 2, 0x10, 1);
    program.join(600, first, 1);
    program.join(602, 645, 2);
    found(&program.trace(Ends::default()))
}

#[test]
fn a_thread_whose_peer_ended_by_itself_is_not_background() {
    assert_eq!(joined_late(305), [0; 0]);
    assert_eq!(joined_late(598), [2], "both may have been told to end");
    assert_eq!(joined_late(640), [0; 0], "thread 1 went on for more than a turn");
}

#[test]
fn a_joiner_that_does_the_same_work_waits_for_its_peers() {
    let mut program = Program::new();
    program.start(0, 1);
    for turn in 0..10 {
        program.hold(10 + 30 * turn, 0, 0x10, 1);
        program.hold(20 + 30 * turn, 1, 0x10, 1);
    }
    program.join(300, 310, 1);
    assert!(found(&program.trace(Ends::default())).is_empty());
}

#[test]
fn a_thread_that_goes_on_for_turns_after_its_joiner_came_works() {
    let mut program = Program::new();
    program.start(0, 1);
    (0..10).for_each(|turn| program.hold(10 + 30 * turn, 1, 0x10, 1));
    program.join(100, 310, 1);
    assert!(found(&program.trace(Ends::default())).is_empty());
}

/// The thread works for 290 ticks, and thread 0 comes meanwhile. Only then the thread goes round in a
/// loop, with short turns.
#[test]
fn turns_that_a_thread_makes_after_its_joiner_came_are_work() {
    let mut program = Program::new();
    program.start(0, 1);
    program.hold(10, 1, 0x10, 1);
    (0..5).for_each(|turn| program.hold(300 + 10 * turn, 1, 0x10, 1));
    program.join(100, 350, 1);
    assert!(found(&program.trace(Ends::default())).is_empty());
}

/// The turn in which thread 0 comes is the thread's longest.
#[test]
fn the_turn_in_which_the_joiner_comes_counts() {
    let mut program = Program::new();
    program.start(0, 1);
    (0..4).for_each(|turn| program.hold(10 + 30 * turn, 1, 0x10, 1));
    program.hold(150, 1, 0x10, 1);
    program.join(110, 156, 1);
    assert_eq!(found(&program.trace(Ends::default())), [1]);
}

#[test]
fn a_thread_that_only_sleeps_is_background_by_its_cpu_time() {
    let sleeps = |cpu_ns| {
        let mut program = Program::new();
        program.start(0, 1);
        program.start(2, 2);
        (0..10).for_each(|turn| program.hold(10 + 90 * turn, 1, 0x10, 1));
        program.push(1004, 2, What::CpuTime { ns: cpu_ns });
        program.join(20, 905, 1);
        program.join(950, 1005, 2);
        program.trace(Ends::default())
    };
    assert_eq!(found(&sleeps(20)), [2]);
    assert!(found(&sleeps(600)).is_empty(), "it computed");
}

#[test]
fn the_path_begins_at_the_end_of_the_thread_that_ended_the_program() {
    let mut program = Program::new();
    program.start(0, 1);
    (0..10).for_each(|turn| program.hold(10 + 30 * turn, 1, 0x10, 1));
    program.push(300, 0, What::ThreadEnd { handle: 0 });
    program.hold(301, 1, 0x10, 1);
    let trace = program.trace(Ends::default());
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert!(path.segments.iter().all(|segment| segment.thread.0 == 0), "{:?}", path.segments);
    assert_eq!(path.time(|_| true).0, 300);
}

/// Threads 1 and 2 release their locks in one function that locks for others. Their locks were
/// first taken at the sites `first`, and the threads were created at the sites `created`. Returns
/// the background threads.
fn through_a_wrapper(first: [u32; 2], created: [u32; 2]) -> Vec<u32> {
    let mut program = Program::new();
    for (thread, site) in [(1, created[0]), (2, created[1])] {
        program.start(u64::from(2 * thread), thread);
        let create = program.0.iter_mut().rev().find(|(.., what)| matches!(what, What::Create { .. })).unwrap();
        create.2 = What::Create { site: SiteId(site) };
    }
    for turn in 0..10 {
        for (thread, lock, begin, length) in [(1, 0x10, 10, 90), (2, 0x20, 7, 100)] {
            let site = if turn == 0 { first[thread as usize - 1] } else { 3 };
            let (lock, now) = (Lock::mutex(lock), begin + length * turn);
            program.push(now, thread, What::Acquire { lock, mode: MODE, site: SiteId(site) });
            program.push(now + 5, thread, What::Release { lock, mode: MODE, site: SiteId(4) });
        }
    }
    program.join(20, 905, 1);
    program.join(910, 1010, 2);
    program.push(1020, 0, What::Marker { name: 0, value: 0 });
    found(&program.trace(Ends::default()))
}

#[test]
fn a_function_that_locks_for_others_makes_no_peers() {
    assert_eq!(through_a_wrapper([11, 12], [21, 22]), [2], "other locks, other creators");
    assert!(through_a_wrapper([11, 11], [21, 22]).is_empty(), "locks that begin alike");
    assert!(through_a_wrapper([11, 12], [21, 21]).is_empty(), "workers that one call created");
}

/// Thread 1 works until 905 and is joined. Thread 2 goes round in a loop when thread 0 ends the process
/// at 1,000; nothing joins it.
fn with_heartbeat(serves: bool, exits: bool) -> Program {
    let mut program = Program::new();
    program.start(0, 1);
    program.start(2, 2);
    (0..10).for_each(|turn| program.hold(10 + 90 * turn, 1, 0x10, 1));
    (0..10).for_each(|turn| program.hold(5 + 100 * turn, 2, 0x20, 2));
    if serves {
        program.push(500, 2, What::SemPost { semaphore: 0x30, site: SiteId(3) });
    }
    program.join(20, 905, 1);
    if exits {
        program.push(1_000, 0, What::Exit);
        program.push(1_003, 2, What::Marker { name: 0, value: 0 });
    }
    program
}

#[test]
fn a_thread_that_goes_round_until_the_process_ends_is_background() {
    let trace = with_heartbeat(false, true).trace(Ends::default());
    let all = background(&trace);
    assert_eq!(found(&trace), [2]);
    assert_eq!((all[0].joiner.0, all[0].came.0, all[0].ended.0, all[0].joined), (0, 1_000, 1_000, false));
    // The path ends with the thread that ended the process, whatever acts after that.
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert!(path.segments.iter().all(|segment| segment.thread.0 != 2), "{:?}", path.segments);
    assert_eq!(path.time(|_| true).0, 1_000);
    assert!(found(&with_heartbeat(true, true).trace(Ends::default())).is_empty(), "it serves other threads");
    assert!(found(&with_heartbeat(false, false).trace(Ends::default())).is_empty(), "no thread ended the process");
    let until = Ends { until: vec!["2".into()], ..Ends::default() };
    assert!(found(&with_heartbeat(false, true).trace(until)).is_empty(), "the user says so");
}

#[test]
fn a_named_thread_that_nothing_joins_is_background_even_if_the_process_was_killed() {
    let named = || Ends { background: vec!["2".into()], ..Ends::default() };
    let trace = with_heartbeat(true, false).trace(named());
    assert_eq!(found(&trace), [2]);
    let mut late = with_heartbeat(true, false);
    late.hold(2_000, 2, 0x20, 2);
    let path = CriticalPath::of(&late.trace(named()), &Window::whole(&with_heartbeat(true, false).trace(named())));
    assert!(path.segments.iter().all(|segment| segment.thread.0 != 2), "{:?}", path.segments);
}

#[test]
fn a_thread_that_worked_and_then_only_sleeps_is_not_seen_to_go_round() {
    let mut program = Program::new();
    program.start(0, 1);
    (0..5).for_each(|turn| program.hold(10 + 10 * turn, 1, 0x10, 1));
    program.push(1_000, 0, What::Exit);
    assert!(found(&program.trace(Ends::default())).is_empty());
}
