//! Verdicts on futexes of the program's own, on locks inside of the C library, and on what the trace does not explain.

use crate::support;
use baton_report::Profile;
use baton_report::model::Report;
use baton_report::terminal::{self, Style};
use baton_trace::{Clock, FutexEnd, How, OffReason, SiteId, ThreadIndex, Ticks, TraceBuilder, WakeReason, What, notes};

const LOCK: SiteId = SiteId(1);
const MS: u64 = 1_000_000;
const ADDRESS: u64 = 0x7f00_0000;

fn builder() -> TraceBuilder {
    let mut trace = TraceBuilder::new(Clock::nanoseconds());
    trace.site(LOCK, &[0x1001, 0x2002]);
    for thread in 0..3 {
        trace.push(Ticks(0), ThreadIndex(thread), What::ThreadStart { handle: u64::from(thread) + 1 });
    }
    trace
}

fn report(mut trace: TraceBuilder, end: u64) -> Report {
    for thread in 0..3 {
        trace.push(
            Ticks(end + u64::from(thread)),
            ThreadIndex(thread),
            What::ThreadEnd { handle: u64::from(thread) + 1 },
        );
    }
    Profile::of(trace.build()).report
}

/// Three threads hand a lock on to each other in turns, after a millisecond each. `wait`, `taken`
/// and `wake` add the events of a wait, of its end and of a wake-up.
fn by_turns(
    trace: &mut TraceBuilder,
    wait: impl Fn(&mut TraceBuilder, u64, ThreadIndex),
    taken: impl Fn(&mut TraceBuilder, u64, ThreadIndex),
    wake: impl Fn(&mut TraceBuilder, u64, ThreadIndex),
) -> u64 {
    for thread in 1..3 {
        wait(trace, 10, ThreadIndex(thread));
    }
    for turn in 0..30u64 {
        let (now, next) = (ThreadIndex(turn as u32 % 3), ThreadIndex((turn as u32 + 1) % 3));
        let end = (turn + 1) * MS;
        wake(trace, end, now);
        taken(trace, end + 5_000, next);
        wait(trace, end + 6_000, now);
    }
    31 * MS
}

fn futex_wait(trace: &mut TraceBuilder, at: u64, thread: ThreadIndex) {
    trace.push(Ticks(at), thread, What::FutexWait { futex: ADDRESS, site: LOCK });
}

fn futex_wake(trace: &mut TraceBuilder, at: u64, thread: ThreadIndex) {
    trace.push(Ticks(at), thread, What::FutexWake { futex: ADDRESS, site: LOCK });
    trace.push(Ticks(at), thread, What::FutexWoke { futex: ADDRESS, asked: 1, woken: 1 });
}

