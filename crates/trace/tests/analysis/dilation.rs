//! Tests how the analysis computes how much longer a run took because it was recorded.

use baton_trace::analysis::{CriticalPath, Recording, SWITCH_NS, Window, dilation};
use baton_trace::{Clock, Lock, Mode, SiteId, ThreadIndex, Ticks, Trace, TraceBuilder, What};
use baton_units::Nanos;

const LOCK: Lock = Lock::mutex(0x10);

/// A trace in which thread 0 works for 1,000 µs, and thread 1 beside it until 500 µs. An event
/// costs 100 ns, and each of the two events around a contended wait, with its CPU time, 400 ns.
fn trace(more: &[(u64, u32, What)]) -> Trace {
    let mut events = vec![
        (0, 0, What::ThreadStart { handle: 1 }),
        (1, 1, What::ThreadStart { handle: 2 }),
        (2, 0, What::ProbeCost { probe: 0, picoseconds: 100_000 }),
        (3, 0, What::ProbeCost { probe: 1, picoseconds: 800_000 }),
        (500_000, 1, What::ThreadEnd { handle: 2 }),
        (1_000_000, 0, What::ThreadEnd { handle: 1 }),
    ];
    events.extend(more);
    events.sort_by_key(|(time, ..)| *time);
    let mut builder = TraceBuilder::new(Clock::nanoseconds());
    for (time, thread, what) in events {
        builder.push(Ticks(time), ThreadIndex(thread), what);
    }
    builder.build()
}

fn on_path(more: &[(u64, u32, What)]) -> u64 {
    let trace = trace(more);
    let path = CriticalPath::of(&trace, &Window::whole(&trace));
    let recording = Recording::of(&trace, &path);
    assert_eq!((recording.event_ns, recording.contended_ns), (Some(100.0), Some(800.0)));
    recording.on_path.0
}

/// `count` pairs of an acquisition and a release by thread `thread`, from `begin` on.
fn pairs(thread: u32, begin: u64, count: u64) -> Vec<(u64, u32, What)> {
    let site = SiteId(1);
    let (take, give) = (
        What::Acquire { lock: LOCK, mode: Mode::Exclusive, site },
        What::Release { lock: LOCK, mode: Mode::Exclusive, site },
    );
    (0..count).flat_map(|n| [(begin + 20 * n, thread, take), (begin + 20 * n + 10, thread, give)]).collect()
}

#[test]
fn events_on_the_path_cost_and_those_beside_it_do_not() {
    let bare = on_path(&[]);
    assert_eq!(on_path(&pairs(0, 1_000, 50)) - bare, 100 * 100);
    assert_eq!(on_path(&pairs(1, 1_000, 50)), bare, "thread 1 works beside the path");
}

#[test]
fn switches_cpu_times_and_pauses_cost_more_than_an_event() {
    let bare = on_path(&[]);
    let one = |what| on_path(&[(600_000, 0, what)]) - bare;
    assert_eq!(one(What::OnCpu { tid: 0, cpu: 0 }), 100 + SWITCH_NS as u64);
    assert_eq!(one(What::CpuTime { ns: 5 }), 100 + 300);
    assert_eq!(one(What::Pause { ticks: 70_000 }), 70_000);
}

#[test]
fn the_recorders_time_is_taken_off_the_run() {
    assert_eq!(dilation(Nanos(1_000), Nanos(0)), 1.0);
    assert_eq!(dilation(Nanos(1_000), Nanos(500)), 2.0);
    assert!(dilation(Nanos(0), Nanos(10)).is_finite() && dilation(Nanos(10), Nanos(20)).is_finite());
}
