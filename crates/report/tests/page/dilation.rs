//! Tests how a report says how much recording slowed a program down: in its first lines, and among
//! the doubts if it is much.

use baton_report::Profile;
use baton_report::terminal::{self, Style};
use baton_trace::disturbance::ALONE;
use baton_trace::{Clock, Lock, Meta, Mode, SiteId, ThreadIndex, Ticks, TraceBuilder, What};

/// A run of 1 ms with 1,000 acquisitions: 2,000 events of 200 ns take 400 µs of its path.
fn profile(alone_ns: Option<u64>) -> Profile {
    let (lock, mode, site) = (Lock::mutex(0x10), Mode::Exclusive, SiteId(1));
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    let mut meta = Meta { elapsed_ns: 1_000_000, ..Meta::default() };
    meta.extra.extend(alone_ns.map(|ns| (ALONE.to_owned(), ns.into())));
    trace.meta(meta);
    let mut put = |time, what| {
        trace.push(Ticks(time), ThreadIndex(0), what);
    };
    put(0, What::ThreadStart { handle: 1 });
    put(1, What::ProbeCost { probe: 0, picoseconds: 200_000 });
    for n in 0..1_000 {
        put(1_000 + 900 * n, What::Acquire { lock, mode, site });
        put(1_400 + 900 * n, What::Release { lock, mode, site });
    }
    put(1_000_000, What::ThreadEnd { handle: 1 });
    Profile::of(trace.build())
}

fn text(profile: &Profile) -> String {
    let text = terminal::summary(&profile.report, Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_estimate_is_called_one() {
    let profile = profile(None);
    let dilation = profile.report.run.dilation.clone().expect("an event's cost is known");
    assert!((1.66..1.68).contains(&dilation.times) && dilation.alone_ns.is_none(), "{dilation:?}");
    let text = text(&profile);
    assert!(text.contains("recording: at least 1.67 times the program's own time (estimated)"), "{text}");
    assert!(text.contains("Not to be trusted: recorded, the program took 1.67 times as long (at least;"), "{text}");
}

#[test]
fn a_measured_time_goes_before_the_estimate() {
    let slow = profile(Some(500_000));
    let slowly = text(&slow);
    assert!(slowly.contains("recording: 2.00 times the program's own 500µs (1.67 by the recorder's work)"), "{slowly}");
    assert!(slowly.contains("took 2.00 times as long (alone it took 500µs)"), "{slowly}");
    let fast = text(&profile(Some(990_000)));
    assert!(fast.contains("recording: 1.01 times") && !fast.contains("Not to be trusted"), "{fast}");
}
