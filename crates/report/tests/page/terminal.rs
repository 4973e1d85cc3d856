//! The summary on a terminal.

use crate::support;
use baton_report::Profile;
use baton_report::terminal::{self, Style};
use baton_trace::writer::StopReason;
use baton_trace::{Lock, Mode, OffReason, ThreadIndex, Ticks, What};

#[test]
fn the_summary_fits_80_columns_and_has_no_colour_unless_asked() {
    let profile = Profile::of(support::trace(6, 400));
    let plain = terminal::summary(&profile.report, Style::default());
    for line in plain.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    assert!(!plain.contains('\x1b'));
    for expected in ["table_lock", "Call sites", "Threads", "Critical path", "phase_barrier", "competition overhead"] {
        assert!(plain.contains(expected), "no {expected:?} in\n{plain}");
    }
    let painted = terminal::summary(&profile.report, Style { color: true });
    assert!(painted.contains("\x1b[1m") && painted.len() > plain.len());
}

#[test]
fn locks_that_nobody_acquired_are_counted_and_not_listed() {
    // Lock 0 is only initialised, and lock 1 is only tried.
    let mut trace = support::builder(3, 40);
    for n in 0..2 {
        let lock = Lock::mutex(0x7fff_0000 + n * 40);
        trace.push(Ticks(30 + n), ThreadIndex(0), What::LockInit { lock, site: support::INIT });
        trace.name_object(lock.address, if n == 0 { "idle_lock" } else { "tried_lock" });
        if n == 1 {
            trace.push(Ticks(40), ThreadIndex(0), What::TryFail { lock, mode: Mode::Exclusive, site: support::INIT });
        }
    }
    let report = Profile::of(trace.build()).report;
    let used = report.locks.iter().filter(|lock| lock.usage.was_used()).count();
    assert_eq!(used, report.locks.len() - 1, "all but one");
    let text = terminal::summary(&report, Style::default());
    assert!(!text.contains("idle_lock") && text.contains("tried_lock"), "{text}");
    assert!(text.contains("\n… and 1 lock that no thread acquired\n"), "{text}");
    assert!(text.contains(&format!("acquisitions of {used} locks")), "{text}");
}

/// A place that takes a lock without a wait (recorded as an address) and after a wait (recorded as
/// a stack) is one line with the sum of both.
#[test]
fn a_place_is_one_line() {
    let mut trace = support::builder(6, 400);
    let stack = baton_trace::SiteId(900);
    trace.site(stack, &[0x1001, 0x5005]);
    let lock = Lock::mutex(support::TABLE);
    let far = 1 << 30;
    for (at, thread, what) in [
        (far, 1, What::Acquire { lock, mode: Mode::Exclusive, site: support::INSERT }),
        (far + 10, 2, What::Request { lock, mode: Mode::Exclusive, site: stack }),
        (far + 500, 1, What::Release { lock, mode: Mode::Exclusive, site: support::INSERT }),
        (far + 600, 2, What::Acquired { lock, mode: Mode::Exclusive, how: baton_trace::How::OPAQUE }),
        (far + 700, 2, What::Release { lock, mode: Mode::Exclusive, site: stack }),
    ] {
        trace.push(Ticks(at), ThreadIndex(thread), what);
    }
    let report = Profile::of(trace.build()).report;
    let here = |sites: &[baton_report::model::Site]| -> Vec<(u64, u64)> {
        let here = sites.iter().filter(|s| s.address == "0x1001" && s.class.is_some());
        here.map(|s| (s.acquisitions, s.contended)).collect()
    };
    let (sites, places) = (here(&report.sites), here(&report.places()));
    assert_eq!(sites.len(), 2, "{sites:?}");
    assert_eq!(places, [(sites[0].0 + sites[1].0, sites[0].1 + sites[1].1)]);
    let text = terminal::summary(&report, Style::default());
    let listed = text.split("Call sites").nth(1).unwrap().split("Critical path").next().unwrap();
    assert_eq!(listed.matches("0x1001").count(), 1, "{text}");
}

