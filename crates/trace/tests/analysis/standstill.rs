//! Tests for the end of a trace: deadlocks, threads that no other thread can let go, and waits that
//! end by themselves.

use baton_trace::analysis::{Analysis, CriticalPath, Doing, Ending, Standstill, WaitKind, Why, Window};
use baton_trace::last_look::LastLook;
use baton_trace::{
    Clock, How, Lock, Meta, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, Waitable, WakeReason, What,
};

const A: Lock = Lock::mutex(0x1000);
const B: Lock = Lock::mutex(0x2000);
const RW: Lock = Lock::rwlock(0x3000);
const COND: u64 = 0x4000;
const SEM: u64 = 0x5000;
const BARRIER: u64 = 0x6000;
const SITE: SiteId = SiteId(7);
const SECOND: u64 = 1_000_000_000;

fn take(lock: Lock) -> What {
    What::Acquire { lock, mode: Mode::Exclusive, site: SITE }
}
fn want(lock: Lock) -> What {
    What::Request { lock, mode: Mode::Exclusive, site: SITE }
}
fn give(lock: Lock) -> What {
    What::Release { lock, mode: Mode::Exclusive, site: SITE }
}
fn bounded(object: u64) -> What {
    What::Bounded { object }
}
fn join(thread: u64) -> What {
    What::JoinBegin { handle: 100 + thread, site: SITE }
}

/// Begins a trace with threads that start at 0, the main thread first, in a process that ends at
/// `end`.
fn script(threads: u32, events: &[(u64, u32, What)], end: Option<u64>) -> TraceBuilder {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    for n in 0..threads {
        trace.push(Ticks(0), ThreadIndex(n), What::ThreadStart { handle: 100 + u64::from(n) });
    }
    for (time, thread, what) in events {
        trace.push(Ticks(*time), ThreadIndex(*thread), *what);
    }
    if let Some(end) = end {
        trace.ends(Ticks(end));
    }
    trace
}

fn ending(threads: u32, events: &[(u64, u32, What)]) -> Ending {
    Ending::of(&script(threads, events, Some(SECOND)).build())
}

