//! Advice about reader-writer locks at which writers or readers starve: threads of the other mode
//! that came later take the lock again and again.

use crate::format::{count, duration, lock_phrase, quoted};
use crate::model::{Class, NextStep, Overtaken, Report, ratio};

/// The limit of a verdict about starvation.
pub(super) const LIMIT: &str = "starvation";

/// If no wait was overtaken by at least this many acquisitions, the class's waits do not count as
/// starving.
const MANY: u64 = 10;

/// If a class's overtaken waits together last for less than this share of the program's time, each
/// from the moment at which it was overtaken first, they are left out.
const WORTH: f64 = 0.05;

/// A class of locks at which writers or readers starve.
pub(super) struct Starving<'a> {
    class: &'a Class,
    pub(super) number: u32,
    /// `writers` or `readers`.
    who: &'static str,
    by: &'static str,
    waits: Overtaken,
}

/// The class at which threads starve longest, in one of the two modes.
pub(super) fn starving(report: &Report) -> Option<Starving<'_>> {
    let sides = |(number, class): (u32, &'_ Class)| {
        let (writers, readers) = (class.usage.starved.writers, class.usage.starved.readers);
        [(number, "writers", "reader", writers), (number, "readers", "writer", readers)]
    };
    let all = (0..).zip(&report.classes).flat_map(sides);
    let span = report.totals.span_ns.0;
    let starve = all.filter(|(.., waits)| waits.most >= MANY && ratio(waits.total_ns.0, span) >= WORTH);
    let (number, who, by, waits) = starve.max_by_key(|(.., waits)| waits.total_ns)?;
    Some(Starving { class: report.classes.get(number as usize)?, number, who, by, waits })
}

impl Starving<'_> {
    fn name(&self) -> String {
        lock_phrase(&self.class.name)
    }

    /// The headline for a program that a starving lock limits.
    pub(super) fn headline(&self) -> String {
        let who = if self.who == "writers" { "Writers" } else { "Readers" };
        format!(
            "{who} of {} starve: in {}, {} that came later took it first, up to {} in one wait; from then on the waits took {}, \
             the longest one {}.",
            self.name(),
            plural(self.waits.waits, "wait"),
            plural(self.waits.by, self.by),
            count(self.waits.most),
            duration(self.waits.total_ns),
            duration(self.waits.longest_ns)
        )
    }

    /// The advice on the lock.
    pub(super) fn next(&self, place: &str) -> NextStep {
        let name = self.name();
        let text = match self.who {
            "writers" => format!(
                "let waiting writers of {name} go first: pthread_rwlockattr_setkind_np with \
                 PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, or a lock that serves threads in the order of their coming"
            ),
            _ => format!(
                "let waiting readers of {name} in: a lock that serves threads in the order of their coming, or fewer and shorter \
                 sections of writers"
            ),
        };
        NextStep { text, command: Some(format!("baton report {} --html report.html", quoted(place))) }
    }
}

/// A number with its noun, as `1 wait` or `2 waits`.
fn plural(number: u64, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{} {noun}{end}", count(number))
}
