//! Work that is spread unevenly between the waits at a barrier.

use super::causes::{A, Run, SITE, X, has};
use baton_report::model::Verdict;
use baton_trace::What;
use baton_trace::meta::{Host, Meta};

const STEP: u64 = 0x6000;

/// Two threads work between the waits at `step`, in 20 rounds: one for `one` µs, the other for `other` µs. If `changes`,
/// they change places each round. Each wait ends a microsecond after the second thread has come. The machine has
/// `cpus` CPUs.
fn rounds(one: u64, other: u64, changes: bool, cpus: Option<u32>) -> Verdict {
    let mut run = Run::new();
    run.0.name_object(STEP, "step");
    if let Some(cpus) = cpus {
        run.0.meta(meta(cpus));
    }
    let mut now = 0;
    for round in 0..20 {
        let late = u32::from(changes && round % 2 == 1);
        let (first, last) = (one.min(other), one.max(other));
        run.at(now + first, 1 - late, What::BarrierArrive { barrier: STEP, site: SITE });
        run.at(now + last, late, What::BarrierArrive { barrier: STEP, site: SITE });
        now += last + 1;
        for thread in 0..2 {
            run.at(now, thread, What::BarrierLeave { barrier: STEP, serial: thread == 0 });
        }
    }
    run.end(now).verdict
}

fn meta(cpus: u32) -> Meta {
    Meta { host: Host { cpus, ..Host::default() }, ..Meta::default() }
}

const GAIN: &str = "by work that is spread evenly between the waits at step: at most 24.";

#[test]
fn uneven_work_at_a_barrier_is_told() {
    // Half of the 50 us that one thread waits, of 101 us a round.
    let verdict = rounds(50, 100, false, None);
    has(&verdict, "running", &[]);
    assert!(verdict.gains.iter().any(|gain| gain.starts_with(GAIN)), "{verdict:?}");
    let text = "spread the work evenly between the waits at step: thread 0 came last in 20 of 20 rounds";
    assert!(verdict.next.iter().any(|step| step.text == text), "{verdict:?}");
}

#[test]
fn a_late_thread_that_changes_is_no_thread_with_more_work() {
    let verdict = rounds(50, 100, true, None);
    assert!(verdict.gains.iter().any(|gain| gain.starts_with(GAIN)), "{verdict:?}");
    let text = "spread the work evenly between the waits at step: now one thread came last, now another";
    assert!(verdict.next.iter().any(|step| step.text == text), "{verdict:?}");
}

#[test]
fn even_work_and_threads_without_cpus_are_not_told() {
    for verdict in [rounds(97, 100, false, None), rounds(50, 100, false, Some(1))] {
        assert!(!format!("{verdict:?}").contains("evenly"), "{verdict:?}");
    }
    assert!(format!("{:?}", rounds(50, 100, false, Some(2))).contains("evenly"));
    // Without a barrier there is nothing to say.
    let mut run = Run::new();
    run.take(100, 0, A, X, SITE).give(110, 0, A, X);
    assert!(!format!("{:?}", run.end(110).verdict).contains("evenly"));
}
