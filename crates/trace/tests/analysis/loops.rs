//! Tests for loops in which a thread waits for something that no event shows: it yields its CPU, or naps.

use baton_trace::analysis::{CriticalPath, Doing, OffCpu, Window, unexplained};
use baton_trace::{Clock, Lock, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, TraceBuilder, What};

const LOOP: SiteId = SiteId(5);
const US: u64 = 1_000;
const ROUNDS: u64 = 20;
const ROUND: u64 = 1_000 * US;

type Events = Vec<(u64, What)>;

fn nap(events: &mut Events, begin: u64, end: u64) {
    let number = baton_trace::point::CALLS.iter().position(|call| *call == "usleep").unwrap() as u8;
    let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: (end - begin) as u32 };
    events.push((begin, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
    events.push((end, What::OnCpu { tid: 0, cpu: 0 }));
    events.push((end, What::Blocked { site: LOOP, ticks: end - begin }));
    events.push((end, What::Called { call, site: LOOP }));
}

/// The path of a program whose first thread does this; a second thread, or none, works beside it.
fn path(mut events: Events, alone: bool) -> CriticalPath {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    events.sort_by_key(|(time, _)| *time);
    builder.push(Ticks(0), ThreadIndex(0), What::OnCpu { tid: 0, cpu: 0 });
    if !alone {
        builder.push(Ticks(0), ThreadIndex(1), What::OnCpu { tid: 0, cpu: 1 });
    }
    for (time, what) in &events {
        builder.push(Ticks(*time), ThreadIndex(0), *what);
    }
    let end = events.last().map_or(0, |(time, _)| *time).max(ROUNDS * ROUND);
    builder.push(Ticks(end), ThreadIndex(0), What::Exit);
    let trace = builder.build();
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    assert_eq!(unexplained(&trace, &[]).0.len(), path.beside.len(), "a replay is told as well");
    path
}

fn blocked(path: &CriticalPath) -> u64 {
    path.time(|doing| *doing == Doing::OffCpu(OffCpu::Blocked)).0
}

/// In each round the thread takes a lock until 100 µs, and then naps `naps` times, each with 1 µs behind it.
fn naps(naps: u64, length: u64, look: bool) -> Events {
    let (mut events, lock, mode) = (Events::new(), Lock::mutex(0x10), Mode::Exclusive);
    for round in 0..ROUNDS {
        let at = round * ROUND;
        events.push((at + 10, What::Marker { name: 0, value: 0 }));
        for turn in 0..naps {
            let begin = at + 100 * US + turn * (length + US);
            nap(&mut events, begin, begin + length);
            if look {
                events.push((begin + length + 100, What::Acquire { lock, mode, site: SiteId(6) }));
                events.push((begin + length + 200, What::Release { lock, mode, site: SiteId(6) }));
            }
        }
    }
    events
}

#[test]
fn a_loop_of_naps_is_a_wait_for_something_unknown() {
    for look in [false, true] {
        let path = path(naps(5, 60 * US, look), false);
        let beside = &path.beside[0];
        assert_eq!((beside.call, beside.again, beside.site, path.beside.len()), ("usleep", true, LOOP, 1));
        assert_eq!(beside.time.0, ROUNDS * (5 * 60 + 4) * US);
        assert_eq!(blocked(&path), beside.time.0, "the looks between the naps count, too");
    }
}

/// Naps of these lengths in microseconds, again and again.
fn lengths(lengths: &[u64]) -> Events {
    let mut events = Events::new();
    for round in 0..ROUNDS {
        let mut at = (round * 8 + 1) * ROUND;
        events.push((at, What::Marker { name: 0, value: 0 }));
        at += 4 * ROUND;
        for length in lengths {
            nap(&mut events, at, at + length * US);
            at += (length + 1) * US;
        }
    }
    events
}

#[test]
fn naps_that_become_longer_are_a_wait_too() {
    let backs_off = [60, 120, 240, 480, 500, 520, 500];
    let waits = path(lengths(&backs_off), false);
    assert_eq!((waits.beside.len(), waits.beside[0].again), (1, true), "{:?}", waits.beside);
    assert_eq!(waits.beside[0].time.0, ROUNDS * (backs_off.iter().sum::<u64>() + 6) * US);
    for (case, sleeps) in [
        ("lengths by chance", [60, 300, 90, 700, 110, 900, 400]),
        ("long from the start", [300, 600, 800, 800, 800, 800, 800]),
        ("of one length", [200, 270, 290, 260, 280, 290, 285]),
    ] {
        let path = path(lengths(&sleeps), false);
        assert!(path.beside.iter().all(|one| !one.again), "{case}: {:?}", path.beside);
    }
}

/// Two sleeps, long sleeps, a thread that does nothing else, and a program of one thread. That another thread
/// works beside the sleeps is another reason not to know what they are for.
#[test]
fn other_sleeps_are_no_naps() {
    for (case, events, alone) in [
        ("two sleeps", naps(2, 60 * US, false), false),
        ("long sleeps", naps(3, 260 * US, false), false),
        ("nothing but sleeps", naps(16, 61 * US, true).into_iter().filter(|(_, what)| !is_mark(what)).collect(), false),
        ("one thread", naps(5, 60 * US, false), true),
    ] {
        let path = path(events, alone);
        assert!(path.beside.iter().all(|one| !one.again), "{case}: {:?}", path.beside);
    }
}

fn is_mark(what: &What) -> bool {
    matches!(what, What::Marker { .. })
}

/// In each round the thread works for 300 µs and yields its CPU for 600 µs, of which the trace has three
/// parts. In the middle of that it is ready, without a CPU.
#[test]
fn a_loop_that_yields_the_cpu_is_a_wait_for_something_unknown() {
    let mut events = Events::new();
    for round in 0..ROUNDS {
        let at = round * ROUND;
        events.push((at + 200 * US, What::Marker { name: 0, value: 0 }));
        for (end, ticks) in [(400, 100), (700, 300), (900, 200)] {
            let ticks = (ticks * US) as u32;
            events.push((at + end * US, What::Yielded { site: LOOP, calls: 100, ticks }));
        }
        events.push((at + 500 * US, What::OffCpu { tid: 0, reason: OffReason::Preempted }));
        events.push((at + 600 * US, What::OnCpu { tid: 0, cpu: 0 }));
    }
    let path = path(events, false);
    let beside = &path.beside[0];
    assert_eq!((beside.call, beside.again, beside.site, path.beside.len()), ("sched_yield", true, LOOP, 1));
    assert_eq!((beside.time.0, blocked(&path)), (ROUNDS * 600 * US, ROUNDS * 600 * US));
    assert_eq!(path.time(|doing| *doing == Doing::Running).0, ROUNDS * 400 * US);
}
