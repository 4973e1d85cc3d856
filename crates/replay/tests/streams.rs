//! Tests that a read of a replay waits for the write of its first byte: what the writer wins, the reader wins too.

mod common;

use baton_trace::point::CALLS;
use baton_trace::{
    Clock, Lock, Mode, OffReason, Outcome, SiteId, Stream, SystemCall, ThreadIndex, Ticks, Trace, TraceBuilder, What,
};
use common::{HOT, foretold};

const PIPE: u64 = Stream::Pipe.address(7);
const ITEMS: u64 = 100;
/// What one write moves: more than a pipe may hold.
const BYTES: u32 = 5_000;
const SITE: SiteId = SiteId(7);

/// Thread 1 works for 15 of every 20 µs under `HOT`, and then writes. Thread 0 reads what was written, and works
/// for 1 µs. Where the pipe is `full`, thread 1 reads, and thread 0 waits for room. If not `known`, the
/// recording lacks what thread 0 did at the pipe.
fn recorded(full: bool, known: bool) -> Trace {
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    let (quick, slow) = (0, 1);
    let mut events: Vec<(u64, u32, What)> = Vec::new();
    events.extend([(10, 0, What::Create { site: SITE }), (15, 0, What::Created { handle: 1, error: 0 })]);
    events.push((16, 1, What::ThreadStart { handle: 1 }));
    let mut began = 100;
    for turn in 0..ITEMS {
        let (begin, lock) = (1_000 + 20_000 * turn, Lock::mutex(HOT));
        let moved = begin + 15_200;
        events.push((begin, slow, What::Acquire { lock, mode: Mode::Exclusive, site: SITE }));
        events.push((begin + 15_000, slow, What::Release { lock, mode: Mode::Exclusive, site: SITE }));
        let woken = moved + 100;
        let (put, take) = (What::Put { queue: PIPE, items: BYTES }, What::Take { queue: PIPE, items: BYTES });
        events.push(if full { (moved, slow, take) } else { (moved, slow, put) });
        if known {
            events.push(if full { (began, quick, put) } else { (woken, quick, take) });
        }
        let name = if full { "write" } else { "read" };
        let number = CALLS.iter().position(|call| *call == name).unwrap() as u8;
        let call = SystemCall { number, outcome: Outcome::Done, file: Some(3), ticks: (woken - began) as u32 };
        events.push((began + 10, quick, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
        events.push((woken, quick, What::OnCpu { tid: 0, cpu: 0 }));
        events.push((woken, quick, What::Blocked { site: SITE, ticks: woken - began }));
        events.push((woken, quick, What::Called { call, site: SITE }));
        began = woken + 1_000;
    }
    events.push((began, 1, What::ThreadEnd { handle: 1 }));
    events.push((began + 500, 0, What::Exit));
    for thread in 0..2 {
        events.push((50, thread, What::OffCpu { tid: 0, reason: OffReason::Blocked }));
        events.push((60, thread, What::OnCpu { tid: 0, cpu: thread }));
    }
    events.sort_by_key(|(time, ..)| *time);
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

#[test]
fn a_reader_and_a_writer_win_what_the_other_end_wins() {
    for full in [false, true] {
        let ([half, same, twice], reasons) = foretold(&recorded(full, true), [0.5, 1.0, 2.0]);
        assert!((1_950_000.0..2_100_000.0).contains(&same), "{full}: {same}");
        assert!((same - half - 750_000.0).abs() < 50_000.0, "{full}: {half} {same}");
        assert!((twice - same - 1_500_000.0).abs() < 50_000.0, "{full}: {same} {twice}");
        assert_eq!(reasons, [""; 0], "{full}");
    }
}

#[test]
fn calls_at_a_stream_that_is_not_known_keep_their_length_and_no_one_trusts_them() {
    for full in [false, true] {
        let ([half, same], reasons) = foretold(&recorded(full, false), [0.5, 1.0]);
        assert!(same - half < 100_000.0, "{full}: {half} {same}");
        assert!(reasons.iter().any(|reason| reason.contains("blocked in calls")), "{full}: {reasons:?}");
    }
}