#[test]
fn a_futex_that_threads_take_in_turns_limits_the_program() {
    let mut trace = builder();
    let end = by_turns(
        &mut trace,
        futex_wait,
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::FutexWaitEnd { futex: ADDRESS, end: FutexEnd::Woken });
        },
        futex_wake,
    );
    let report = report(trace, end);
    let verdict = &report.verdict;
    assert_eq!((verdict.limit.as_str(), verdict.unseen_share), ("futex", 0.0), "{verdict:?}");
    assert!(verdict.shares[0].share > 0.9, "{verdict:?}");
    assert!(verdict.headline.contains("A futex of the program's own limits it"), "{verdict:?}");
    assert!(verdict.headline.contains("0x1001, called from 0x2002"), "{verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock in place of pthread's: nothing"), "{verdict:?}");
    let waitable = &report.waitables[0];
    assert_eq!((waitable.kind.as_str(), waitable.waits, waitable.signals), ("futex", 30, 30));
    assert_eq!(report.threads.iter().map(|t| t.blocked_ns.0 + t.off_ns.0).sum::<u64>(), 0);
    let text = terminal::summary(&report, Style::default());
    assert!(text.contains("on a CPU while others wait at the futex in 0x1001"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Each thread sleeps for most of its turn with the lock: the sleep belongs to what the others wait
/// for at the futex, and has to go out of there.
#[test]
fn sleep_under_a_futex_is_what_others_wait_for() {
    let mut trace = builder();
    let end = by_turns(
        &mut trace,
        futex_wait,
        |trace, at, thread| {
            let mut push = |time: u64, what: What| {
                trace.push(Ticks(time), thread, what);
            };
            push(at, What::FutexWaitEnd { futex: ADDRESS, end: FutexEnd::Woken });
            push(at + 10_000, What::OffCpu { tid: 0, reason: OffReason::Blocked });
            push(at + 900_000, What::OnCpu { tid: 0, cpu: 0 });
            push(at + 900_010, What::Blocked { site: SiteId(2), ticks: 890_020 });
        },
        futex_wake,
    );
    let report = report(trace, end);
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "futex", "{verdict:?}");
    assert!(verdict.headline.contains("% the thread that others wait for is off its CPU"), "{verdict:?}");
    let bound = verdict.gains.iter().find(|gain| gain.starts_with("if no thread waited at")).expect("the bound");
    assert!(bound.contains("at most 9"), "{verdict:?}");
    assert!(verdict.next[0].text.starts_with("take the sleep, input or output out"), "{verdict:?}");
    let asleep = report.critical_path.parts.iter().find(|part| part.kind == "futex-awaited-call").expect("the sleep");
    assert_eq!(asleep.total_ns.0, 28 * 890_000, "{:?}", report.critical_path.parts);
}

fn sem_wait(trace: &mut TraceBuilder, at: u64, thread: ThreadIndex) {
    trace.push(Ticks(at), thread, What::SemWait { semaphore: ADDRESS, site: LOCK });
}

fn sem_taken(trace: &mut TraceBuilder, at: u64, thread: ThreadIndex) {
    trace.push(Ticks(at), thread, What::SemTaken { semaphore: ADDRESS, how: How::OPAQUE });
}

fn sem_post(trace: &mut TraceBuilder, at: u64, thread: ThreadIndex) {
    trace.push(Ticks(at), thread, What::SemPost { semaphore: ADDRESS, site: LOCK });
}

/// A semaphore or a condition variable that threads pass on to each other serves as a lock: what they do
/// in their turns is no work of their own.
#[test]
fn a_semaphore_or_condition_that_threads_take_in_turns_limits_the_program() {
    let mut trace = builder();
    let end = by_turns(&mut trace, sem_wait, sem_taken, sem_post);
    let mut conditions = builder();
    let last = by_turns(
        &mut conditions,
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::CondWait { condition: ADDRESS, site: LOCK });
        },
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::CondWake { condition: ADDRESS, reason: WakeReason::Woken });
        },
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::CondSignal { condition: ADDRESS, site: LOCK });
        },
    );
    for (report, kind) in [(report(trace, end), "semaphore"), (report(conditions, last), "condition")] {
        let verdict = &report.verdict;
        assert_eq!(verdict.limit, "awaited", "{verdict:?}");
        assert!(verdict.shares[0].share > 0.85, "{verdict:?}");
        assert!(verdict.gains.iter().any(|gain| gain.starts_with("if no thread waited at")), "{verdict:?}");
        assert!(verdict.next[0].text.starts_with("do less between waiting at"), "{verdict:?}");
        let text = terminal::summary(&report, Style::default());
        assert!(text.contains(&format!("on a CPU while others wait at the {kind} in 0x1001")), "{text}");
    }
}

