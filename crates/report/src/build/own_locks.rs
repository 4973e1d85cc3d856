//! Advice about futexes of the program's own, about semaphores and condition variables that serve as
//! locks, and about locks inside of the C library: locks that `baton run` cannot replace.

use super::cannot_tell;
use crate::format::{percent, phrase, quoted};
use crate::model::{NextStep, Report, Share, Waitable, ratio};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// A cause that takes less than this share of the path, or of a server's latency, is not worth advice of its own.
pub(super) const WORTH_A_STEP: f64 = 0.05;

/// The limits of verdicts about futexes, about locks inside of the C library, and about semaphores and
/// condition variables.
const LIMITS: [&str; 3] = ["futex", "libc-lock", AWAITED];

/// The limit for work that others wait for at semaphores and condition variables. Wake-ups there are none
/// of it: they may carry work to a thread.
pub(super) const AWAITED: &str = "awaited";

/// Whether a kind of time on the path belongs to [`AWAITED`].
pub(super) fn is_awaited(kind: &str) -> bool {
    kind.starts_with("semaphore-awaited") || kind.starts_with("condition-awaited")
}

/// Whether a kind of time on the path belongs to a limit.
fn belongs(kind: &str, limit: &str) -> bool {
    match limit {
        AWAITED => is_awaited(kind),
        _ => kind.strip_prefix(limit).is_some_and(|rest| rest.starts_with('-')),
    }
}

/// An object at which the path's thread keeps others waiting, and the share of the critical path at it.
struct Through<'a> {
    object: &'a Waitable,
    share: f64,
    /// The part of `share` in which the thread that others wait for is off its CPU without being ready
    /// to run: it sleeps, waits for input or output, or the trace does not say why.
    asleep: f64,
}

impl Through<'_> {
    /// Whether most of the share is time off the CPU.
    fn mostly_asleep(&self) -> bool {
        self.asleep > self.share / 2.0
    }
}

/// An object as a phrase with the place where threads wait.
pub(super) fn name(object: &Waitable) -> String {
    let name = phrase(&object.kind, &object.name);
    match &object.at {
        Some(at) if !object.name.contains(at.as_str()) => format!("{name} (waits begin in {at})"),
        _ => name,
    }
}

/// The object that takes most of the path, among all of a limit.
fn most<'a>(report: &'a Report, limit: &str) -> Option<Through<'a>> {
    let path = &report.critical_path;
    let mut times: BTreeMap<u32, (Nanos, Nanos)> = BTreeMap::new();
    for part in path.parts.iter().filter(|part| belongs(&part.kind, limit)) {
        if let Some(waitable) = part.waitable {
            let (all, asleep) = times.entry(waitable).or_default();
            *all += part.total_ns;
            if part.kind.contains("-awaited-") {
                *asleep += part.total_ns;
            }
        }
    }
    let (number, (all, asleep)) = times.into_iter().max_by_key(|(_, times)| *times)?;
    let object = report.waitables.get(number as usize)?;
    let share = |time: Nanos| ratio(time.0, path.length_ns.0).min(1.0);
    Some(Through { object, share: share(all), asleep: share(asleep) })
}

/// The headline of a verdict whose limit is one of [`LIMITS`].
pub(super) fn headline(report: &Report, share: &Share) -> String {
    let through = most(report, &share.limit);
    let at = through.as_ref().map_or_else(String::new, |through| format!(" at {}", name(through.object)));
    let asleep = through.filter(|through| through.asleep >= WORTH_A_STEP).map_or_else(String::new, |through| {
        format!(
            " For {} the thread that others wait for is off its CPU{}.",
            percent(through.asleep),
            cannot_tell::most_outside(report)
        )
    });
    let all = percent(share.share);
    match share.limit.as_str() {
        AWAITED => format!(
            "Work that threads do one at a time limits it: for {all} of its critical path threads waited{at}, and the thread that was \
             to wake the next of them had not yet done so.{asleep}"
        ),
        "futex" => format!(
            "A futex of the program's own limits it, a lock or an event: {all} of its critical path are waits, and work that \
             others wait for,{at}.{asleep}"
        ),
        _ => format!(
            "A lock inside of the C library limits it: {all} of its critical path are waits, and work at the contended lock,{at}.{asleep}"
        ),
    }
}

/// Sentences on what could be won if no thread waited at the object that takes most of the path, for
/// each limit.
pub(super) fn gains(report: &Report, shares: &[Share]) -> Vec<String> {
    let gain = |limit: &&str| {
        let _ = shares.iter().find(|share| share.limit == **limit && share.share >= WORTH_A_STEP)?;
        let through = most(report, limit)?;
        let name = phrase(&through.object.kind, &through.object.name);
        Some(format!("if no thread waited at {name}: at most {}", percent(through.share)))
    };
    LIMITS.iter().filter_map(gain).collect()
}

/// Advice on the object of each limit that takes most of the path, with the share of that limit.
pub(super) fn next(report: &Report, shares: &[Share], place: &str) -> Vec<(f64, NextStep)> {
    let step = |limit: &&str| {
        let share = shares.iter().find(|share| share.limit == **limit && share.share >= WORTH_A_STEP)?;
        let through = most(report, limit)?;
        let name = name(through.object);
        let text = if through.mostly_asleep() {
            format!("take the sleep, input or output out of what is done between waiting at {name} and waking there")
        } else if *limit != "libc-lock" {
            format!("do less between waiting at {name} and waking there, split it, or give each thread its own")
        } else {
            format!("call the C library's function less often, or one that shares nothing, in place of {name}")
        };
        let command = Some(format!("baton report {} --html report.html", quoted(place)));
        Some((share.share, NextStep { text, command }))
    };
    LIMITS.iter().filter_map(step).collect()
}
