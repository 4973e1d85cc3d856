//! Tests for semaphores, condition variables and futexes that serve as locks, and that a thread takes again
//! before the thread that it woke does.

use baton_trace::analysis::{CriticalPath, Doing, WaitKind, Window};
use baton_trace::{
    Clock, FutexEnd, How, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, WakeReason, What,
};

const SITE: SiteId = SiteId(1);
const MUTEX: Lock = Lock::mutex(0x10);
const OTHER: Lock = Lock::mutex(0x18);
const CONDITION: u64 = 0x20;
const OBJECT: u64 = 0x30;
const ROUNDS: u64 = 10;

type Events = Vec<(u64, u32, What)>;

fn take(lock: Lock) -> What {
    What::Acquire { lock, mode: Mode::Exclusive, site: SITE }
}

fn give(lock: Lock) -> What {
    What::Release { lock, mode: Mode::Exclusive, site: SITE }
}

fn trace(mut events: Events, end: u64) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    events.push((0, 1, What::ThreadStart { handle: 1 }));
    events.push((0, 2, What::ThreadStart { handle: 2 }));
    events.push((end, 1, What::Exit));
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

/// How long the critical path goes along a thread that keeps others waiting.
fn awaited(trace: &Trace, thread: u32, kind: WaitKind) -> u64 {
    let path = CriticalPath::of(trace, &Window::whole(trace));
    let mine = path.segments.iter().filter(|segment| segment.thread.0 == thread);
    let held_up = mine.filter(|segment| matches!(segment.doing, Doing::Awaited { kind: of, .. } if of == kind));
    held_up.map(|segment| segment.end.0 - segment.begin.0).sum()
}

/// A thread takes the condition variable's mutex at `at`, and begins to wait.
fn waits(events: &mut Events, at: u64, thread: u32) {
    events.push((at, thread, take(MUTEX)));
    waits_again(events, at, thread);
}

fn waits_again(events: &mut Events, at: u64, thread: u32) {
    events.push((at, thread, What::CondWait { condition: CONDITION, site: SITE }));
    events.push((at, thread, What::CondMutex { mutex: MUTEX.address }));
    events.push((at, thread, give(MUTEX)));
}

fn wakes(events: &mut Events, at: u64, thread: u32) {
    events.push((at, thread, What::CondWake { condition: CONDITION, reason: WakeReason::Woken }));
    events.push((at, thread, take(MUTEX)));
}

fn section(events: &mut Events, thread: u32, begin: u64, end: u64) {
    events.push((begin, thread, take(MUTEX)));
    events.push((end, thread, give(MUTEX)));
}

/// Thread 1 takes a lock made of a mutex, a condition variable and a flag in each round from 2 to 90, and
/// always again before thread 2, which it signals in the section at 90 or behind it. At last thread 2
/// has its turn. `again`: whether thread 1 takes the lock by a section of its own in each round.
fn by_condition(inside: bool, again: bool) -> Trace {
    let mut events = Events::new();
    for round in 0..ROUNDS {
        let at = round * 100;
        if again {
            section(&mut events, 1, at + 1, at + 2);
        }
        if round > 0 {
            wakes(&mut events, at + 3, 2);
            waits_again(&mut events, at + 4, 2);
        } else {
            waits(&mut events, at + 4, 2);
        }
        section(&mut events, 1, at + 90, at + 92);
        events.push((at + if inside { 91 } else { 93 }, 1, What::CondSignal { condition: CONDITION, site: SITE }));
    }
    let last = ROUNDS * 100;
    wakes(&mut events, last + 3, 2);
    events.push((last + 4, 2, give(MUTEX)));
    waits(&mut events, last + 5, 1);
    section(&mut events, 2, last + 90, last + 92);
    events.push((last + 91, 2, What::CondSignal { condition: CONDITION, site: SITE }));
    wakes(&mut events, last + 95, 1);
    events.push((last + 96, 1, give(MUTEX)));
    trace(events, last + 100)
}

#[test]
fn a_condition_with_a_flag_that_is_taken_again_at_once_is_a_lock() {
    // The first hold began before the first wait showed which mutex belongs to the condition variable. A signal
    // behind the section leaves 1 ns more without a lock.
    for (inside, round) in [(true, 87), (false, 88)] {
        let trace = by_condition(inside, true);
        let kind = WaitKind::Condition;
        assert_eq!(awaited(&trace, 1, kind), (ROUNDS - 1) * round, "signalled inside of the section: {inside}");
        assert_eq!(awaited(&trace, 2, kind), 86, "thread 2 was woken there, and wakes thread 1");
    }
}

/// Thread 1 makes something in each round, and signals in the section in which it hands it over.
#[test]
fn a_condition_that_carries_work_is_no_lock() {
    for inside in [true, false] {
        assert_eq!(awaited(&by_condition(inside, false), 1, WaitKind::Condition), 0);
    }
}

/// Thread 1 takes a task in one section, and tells thread 2 in another that it is done. It does not wait
/// for that itself.
#[test]
fn a_condition_at_which_only_others_wait_is_no_lock() {
    let mut events = Events::new();
    for round in 0..ROUNDS {
        let at = round * 100;
        section(&mut events, 1, at + 1, at + 2);
        if round == 0 {
            waits(&mut events, at + 4, 2);
        } else {
            wakes(&mut events, at + 3, 2);
            waits_again(&mut events, at + 4, 2);
        }
        section(&mut events, 1, at + 90, at + 92);
        events.push((at + 91, 1, What::CondSignal { condition: CONDITION, site: SITE }));
    }
    assert_eq!(awaited(&trace(events, ROUNDS * 100), 1, WaitKind::Condition), 0);
}

