//! Threads that are made for little work each: starting them, and learning of their end, takes the program's time.

use crate::format::{count, duration, percent};
use crate::model::{Report, ratio};
use baton_units::Nanos;

/// Kinds of the critical path's parts that pass while a thread starts, or until another learns of its end.
const KINDS: [&str; 3] = ["thread-start", "start-wait", "join-wake-up"];

/// The share of the critical path that passes as threads start and end, if that is more than half of `waiting`, the
/// share in which threads wait for each other.
fn share(report: &Report, waiting: f64) -> Option<f64> {
    let path = &report.critical_path;
    let parts = path.parts.iter().filter(|part| KINDS.contains(&part.kind.as_str()));
    let share = ratio(parts.map(|part| part.total_ns.0).sum(), path.length_ns.0);
    Some(share).filter(|share| *share > waiting / 2.0)
}

/// The headline, if most of `waiting` is such time.
pub(super) fn headline(report: &Report, waiting: f64) -> Option<String> {
    let share = share(report, waiting)?;
    let lives = report.threads.iter().skip(1).map(|thread| thread.last_ns.0.saturating_sub(thread.first_ns.0));
    let (threads, all) = lives.fold((0, 0), |(threads, all), life| (threads + 1, all + life));
    let mean = Nanos(all / u64::max(threads, 1));
    Some(format!(
        "Starting threads limits it: {} of its critical path passes until a new thread runs, or until another learns of its \
         end. {} threads besides the first lived for {} in the mean.",
        percent(share),
        count(threads),
        duration(mean)
    ))
}

/// The advice, if most of `waiting` is such time.
pub(super) fn advice(report: &Report, waiting: f64) -> Option<String> {
    share(report, waiting)?;
    Some("keep threads and hand work to them (a pool), in place of a new thread for each piece of work".to_owned())
}
