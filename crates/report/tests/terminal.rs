//! The summary on a terminal.

mod support;

use baton_report::Profile;
use baton_report::terminal::{self, Style};

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
