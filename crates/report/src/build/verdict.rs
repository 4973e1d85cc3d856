//! The verdict, derived from the critical path: what limits the program, what could be won at most,
//! and what to do next.

use super::cannot_tell::{self, Unseen, most_outside};
use super::own_locks::{self, WORTH_A_STEP};
use crate::format::{duration, lock_phrase, percent};
use crate::model::{NextStep, PathPart, Report, Share, Site, Verdict, WORTH_A_LOCK, ratio};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The causes that can limit a program, each with the phrase for it.
const LIMITS: [(&str, &str); 10] = [
    ("running", "on a CPU, outside of critical sections"),
    ("sections", "in critical sections"),
    ("competition", "competition for locks: hand-offs and waits while a lock is free"),
    ("ready", "ready, without a CPU"),
    ("blocked", "blocked outside of what Baton sees"),
    ("calls", "blocked in calls for input, output or sleep"),
    ("off-cpu", "off the CPU, why is not known"),
    ("futex", "at futexes of the program's own: waits, and work that others wait for there"),
    ("libc-lock", "at locks inside of the C library: waits, and work at a contended lock"),
    ("waiting", "waiting for other threads: conditions, barriers, semaphores, starts, ends"),
];

/// The phrase for time in which a thread of the critical path was ready and had no CPU. It is a
/// bound, because the path of a program with more CPUs is another one.
const NO_CPU: &str = "if each ready thread had had a CPU at once, which is a bound and no forecast";

/// A lock's sections are the program's own work if all waiting for the lock is less than this share
/// of the path's time in them.
const WAITED_FOR: f64 = 0.01;

/// Whether threads waited for the lock whose sections a part of the path runs in.
fn is_waited_for(report: &Report, part: &PathPart) -> bool {
    let lock = part.lock.and_then(|lock| report.locks.get(lock as usize));
    lock.is_some_and(|lock| ratio(lock.usage.blocked_ns.0, part.total_ns.0) >= WAITED_FOR)
}

/// The limit to which a part of the path belongs. Sections that no thread waited for are the program's
/// own work.
fn limit(report: &Report, part: &PathPart) -> &'static str {
    let kind = match part.kind.strip_prefix("critical-section") {
        Some(rest) if !is_waited_for(report, part) => rest.strip_prefix('-').unwrap_or("running"),
        _ => part.kind.as_str(),
    };
    match kind {
        "running" => "running",
        // A holder that sleeps or waits for input keeps the others waiting as one that computes does.
        "critical-section" | "critical-section-call" | "critical-section-blocked" | "critical-section-off-cpu" => {
            "sections"
        }
        "ready" | "critical-section-ready" => "ready",
        "blocked" => "blocked",
        "call" => "calls",
        "off-cpu" => "off-cpu",
        futex if futex.starts_with("futex-") => "futex",
        lock if lock.starts_with("libc-lock-") => "libc-lock",
        "lock-hand-off" | "lock-wait" => "competition",
        _ => "waiting",
    }
}

/// Gives the verdict. `place` is the profile's directory as the user's commands name it.
pub(super) fn verdict(report: &Report, place: &str) -> Verdict {
    let shares = shares(report);
    let most_by_lock = most_by_lock(report);
    if let Some(still) = &report.standstill {
        return super::standstill::verdict(report, still, shares, most_by_lock, place);
    }
    let limit = shares.first().map_or("nothing", |share| &share.limit).to_owned();
    let lock = heaviest(report);
    let unseen = Unseen::of(report, &shares);
    let cannot_tell = unseen.headline();
    Verdict {
        limit: if cannot_tell.is_some() { cannot_tell::LIMIT.to_owned() } else { limit },
        headline: cannot_tell.unwrap_or_else(|| headline(report, &shares, lock.as_ref())),
        gains: gains(report, &shares, lock.as_ref(), &unseen),
        next: next(report, &shares, lock.as_ref(), place),
        doubts: report.limits.disturbed.iter().cloned().collect(),
        most_by_lock,
        unseen_share: unseen.share,
        shares,
    }
}

/// The share of the time in which a lock is free while a thread waits for it: at every other moment
/// no other lock could let a thread run that waits.
fn most_by_lock(report: &Report) -> f64 {
    ratio(report.totals.free_while_wanted_ns.0, report.totals.span_ns.0).min(1.0)
}