/// Thread 2 posts the semaphore and takes it again before the thread that it woke does, so that no wake-up
/// leads to it. Thread 1 gets its turn at last.
#[test]
fn a_semaphore_that_its_thread_takes_again_at_once_limits_the_program() {
    let mut trace = builder();
    sem_wait(&mut trace, 10, ThreadIndex(1));
    for turn in 0..30u64 {
        let take = What::SemTake { semaphore: ADDRESS, site: LOCK };
        trace.push(Ticks(turn * MS + 20), ThreadIndex(2), take);
        sem_post(&mut trace, turn * MS + 950_000, ThreadIndex(2));
    }
    sem_taken(&mut trace, 30 * MS, ThreadIndex(1));
    let verdict = report(trace, 30 * MS + 10).verdict;
    assert_eq!(verdict.limit, "awaited", "{verdict:?}");
    assert!(verdict.shares[0].share > 0.9, "{verdict:?}");
    assert!(verdict.headline.contains("threads waited at the semaphore in 0x1001"), "{verdict:?}");
    assert!(verdict.next[0].text.starts_with("do less between waiting at"), "{verdict:?}");
}

/// Threads 1 and 2 wait for what thread 0 makes. No thread hands the semaphore on, so the time is thread 0's
/// own work.
#[test]
fn a_semaphore_that_carries_work_is_no_lock() {
    let mut trace = builder();
    for turn in 0..30u64 {
        let (at, thread) = (turn * MS, ThreadIndex(1 + turn as u32 % 2));
        sem_wait(&mut trace, at + 100, thread);
        sem_post(&mut trace, at + 900_000, ThreadIndex(0));
        sem_taken(&mut trace, at + 905_000, thread);
    }
    let verdict = report(trace, 31 * MS).verdict;
    assert_eq!(verdict.limit, "running", "{verdict:?}");
    assert!(verdict.shares.iter().all(|share| share.limit != "awaited"), "{verdict:?}");
}

/// The trace has thread 2's switches up to 1 ms, and thread 2 had its CPU for a twentieth of the rest.
#[test]
fn lost_switches_are_not_taken_for_switches_that_were_not_recorded() {
    let mut trace = builder();
    let push = |trace: &mut TraceBuilder, at: u64, what: What| {
        trace.push(Ticks(at), ThreadIndex(2), what);
    };
    push(&mut trace, 10, What::OnCpu { tid: 0, cpu: 0 });
    push(&mut trace, MS, What::OffCpu { tid: 0, reason: OffReason::Unknown });
    push(&mut trace, 30 * MS, What::CpuTime { ns: 2 * MS });
    push(&mut trace, 30 * MS + 10, What::OnCpu { tid: 0, cpu: 0 });
    push(&mut trace, 30 * MS + 20, What::CpuTime { ns: 2 * MS + 10 });
    push(&mut trace, 30 * MS + 30, What::Note { address: 0, code: notes::RING_FULL });
    let report = report(trace, 30 * MS + 40);
    let verdict = &report.verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!(verdict.headline.contains("more were lost"), "{verdict:?}");
    let steps: Vec<_> = verdict.next.iter().filter_map(|step| step.command.as_deref()).collect();
    assert!(steps.iter().all(|command| !command.contains("perf_event_paranoid")), "{steps:?}");
    assert!(
        report.limits.unseen.iter().all(|text| !text.contains("no context switches")),
        "{:?}",
        report.limits.unseen
    );
}

#[test]
fn a_lock_of_the_c_library_has_its_caller() {
    let mut trace = builder();
    let end = by_turns(
        &mut trace,
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::LibcWait { lock: ADDRESS, site: LOCK });
        },
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::LibcTaken { lock: ADDRESS });
        },
        |trace, at, thread| {
            trace.push(Ticks(at), thread, What::LibcWake { lock: ADDRESS, site: SiteId::UNKNOWN });
        },
    );
    let verdict = report(trace, end).verdict;
    assert_eq!(verdict.limit, "libc-lock", "{verdict:?}");
    assert!(verdict.headline.contains("the C library's lock in 0x1001 (waits begin in 0x1001, called from 0x2002)"));
}

