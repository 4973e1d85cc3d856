//! Tests for the critical path and the relaxed replay: on small programs checked by hand, and by
//! invariants on simulated programs.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, PathSegment, Relaxed, WaitKind, Window, background, relax};
use baton_trace::{Clock, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What};
use proptest::prelude::*;
use std::collections::VecDeque;

const SITE: SiteId = SiteId(1);
const MODE: Mode = Mode::Exclusive;

fn lock(n: u64) -> Lock {
    Lock::mutex(0x1000 + n)
}

/// Builds a trace from events given as (time, thread, what).
fn trace(events: &[(u64, u32, What)]) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in events {
        builder.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    builder.build()
}

fn acquire(n: u64) -> What {
    What::Acquire { lock: lock(n), mode: MODE, site: SITE }
}
fn request(n: u64) -> What {
    What::Request { lock: lock(n), mode: MODE, site: SITE }
}
fn acquired(n: u64) -> What {
    What::Acquired { lock: lock(n), mode: MODE, how: How::sleeping(3) }
}
fn release(n: u64) -> What {
    What::Release { lock: lock(n), mode: MODE, site: SITE }
}
const MARK: What = What::Marker { name: 0, value: 0 };

fn path(trace: &Trace) -> CriticalPath {
    CriticalPath::of(trace, &Window::whole(trace))
}

fn relaxed(trace: &Trace) -> Vec<Relaxed> {
    let analysis = Analysis::of(trace, Window::whole(trace));
    let locks: Vec<_> = analysis.locks.iter().map(|l| l.id).collect();
    relax(trace, &locks, &background(trace))
}

#[test]
fn a_hand_off_leads_to_the_holder() {
    // Thread 0 holds the lock from 0 to 100. Thread 1 asks for it at 20, gets it at 110, 10 after
    // the release, holds it for 30, then works 5 more.
    let t = trace(&[
        (0, 0, acquire(1)),
        (5, 1, MARK),
        (20, 1, request(1)),
        (100, 0, release(1)),
        (103, 0, MARK),
        (110, 1, acquired(1)),
        (140, 1, release(1)),
        (145, 1, MARK),
    ]);
    let path = path(&t);
    let lock_id = Analysis::of(&t, Window::whole(&t)).locks[0].id;
    let segment = |thread, begin, end, doing| PathSegment {
        thread: ThreadIndex(thread),
        begin: Ticks(begin),
        end: Ticks(end),
        doing,
    };
    let handoff = Doing::HandOff { kind: WaitKind::Lock, object: Some(lock_id) };
    assert_eq!(
        path.segments,
        [segment(0, 0, 100, Doing::Running), segment(1, 100, 110, handoff), segment(1, 110, 145, Doing::Running)]
    );
    let share = path.objects[&lock_id];
    assert_eq!((share.sections.running.0, share.handoffs.0, share.hops), (130, 10, 1));
    // Without the hand-off the run is 10 shorter. Without exclusion, thread 1 is done at 20 + 30 +
    // 5, and thread 0, which ends last, at 103.
    let expected =
        Relaxed { lock: lock_id, recorded: Ticks(145), without_overhead: Ticks(135), without_exclusion: Ticks(103) };
    assert_eq!(relaxed(&t), [expected]);
}

/// Thread 0 holds lock 1 for two rounds before thread 1 gets it, as with an unfair lock; each round
/// ends with lock 2, for which no thread waits. Without lock 1's exclusion both threads run side by
/// side: thread 1 is not held up at lock 2, although thread 0 took that lock first.
#[test]
fn the_order_at_a_lock_without_waits_holds_nobody_back() {
    let t = trace(&[
        (0, 0, acquire(1)),
        (1, 1, request(1)),
        (100, 0, release(1)),
        (101, 0, acquire(2)),
        (102, 0, release(2)),
        (103, 0, acquire(1)),
        (200, 0, release(1)),
        (201, 0, acquire(2)),
        (202, 0, release(2)),
        (210, 1, acquired(1)),
        (310, 1, release(1)),
        (311, 1, acquire(2)),
        (312, 1, release(2)),
        (313, 1, acquire(1)),
        (413, 1, release(1)),
    ]);
    let answers = relaxed(&t);
    // Without lock 1's exclusion, thread 0 is done after 202. Thread 1 works for 1 before its wait
    // and for 413 - 210 = 203 after it, together 204.
    assert_eq!(answers[0].recorded, Ticks(413));
    assert_eq!(answers[0].without_exclusion, Ticks(204));
    // No thread waits for lock 2, so that without its exclusion the run is as long.
    assert_eq!(answers[1].without_exclusion, Ticks(413));
}

#[test]
fn a_condition_wait_leads_to_the_signaller() {
    let wait = What::CondWait { condition: 9, site: SITE };
    let t = trace(&[
        (0, 0, wait),
        (0, 1, MARK),
        (70, 1, What::CondSignal { condition: 9, site: SITE }),
        (71, 1, MARK),
        (75, 0, What::CondWake { condition: 9, reason: WakeReason::Woken }),
        (80, 0, MARK),
    ]);
    let path = path(&t);
    let threads: Vec<_> = path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0)).collect();
    assert_eq!(threads, [(1, 0, 70), (0, 70, 75), (0, 75, 80)]);
}