/// Thread 1 has a semaphore in each round from 2 to 90, while thread 2 waits for it. In the middle of that
/// it may take a lock from 20 to 70.
fn by_semaphore(lock: bool) -> Trace {
    let (semaphore, mut events) = (OBJECT, Events::new());
    events.push((4, 2, What::SemWait { semaphore, site: SITE }));
    for round in 0..ROUNDS {
        let at = round * 100;
        events.push((at + 2, 1, What::SemTake { semaphore, site: SITE }));
        if lock {
            events.push((at + 20, 1, take(OTHER)));
            events.push((at + 70, 1, give(OTHER)));
        }
        events.push((at + 90, 1, What::SemPost { semaphore, site: SITE }));
    }
    events.push((ROUNDS * 100 - 5, 2, What::SemTaken { semaphore, how: How::OPAQUE }));
    trace(events, ROUNDS * 100)
}

#[test]
fn a_semaphore_that_is_taken_again_at_once_is_a_lock() {
    assert_eq!(awaited(&by_semaphore(false), 1, WaitKind::Semaphore), ROUNDS * 88 - 2);
    assert_eq!(awaited(&by_semaphore(true), 1, WaitKind::Semaphore), ROUNDS * 38 - 2, "others may want the lock");
}

/// Thread 2 makes a semaphore for each of its waits, takes it, and waits until thread 1 posts it at the end
/// of a round. At last thread 1 waits so itself until thread 2 posts it, or does not.
fn by_semaphores_for_one_wait(waits_too: bool) -> Trace {
    let mut events = Events::new();
    let mut number = 0;
    let mut waits = |events: &mut Events, at: u64, thread: u32, posts: (u64, u32)| {
        number += 1;
        let semaphore = OBJECT + 64 * number;
        events.push((at, thread, What::SemTake { semaphore, site: SITE }));
        events.push((at + 1, thread, What::SemWait { semaphore, site: SITE }));
        events.push((posts.0, posts.1, What::SemPost { semaphore, site: SITE }));
        events.push((posts.0 + 3, thread, What::SemTaken { semaphore, how: How::OPAQUE }));
    };
    for round in 0..ROUNDS {
        let at = round * 100;
        waits(&mut events, at + 4, 2, (at + 90, 1));
    }
    let last = ROUNDS * 100;
    if waits_too {
        waits(&mut events, last + 5, 1, (last + 8, 2));
    }
    trace(events, last + 100)
}

#[test]
fn semaphores_that_are_made_for_one_wait_are_a_lock_together() {
    let held = awaited(&by_semaphores_for_one_wait(true), 1, WaitKind::Semaphore);
    assert_eq!(held, (ROUNDS - 1) * 88, "the first hold has no known beginning");
    assert_eq!(awaited(&by_semaphores_for_one_wait(false), 1, WaitKind::Semaphore), 0, "thread 1 may make work");
}

/// Thread 1 wakes thread 2 at the end of each round, and thread 2 waits again at once. At last thread 1
/// waits there itself, or does not.
fn by_futex(asked: u32, waits_too: bool) -> Trace {
    let (futex, mut events) = (OBJECT, Events::new());
    let woken = What::FutexWaitEnd { futex, end: FutexEnd::Woken };
    for round in 0..ROUNDS {
        let at = round * 100;
        events.extend((round > 0).then_some((at + 3, 2, woken)));
        events.push((at + 4, 2, What::FutexWait { futex, site: SITE }));
        events.push((at + 90, 1, What::FutexWake { futex, site: SITE }));
        events.push((at + 90, 1, What::FutexWoke { futex, asked, woken: 1 }));
    }
    let last = ROUNDS * 100;
    events.push((last + 3, 2, woken));
    if waits_too {
        events.push((last + 5, 1, What::FutexWait { futex, site: SITE }));
        events.push((last + 6, 1, What::FutexWaitEnd { futex, end: FutexEnd::Changed }));
    }
    trace(events, last + 100)
}

#[test]
fn a_futex_that_is_taken_again_at_once_is_a_lock() {
    let rounds = ROUNDS - 1;
    assert_eq!(awaited(&by_futex(1, true), 1, WaitKind::Futex), rounds * 99, "the first hold has no known beginning");
    assert_eq!(awaited(&by_futex(1, false), 1, WaitKind::Futex), 0, "thread 1 may make what thread 2 waits for");
    assert_eq!(awaited(&by_futex(What::MANY, true), 1, WaitKind::Futex), 0, "a barrier wakes all");
}

/// Two threads pass a semaphore to each other, and wait before each take.
#[test]
fn holds_that_begin_with_a_wait_count_once() {
    let (semaphore, mut events) = (OBJECT, Events::new());
    events.push((1, 2, What::SemWait { semaphore, site: SITE }));
    for round in 0..ROUNDS {
        let (at, [me, other]) = (round * 100, if round % 2 == 0 { [1, 2] } else { [2, 1] });
        if round == 0 {
            events.push((at + 2, me, What::SemTake { semaphore, site: SITE }));
        }
        events.push((at + 90, me, What::SemPost { semaphore, site: SITE }));
        events.push((at + 91, me, What::SemWait { semaphore, site: SITE }));
        events.push((at + 95, other, What::SemTaken { semaphore, how: How::OPAQUE }));
    }
    let trace = trace(events, ROUNDS * 100);
    let both = awaited(&trace, 1, WaitKind::Semaphore) + awaited(&trace, 2, WaitKind::Semaphore);
    assert_eq!(both, 88 + (ROUNDS - 1) * 95);
}