#[test]
fn bound_threads_are_named() {
    let bind = |trace: &mut baton_trace::TraceBuilder, thread, mask| {
        trace.push(Ticks(1), ThreadIndex(thread), What::Affinity { tid: 0, first: true, group: 0, mask });
    };
    let mut trace = support::builder(2, 40);
    for thread in 0..3 {
        bind(&mut trace, thread, 0b1111);
    }
    let same = Profile::of(trace.build()).report;
    assert_eq!(same.threads[1].cpus.as_deref(), Some("0-3"));
    assert!(!terminal::summary(&same, Style::default()).contains("CPUs:"), "all may run anywhere");
    let mut trace = support::builder(2, 40);
    bind(&mut trace, 0, 0b1111);
    bind(&mut trace, 1, 0b1000);
    bind(&mut trace, 2, 0b1000);
    let report = Profile::of(trace.build()).report;
    let text = terminal::summary(&report, Style::default());
    let expected = format!("CPUs: 0-3 ({}), 3 ({} and 1 more)", report.threads[0].name, report.threads[1].name);
    assert!(text.contains(&expected), "no {expected:?} in\n{text}");
}

/// Control characters in the name of a program or of a thread are printed as escapes, so that the
/// terminal does not obey them.
#[test]
fn control_characters_are_written_out() {
    let mut trace = support::builder(2, 40);
    trace.thread("evil\x1b[2Jname\n");
    let mut report = Profile::of(trace.build()).report;
    report.run.command = vec!["python3".into(), "-c".into(), "print(1)\nprint(2)".into()];
    report.limits.lost = vec!["bell\x07".into()];
    report.threads.last_mut().unwrap().wait_ns = baton_units::Nanos(u64::MAX);
    let text = terminal::summary(&report, Style::default());
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text}");
    assert!(text.starts_with("python3 -c print(1)\\nprint(2)\n"), "{text}");
    assert!(text.contains("\nevil\\u{1…me\\n ") && text.contains("bell\\u{7}"), "{text}");
}

#[test]
fn a_run_without_locks_is_said_in_words() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 1 });
    trace.push(Ticks(50), ThreadIndex(0), What::ThreadEnd { handle: 1 });
    let text = terminal::summary(&Profile::of(trace.build()).report, Style::default());
    assert!(text.contains("1 thread in 50ns, 2 events\nno acquisitions of locks\n"), "{text}");
}

/// Four threads sleep for nearly all of their lives. The report does not say that they run; it says
/// that it cannot tell why they are blocked, and the verdict says so first.
#[test]
fn a_sleeping_program_is_not_said_to_run() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.site(support::INIT, &[0x3003]);
    let off = What::OffCpu { tid: 0, reason: baton_trace::OffReason::Blocked };
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 1 });
    for t in 1..=4u32 {
        let start = u64::from(t) * 1_000;
        trace.push(Ticks(start), ThreadIndex(0), What::Create { site: support::INIT });
        trace.push(Ticks(start + 10), ThreadIndex(0), What::Created { handle: 10 + u64::from(t), error: 0 });
        trace.push(Ticks(start + 20), ThreadIndex(t), What::ThreadStart { handle: 10 + u64::from(t) });
        trace.push(Ticks(start + 500), ThreadIndex(t), off);
        trace.push(Ticks(505_000_000 + start), ThreadIndex(t), What::OnCpu { tid: 0, cpu: 0 });
        trace.push(Ticks(505_001_000 + start), ThreadIndex(t), What::ThreadEnd { handle: 10 + u64::from(t) });
    }
    let profile = Profile::of(trace.build());
    let report = &profile.report;
    assert_eq!(report.verdict.limit, "cannot-tell");
    assert!(report.threads[1].blocked_ns.0 > 500_000_000 && report.threads[1].running_ns.0 < 10_000, "{report:?}");
    assert_eq!(report.outside[0].threads, 4);
    assert_eq!(report.outside[0].created.as_deref(), Some("0x3003"), "where the time was lost");
    let unseen = report.limits.unseen.join("\n");
    assert!(unseen.contains("page faults, system calls of the program's own"), "{unseen}");
    let text = terminal::summary(report, Style::default());
    let (verdict, path) = (text.find("Verdict: Cannot tell: for "), text.find("Critical path"));
    assert!(verdict.is_some() && verdict < path, "{text}");
    assert!(
        text.contains("blocked outside of what Baton sees") && text.contains("in threads created in 0x3003"),
        "{text}"
    );
    assert!(!text.contains("running"), "{text}");
    // A trace without context switches says that they were not recorded.
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 1 });
    trace.push(Ticks(50), ThreadIndex(0), What::ThreadEnd { handle: 1 });
    let unseen = Profile::of(trace.build()).report.limits.unseen.join("\n");
    assert!(unseen.contains("no context switches were recorded"), "{unseen}");
}

