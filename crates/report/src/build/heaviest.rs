//! The locks whose critical sections take most of the critical path. Only sections count during
//! which another thread waited for the lock; others are the program's own work.

use super::nested::{Inner, inside, most_awaited};
use super::own_locks::WORTH_A_STEP;
use crate::format::{lock_phrase, percent, quoted};
use crate::model::{NextStep, Report, Site, ratio};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The class of locks whose critical sections take most of the path.
pub(super) struct Heaviest<'a> {
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) locks: u32,
    pub(super) share: f64,
    /// The part of `share` in which the holder is off its CPU without being ready to run: it
    /// sleeps, waits for input or output, or the trace does not say why.
    asleep: f64,
    /// The part of `share` in which the holder is ready and has no CPU.
    ready: f64,
    /// The site that other threads waited for longest.
    site: Option<&'a Site>,
    /// The class of locks that are taken inside of these sections, if its time there on the path is
    /// more than half of the time that `share` stands for.
    inner: Option<Inner<'a>>,
}

/// The time on the path of a class's sections for which others wait, and its parts.
#[derive(Default)]
struct Times {
    all: Nanos,
    asleep: Nanos,
    ready: Nanos,
}

impl Times {
    fn add(&mut self, kind: &str, time: Nanos) {
        self.all += time;
        match kind {
            "critical-section-blocked" | "critical-section-call" | "critical-section-off-cpu" => self.asleep += time,
            "critical-section-ready" => self.ready += time,
            _ => {}
        }
    }
}

/// Finds the class of locks whose critical sections take most of the path.
pub(super) fn heaviest(report: &Report) -> Option<Heaviest<'_>> {
    let mut classes: BTreeMap<u32, Times> = BTreeMap::new();
    for part in report.critical_path.parts.iter().filter(|part| part.kind.starts_with("critical-section")) {
        let class = part.lock.and_then(|lock| report.locks.get(lock as usize)).map(|lock| lock.class);
        if let Some(class) = class {
            classes.entry(class).or_default().add(&part.kind, part.waited_for_ns);
        }
    }
    let (number, times) = classes.into_iter().max_by_key(|(class, times)| (times.all, Reverse(*class)))?;
    let class = report.classes.get(number as usize)?;
    let share = |time: Nanos| ratio(time.0, report.critical_path.length_ns.0).min(1.0);
    Some(Heaviest {
        number,
        name: lock_phrase(&class.name),
        locks: class.locks,
        share: share(times.all),
        asleep: share(times.asleep),
        ready: share(times.ready),
        site: most_awaited(report, number),
        inner: inside(report, number).filter(|inner| inner.time.0 * 2 > times.all.0 && inner.takes_the_waits),
    })
    .filter(|lock| lock.share > 0.0)
}

/// The place of the sections in the code, as ` in Queue::push (queue.cpp:9)`. If the function only
/// passes the lock on, its caller has the section, and is named.
fn place_of(site: Option<&Site>) -> String {
    let caller =
        |site: &Site| site.through.rsplit(" -> ").next().filter(|caller| !caller.is_empty()).map(str::to_owned);
    site.map_or_else(String::new, |site| match caller(site) {
        Some(caller) => format!(" in {caller} (through {})", site.name),
        None => format!(" in {}", site.name),
    })
}

impl Heaviest<'_> {
    /// Details of the sections, as `, and for 40% the holder sleeps …`.
    pub(super) fn details(&self) -> String {
        let mut out = String::new();
        if self.asleep >= WORTH_A_STEP {
            out += &format!(
                ", and for {} the holder is off its CPU there: it sleeps, or waits for input or output",
                percent(self.asleep)
            );
        }
        if self.ready >= WORTH_A_STEP {
            out += &format!(
                ", and for {} the holder could run there and has no CPU, while other threads wait for it",
                percent(self.ready)
            );
        }
        if let Some(inner) = &self.inner {
            let at = place_of(inner.site);
            out += &format!("; most of that is done under {}, which threads take inside of it{at}", inner.name);
        }
        out
    }

    /// The advice on the critical sections of the class.
    pub(super) fn next(&self, place: &str) -> NextStep {
        let at = place_of;
        let name = &self.name;
        let text = match &self.inner {
            _ if self.asleep > self.share / 2.0 => {
                format!("take the sleep, input or output out of {name}'s critical section{}", at(self.site))
            }
            Some(inner) => format!(
                "make {}'s critical section{} shorter, or take it out of {name}'s: to split {name} alone moves the waits to {}",
                inner.name,
                at(inner.site),
                inner.name
            ),
            None => format!("make {name}'s critical section{} shorter, or split the lock", at(self.site)),
        };
        NextStep { text, command: Some(format!("baton report {} --html report.html", quoted(place))) }
    }

    /// The part of `share` that shorter sections can win, which is `share` without the time in
    /// which the holder is ready and has no CPU.
    pub(super) fn with_cpu(&self) -> f64 {
        self.share - self.ready
    }

    /// The advice if holders of the lock have no CPU: to look at the threads' priorities, which are
    /// not recorded. `None` if that time is short, or if other programs used the CPUs, which is
    /// then the reason for the part in which the program left a CPU to them.
    pub(super) fn without_cpu(&self, report: &Report) -> Option<(f64, NextStep)> {
        let text = format!(
            "see whether threads that take {} have different priorities (columns PRI and NI), which Baton does not record: a \
             thread of low priority that holds it without a CPU keeps the others waiting; the protocol PTHREAD_PRIO_INHERIT \
             cures that for real-time priorities",
            self.name
        );
        let command = Some("ps -eLo pid,tid,cls,pri,ni,comm".to_owned());
        let path = &report.critical_path;
        let others = report.limits.disturbed.as_ref().map_or(0.0, |_| ratio(path.ready_left_ns.0, path.ready_ns.0));
        let worth = self.ready * (1.0 - others.min(1.0)) >= WORTH_A_STEP;
        worth.then_some((self.ready, NextStep { text, command }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site in a wrapper of a lock is described by the caller, which has the section; a site
    /// without callers by its own function.
    #[test]
    fn sections_behind_a_wrapper_are_those_of_its_caller() {
        let site = |through: &str| Site {
            name: "Shard::lock (shard.cpp:14)".into(),
            through: through.into(),
            ..Site::default()
        };
        assert_eq!(
            place_of(Some(&site("Table::get -> Cache::look_up"))),
            " in Cache::look_up (through Shard::lock (shard.cpp:14))"
        );
        assert_eq!(place_of(Some(&site(""))), " in Shard::lock (shard.cpp:14)");
        assert_eq!(place_of(None), "");
    }
}
