//! Two profiles side by side.

use crate::support;
use baton_report::Profile;
use baton_report::diff::diff;
use baton_report::terminal::{self, Style};

#[test]
fn a_trace_beside_itself_shows_no_change() {
    let profile = Profile::of(support::trace(4, 300));
    let found = diff(&profile, &profile);
    assert_eq!(found.locks.len(), profile.report.classes.len());
    assert!(found.only_before.is_empty() && found.only_after.is_empty());
    for lock in &found.locks {
        assert_eq!(lock.wait_each_ns.difference(), 0.0);
        assert_ne!(lock.wait_each_ns.is_beyond_noise(), Some(true));
    }
    let hot = found.locks.iter().find(|l| l.name == "table_lock").expect("the hot lock");
    assert_eq!(hot.acquisitions, (1_200, 1_200));
    assert_eq!(hot.blocked_ns.0, profile.report.locks[0].usage.blocked_ns);
}

#[test]
fn more_threads_wait_longer_and_the_text_fits() {
    let (before, after) = (Profile::of(support::trace(2, 400)), Profile::of(support::trace(8, 400)));
    let found = diff(&before, &after);
    assert_eq!(found.locks[0].name, "table_lock", "the greatest change stands first");
    assert_eq!(found.locks[0].wait_each_ns.is_beyond_noise(), Some(true));
    assert!(found.locks[0].wait_each_ns.difference() > 0.0);
    let text = terminal::diff(&found, Style::default());
    assert!(text.lines().all(|l| l.chars().count() <= terminal::WIDTH), "{text}");
    assert!(text.contains("table_lock") && text.contains("Noise:"), "{text}");
}
