//! Verdicts where the trace does not show what a thread waited for, and where threads are bound to CPUs.

use baton_report::Profile;
use baton_report::model::Report;
use baton_report::terminal::{self, Style};
use baton_trace::{
    Affinity, Clock, How, Lock, Mode, OffReason, Outcome, SiteId, SystemCall, ThreadIndex, Ticks, TraceBuilder,
    Waitable, What, notes,
};

const MS: u64 = 1_000_000;
const SITE: SiteId = SiteId(1);
const LOCK: Lock = Lock::mutex(0x7f00_0000);

/// Begins a trace with threads that start at 0, each on its own CPU.
fn builder(threads: u32) -> TraceBuilder {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(SITE, &[0x1001]);
    for thread in 0..threads {
        trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) + 1 });
        trace.push(Ticks(1), ThreadIndex(thread), What::OnCpu { tid: 0, cpu: thread });
    }
    trace
}

fn off(trace: &mut TraceBuilder, thread: u32, (from, to): (u64, u64), reason: OffReason, cpu: u32) {
    trace.push(Ticks(from), ThreadIndex(thread), What::OffCpu { tid: 0, reason });
    trace.push(Ticks(to), ThreadIndex(thread), What::OnCpu { tid: 0, cpu });
}

fn call(trace: &mut TraceBuilder, thread: u32, name: &str, (from, to): (u64, u64)) {
    off(trace, thread, (from, to), OffReason::Blocked, thread);
    let number = baton_trace::point::CALLS.iter().position(|call| *call == name).unwrap() as u8;
    let ticks = ((to - from) as u32).min(SystemCall::LONG);
    let call = SystemCall { number, outcome: Outcome::Done, file: None, ticks };
    trace.push(Ticks(to), ThreadIndex(thread), What::Blocked { site: SITE, ticks: to - from });
    trace.push(Ticks(to), ThreadIndex(thread), What::Called { call, site: SITE });
}

/// Ends the process at `end` by thread 0, which the other threads outlive.
fn report(mut trace: TraceBuilder, threads: u32, end: u64) -> Report {
    for thread in 1..threads {
        trace.push(Ticks(end - 1), ThreadIndex(thread), What::Marker { name: 0, value: 0 });
    }
    trace.push(Ticks(end), ThreadIndex(0), What::Exit);
    Profile::of(trace.build()).report
}

#[test]
fn a_thread_that_sleeps_while_others_work_may_wait_for_them() {
    let sleeps = |others: u32| {
        let mut trace = builder(1 + others);
        for turn in 0..9 {
            call(&mut trace, 0, "usleep", (MS + turn * 10 * MS, 10 * MS + turn * 10 * MS));
        }
        report(trace, 1 + others, 100 * MS)
    };
    let report = sleeps(1);
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.starts_with("Cannot tell: for 81.0% of its critical path a thread sleeps in 0x1001"));
    assert!(verdict.gains[0].starts_with("by another lock: cannot tell; 81.0%"), "{verdict:?}");
    assert!(verdict.gains.iter().all(|gain| !gain.contains("shorter")), "{verdict:?}");
    let commands: Vec<&str> = verdict.next.iter().filter_map(|step| step.command.as_deref()).collect();
    assert!(commands[0].starts_with("baton try "), "{verdict:?}");
    let beside = &report.critical_path.beside[0];
    assert_eq!((beside.call.as_str(), beside.total_ns.0), ("usleep", 81 * MS));
    assert!(terminal::summary(&report, Style::default()).contains("Cannot tell"));
    assert_eq!(sleeps(0).verdict.limit, "calls", "a thread that is alone waits for no other");
}

