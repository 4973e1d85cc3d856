//! Threads that are made for little work each.

use super::causes::{SITE, US, has};
use baton_report::Profile;
use baton_report::model::Verdict;
use baton_trace::{Clock, ThreadIndex, Ticks, TraceBuilder, What};

/// The first thread makes ten threads one after the other, which run for `work` µs each, and joins each at once. A
/// thread runs 20 µs after it was made, and the first one goes on 20 µs after a thread's end.
fn threads(work: u64) -> Verdict {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(SITE, &[0x10]);
    let mut at = |us: u64, thread, what| {
        trace.push(Ticks(us * US), ThreadIndex(thread), what);
    };
    at(0, 0, What::ThreadStart { handle: 100 });
    for n in 1..=10 {
        let (now, handle) = (u64::from(n - 1) * (work + 41), 100 + u64::from(n));
        at(now, 0, What::Create { site: SITE });
        at(now + 1, 0, What::Created { handle, error: 0 });
        at(now + 1, 0, What::JoinBegin { handle, site: SITE });
        at(now + 20, n, What::ThreadStart { handle });
        at(now + 20 + work, n, What::ThreadEnd { handle });
        at(now + 40 + work, 0, What::JoinEnd { handle, error: 0 });
    }
    at(10 * (work + 41), 0, What::ThreadEnd { handle: 100 });
    Profile::of(trace.build()).report.verdict
}

#[test]
fn threads_for_little_work_each_are_told() {
    let verdict = threads(5);
    has(
        &verdict,
        "waiting",
        &["Starting threads limits it: 8", "10 threads besides the first lived for 5.00µs in the mean."],
    );
    assert!(verdict.next[0].text.starts_with("keep threads and hand work to them"), "{verdict:?}");
}

#[test]
fn threads_that_work_are_no_waste() {
    has(&threads(100), "running", &["own work limits it"]);
}