#[test]
fn one_signal_wakes_one_and_a_broadcast_all() {
    let wait = What::CondWait { condition: 9, site: SITE };
    let wake = What::CondWake { condition: 9, reason: WakeReason::Woken };
    let t = trace(&[
        (0, 0, wait),
        (1, 1, wait),
        (2, 2, wait),
        (10, 3, What::CondSignal { condition: 9, site: SITE }),
        (20, 3, What::CondBroadcast { condition: 9, site: SITE }),
        (23, 0, wake),
        (25, 1, wake),
        (29, 2, wake),
    ]);
    let analysis = Analysis::of(&t, Window::whole(&t));
    // All three threads were waiting at the broadcast, and it is the latest event before their
    // wake-ups that can be the cause.
    let stats = &analysis.waitables[0].stats;
    assert_eq!((stats.wake.count, stats.wake.sum.0, stats.signals, stats.broadcasts), (3, 3 + 5 + 9, 1, 1));
}

#[test]
fn a_barrier_leads_to_the_last_to_arrive_round_by_round() {
    let arrive = What::BarrierArrive { barrier: 7, site: SITE };
    let leave = What::BarrierLeave { barrier: 7, serial: false };
    let t = trace(&[
        (0, 0, arrive),
        (1, 1, MARK),
        (50, 1, arrive),
        (52, 1, leave),
        // Thread 1 arrives for the next round before thread 0 has left the first.
        (53, 1, arrive),
        (55, 0, leave),
        (90, 0, arrive),
        (92, 0, leave),
        (94, 1, leave),
    ]);
    let path = path(&t);
    let threads: Vec<_> = path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0)).collect();
    assert_eq!(threads, [(1, 1, 50), (0, 50, 55), (0, 55, 90), (1, 90, 94)]);
    assert_eq!(Analysis::of(&t, Window::whole(&t)).threads[0].barriers.0, 55 + 2);
}

#[test]
fn a_semaphore_leads_to_the_post_and_a_join_to_the_end() {
    let t = trace(&[
        (0, 0, What::Create { site: SITE }),
        (4, 1, What::ThreadStart { handle: 0x99 }),
        (5, 0, What::Created { handle: 0x99, error: 0 }),
        (6, 0, What::SemWait { semaphore: 8, site: SITE }),
        (40, 1, What::SemPost { semaphore: 8, site: SITE }),
        (44, 0, What::SemTaken { semaphore: 8, how: How::OPAQUE }),
        (45, 0, What::JoinBegin { handle: 0x99, site: SITE }),
        (80, 1, What::ThreadEnd { handle: 0x99 }),
        (88, 0, What::JoinEnd { handle: 0x99, error: 0 }),
        (90, 0, MARK),
    ]);
    let path = path(&t);
    let kinds: Vec<_> = path.segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0, s.doing)).collect();
    let handoff = |kind| Doing::HandOff { kind, object: None };
    assert_eq!(
        kinds,
        [
            (1, 0, 4, handoff(WaitKind::Start)),
            (1, 4, 80, Doing::Running),
            (0, 80, 88, handoff(WaitKind::Join)),
            (0, 88, 90, Doing::Running)
        ]
    );
    assert_eq!(Analysis::of(&t, Window::whole(&t)).threads[0].joins.0, 43);
}

#[test]
fn a_child_may_start_before_or_after_its_creator_knows_its_handle() {
    for created in [3, 7] {
        let t = trace(&[
            (0, 0, MARK),
            (1, 0, What::Create { site: SITE }),
            (created, 0, What::Created { handle: 5, error: 0 }),
            (5, 1, What::ThreadStart { handle: 5 }),
            (20, 1, What::ThreadEnd { handle: 5 }),
        ]);
        let begins: Vec<_> = path(&t).segments.iter().map(|s| (s.thread.0, s.begin.0, s.end.0)).collect();
        assert_eq!(begins, [(0, 0, 1), (1, 1, 5), (1, 5, 20)]);
    }
}

#[test]
fn a_time_out_stays_with_its_thread() {
    let t = trace(&[
        (0, 0, acquire(1)),
        (2, 1, request(1)),
        (90, 1, What::Timeout { lock: lock(1), mode: MODE }),
        (95, 1, MARK),
    ]);
    let path = path(&t);
    assert!(path.segments.iter().all(|s| s.thread == ThreadIndex(1)), "{:?}", path.segments);
    assert_eq!(path.time(|d| matches!(d, Doing::Waiting { .. })), Ticks(88));
}

/// A thread's program: for each entry, work, the number of a lock, and how long to hold that lock.
#[derive(Clone, Debug)]
struct Program(Vec<(u64, u64, u64)>);

