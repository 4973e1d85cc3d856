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
