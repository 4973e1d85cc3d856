//! Advice about threads that are awake in vain: a broadcast, or a wake of a futex, wakes them
//! although there is nothing for them to do, or they poll under a lock. Another lock cures neither.

use super::own_locks::WORTH_A_STEP;
use crate::format::{count, lock_phrase, percent, phrase, quoted};
use crate::model::{Class, NextStep, Report, Share, Site, Waitable, ratio};
use baton_units::Nanos;
use std::collections::BTreeMap;

/// The limits of verdicts about threads that are awake in vain, which are also kinds of parts of
/// the path.
pub(super) const FUTILE: &str = "futile-wake-ups";
pub(super) const POLLING: &str = "polling";

/// A condition variable or a futex, and the share of the critical path that its futile wake-ups
/// take.
struct Herd<'a> {
    waitable: &'a Waitable,
    share: f64,
}

impl Herd<'_> {
    fn name(&self) -> String {
        phrase(&self.waitable.kind, &self.waitable.name)
    }

    fn is_futex(&self) -> bool {
        self.waitable.kind == "futex"
    }

    /// The calls that wake the threads.
    fn calls(&self) -> &'static str {
        if self.is_futex() { "wakes" } else { "broadcasts" }
    }

    /// The place whose calls cause most futile wake-ups, as ` in main (queue.c:27)`.
    fn place(&self) -> String {
        self.waitable.broadcast_at.as_ref().map_or_else(String::new, |at| format!(" in {at}"))
    }

    /// What to do instead.
    fn cure(&self) -> String {
        let (name, place) = (self.name(), self.place());
        let instead = match self.is_futex() {
            true => format!("wake one waiter at {name} (FUTEX_WAKE with 1, notify_one) in place of several{place}"),
            false => format!("signal {name} (in C++ notify_one) in place of the broadcast{place}"),
        };
        let each = if self.is_futex() { "futex" } else { "condition variable" };
        format!(
            "wake only as many threads as there is work for: {instead}, if one thread is enough and any waiter can do \
             the work, or give each kind of waiter a {each} of its own"
        )
    }
}

/// A class of locks, and the share of the critical path that polling under its locks takes.
struct Polled<'a> {
    class: &'a Class,
    share: f64,
    /// The site of the class with most polls.
    site: Option<&'a Site>,
}

impl Polled<'_> {
    fn name(&self) -> String {
        lock_phrase(&self.class.name)
    }

    fn place(&self) -> String {
        self.site.map_or_else(String::new, |site| format!(" in {}", site.name))
    }
}

/// The condition variable or futex whose futile wake-ups take most of the path.
fn herd(report: &Report) -> Option<Herd<'_>> {
    let path = &report.critical_path;
    let mut times: BTreeMap<u32, Nanos> = BTreeMap::new();
    for part in path.parts.iter().filter(|part| part.kind == FUTILE) {
        *times.entry(part.waitable?).or_default() += part.total_ns;
    }
    let (number, time) = times.into_iter().max_by_key(|(_, time)| *time)?;
    let waitable = report.waitables.get(number as usize)?;
    Some(Herd { waitable, share: ratio(time.0, path.length_ns.0).min(1.0) })
}

/// The class of locks under which polling takes most of the path.
fn polled(report: &Report) -> Option<Polled<'_>> {
    let path = &report.critical_path;
    let mut times: BTreeMap<u32, Nanos> = BTreeMap::new();
    for part in path.parts.iter().filter(|part| part.kind == POLLING) {
        let lock = report.locks.get(part.lock? as usize)?;
        *times.entry(lock.class).or_default() += part.total_ns;
    }
    let (number, time) = times.into_iter().max_by_key(|(_, time)| *time)?;
    let sites = report.sites.iter().filter(|site| site.class == Some(number) && site.polls > 0);
    Some(Polled {
        class: report.classes.get(number as usize)?,
        share: ratio(time.0, path.length_ns.0).min(1.0),
        site: sites.max_by_key(|site| site.polls),
    })
}

/// The headline of a verdict with the limit `FUTILE` or `POLLING`.
pub(super) fn headline(report: &Report, share: &Share) -> String {
    let all = percent(share.share);
    match (share.limit == FUTILE, herd(report), polled(report)) {
        (true, Some(herd), _) => format!(
            "Futile wake-ups limit it: {all} of its critical path is the cost of threads that find nothing to do and wait again. \
             Threads were woken {} times by {} of {}{}, {} of them for nothing.",
            count(herd.waitable.woken),
            herd.calls(),
            herd.name(),
            herd.place(),
            count(herd.waitable.futile)
        ),
        (false, _, Some(polled)) => format!(
            "Polling under {} limits it: for {all} of its critical path threads take it again and again until a value changes{}, \
             or others wait for it or for a CPU meanwhile.",
            polled.name(),
            polled.place()
        ),
        _ => format!("Threads that are awake in vain limit it: {all} of its critical path is their cost."),
    }
}

/// Sentences on what could be won at most without futile wake-ups, or without polling.
pub(super) fn gains(report: &Report) -> Vec<String> {
    let herd = herd(report).filter(|herd| herd.share >= WORTH_A_STEP).map(|herd| {
        let name = herd.name();
        format!("if each wake-up at {name} found something to do: at most {}", percent(herd.share))
    });
    let polled = polled(report).filter(|polled| polled.share >= WORTH_A_STEP).map(|polled| {
        let name = polled.name();
        format!("without polling under {name}: at most {}", percent(polled.share))
    });
    herd.into_iter().chain(polled).collect()
}

/// Advice on futile wake-ups and on polling, each with its share of the path.
pub(super) fn next(report: &Report, place: &str) -> Vec<(f64, NextStep)> {
    let page = || Some(format!("baton report {} --html report.html", quoted(place)));
    let herd = herd(report)
        .filter(|herd| herd.share >= WORTH_A_STEP)
        .map(|herd| (herd.share, NextStep { text: herd.cure(), command: page() }));
    let polled = polled(report).filter(|polled| polled.share >= WORTH_A_STEP).map(|polled| {
        let text = format!(
            "wait at a condition variable, which the thread signals that changes the value, in place of taking {} again and \
             again{}",
            polled.name(),
            polled.place()
        );
        (polled.share, NextStep { text, command: page() })
    });
    herd.into_iter().chain(polled).collect()
}

/// Advice on how to see whether threads write to the same cache lines, which the trace does not
/// show; `None` if only one thread runs for long. `share` is the path's share on a CPU; the advice
/// counts half of it, so that causes that were seen come first.
pub(super) fn cache_lines(report: &Report, share: f64, command: Option<String>) -> Option<(f64, NextStep)> {
    let text = "see whether threads write to the same cache lines (false sharing), which was not looked at".to_owned();
    report.several_threads_run().then_some((share / 2.0, NextStep { text, command }))
}
