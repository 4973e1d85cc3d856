//! The summary on a terminal.

mod support;

use baton_report::Profile;
use baton_report::terminal::{self, Style};
use baton_trace::{Lock, Mode, ThreadIndex, Ticks, What};

#[test]
fn the_summary_fits_100_columns_and_has_no_colour_unless_asked() {
    let profile = Profile::of(support::trace(6, 400));
    let plain = terminal::summary(&profile.report, Style::default());
    for line in plain.lines() {
        assert!(line.chars().count() <= terminal::WIDTH, "{} columns: {line}", line.chars().count());
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
    // One that is only made, and one that is only tried.
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
    assert!(text.contains("\n… and 1 lock that nobody acquired\n"), "{text}");
    assert!(text.contains(&format!("acquisitions of {used} locks")), "{text}");
}

/// A place that was taken both freely (its address) and after a wait (its stack) is one line with the sum of both.
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

/// Whatever a program is called, and whatever it calls its threads, the terminal is told no more than text.
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
    assert!(text.contains("evil\\u{1b}[2") && text.contains("bell\\u{7}"), "{text}");
}

#[test]
fn a_run_without_locks_is_said_in_words() {
    let mut trace = baton_trace::TraceBuilder::new(baton_trace::Clock::nanoseconds());
    trace.push(Ticks(0), ThreadIndex(0), What::ThreadStart { handle: 1 });
    trace.push(Ticks(50), ThreadIndex(0), What::ThreadEnd { handle: 1 });
    let text = terminal::summary(&Profile::of(trace.build()).report, Style::default());
    assert!(text.contains("1 thread in 50ns, 2 events; no acquisitions of locks\n"), "{text}");
}
