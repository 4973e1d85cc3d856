//! Work that is spread unevenly: between the waits at a barrier, and between threads.

use super::causes::{A, Run, SITE, X, has};
use baton_report::model::Verdict;
use baton_trace::meta::{Host, Meta};
use baton_trace::{How, OffReason, What};

const STEP: u64 = 0x6000;
const READY: u64 = 0x7000;
const DONE: u64 = 0x8000;

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

/// Thread 0 hands over to thread 1, which works for `work` µs while thread 0 waits, in 20 rounds.
fn hand_overs(work: u64) -> Verdict {
    let mut run = Run::new();
    for thread in 0..4 {
        run.at(0, thread, What::OnCpu { tid: 0, cpu: thread });
    }
    for thread in 2..4 {
        run.at(1, thread, What::OffCpu { tid: 0, reason: OffReason::Blocked });
    }
    for round in 0..20 {
        let now = round * (work + 25);
        run.at(now, 1, What::SemWait { semaphore: READY, site: SITE });
        run.at(now, 1, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        run.at(now + 20, 0, What::SemPost { semaphore: READY, site: SITE });
        run.at(now + 21, 0, What::SemWait { semaphore: DONE, site: SITE });
        run.at(now + 21, 0, What::OffCpu { tid: 0, reason: OffReason::Blocked });
        run.at(now + 22, 1, What::OnCpu { tid: 0, cpu: 1 });
        run.at(now + 22, 1, What::SemTaken { semaphore: READY, how: How::sleeping(1) });
        run.at(now + 22 + work, 1, What::SemPost { semaphore: DONE, site: SITE });
        run.at(now + 24 + work, 0, What::OnCpu { tid: 0, cpu: 0 });
        run.at(now + 24 + work, 0, What::SemTaken { semaphore: DONE, how: How::sleeping(1) });
    }
    let end = 20 * (work + 25);
    for thread in 2..4 {
        run.at(end, thread, What::OnCpu { tid: 0, cpu: thread });
    }
    run.end(end).verdict
}

#[test]
fn a_thread_that_works_far_more_than_others_is_named() {
    let verdict = hand_overs(100);
    has(
        &verdict,
        "running",
        &[" Most of it is that of thread 1, which ran for 2.0", ", and no other thread for more than 4"],
    );
    // Neither of two threads that work for as long is named.
    assert!(!hand_overs(25).headline.contains("Most of it"), "{:?}", hand_overs(25));
}