/// The path runs along thread 2, which meets others at the lock each millisecond and is sampled
/// soon after. 30 of these 40 samples lie in the function that takes the lock, and count as time at
/// the lock. The other 10, and 5 samples far from all meetings, are the program's own work.
#[test]
fn samples_put_work_at_a_contended_lock() {
    let mut trace = builder();
    let thread = ThreadIndex(2);
    for ms in 1..=40 {
        let at = ms * MS;
        trace.push(Ticks(at), thread, What::LibcWait { lock: ADDRESS, site: LOCK });
        trace.push(Ticks(at), thread, What::LibcTaken { lock: ADDRESS });
        trace.push(Ticks(at + 100), thread, What::LibcWake { lock: ADDRESS, site: SiteId::UNKNOWN });
        // 0x1000 lies just before the return address 0x1001 of the lock's call site; 0x5000 is in
        // another function.
        let code = if ms % 4 == 0 { 0x5000 } else { 0x1000 };
        trace.push(Ticks(at + 200), thread, What::Sample { code, micros: 1000 });
    }
    for ms in 50..55 {
        trace.push(Ticks(ms * MS), thread, What::Sample { code: 0x1000, micros: 1000 });
    }
    let report = report(trace, 55 * MS);
    let part = report.critical_path.parts.iter().find(|part| part.kind == "libc-lock-code").unwrap();
    assert_eq!((part.total_ns.0, part.waitable), (30 * MS, Some(0)), "{:?}", report.critical_path.parts);
    assert_eq!(report.verdict.limit, "libc-lock", "{:?}", report.verdict);
}

/// One function takes two locks. The samples count for the second one, at which their thread meets
/// others.
#[test]
fn samples_in_a_function_of_two_locks_belong_to_the_lock_that_the_thread_met() {
    let mut trace = builder();
    let other = ADDRESS + 64;
    for (thread, lock) in [(1, ADDRESS), (2, other)] {
        trace.push(Ticks(10), ThreadIndex(thread), What::LibcWait { lock, site: LOCK });
        trace.push(Ticks(20), ThreadIndex(thread), What::LibcTaken { lock });
    }
    let thread = ThreadIndex(2);
    for ms in 1..=40 {
        trace.push(Ticks(ms * MS), thread, What::LibcWake { lock: other, site: SiteId::UNKNOWN });
        trace.push(Ticks(ms * MS + 200), thread, What::Sample { code: 0x1000, micros: 1000 });
    }
    let report = report(trace, 41 * MS);
    let parts = &report.critical_path.parts;
    let at_locks: Vec<_> = parts.iter().filter(|part| part.kind == "libc-lock-code").collect();
    assert_eq!(at_locks.len(), 1, "{parts:?}");
    let name = &report.waitables[at_locks[0].waitable.unwrap() as usize].address;
    assert_eq!((at_locks[0].total_ns.0, name.as_str()), (40 * MS, "0x7f000040"), "{parts:?}");
}

fn off(trace: &mut TraceBuilder, from: u64, to: u64) {
    let reason = OffReason::Blocked;
    trace.push(Ticks(from), ThreadIndex(2), What::OffCpu { tid: 0, reason });
    trace.push(Ticks(to), ThreadIndex(2), What::OnCpu { tid: 0, cpu: 0 });
}