/// Simulates programs over FIFO locks with a hand-off latency; thread 0 creates and joins the other
/// threads. Small offsets keep most events apart in time; of events with equal times, the one that
/// was pushed first comes first.
fn simulate(programs: &[Program], latency: u64) -> Trace {
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Phase {
        Ask,
        Enter,
        Leave,
    }
    let scale = 1000;
    let mut events = Vec::new();
    let mut locks: Vec<(bool, VecDeque<usize>)> = vec![(false, VecDeque::new()); 4];
    let mut step = vec![0usize; programs.len()];
    let mut agenda = std::collections::BTreeSet::new();
    for (i, program) in programs.iter().enumerate() {
        let (thread, handle) = (i as u32 + 1, i as u64 + 1);
        events.push((i as u64 * scale, 0, What::Create { site: SITE }));
        events.push((i as u64 * scale + 1, 0, What::Created { handle, error: 0 }));
        events.push((i as u64 * scale + 500, thread, What::ThreadStart { handle }));
        agenda.insert((i as u64 * scale + 500 + program.0[0].0 * scale + i as u64, i, Phase::Ask));
    }
    let mut ends = vec![0; programs.len()];
    while let Some((now, i, phase)) = agenda.pop_first() {
        let thread = i as u32 + 1;
        let (_, n, hold) = programs[i].0[step[i]];
        match phase {
            Phase::Ask if locks[n as usize].0 => {
                events.push((now, thread, request(n)));
                locks[n as usize].1.push_back(i);
            }
            Phase::Ask => {
                events.push((now, thread, acquire(n)));
                locks[n as usize].0 = true;
                agenda.insert((now + hold * scale, i, Phase::Leave));
            }
            Phase::Enter => {
                events.push((now, thread, acquired(n)));
                agenda.insert((now + hold * scale, i, Phase::Leave));
            }
            Phase::Leave => {
                events.push((now, thread, release(n)));
                match locks[n as usize].1.pop_front() {
                    Some(next) => _ = agenda.insert((now + latency * scale + 7, next, Phase::Enter)),
                    None => locks[n as usize].0 = false,
                }
                step[i] += 1;
                match programs[i].0.get(step[i]) {
                    Some((work, ..)) => _ = agenda.insert((now + work * scale + 11, i, Phase::Ask)),
                    None => {
                        ends[i] = now + 3;
                        events.push((now + 3, thread, What::ThreadEnd { handle: i as u64 + 1 }));
                    }
                }
            }
        }
    }
    let mut main = programs.len() as u64 * scale;
    for (i, end) in ends.into_iter().enumerate() {
        let handle = i as u64 + 1;
        events.push((main, 0, What::JoinBegin { handle, site: SITE }));
        main = main.max(end) + 13;
        events.push((main, 0, What::JoinEnd { handle, error: 0 }));
        main += 17;
    }
    trace(&events)
}

fn programs() -> impl Strategy<Value = Vec<Program>> {
    let part = (1u64..20, 0u64..3, 1u64..20);
    prop::collection::vec(prop::collection::vec(part, 1..12).prop_map(Program), 1..6)
}

proptest! {
    #![proptest_config(baton_needs::property!(200))]

    #[test]
    fn the_path_covers_the_run_without_gap_or_overlap(programs in programs(), latency in 0u64..8) {
        let t = simulate(&programs, latency);
        let path = path(&t);
        let (begin, end) = t.span();
        prop_assert_eq!(path.segments.first().unwrap().begin, begin);
        prop_assert_eq!(path.segments.last().unwrap().end, end);
        for pair in path.segments.windows(2) {
            prop_assert_eq!(pair[0].end, pair[1].begin);
        }
        // Only one thread at a time holds a lock, so the lock's sections and hand-offs on the path
        // cannot be longer than the run.
        for share in path.objects.values() {
            prop_assert!(share.sections.all() + share.handoffs <= end.since(begin));
        }
    }

    #[test]
    fn nothing_relaxed_is_the_recorded_run_and_relaxing_never_hurts(programs in programs(), latency in 0u64..8) {
        let t = simulate(&programs, latency);
        let (begin, end) = t.span();
        for answer in relaxed(&t) {
            prop_assert_eq!(answer.recorded, end.since(begin));
            prop_assert!(answer.without_overhead <= answer.recorded);
            prop_assert!(answer.without_exclusion <= answer.recorded);
        }
    }

    /// With one lock and one round, the threads take the lock in the recorded order. So the relaxed
    /// replay without overhead must agree with a simulation that has no hand-off latency.
    #[test]
    fn without_overhead_agrees_with_a_simulation_without_latency(holds in prop::collection::vec(1u64..30, 2..6), latency in 0u64..8) {
        let programs: Vec<Program> = holds.iter().map(|hold| Program(vec![(1, 0, *hold)])).collect();
        let (slow, fast) = (simulate(&programs, latency), simulate(&programs, 0));
        let [answer] = relaxed(&slow).try_into().unwrap();
        let length = |t: &Trace| t.span().1.since(t.span().0).0;
        // The simulation without latency still takes 7 ticks for each hand-off.
        prop_assert!(length(&fast).abs_diff(answer.without_overhead.0) <= 7 * holds.len() as u64);
    }
}
