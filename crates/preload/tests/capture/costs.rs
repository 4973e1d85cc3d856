//! What recording costs.

use crate::common::{Run, folder};
use crate::{count, recorded};
use baton_trace::What;
use baton_trace::analysis::off_cpu;

#[test]
fn what_recording_costs_is_in_the_trace() {
    recorded("c11.c", &[], |trace| {
        let cost = |wanted| {
            trace.events().find_map(|event| match event.what {
                What::ProbeCost { probe, picoseconds } if probe == wanted => Some(picoseconds),
                _ => None,
            })
        };
        // A plain event costs at least 5 ns, as it reads a clock, and less than 2 µs.
        assert!((5_000..2_000_000).contains(&cost(0).unwrap()), "{:?}", cost(0));
        assert!(cost(1).unwrap() > cost(0).unwrap());
    });
}

/// The CPU time, in nanoseconds, of a lock and unlock pair: the least of four runs.
fn nanoseconds_a_pair(run: impl Fn() -> Run) -> f64 {
    let once = || {
        let ran = run().run();
        let text = String::from_utf8(ran.output.stdout).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    (0..4).map(|_| once()).fold(f64::INFINITY, f64::min)
}

#[test]
fn an_event_costs_at_most_fifty_nanoseconds() {
    if baton_trace::Source::detect() != baton_trace::Source::Tsc {
        eprintln!("no time stamp counter to rely on here: events cost what the kernel's clock costs");
        return;
    }
    let pairs = || Run::new("pairs.c", &["1000000"]);
    let bare = nanoseconds_a_pair(pairs);
    let recorded = nanoseconds_a_pair(|| pairs().set("BATON_TRACE", folder("pairs")));
    let event = (recorded - bare) / 2.0;
    assert!(event <= 50.0, "{event:.1} ns an event: {bare:.1} ns a pair, {recorded:.1} recorded");
}

/// In a program whose threads end at once, a new thread has no samples at first, because to ask for them takes
/// longer than such a thread lives. A thread that lives on gets them.
#[test]
fn a_thread_that_outlives_many_others_is_sampled() {
    recorded("short_lives.c", &[], |trace| {
        if count(trace, |what| matches!(what, What::OnCpu { .. })) == 0 {
            return eprintln!("the kernel tells no context switches here");
        }
        let last = trace.threads.len() as u32 - 1;
        let samples =
            trace.events().filter(|event| event.thread.0 == last && matches!(event.what, What::Sample { .. }));
        assert!(samples.count() >= 4);
        assert!(off_cpu(trace)[last as usize].stretches.len() >= 20, "each nap is there");
    });
}