/// The intervals, from which the timeline and the exports are made, include time off the CPU. All
/// come in the order of their ends.
#[test]
fn intervals_hold_the_time_off_the_cpu() {
    let mut trace = support::builder(2, 40);
    let off = |reason| What::OffCpu { tid: 0, reason };
    trace.push(Ticks(1_100), ThreadIndex(1), off(baton_trace::OffReason::Preempted));
    trace.push(Ticks(1_300), ThreadIndex(1), What::OnCpu { tid: 0, cpu: 0 });
    let profile = Profile::of(trace.build());
    let (mut found, mut ends) = (Vec::new(), Vec::new());
    let Ok(()) = profile.intervals(|interval| {
        ends.push(interval.end);
        if interval.doing.word() == "off-cpu" {
            found.push((interval.thread, interval.doing.detail(), interval.start.0, interval.end.0));
        }
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(found, [(ThreadIndex(1), "ready", 1_100, 1_300)]);
    assert!(ends.is_sorted());
}

#[test]
fn others_on_the_cpus_are_said_with_the_figures() {
    let mut trace = support::builder(2, 40);
    let mut meta = baton_trace::Meta { elapsed_ns: 1_000_000, ..Default::default() };
    meta.host.cpus = 2;
    meta.extra.insert(baton_trace::disturbance::OTHERS.into(), 500_000.into());
    trace.meta(meta);
    let text = terminal::summary(&Profile::of(trace.build()).report, Style::default());
    assert!(text.contains("Not to be trusted: other programs used 25% of the CPUs"), "{text}");
}

/// A lock that is known only by its place reads as `the lock in …`, and the wake-up of a condition
/// variable names the variable.
#[test]
fn the_path_reads_as_sentences() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.site(support::INSERT, &[0x1001]).name_object(0x50, "not_empty");
    let (lock, mode, site) = (Lock::mutex(0x7f00_0000), Mode::Exclusive, support::INSERT);
    let (condition, mutex) = (0x50, lock.address);
    for (at, thread, what) in [
        (0, 0, What::ThreadStart { handle: 1 }),
        (0, 1, What::ThreadStart { handle: 2 }),
        (10, 1, What::Acquire { lock, mode, site }),
        (20, 1, What::CondWait { condition, site }),
        (20, 1, What::CondMutex { mutex }),
        (21, 1, What::Release { lock, mode, site }),
        (30, 0, What::Acquire { lock, mode, site }),
        (50_000, 0, What::CondSignal { condition, site }),
        (50_010, 0, What::Release { lock, mode, site }),
        (53_000, 1, What::CondWake { condition, reason: baton_trace::WakeReason::Woken }),
        (53_010, 1, What::Acquire { lock, mode, site }),
        (90_000, 1, What::Release { lock, mode, site }),
        (90_010, 1, What::ThreadEnd { handle: 2 }),
    ] {
        trace.push(Ticks(at), ThreadIndex(thread), what);
    }
    let text = terminal::summary(&Profile::of(trace.build()).report, Style::default());
    assert!(text.contains("condition wake up of not_empty"), "{text}");
    assert!(text.contains("on a CPU in the lock in 0x1001's sections"), "{text}");
    assert!(!text.contains("without in "), "{text}");
}

/// Sixteen locks without a name, which the same two places take, are one line with their number.
#[test]
fn shards_are_one_line() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.site(support::INSERT, &[0x1001]).site(support::ROW, &[0x2002]);
    for n in 0..160u64 {
        let (lock, mode) = (Lock::mutex(0x7f00_0000 + n % 16 * 64), Mode::Exclusive);
        let site = if n < 80 { support::INSERT } else { support::ROW };
        trace.push(Ticks(n * 10), ThreadIndex(0), What::Acquire { lock, mode, site });
        trace.push(Ticks(n * 10 + 5), ThreadIndex(0), What::Release { lock, mode, site });
    }
    // A further lock, which only one of the places takes, is a class of its own.
    let (lock, mode, site) = (Lock::mutex(0x7f01_0000), Mode::Exclusive, support::ROW);
    trace.push(Ticks(2_000), ThreadIndex(0), What::Acquire { lock, mode, site });
    trace.push(Ticks(2_010), ThreadIndex(0), What::Release { lock, mode, site });
    let report = Profile::of(trace.build()).report;
    assert_eq!(report.classes.iter().map(|class| class.locks).collect::<Vec<_>>(), [16, 1]);
    assert_eq!(report.classes[0].usage.acquisitions, 160);
    let text = terminal::summary(&report, Style::default());
    assert!(text.contains("16 × in 0x"), "{text}");
}

