//! The second cause of the verdict. If it takes nearly as much of the critical path as the first one, its cure may
//! win as much, or more.

use super::heaviest::Heaviest;
use super::verdict::{OTHERS, RECORDER};
use super::{bound, cannot_tell, cpu_limit, own_locks, starved, vain};
use crate::format::percent;
use crate::model::{Share, Verdict};

/// The least share of the second cause, as a part of the first one's.
const NEARLY: f64 = 0.8;

/// Adds the second cause to a verdict whose first one takes `first` of the path, if there is one.
pub(super) fn add(verdict: &mut Verdict, first: f64, lock: Option<&Heaviest<'_>>) {
    let limit = verdict.limit.as_str();
    let may_be = |share: &&Share| share.limit != limit && !is_told(limit, &share.limit);
    verdict.second = verdict.shares.iter().find(may_be).filter(|second| second.share >= first * NEARLY).cloned();
    if let Some(second) = &verdict.second {
        verdict.headline += &format!(" Nearly as much: {}.", phrase(second, lock));
    }
}

/// Whether the sentence about the first cause says something about another share already, or that share is none of
/// the program's.
fn is_told(first: &str, other: &str) -> bool {
    let by_others = matches!(other, OTHERS | RECORDER);
    let by_first = match first {
        starved::LIMIT => other == "sections",
        // The time that is not explained may be a part of the program's own work.
        cannot_tell::LIMIT => matches!(other, "running" | "blocked" | "off-cpu"),
        _ => false,
    };
    by_others || by_first
}

/// The cause with its share, as `log_lock's critical sections, 43.9%`.
fn phrase(second: &Share, lock: Option<&Heaviest<'_>>) -> String {
    let cause = match second.limit.as_str() {
        "running" => "the program's own work",
        "sections" => "critical sections",
        "competition" => "competition for locks",
        "ready" => "threads that could run and have no CPU",
        bound::LIMIT => "threads that are bound to too few CPUs",
        cpu_limit::LIMIT => "the limit on the CPU time of the program's group",
        "blocked" => "waits outside of what Baton sees",
        "calls" => "input, output or sleep",
        "off-cpu" => "time off the CPU, why is not known",
        "futex" => "a futex of the program's own",
        "libc-lock" => "a lock inside of the C library",
        own_locks::AWAITED => "work that threads do one at a time",
        vain::FUTILE => "threads that are woken for nothing",
        vain::POLLING => "polling under a lock",
        _ => "threads that wait for each other",
    };
    let share = percent(second.share);
    match lock.filter(|_| second.limit == "sections") {
        Some(lock) if percent(lock.share) == share => format!("{}'s critical sections, {share}", lock.name),
        Some(lock) => format!("{cause}, {share}, of which {} inside of {}'s", percent(lock.share), lock.name),
        None => format!("{cause}, {share}"),
    }
}
