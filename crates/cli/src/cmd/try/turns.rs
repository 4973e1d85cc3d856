//! A contest within a budget, with a bar that shows how much of it is spent.

use super::contest::Contest;
use super::subject::still_wanted;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// Holds a contest within a budget.
pub(super) fn hold(
    others: usize,
    budget: Duration,
    mut run: impl FnMut(usize, Option<Duration>) -> anyhow::Result<Option<baton_units::Nanos>>,
) -> anyhow::Result<Contest> {
    let bar = ProgressBar::new(budget.as_millis() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {elapsed} of {msg}") {
        bar.set_style(style);
    }
    bar.set_message(format!("{budget:?} at most"));
    let start = Instant::now();
    let mut contest = Contest::new(others);
    let one = |entrant: usize, limit: Option<Duration>| -> anyhow::Result<Option<u64>> {
        still_wanted()?;
        let time = run(entrant, limit)?;
        still_wanted()?;
        bar.set_position((start.elapsed().as_millis() as u64).min(budget.as_millis() as u64));
        Ok(time.map(|time| time.0))
    };
    contest.hold(one, || start.elapsed() >= budget)?;
    bar.finish_and_clear();
    Ok(contest)
}