fn shares(report: &Report) -> Vec<Share> {
    let path = &report.critical_path;
    let mut sums: BTreeMap<&str, Nanos> = BTreeMap::new();
    for part in &path.parts {
        *sums.entry(limit(report, part)).or_default() += part.total_ns;
    }
    // Nested critical sections count once for each lock, so the sum of the parts may exceed the
    // path.
    let all = path.length_ns.0.max(sums.values().map(|ns| ns.0).sum());
    let share = |(limit, name): &(&str, &str)| {
        let total_ns = sums.get(limit).copied().filter(|total| *total > Nanos(0))?;
        Some(Share { limit: (*limit).into(), name: (*name).into(), total_ns, share: ratio(total_ns.0, all) })
    };
    let mut shares: Vec<Share> = LIMITS.iter().filter_map(share).collect();
    shares.sort_by_key(|share| Reverse(share.total_ns));
    shares
}

/// The class of locks whose critical sections take most of the path.
struct Heaviest<'a> {
    name: String,
    locks: u32,
    share: f64,
    /// The part of `share` in which the holder is off its CPU: it sleeps, reads or writes.
    asleep: f64,
    /// The site with the longest total hold time.
    site: Option<&'a Site>,
}

fn heaviest(report: &Report) -> Option<Heaviest<'_>> {
    // The time in each class's sections, and the part of it off the CPU.
    let mut classes: BTreeMap<u32, (Nanos, Nanos)> = BTreeMap::new();
    let sections = |part: &&PathPart| part.kind.starts_with("critical-section") && is_waited_for(report, part);
    for part in report.critical_path.parts.iter().filter(sections) {
        let class = part.lock.and_then(|lock| report.locks.get(lock as usize)).map(|lock| lock.class);
        if let Some(class) = class {
            let (all, asleep) = classes.entry(class).or_default();
            *all += part.total_ns;
            if matches!(part.kind.as_str(), "critical-section-blocked" | "critical-section-off-cpu") {
                *asleep += part.total_ns;
            }
        }
    }
    let (number, (time, asleep)) = classes.into_iter().max_by_key(|(class, (time, _))| (*time, Reverse(*class)))?;
    let class = report.classes.get(number as usize)?;
    let sites = report.sites.iter().filter(|site| site.class == Some(number));
    Some(Heaviest {
        name: lock_phrase(&class.name),
        locks: class.locks,
        share: ratio(time.0, report.critical_path.length_ns.0).min(1.0),
        asleep: ratio(asleep.0, report.critical_path.length_ns.0).min(1.0),
        site: sites.max_by_key(|site| site.hold_ns),
    })
}

fn headline(report: &Report, shares: &[Share], lock: Option<&Heaviest<'_>>) -> String {
    let Some(most) = shares.first() else { return "There is no critical path: the trace has no length.".to_owned() };
    let share = percent(most.share);
    match (most.limit.as_str(), lock) {
        ("running", _) => format!(
            "The program's own work limits it: {share} of its critical path runs on a CPU, outside of critical sections."
        ),
        ("sections", Some(lock)) => format!(
            "Critical sections limit it: {share} of its critical path lies inside of them, {} inside of {}'s{}.",
            percent(lock.share),
            lock.name,
            asleep(lock)
        ),
        ("sections", None) => format!("Critical sections limit it: {share} of its critical path lies inside of them."),
        ("competition", _) => {
            format!(
                "Competition for locks limits it: for {share} of its critical path a lock is free and a thread waits for it."
            )
        }
        ("ready", _) => format!(
            "CPUs are missing: for {share} of its critical path the thread could run and had none ({} threads, {} CPUs).",
            report.threads.len(),
            report.run.host.cpus
        ),
        ("blocked", _) => format!(
            "Waits outside of what Baton sees limit it: for {share} of its critical path the thread was blocked{}.",
            most_outside(report)
        ),
        ("calls", _) => format!(
            "Input, output or sleep limits it: for {share} of its critical path the thread was blocked in such calls{}.",
            most_outside(report)
        ),
        ("futex" | "libc-lock", _) => own_locks::headline(report, most),
        ("off-cpu", _) => format!(
            "Threads were off their CPUs for {share} of its critical path; why is not known, as no context switches were \
             recorded{}.",
            most_outside(report)
        ),
        _ => format!(
            "Threads wait for each other: {share} of its critical path passes between a cause and its waiter's waking up."
        ),
    }
}

/// `, of which the holder sleeps …`: if that is a good part of the lock's sections.
fn asleep(lock: &Heaviest<'_>) -> String {
    if lock.asleep < WORTH_A_STEP {
        return String::new();
    }
    format!(
        ", and for {} the holder is off its CPU there: it sleeps, or waits for input or output",
        percent(lock.asleep)
    )
}

