//! The parts of a region's thread-time, and what each adds to the region's change.

use super::run::Figures;
use super::values::{Pair, roi};
use crate::kit::{over_draws, said};
use baton_plot::number;

/// Thread-time of a region has these parts, to the cycle: overhead, waiting in others' sections,
/// own sections, everything else of a thread's own (computing, misses, system calls that wake,
/// waiting at meetings), and threads that have ended, or have not begun.
pub(super) fn parts(figures: &Figures) -> [f64; 5] {
    let account = &figures.account;
    let whole = figures.cycles as f64 * f64::from(figures.threads);
    let [overhead, inside, sections] = [account.overhead, account.in_sections, account.sections].map(|n| n as f64);
    let active = figures.active as f64;
    [overhead, inside, sections, active - overhead - inside - sections, whole - active]
}

/// The names of the parts.
pub(super) const PARTS: [&str; 5] = [
    "overhead",
    "waiting in others' sections",
    "own sections",
    "own work, misses, calls and waiting at meetings",
    "threads that have not begun or have ended",
];

/// What a part of thread-time adds to the region's reduction, in points.
pub(super) fn part(pair: &Pair<'_>, part: usize) -> f64 {
    let whole = pair.off.cycles.max(1) as f64 * f64::from(pair.off.threads);
    100.0 * (parts(pair.off)[part] - parts(pair.on)[part]) / whole
}

/// A sentence that says which part of thread-time changes the region most, and by how much the
/// longest wait of a thread changes.
pub(super) fn change(pairs: &[Pair<'_>]) -> String {
    let of = |n: usize| over_draws(pairs, |pair| part(pair, n)).map(|of| (n, of));
    let Some((largest, points)) =
        (0..PARTS.len()).filter_map(of).max_by(|a, b| a.1.mean.abs().total_cmp(&b.1.mean.abs()))
    else {
        return "not run".to_owned();
    };
    let longer = |pair: &Pair<'_>| {
        100.0 * (pair.on.account.longest_wait as f64 / pair.off.account.longest_wait.max(1) as f64 - 1.0)
    };
    format!(
        "of the region's change of {}% {} points are in `{}`; the longest wait of a thread is longer by {}%",
        said(over_draws(pairs, roi)),
        number(points.mean),
        PARTS[largest],
        said(over_draws(pairs, longer))
    )
}
