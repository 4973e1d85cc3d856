//! Tests that a background thread of a replay goes round for as long as the program needs it, and
//! no longer.

mod common;

use baton_replay::compile::{Probes, compile};
use baton_replay::program::Op;
use baton_trace::point::CALLS;
use baton_trace::{
    Clock, Lock, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, Trace, TraceBuilder, What,
};
use common::{HOT, foretold};

const MODE: Mode = Mode::Exclusive;
const TURNS: u64 = 100;
const LOOK: u64 = 0x2000;

/// How thread 0 waits for thread 1, and what becomes of thread 2.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// It joins both.
    Joins,
    /// It joins thread 1 and ends the process, in which thread 2 goes round.
    Exits,
    /// It sleeps 50 µs again and again until thread 1 has ended, joins both and ends the process.
    Sleeps,
}

/// Thread 1 holds `HOT` for 19 of every 20 µs of 2 ms. Thread 2 looks at a flag every 30 µs, until
/// thread 0 comes to join it; with `signals`, it also posts a semaphore in each turn.
fn recorded(signals: bool) -> Trace {
    recorded_to(End::Joins, signals)
}

fn recorded_to(way: End, signals: bool) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    let mut events: Vec<(u64, u32, What)> = Vec::new();
    let mut hold = |at: u64, thread: u32, address: u64, length: u64| {
        let (lock, site) = (Lock::mutex(address), SiteId(thread));
        events.push((at, thread, What::Acquire { lock, mode: MODE, site }));
        events.push((at + length, thread, What::Release { lock, mode: MODE, site }));
    };
    (0..TURNS).for_each(|turn| hold(1_000 + 20_000 * turn, 1, HOT, 19_000));
    let end = 1_000 + 20_000 * TURNS;
    (0..=end / 30_000).for_each(|turn| hold(900 + 30_000 * turn, 2, LOOK, 100));
    for thread in 1..=2u32 {
        let handle = u64::from(thread);
        events.push((10 * handle, 0, What::Create { site: SiteId(9) }));
        events.push((10 * handle + 5, 0, What::Created { handle, error: 0 }));
        events.push((10 * handle + 6, thread, What::ThreadStart { handle }));
    }
    let mut join = |came: u64, ended: u64, handle: u64| {
        events.push((came, 0, What::JoinBegin { handle, site: SiteId(9) }));
        events.push((ended, handle as u32, What::ThreadEnd { handle }));
        events.push((ended.max(came) + 100, 0, What::JoinEnd { handle, error: 0 }));
    };
    // A sleep of 50 µs is under way when thread 1 ends.
    let turns = (end - 100) / 50_000 + 1;
    let woken = 100 + 50_000 * turns;
    join(if way == End::Sleeps { woken + 50 } else { 500 }, end, 1);
    match way {
        End::Joins => join(end + 200, end + 15_000, 2),
        End::Exits => events.push((end + 200, 0, What::Exit)),
        End::Sleeps => {
            join(woken + 300, woken + 15_000, 2);
            events.push((woken + 16_000, 0, What::Exit));
        }
    }
    for turn in 0..if way == End::Sleeps { turns } else { 0 } {
        let at = 100 + 50_000 * (turn + 1);
        let number = CALLS.iter().position(|call| *call == "usleep").unwrap() as u8;
        let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks: 50_000 };
        events.push((at - 50_000, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
        events.push((at, 0, What::OnCpu { tid: 0, cpu: 0 }));
        events.push((at, 0, What::Blocked { site: SiteId(7), ticks: 50_000 }));
        events.push((at, 0, What::Called { call, site: SiteId(7) }));
    }
    if signals {
        let semaphore = 0x3000;
        let posts =
            (0..=end / 30_000).map(|turn| (950 + 30_000 * turn, 2, What::SemPost { semaphore, site: SiteId(8) }));
        events.extend(posts);
        let takes =
            (0..=end / 30_000).map(|turn| (end + 16_000 + turn, 0, What::SemTake { semaphore, site: SiteId(8) }));
        events.extend(takes);
    }
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

/// Returns the times of replays, in nanoseconds, in which the work under `HOT` takes `factors`
/// times as long.
fn times<const N: usize>(factors: [f64; N]) -> [f64; N] {
    foretold(&recorded(false), factors).0
}

#[test]
fn a_thread_that_nothing_joins_goes_round_until_the_program_ends() {
    let trace = recorded_to(End::Exits, false);
    let ([half, same, twice], reasons) = foretold(&trace, [0.5, 1.0, 2.0]);
    assert!((1_950_000.0..2_100_000.0).contains(&same), "{same}");
    assert!((same - half - 950_000.0).abs() < 20_000.0, "{half} {same}");
    assert!((twice - same - 1_900_000.0).abs() < 20_000.0, "{same} {twice}");
    assert_eq!(reasons, [""; 0]);
}

#[test]
fn a_thread_that_sleeps_until_others_have_ended_sleeps_as_long_as_they_need() {
    let trace = recorded_to(End::Sleeps, false);
    let ([half, same, twice], reasons) = foretold(&trace, [0.5, 1.0, 2.0]);
    // The last sleep may end up to 50 µs later, and the last turn of thread 2 up to 30 µs.
    assert!((1_950_000.0..2_250_000.0).contains(&same), "{same}");
    assert!((same - half - 950_000.0).abs() < 80_000.0, "{half} {same}");
    assert!((twice - same - 1_900_000.0).abs() < 80_000.0, "{same} {twice}");
    assert_eq!(reasons, [""; 0]);
}

#[test]
fn the_program_ends_when_its_work_does_whatever_the_monitor_did() {
    let [half, same, twice] = times([0.5, 1.0, 2.0]);
    assert!((1_950_000.0..2_250_000.0).contains(&same), "with the starts of threads: {same}");
    // Under `HOT`, the thread works for 100 times 19 µs, so half of it saves 950 µs. The last turn
    // of the monitor may end up to 30 µs earlier or later.
    assert!((same - half - 950_000.0).abs() < 40_000.0, "{half} {same}");
    assert!((twice - same - 1_900_000.0).abs() < 40_000.0, "{same} {twice}");
}

#[test]
fn a_joined_thread_ends_within_the_turn_in_which_the_joiner_came() {
    let factors = [0.5, 0.503, 0.506, 0.509, 0.512];
    let (joined, ended) = (times(factors), foretold(&recorded_to(End::Exits, false), factors).0);
    for (joined, ended) in joined.into_iter().zip(ended) {
        // The recorded thread ended 35 µs behind its last release, when it looked at the flag.
        assert!((0.0..37_000.0).contains(&(joined - ended)), "{joined} {ended}");
    }
}

#[test]
fn a_thread_whose_turns_serve_others_keeps_them() {
    let chip = common::chip(&["noise.start=0"]);
    let program = compile(&recorded(true), &chip, Probes::Subtracted);
    assert_eq!(program.threads[2].turns, None);
    assert!(program.threads[2].ops.iter().any(|op| matches!(op, Op::SemPost(_) | Op::TokenPost(_))));
    assert!(program.notes.iter().any(|note| note.contains("for as long as they were recorded")), "{:?}", program.notes);
}