fn gains(report: &Report, shares: &[Share], lock: Option<&Heaviest<'_>>, unseen: &Unseen<'_>) -> Vec<String> {
    let of = |limit: &str| shares.iter().find(|share| share.limit == limit);
    let at_most = |share: f64| if share == 0.0 { "nothing".to_owned() } else { format!("at most {}", percent(share)) };
    let (free, all) = (report.totals.free_while_wanted_ns, duration(report.totals.span_ns));
    let mut out = vec![match free {
        Nanos(0) => unseen
            .by_another_lock()
            .unwrap_or_else(|| format!("by another lock: nothing; in {all} no thread waited for a lock that was free")),
        free => format!(
            "by another lock: {}; for {} of {all} a lock was free while a thread waited for it{}",
            at_most(most_by_lock(report)),
            duration(free),
            unseen.besides()
        ),
    }];
    out.extend(own_locks::gains(report, shares));
    if let Some(lock) = lock.filter(|lock| lock.share >= 0.001) {
        let count = if lock.locks > 1 { format!(" ({} locks)", lock.locks) } else { String::new() };
        out.push(format!("by critical sections of {}{count} that take no time: {}", lock.name, at_most(lock.share)));
    }
    // Where other programs took the CPUs, more CPUs or fewer threads may gain nothing.
    let ready = of("ready").filter(|_| report.limits.disturbed.is_none()).map(|share| (NO_CPU, share));
    let calls = of("calls").map(|share| ("by shorter input, output or sleep", share));
    let blocked = of("blocked").map(|share| ("by shorter waits outside", share));
    for (how, share) in ready.into_iter().chain(calls).chain(blocked).filter(|(_, share)| share.share >= WORTH_A_STEP) {
        out.push(format!("{how}: {}", at_most(share.share)));
    }
    out
}

fn next(report: &Report, shares: &[Share], lock: Option<&Heaviest<'_>>, place: &str) -> Vec<NextStep> {
    let share = |limit: &str| shares.iter().find(|share| share.limit == limit).map_or(0.0, |share| share.share);
    let command = crate::format::shell(&report.run.command);
    let step = |text: String, command: Option<String>| NextStep { text, command };
    let with = |tool: &str| (!command.is_empty()).then(|| format!("{tool} {command}"));
    let mut steps: Vec<(f64, NextStep)> = own_locks::next(report, shares, place);
    let competition = most_by_lock(report);
    if competition >= WORTH_A_LOCK {
        let text = "measure whether another lock makes it faster".to_owned();
        steps.push((competition, step(text, Some(format!("baton try {}", crate::format::quoted(place))))));
    }
    if let Some(lock) = lock.filter(|lock| lock.share >= WORTH_A_STEP) {
        let at = lock.site.map_or_else(String::new, |site| format!(" in {}", site.name));
        let text = match lock.asleep > lock.share / 2.0 {
            true => format!("take the sleep, input or output out of {}'s critical section{at}", lock.name),
            false => format!("make {}'s critical section{at} shorter, or split the lock", lock.name),
        };
        let page = format!("baton report {} --html report.html", crate::format::quoted(place));
        steps.push((lock.share, step(text, Some(page))));
    }
    if share("blocked") >= WORTH_A_STEP {
        steps.push((
            share("blocked"),
            step(
                "see which calls of the kernel block (with -k instead of -c: from where)".into(),
                with("strace -f -w -c --"),
            ),
        ));
    }
    if share("calls") >= WORTH_A_STEP {
        steps.push((share("calls"), step("see which calls take the time".into(), with("strace -f -w -c --"))));
    }
    if share("off-cpu") >= WORTH_A_STEP {
        let text = "permit context switches to be recorded, and record again".to_owned();
        steps.push((share("off-cpu"), step(text, Some("sudo sysctl kernel.perf_event_paranoid=2".into()))));
    }
    if share("ready") >= WORTH_A_STEP {
        let cpus = report.run.host.cpus;
        let text = match &report.limits.disturbed {
            Some(_) => "record again while nothing else runs".to_owned(),
            None => format!("run it with no more threads than the {cpus} CPUs, and record that"),
        };
        steps.push((share("ready"), step(text, with("baton profile -o again --"))));
    }
    if share("waiting") >= WORTH_A_STEP {
        let most = report
            .critical_path
            .parts
            .iter()
            .filter(|part| limit(report, part) == "waiting")
            .max_by_key(|p| p.total_ns);
        let object = most.and_then(|part| part.waitable).and_then(|w| report.waitables.get(w as usize));
        let at = object.map_or_else(String::new, |w| format!(" at {}", crate::format::phrase(&w.kind, &w.name)));
        let text = format!("let threads wait for each other less often{at}: hand over more at a time, or wake fewer");
        let events = format!("baton report {} --perfetto waits.pftrace", crate::format::quoted(place));
        steps.push((share("waiting"), step(text, Some(events))));
    }
    if share("running") >= WORTH_A_STEP {
        let text = "see which functions take the time".to_owned();
        steps.push((share("running"), step(text, with("perf record -g --"))));
    }
    steps.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    steps.into_iter().map(|(_, step)| step).take(3).collect()
}
