//! Tests of waits at pipes, sockets and eventfds: where both ends are recorded, the critical path goes to the thread
//! that the waiting one waited for; else the report says that it cannot tell.

mod common;

use baton_report::Profile;
use baton_report::model::Report;
use baton_trace::Trace;
use common::{Run, folder};

/// The report on a run of `streams.c` with a stream of this sort; `None` if the machine records no context switches,
/// without which it is not known who sleeps.
fn report(sort: &str) -> Option<Report> {
    let directory = folder(&format!("streams.{sort}"));
    Run::new("streams.c", &[sort]).set("BATON_TRACE", &directory).ok();
    let report = Profile::of(Trace::open(&directory).expect("a trace")).report;
    std::fs::remove_dir_all(&directory).unwrap();
    report.threads.iter().all(|thread| thread.off_cpu_known == "all").then_some(report)
}

/// The share of the critical path in calls for sleep, input and output.
fn calls(report: &Report) -> f64 {
    report.verdict.shares.iter().find(|share| share.limit == "calls").map_or(0.0, |share| share.share)
}

/// The stage that makes the items sleeps; the other one waits for each of them, all the time.
#[test]
fn the_path_goes_through_a_stream_to_the_slow_stage() {
    for (sort, word) in [
        ("pipe", "pipe"),
        ("fork", "pipe"),
        ("copied", "pipe"),
        ("vectors", "pipe"),
        ("poll", "pipe"),
        ("epoll", "pipe"),
        ("pair", "socket"),
        ("messages", "socket"),
        ("named", "socket"),
        ("accepted", "socket"),
        ("eventfd", "eventfd"),
        ("counter", "eventfd"),
        ("tcp", "connection"),
    ] {
        let Some(report) = report(sort) else { return };
        let verdict = &report.verdict;
        assert_eq!(verdict.limit, "calls", "{sort}: {verdict:?}");
        assert!(verdict.headline.contains("make_item"), "{sort}: {verdict:?}");
        assert!(calls(&report) > 0.6, "{sort}: {:?}", verdict.shares);
        let [queue] = &report.queues[..] else { panic!("{sort}: one stream, and not {:?}", report.queues) };
        assert!(queue.name.starts_with(&format!("{word} in receive_item")), "{sort}: {}", queue.name);
        assert!(queue.takes.waited_ns.0 * 2 > report.totals.span_ns.0, "{sort}: {queue:?}");
        assert_eq!(queue.puts.items, queue.takes.items, "{sort}");
        let stage = report.slow_stage.as_ref().unwrap_or_else(|| panic!("{sort}: {queue:?}"));
        assert_eq!(stage.threads, [1], "{sort}: the thread that `main` made");
    }
}

/// The reader sleeps before each read; the writer waits for room.
#[test]
fn a_writer_waits_for_the_reader_that_makes_room() {
    let Some(report) = report("full") else { return };
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "calls", "{verdict:?}");
    assert!(verdict.headline.contains("make_item"), "{verdict:?}");
    let queue = &report.queues[0];
    assert!(queue.puts.waited_ns.0 * 2 > report.totals.span_ns.0, "{queue:?}");
    assert_eq!(report.slow_stage.as_ref().expect("a slow stage").threads, [1]);
}

/// Half of the time the reader waits for the stream's end, before which the writer sleeps.
#[test]
fn the_end_of_a_stream_is_a_wait_for_its_writer() {
    let Some(report) = report("end") else { return };
    let parts = &report.critical_path.parts;
    assert_eq!(report.verdict.limit, "calls", "{parts:?}");
    assert!(calls(&report) > 0.6, "{parts:?}");
    assert!(
        report.critical_path.steps.iter().any(|step| step.thread == 1 && step.end_ns.0 - step.start_ns.0 > 100_000_000)
    );
}

#[test]
fn a_writer_that_is_not_seen_is_not_guessed() {
    let Some(report) = report("unknown") else { return };
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.contains("receive_item"), "{verdict:?}");
    assert!(report.queues.is_empty(), "{:?}", report.queues);
}