/// Returns the only standstill of a trace that ends after a second.
fn still(threads: u32, events: &[(u64, u32, What)]) -> Standstill {
    let mut found = ending(threads, events).standstills;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn nothing(threads: u32, events: &[(u64, u32, What)]) {
    let found = ending(threads, events).standstills;
    assert!(found.is_empty(), "{found:?}");
}

const ABBA: [(u64, u32, What); 5] = [
    (10, 0, What::JoinBegin { handle: 101, site: SITE }),
    (20, 1, What::Acquire { lock: A, mode: Mode::Exclusive, site: SITE }),
    (30, 2, What::Acquire { lock: B, mode: Mode::Exclusive, site: SITE }),
    (40, 1, What::Request { lock: B, mode: Mode::Exclusive, site: SITE }),
    (50, 2, What::Request { lock: A, mode: Mode::Exclusive, site: SITE }),
];

#[test]
fn two_locks_in_both_orders() {
    let still = still(3, &ABBA);
    assert_eq!((still.deadlock, still.still, still.end), (Some(Ticks(50)), Some(Ticks(50)), Some(Ticks(SECOND))));
    let threads: Vec<u32> = still.threads.iter().map(|stuck| stuck.wait.thread.0).collect();
    assert_eq!((threads, &still.circles[..], still.moving), (vec![1, 2, 0], &[vec![0, 1]][..], 0));
    let Why::Held(holders) = &still.threads[0].why else { panic!("{:?}", still.threads[0]) };
    assert_eq!((holders[0].thread, holders[0].since, holders[0].site), (ThreadIndex(2), Ticks(30), SITE));
    assert_eq!(still.threads[2].wait.target, Some(ThreadIndex(1)));
}

#[test]
fn a_deadlock_needs_no_time_and_other_threads_may_move() {
    let trace = script(4, &ABBA, Some(51)).build();
    let found = Ending::of(&trace).standstills;
    assert_eq!((found[0].deadlock, found[0].still, found[0].moving), (Some(Ticks(50)), None, 1));
    assert_eq!(found[0].threads.len(), 3, "the joining thread waits for one of them");
    // If the end of the process is not known, only the deadlock is certain.
    let found = Ending::of(&script(3, &ABBA, None).build()).standstills;
    assert_eq!((found[0].deadlock, found[0].still), (Some(Ticks(50)), None));
}

#[test]
fn a_circle_with_a_deadline_or_of_a_lock_that_is_handed_over_is_none() {
    let mut timed = ABBA.to_vec();
    timed.push((51, 2, bounded(A.address)));
    nothing(3, &timed);
    // Thread 0 has released A for thread 1 once. It may do so again, so waiting for A is no
    // deadlock.
    let mut handed = vec![(5, 1, take(A)), (6, 0, give(A))];
    handed.extend(ABBA.into_iter().filter(|(_, thread, _)| *thread != 0));
    nothing(3, &handed);
}

#[test]
fn a_thread_that_waits_for_itself() {
    let found = still(1, &[(10, 0, take(A)), (20, 0, want(A))]);
    assert_eq!((found.deadlock, &found.circles[..]), (Some(Ticks(20)), &[vec![0]][..]));
    // Thread 0 holds the lock shared, and wants it exclusive, for which it would have to release it
    // first.
    let (lock, site) = (RW, SITE);
    let shared = What::Acquire { lock, mode: Mode::Shared, site };
    let found = still(2, &[(10, 0, shared), (11, 1, shared), (20, 0, want(RW))]);
    assert_eq!((found.deadlock, found.moving), (Some(Ticks(20)), 1));
}

#[test]
fn a_lock_whose_holder_has_ended() {
    let end = What::ThreadEnd { handle: 101 };
    let found = still(3, &[(10, 1, take(A)), (20, 1, end), (30, 0, want(A))]);
    assert_eq!((found.deadlock, found.circles.len(), found.moving), (Some(Ticks(30)), 0, 1));
    let Why::Held(holders) = &found.threads[0].why else { panic!("{found:?}") };
    assert!(holders[0].ended && holders[0].thread == ThreadIndex(1));
}

/// Java's virtual machine does so: a thread of its own ends with a lock, at which other threads wait until the
/// first thread has left the process.
#[test]
fn a_lock_that_is_kept_until_the_process_is_left_is_no_deadlock() {
    let end = What::ThreadEnd { handle: 101 };
    let left = |at: u64| {
        let events = [(10, 1, take(A)), (20, 1, end), (30, 2, want(A)), (at, 0, What::Exit)];
        ending(3, &events).standstills
    };
    assert_eq!(left(30 + SECOND / 11), []);
    assert_eq!(left(30 + SECOND / 10)[0].deadlock, Some(Ticks(30)));
    // A circle needs no time.
    let events = [&ABBA[1..], &[(60, 0, What::Exit)]].concat();
    assert_eq!(ending(3, &events).standstills[0].deadlock, Some(Ticks(50)));
}

#[test]
fn a_join_in_the_circle_and_a_thread_that_joins_one_that_has_ended() {
    let found = still(2, &[(10, 0, take(A)), (20, 0, join(1)), (30, 1, want(A))]);
    assert_eq!((found.deadlock, found.circles[0].len()), (Some(Ticks(30)), 2));
    nothing(2, &[(10, 0, join(1)), (20, 1, What::ThreadEnd { handle: 101 })]);
}

/// The thread waits at a condition variable with mutex A, from `at` on.
fn waits(at: u64, thread: u32) -> [(u64, u32, What); 4] {
    [
        (at - 10, thread, take(A)),
        (at, thread, What::CondWait { condition: COND, site: SITE }),
        (at, thread, What::CondMutex { mutex: A.address }),
        (at + 1, thread, give(A)),
    ]
}

const SIGNAL: What = What::CondSignal { condition: COND, site: SITE };

#[test]
fn a_wake_up_that_was_lost() {
    let mut events = vec![(50, 0, SIGNAL), (60, 0, join(1))];
    events.extend(waits(100, 1));
    let found = still(2, &events);
    assert_eq!((found.deadlock, found.still), (None, Some(Ticks(101))));
    let Why::Condition(signals) = found.threads[1].why else { panic!("{found:?}") };
    let last = signals.last.unwrap();
    assert_eq!((signals.count, last.time, last.waiters, signals.looked), (1, Ticks(50), 0, 1));
    // The signal comes at 95, while the waiter holds the mutex: the waiter has not taken it since.
    let mut events = vec![(95, 0, SIGNAL), (96, 0, join(1))];
    events.extend(waits(100, 1));
    let Why::Condition(signals) = still(2, &events).threads[1].why else { panic!() };
    assert_eq!((signals.looked, signals.last.unwrap().waiters), (0, 0));
    // The signal comes at 50. The waiter has taken the mutex twice since, at 70 and at 90.
    let mut events = vec![(50, 0, SIGNAL), (60, 0, join(1)), (70, 1, take(A)), (75, 1, give(A))];
    events.extend(waits(100, 1));
    let Why::Condition(signals) = still(2, &events).threads[1].why else { panic!() };
    assert_eq!(signals.looked, 2);
}

#[test]
fn a_thread_outside_of_waits_could_still_signal() {
    let found = still(3, &[&[(60, 0, join(1))][..], &waits(100, 1)].concat());
    assert_eq!((found.deadlock, found.still, found.suspected), (None, None, Some(Ticks(100))));
    // A thread that was created at 61 and has not run yet could still signal.
    let born = [(61, 0, What::Created { handle: 9, error: 0 }), (62, 0, join(1))];
    nothing(2, &[&born[..], &waits(100, 1)].concat());
    // A thread that the launcher saw and the trace does not know (number 99) could still signal.
    let mut trace = script(2, &[&[(60, 0, join(1))][..], &waits(100, 1)].concat(), Some(SECOND));
    for (threads, finds) in [(vec![1, 2], 1), (vec![1, 2, 99], 0)] {
        let look = LastLook { pid: 0, threads, still_ns: SECOND / 2, ..LastLook::default() };
        trace.meta(Meta { extra: look.entry().into_iter().collect(), ..Meta::default() });
        let again = trace;
        let built = again.build();
        assert_eq!(Ending::of(&built).standstills.len(), finds);
        trace = script(2, &[&[(60, 0, join(1))][..], &waits(100, 1)].concat(), Some(SECOND));
    }
}

#[test]
fn nobody_moves_only_after_a_while_and_longer_than_ever_before() {
    let events = [&[(60, 0, join(1))][..], &waits(100, 1)].concat();
    let at = |end| Ending::of(&script(2, &events, Some(end)).build()).standstills.len();
    assert_eq!((at(99_000_000), at(100_000_101)), (0, 1));
    // All threads have waited together for 300 ms once, until a signal handler let one go on. So a
    // standstill needs 600 ms.
    let woke = What::CondWake { condition: COND, reason: WakeReason::Woken };
    let mut events = vec![(60, 0, join(1))];
    events.extend(waits(100, 1));
    events.extend([(300_000_000, 1, woke), (300_000_010, 1, take(A)), (300_000_020, 1, give(A))]);
    events.extend(waits(300_000_100, 1));
    let at = |end| Ending::of(&script(2, &events, Some(end)).build()).standstills.len();
    assert_eq!((at(800_000_000), at(901_000_000)), (0, 1));
}

#[test]
fn a_wait_with_a_deadline_or_an_act_inside_of_it_ends_by_itself() {
    let mut events = vec![(60, 0, join(1))];
    events.extend(waits(100, 1));
    events.insert(4, (100, 1, bounded(COND)));
    nothing(2, &events);
    let mut events = vec![(60, 0, join(1)), (500, 1, What::SemPost { semaphore: SEM, site: SITE })];
    events.extend(waits(100, 1));
    nothing(2, &events);
}

/// Thread 1, which holds B, is signalled and needs its mutex again. The signaller, thread 0, holds
/// that mutex and wants B: a deadlock.
#[test]
fn a_wake_up_takes_the_mutex_again() {
    let mut events = vec![(50, 1, take(B))];
    events.extend(waits(100, 1));
    events.extend([(200, 0, take(A)), (210, 0, SIGNAL), (220, 0, want(B))]);
    let found = still(3, &events);
    assert_eq!((found.deadlock, found.circles[0].len(), found.moving), (Some(Ticks(220)), 2, 1));
}

#[test]
fn semaphores_and_barriers() {
    let wait = What::SemWait { semaphore: SEM, site: SITE };
    let post = What::SemPost { semaphore: SEM, site: SITE };
    let init = What::Init { sort: Waitable::Semaphore, address: SEM, site: SITE };
    let none = What::Attribute { address: SEM, value: 0 };
    let start = [(1, 0, init), (2, 0, none)];
    let found = still(2, &[&start[..], &[(10, 1, wait), (20, 0, join(1))]].concat());
    let Why::Semaphore(posts) = found.threads[1].why else { panic!("{found:?}") };
    assert_eq!((posts.posts, posts.takes, posts.initial, posts.last), (0, 0, Some(0), None));
    nothing(2, &[&start[..], &[(10, 1, wait), (15, 0, post), (20, 0, join(1))]].concat());

    let arrive = What::BarrierArrive { barrier: BARRIER, site: SITE };
    let init = What::Init { sort: Waitable::Barrier, address: BARRIER, site: SITE };
    let three = What::Attribute { address: BARRIER, value: 3 };
    let start = [(1, 0, init), (2, 0, three)];
    let found = still(2, &[&start[..], &[(10, 1, arrive), (20, 0, arrive)]].concat());
    assert_eq!(found.threads[0].why, Why::Barrier { arrived: 2, expected: Some(3) });
    // All three threads have arrived, and are about to leave: no standstill.
    nothing(3, &[&start[..], &[(10, 1, arrive), (20, 0, arrive), (30, 2, arrive)]].concat());
}

#[test]
fn an_idle_worker_of_openmp_is_no_standstill_while_its_master_works() {
    let region = 0x9000;
    let team = |n: u64| {
        [
            (n, 0, What::Fork { region, site: SITE }),
            (n + 1, 0, What::TeamBegin { region, threads: 2, idled: false }),
            (n + 1, 1, What::TeamBegin { region, threads: 2, idled: false }),
            (n + 5, 1, What::BarrierArrive { barrier: region, site: SITE }),
            (n + 6, 0, What::BarrierArrive { barrier: region, site: SITE }),
            (n + 7, 0, What::BarrierLeave { barrier: region, serial: false }),
        ]
    };
    nothing(2, &team(10));
    // The master waits for a lock that it holds itself. The worker waits for its next region, so it
    // stands still as well.
    let found = still(2, &[&team(10)[..], &[(50, 0, take(A)), (60, 0, want(A))]].concat());
    assert_eq!((found.still, found.threads[1].why.clone()), (Some(Ticks(60)), Why::Idle));
}

#[test]
fn open_waits_last_to_the_end_of_the_process() {
    let trace = script(3, &ABBA, Some(SECOND)).build();
    let ending = Ending::of(&trace);
    assert_eq!(ending.until, Some(Ticks(SECOND)));
    let window = Window::until(&trace, ending.until);
    let analysis = Analysis::of(&trace, window.clone());
    let waited: Vec<u64> = analysis.locks.iter().map(|lock| lock.stats.blocked.0).collect();
    assert_eq!(waited, [SECOND - 40, SECOND - 50]);
    assert_eq!((analysis.threads[0].joins.0, analysis.threads[0].lifetime.0), (SECOND - 10, SECOND));
    assert_eq!(analysis.locks.iter().map(|l| l.stats.residual()).sum::<i128>(), 0);
    let path = CriticalPath::of(&trace, &window);
    let waits = |doing: &Doing| matches!(doing, Doing::Waiting { kind: WaitKind::Lock, .. });
    assert_eq!(path.time(waits).0, SECOND - 50);
    // No thread waits at the end, so the trace ends with its last event.
    let trace = script(2, &[(10, 0, take(A)), (20, 0, give(A))], Some(SECOND)).build();
    assert_eq!(Ending::of(&trace).until, None);
}

/// A holder that, as the launcher saw, did not run after 2,000 counts as blocked from then to the
/// end.
#[test]
fn a_holder_that_was_seen_not_to_run_was_blocked_to_the_end() {
    let mut builder = script(2, &[(10, 0, take(A)), (1_000, 1, want(A))], Some(SECOND));
    let look = LastLook { pid: 0, threads: vec![1, 2], still_ns: SECOND - 2_000, ..LastLook::default() };
    builder.meta(Meta { extra: look.entry().into_iter().collect(), ..Meta::default() });
    let trace: Trace = builder.build();
    let ending = Ending::of(&trace);
    assert!(ending.standstills.is_empty());
    let path = CriticalPath::of(&trace, &Window::until(&trace, ending.until));
    assert_eq!((path.sections.blocked.0, path.sections.running.0), (SECOND - 2_000, 1_990));
}

#[test]
fn where_events_are_missing_nothing_is_claimed() {
    let mut trace = script(3, &ABBA, Some(SECOND)).build();
    trace.processes[0].dropped = 1;
    assert!(Ending::of(&trace).standstills.is_empty());
}

/// The first thread joins thread 1, which waits at a condition variable from 30 on, while thread 2
/// goes on. With `signals_after`, thread 2 signals once more.
fn onlooker(signals_after: bool) -> Vec<(u64, u32, What)> {
    let mut events = vec![
        (10, 0, What::JoinBegin { handle: 101, site: SITE }),
        (20, 2, What::CondSignal { condition: 0xc0, site: SITE }),
        (30, 1, What::CondWait { condition: 0xc0, site: SITE }),
        (31, 1, What::CondMutex { mutex: A.address }),
    ];
    if signals_after {
        events.push((40, 2, What::CondSignal { condition: 0xc0, site: SITE }));
    }
    events.push((SECOND - 10, 2, What::Acquire { lock: B, mode: Mode::Exclusive, site: SITE }));
    events.push((SECOND - 5, 2, What::Release { lock: B, mode: Mode::Exclusive, site: SITE }));
    events
}

#[test]
fn a_lost_wake_up_beside_a_thread_that_goes_on_is_suspected() {
    let still = still(3, &onlooker(false));
    assert_eq!((still.deadlock, still.still, still.suspected), (None, None, Some(Ticks(30))));
    assert_eq!((still.threads.len(), still.moving), (2, 1));
    nothing(3, &onlooker(true));
}

/// All threads wait for a semaphore that other processes may post, or while another process runs, or while
/// a handler may post it.
#[test]
fn what_another_process_or_a_handler_may_end_is_no_standstill() {
    let wait = What::SemWait { semaphore: SEM, site: SITE };
    let init = What::Init { sort: Waitable::Semaphore, address: SEM, site: SITE };
    let none = What::Attribute { address: SEM, value: 0 };
    let seen = |shared: bool, children: bool, handlers: u64| {
        let events = vec![(10, 0, init), (11, 0, none), (20, 0, wait)];
        stillness(events, shared, children, handlers)
    };
    let found = seen(false, false, 0);
    assert_eq!((found.len(), found[0].still), (1, Some(Ticks(20))));
    assert!(seen(true, false, 0).is_empty(), "another process may post it");
    assert!(seen(false, true, 0).is_empty(), "a process that the program started still ran");
    // SIGINT is signal 2, SIGSEGV 11.
    let found = seen(false, false, 1 << 1 | 1 << 10);
    assert_eq!((found[0].still, found[0].suspected, &found[0].handlers[..]), (None, Some(Ticks(20)), &[2][..]));
    assert_eq!(seen(false, false, 1 << 10)[0].still, Some(Ticks(20)), "a handler of faults posts nothing");
}

/// How a process of one thread ends that waits from 20 on.
fn stillness(mut events: Vec<(u64, u32, What)>, shared: bool, children: bool, handlers: u64) -> Vec<Standstill> {
    if shared {
        let code = baton_trace::notes::PROCESS_SHARED;
        events.insert(2, (12, 0, What::Note { address: SEM, code }));
    }
    let look = LastLook { pid: 0, threads: vec![1], still_ns: 1_000, children, handlers };
    let mut trace = script(1, &events, Some(SECOND));
    trace.meta(Meta { extra: look.entry().into_iter().collect(), ..Meta::default() });
    Ending::of(&trace.build()).standstills
}

/// The program has a handler for SIGINT. A semaphore that serves as a lock, or that a thread has posted
/// itself, does not wait for the handler; one that the handler posted inside of a wait may.
#[test]
fn a_handler_casts_doubt_only_on_what_no_thread_posts() {
    let wait = What::SemWait { semaphore: SEM, site: SITE };
    let post = What::SemPost { semaphore: SEM, site: SITE };
    let taken = What::SemTaken { semaphore: SEM, how: How::OPAQUE };
    let init = What::Init { sort: Waitable::Semaphore, address: SEM, site: SITE };
    let of = |value| What::Attribute { address: SEM, value };
    let take = What::SemTake { semaphore: SEM, site: SITE };
    let doubts = |events: Vec<(u64, u32, What)>| {
        let found = stillness(events, false, false, 1 << 1);
        assert_eq!(found.len(), 1, "{found:?}");
        !found[0].handlers.is_empty()
    };
    let start = |value| vec![(10, 0, init), (11, 0, of(value))];
    assert!(doubts([start(0), vec![(20, 0, wait)]].concat()));
    assert!(!doubts([start(1), vec![(12, 0, take), (20, 0, wait)]].concat()), "it serves as a lock");
    assert!(!doubts([start(0), vec![(12, 0, post), (13, 0, take), (20, 0, wait)]].concat()));
    assert!(doubts([start(0), vec![(12, 0, wait), (13, 0, post), (14, 0, taken), (20, 0, wait)]].concat()));
    // A deadlock in a program that its handler ended inside of a wait is still one.
    let found = still(3, &[&ABBA[..], &[(SECOND - 5, 0, What::Exit)]].concat());
    assert_eq!((found.deadlock, found.still, found.threads.len()), (Some(Ticks(50)), Some(Ticks(50)), 3));
}