#[test]
fn what_is_not_explained_leaves_other_locks_open() {
    // Thread 2 is blocked for 5 of 40 ms, an eighth of the path, and the rest is work.
    let mut trace = builder();
    off(&mut trace, 10 * MS, 15 * MS);
    let verdict = report(trace, 40 * MS).verdict;
    assert_eq!(verdict.limit, "cannot-tell", "{verdict:?}");
    assert!((verdict.unseen_share - 0.125).abs() < 0.01, "{verdict:?}");
    assert!(verdict.headline.starts_with("Cannot tell: for 12.5% of its critical path the thread was blocked"));
    assert_eq!(verdict.gains[0], "by another lock: cannot tell; 12.5% of the critical path is not explained");
    assert!(verdict.next.iter().any(|step| step.text.starts_with("see which calls of the kernel block")));
    // Thread 2 is blocked for 2 of 40 ms, a twentieth of the path. That does not decide the
    // verdict, but leaves open what another lock could win.
    let mut trace = builder();
    off(&mut trace, 10 * MS, 12 * MS);
    let verdict = report(trace, 40 * MS).verdict;
    assert_eq!(
        (verdict.limit.as_str(), &verdict.gains[0][..28]),
        ("running", "by another lock: cannot tell"),
        "{verdict:?}"
    );
    // If the trace explains all time, another lock wins nothing.
    let verdict = report(builder(), 40 * MS).verdict;
    assert!(verdict.gains[0].starts_with("by another lock: nothing that is seen; in "), "{verdict:?}");
}

/// Thread 2 is off its CPU for most of its life by its CPU time. Whether context switches of other
/// threads were recorded decides what the verdict says about the switches.
#[test]
fn the_verdict_says_whose_context_switches_are_missing() {
    let headline = |switches: bool| {
        let mut trace = builder();
        if switches {
            let off = What::OffCpu { tid: 0, reason: OffReason::Preempted };
            trace.push(Ticks(MS), ThreadIndex(1), off);
            trace.push(Ticks(MS + 1_000), ThreadIndex(1), What::OnCpu { tid: 0, cpu: 0 });
        }
        trace.push(Ticks(39 * MS), ThreadIndex(2), What::CpuTime { ns: 4 * MS });
        report(trace, 40 * MS).verdict.headline
    };
    let (none, some) = (headline(false), headline(true));
    assert!(
        none.contains("the thread was off its CPU") && none.contains(": no context switches were recorded"),
        "{none}"
    );
    let expected = "context switches were recorded for only 1 of 3 threads";
    assert!(some.contains("the thread was off its CPU") && some.contains(expected), "{some}");
}

#[test]
fn input_output_and_sleep_are_no_unseen_locks() {
    let mut trace = builder();
    off(&mut trace, 10 * MS, 39 * MS);
    trace.push(Ticks(39 * MS + 10), ThreadIndex(2), What::Blocked { site: LOCK, ticks: 29 * MS + 20 });
    let report = report(trace, 40 * MS);
    let verdict = &report.verdict;
    assert_eq!((verdict.limit.as_str(), verdict.unseen_share), ("calls", 0.0), "{verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock: nothing"), "{verdict:?}");
    assert!(report.limits.unseen.iter().all(|unseen| !unseen.contains("off their CPUs (")), "{:?}", report.limits);
    assert_eq!(report.threads[2].blocked_ns.0, 29 * MS);
}

#[test]
fn a_made_up_program_has_no_futex() {
    let report = Profile::of(support::trace(4, 100)).report;
    assert!(report.waitables.iter().all(|waitable| waitable.at.is_none() && waitable.kind != "futex"));
    assert_eq!(report.verdict.unseen_share, 0.0);
}

/// Thread 2 is on the path throughout and blocks for half of it while the recorder makes room.
#[test]
fn what_the_recorder_took_is_no_limit_of_the_program() {
    let mut trace = builder();
    off(&mut trace, 10 * MS, 30 * MS);
    trace.push(Ticks(30 * MS + 10), ThreadIndex(2), What::Pause { ticks: 20 * MS + 20 });
    let verdict = report(trace, 40 * MS).verdict;
    assert_eq!((verdict.limit.as_str(), verdict.unseen_share), ("running", 0.0), "{verdict:?}");
    let told = "For 50.0% it was blocked because Baton's recorder was making room for events.";
    assert!(verdict.headline.ends_with(told), "{verdict:?}");
    assert!(verdict.gains[0].starts_with("by another lock: nothing"), "{verdict:?}");
    assert!(verdict.next.iter().any(|step| step.text.starts_with("record again into memory")), "{verdict:?}");
}