/// Thread 0 works for a quarter of its time. It spends the rest in a loop that yields its CPU or naps, while
/// thread 1 sleeps.
#[test]
fn a_loop_that_yields_the_cpu_or_naps_is_named_as_a_wait_for_something_unknown() {
    for (naps, expected) in [
        (false, "a thread yields its CPU in 0x1001 (`sched_yield`) again and again. It seems to wait there"),
        (true, "a thread sleeps briefly in 0x1001 (`usleep`) again and again. It seems to wait there"),
    ] {
        let mut trace = builder(2);
        off(&mut trace, 1, (10, 99 * MS), OffReason::Blocked, 1);
        for turn in 0..90u64 {
            let at = turn * MS + 250_000;
            trace.push(Ticks(at), ThreadIndex(0), What::Marker { name: 0, value: 0 });
            if naps {
                (0..10).for_each(|nap| call(&mut trace, 0, "usleep", (at + nap * 75_000, at + nap * 75_000 + 74_000)));
            } else {
                let yielded = What::Yielded { site: SITE, calls: 1_000, ticks: 750_000 };
                trace.push(Ticks(at + 750_000), ThreadIndex(0), yielded);
            }
        }
        let report = report(trace, 2, 100 * MS);
        let verdict = &report.verdict;
        assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
        assert!(
            verdict.headline.starts_with("Cannot tell: for 67.") && verdict.headline.contains(expected),
            "{verdict:?}"
        );
        assert!(verdict.gains[0].starts_with("by another lock: cannot tell; 67."), "{verdict:?}");
        assert!(verdict.next[0].text.starts_with("see in the code what the loop in 0x1001 waits for"), "{verdict:?}");
        assert!(report.critical_path.beside[0].again && report.critical_path.beside.len() == 1);
    }
}

/// Threads 1 and 2 hand a lock to each other all the time, while thread 0, which created them, sleeps for
/// 90 ms and ends the process.
#[test]
fn a_program_that_runs_for_a_set_time_is_limited_by_what_its_threads_do() {
    let mut trace = builder(3);
    trace.push(Ticks(2), ThreadIndex(0), What::Created { handle: 3, error: 0 });
    let (lock, mode, site) = (LOCK, Mode::Exclusive, SITE);
    for turn in 0..99 {
        let (at, thread) = (turn * MS + 10, ThreadIndex(1 + (turn % 2) as u32));
        trace.push(Ticks(at.max(MS + 5) - MS), thread, What::Request { lock, mode, site });
        trace.push(Ticks(at), thread, What::Acquired { lock, mode, how: How::OPAQUE });
        trace.push(Ticks(at + MS - 100), thread, What::Release { lock, mode, site });
    }
    call(&mut trace, 0, "sleep", (2 * MS, 92 * MS));
    let verdict = report(trace, 3, 100 * MS).verdict;
    assert_ne!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.most_by_lock > 0.0 || verdict.headline.contains("lock"), "{verdict:?}");
}

#[test]
fn a_wait_for_a_child_that_was_not_recorded_says_how_to_record_it() {
    let mut trace = builder(1);
    call(&mut trace, 0, "waitpid", (MS, 99 * MS));
    let verdict = report(trace, 1, 100 * MS).verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.contains("waits for a child process in 0x1001, and child processes were not recorded"));
    assert_eq!(verdict.next[0].text, "record the child processes, too", "{verdict:?}");
}

/// The thread waits for a lock for half of its time, which no thread of its process holds.
#[test]
fn a_lock_that_another_process_may_hold_is_not_free() {
    let waits = |shared: bool| {
        let mut trace = builder(1);
        let (lock, mode, site) = (LOCK, Mode::Exclusive, SITE);
        for turn in 0..10 {
            let at = turn * 10 * MS + 2;
            let thread = ThreadIndex(0);
            trace.push(Ticks(at), thread, What::Request { lock, mode, site });
            if shared && turn == 0 {
                let what = What::Note { address: lock.address, code: notes::PROCESS_SHARED };
                trace.push(Ticks(at), thread, what);
            }
            trace.push(Ticks(at + 5 * MS), thread, What::Acquired { lock, mode, how: How::OPAQUE });
            trace.push(Ticks(at + 6 * MS), thread, What::Release { lock, mode, site });
        }
        report(trace, 1, 100 * MS)
    };
    let shared = waits(true);
    let verdict = &shared.verdict;
    assert_eq!((verdict.limit.as_str(), verdict.most_by_lock), ("cannot-tell", 0.0), "{verdict:?}");
    assert!(verdict.headline.contains("or waits for it, and other processes use that lock, too"), "{verdict:?}");
    assert!(shared.locks[0].process_shared && verdict.unseen_share > 0.55, "holds and waits: {verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock: cannot tell"), "{verdict:?}");
    assert!(verdict.next[0].text.starts_with("record all processes"), "{verdict:?}");
    let alone = waits(false).verdict;
    assert!((alone.most_by_lock - 0.5).abs() < 0.01, "{alone:?}");
}