#[test]
fn a_loop_that_polls_under_its_lock_is_named() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.site(support::INSERT, &[0x1001]).site(support::ROW, &[0x2002]);
    let (lock, mode) = (Lock::mutex(support::TABLE), Mode::Exclusive);
    let taken = (0..40u64).map(|n| (1, support::INSERT, n)).chain([(0, support::ROW, 40), (1, support::INSERT, 41)]);
    for (thread, site, n) in taken {
        trace.push(Ticks(n * 10), ThreadIndex(thread), What::Acquire { lock, mode, site });
        trace.push(Ticks(n * 10 + 5), ThreadIndex(thread), What::Release { lock, mode, site });
    }
    let text = terminal::summary(&Profile::of(trace.build()).report, Style::default());
    assert!(text.contains("polls under lock: 0x1001 takes"), "{text}");
}

/// If a recording stopped early, the report says so before its verdict.
#[test]
fn a_recording_that_was_cut_off_says_so_first() {
    let mut builder = support::builder(2, 40);
    builder.meta(baton_trace::Meta { elapsed_ns: 90_000_000, ..Default::default() });
    let mut trace = builder.build();
    trace.processes[0].stopped = Some((StopReason::SizeLimit, Ticks(100_000)));
    let report = Profile::of(trace).report;
    let [doubt] = report.verdict.doubts.as_slice() else { panic!("{:?}", report.verdict.doubts) };
    assert!(
        doubt.starts_with("recording stopped after 100µs of 90.0ms, as the trace's size limit was reached"),
        "{doubt}"
    );
    let text = terminal::summary(&report, Style::default());
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"));
    assert!(at("Not to be trusted: recording stopped") < at("Verdict:"));
}

/// With one CPU, which the program's threads use, time without a CPU is a bound on what could be
/// won. With two, one of which runs none of them, it is no gain.
#[test]
fn cpus_are_no_gain_where_the_program_left_one_to_others() {
    let verdict = |cpus: u32| {
        let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
        let mut meta = baton_trace::Meta { elapsed_ns: 1_000_000, ..Default::default() };
        meta.host.cpus = cpus;
        for (at, thread, what) in [
            (0, 0, What::ThreadStart { handle: 1 }),
            (0, 1, What::ThreadStart { handle: 2 }),
            (0, 1, What::OffCpu { tid: 0, reason: OffReason::Preempted }),
            (100_000, 0, What::OffCpu { tid: 0, reason: OffReason::Preempted }),
            (100_000, 1, What::OnCpu { tid: 0, cpu: 0 }),
            (700_000, 1, What::ThreadEnd { handle: 2 }),
            (700_000, 0, What::OnCpu { tid: 0, cpu: 0 }),
            (1_000_000, 0, What::ThreadEnd { handle: 1 }),
        ] {
            trace.push(Ticks(at), ThreadIndex(thread), what);
        }
        trace.meta(meta);
        Profile::of(trace.build()).report.verdict
    };
    let own = verdict(1);
    assert_eq!(own.limit, "ready", "{own:?}");
    assert!(own.gains.iter().any(|gain| gain.contains("if each ready thread had had a CPU at once")), "{own:?}");
    let others = verdict(2);
    assert_eq!(others.limit, "running", "{others:?}");
    assert!(
        others.headline.contains("For 60.0% it was ready while a CPU ran none of the program's threads"),
        "{others:?}"
    );
    assert!(others.gains.iter().all(|gain| !gain.contains("CPU")), "{others:?}");
}