/// The thread waits for a post by another process.
#[test]
fn a_semaphore_that_another_process_may_post_is_not_explained() {
    let mut trace = builder(1);
    let (semaphore, thread) = (0x40, ThreadIndex(0));
    trace.push(Ticks(2), thread, What::Init { sort: Waitable::Semaphore, address: semaphore, site: SITE });
    trace.push(Ticks(3), thread, What::Note { address: semaphore, code: notes::PROCESS_SHARED });
    trace.push(Ticks(4), thread, What::SemWait { semaphore, site: SITE });
    trace.push(Ticks(99 * MS), thread, What::SemTaken { semaphore, how: How::OPAQUE });
    let verdict = report(trace, 1, 100 * MS).verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.contains("waits for the semaphore"), "{verdict:?}");
    assert!(verdict.headline.contains("which other processes use, too"), "{verdict:?}");
}

/// Thread 0 may use CPUs 0 and 1 and sleeps. Threads 1 and 2 share CPU 0, by turns of 5 ms.
#[test]
fn threads_on_one_cpu_are_bound_if_they_may_use_no_other() {
    let shares = |bound: bool| {
        let mut trace = builder(3);
        for (thread, words) in [(0, 0b11), (1, 0b01), (2, 0b01)] {
            let words = if bound { words } else { 0b11 };
            Affinity::records(0, &[words]).for_each(|what| {
                trace.push(Ticks(2), ThreadIndex(thread), what);
            });
        }
        for thread in [1, 2] {
            trace.push(Ticks(3), ThreadIndex(thread), What::OnCpu { tid: 0, cpu: 0 });
        }
        off(&mut trace, 0, (MS, 99 * MS), OffReason::Blocked, 1);
        for turn in 0..10 {
            let at = turn * 10 * MS + 10;
            off(&mut trace, 1, (at, at + 5 * MS), OffReason::Preempted, 0);
            off(&mut trace, 2, (at + 5 * MS, at + 10 * MS - 1), OffReason::Preempted, 0);
        }
        for thread in [1, 2] {
            let handle = u64::from(thread) + 1;
            trace.push(Ticks(101 * MS), ThreadIndex(thread), What::ThreadEnd { handle });
        }
        trace.push(Ticks(90), ThreadIndex(0), What::JoinBegin { handle: 2, site: SITE });
        trace.push(Ticks(101 * MS + 9), ThreadIndex(0), What::JoinEnd { handle: 2, error: 0 });
        report(trace, 1, 102 * MS)
    };
    let report = shares(true);
    let verdict = &report.verdict;
    assert_eq!((report.critical_path.bound_thread, report.critical_path.ready_left_ns.0 < MS), (Some(1), true));
    let bound = verdict.shares.iter().find(|share| share.limit == "bound").expect("a share");
    assert!(bound.share > 0.45, "{verdict:?}");
    assert!(
        verdict.gains.iter().any(|gain| gain.starts_with("if threads were not bound to CPU 0: at most 4")),
        "{verdict:?}"
    );
    assert!(
        verdict.next.iter().any(|step| step.text.starts_with("let the threads use more than CPU 0")),
        "{verdict:?}"
    );
    assert!(!verdict.headline.contains("ran none of the program's threads, as"), "{verdict:?}");
    let others = shares(false);
    assert!(others.verdict.shares.iter().any(|share| share.limit == "others"), "{:?}", others.verdict);
}
