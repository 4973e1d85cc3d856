//! The summary on a terminal: at most 100 columns, no colour unless asked for.

mod diff;
mod table;

pub use diff::diff;

use crate::format::{count, duration, percent};
use crate::model::{Class, Limits, Lock, PathPart, Report, Site, Thread, Usage, Waitable};
use baton_units::Nanos;
use std::borrow::Cow;
use std::collections::BTreeMap;
use table::{Side, Table};

/// Columns that a line may take.
pub const WIDTH: usize = 100;
/// Rows of a table; what follows is counted, and `baton report --json` or the page has it.
const ROWS: usize = 10;

/// How to write.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// With colour (SGR sequences). The caller knows about terminals and `NO_COLOR`.
    pub color: bool,
}

impl Style {
    fn bold(self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn warn(self, text: &str) -> String {
        if self.color { format!("\x1b[33m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The summary of a report, several lines, with a line feed at the end.
pub fn summary(report: &Report, style: Style) -> String {
    let mut out = head(report, style);
    if report.totals.acquisitions == 0 {
        out += "\nNo lock was acquired where Baton can see it.\n";
    } else {
        out += &locks(report, style);
    }
    out += &waitables(report, style);
    out += &threads(report, style);
    out += &sites(report, style);
    out += &path(report, style);
    out += &limits(&report.limits, style);
    out
}

fn head(report: &Report, style: Style) -> String {
    let totals = &report.totals;
    let run = &report.run;
    let command = if run.command.is_empty() { "(command not known)".to_owned() } else { run.command.join(" ") };
    let mut out = style.bold(&clip(&command, WIDTH)) + "\n";
    let lifetimes: u64 = report.threads.iter().map(|t| t.last_ns.0 - t.first_ns.0.min(t.last_ns.0)).sum();
    out += &format!(
        "{} in {}, {} events; ",
        plural(report.threads.len(), "thread"),
        duration(run.elapsed_ns.unwrap_or(totals.span_ns)),
        count(totals.events),
    );
    out += &match (totals.acquisitions, totals.contended) {
        (0, _) => "no acquisitions of locks\n".to_owned(),
        (acquisitions, contended) => format!(
            "{} acquisitions of {}, {} of them waited\n",
            count(acquisitions),
            plural(report.locks.iter().filter(|lock| lock.usage.was_used()).count(), "lock"),
            if contended == 0 { "none".to_owned() } else { percent(crate::model::ratio(contended, acquisitions)) },
        ),
    };
    if totals.blocked_ns > Nanos(0) {
        out += &format!(
            "waited {} for locks ({} of the threads' time): {} while others held them,\n{} of competition overhead (nobody held the lock, and still they waited)\n",
            duration(totals.blocked_ns),
            percent(crate::model::ratio(totals.blocked_ns.0, lifetimes)),
            some(totals.sections_ns),
            some(totals.overhead_ns),
        );
    }
    out
}

/// A duration in a sentence: nothing is a nought there, not a dash.
fn some(ns: Nanos) -> String {
    if ns == Nanos(0) { "0".to_owned() } else { duration(ns) }
}

fn locks(report: &Report, style: Style) -> String {
    let mut table = usage_table("Locks");
    let used: Vec<&Lock> = report.locks.iter().filter(|lock| lock.usage.was_used()).collect();
    for Lock { name, usage, .. } in used.iter().take(ROWS) {
        table.row(usage_row(name, usage));
    }
    let mut out = table.render(style, used.len().saturating_sub(ROWS));
    match report.locks.len() - used.len() {
        0 => {}
        idle => out += &format!("… and {} that nobody acquired\n", plural(idle, "lock")),
    }
    let shared: Vec<&Class> = report.classes.iter().filter(|c| c.locks > 1 && c.usage.was_used()).collect();
    if !shared.is_empty() {
        let mut table = usage_table("Classes of locks");
        for class in shared.iter().take(ROWS) {
            table.row(usage_row(&format!("{} ({})", class.name, class.locks), &class.usage));
        }
        out += &table.render(style, shared.len().saturating_sub(ROWS));
    }
    out
}

fn usage_table(title: &str) -> Table {
    let columns = ["acquired", "waited", "wait", "hold", "hand-off p50/99", "overhead", "spun", "blame"]
        .map(|c| (c, Side::Right));
    Table::new(title, 28, &columns)
}

fn usage_row(name: &str, usage: &Usage) -> Vec<String> {
    let handoff = match usage.handoff_ns.count {
        0 => "-".to_owned(),
        _ => format!("{}/{}", duration(usage.handoff_ns.p50_ns), duration(usage.handoff_ns.p99_ns)),
    };
    let unknown = if usage.contended == 0 { "-" } else { "?" };
    let spun = usage.entered.spinning_share();
    let spun = spun.map_or(unknown.to_owned(), |s| if s == 0.0 { "0%".to_owned() } else { percent(s) });
    vec![
        name.to_owned(),
        count(usage.acquisitions),
        percent(usage.contended_share()),
        duration(usage.blocked_ns),
        duration(usage.hold_ns.total_ns),
        handoff,
        duration(usage.overhead_ns),
        spun,
        duration(usage.blame_ns),
    ]
}

fn waitables(report: &Report, style: Style) -> String {
    let mut used: Vec<&Waitable> = report.waitables.iter().filter(|w| w.waits > 0).collect();
    if used.is_empty() {
        return String::new();
    }
    used.sort_by_key(|w| std::cmp::Reverse(w.wait_ns.total_ns));
    let columns = ["kind", "waits", "wait", "p50", "p99", "wake p50", "time-outs"];
    let mut table = Table::new("Conditions, barriers, semaphores", 34, &columns.map(|c| (c, Side::Right)));
    for w in used.iter().take(ROWS) {
        table.row(vec![
            w.name.clone(),
            w.kind.clone(),
            count(w.waits),
            duration(w.wait_ns.total_ns),
            duration(w.wait_ns.p50_ns),
            duration(w.wait_ns.p99_ns),
            duration(w.wake_ns.p50_ns),
            count(w.timeouts),
        ]);
    }
    table.render(style, used.len().saturating_sub(ROWS))
}

fn threads(report: &Report, style: Style) -> String {
    let mut sorted: Vec<&Thread> = report.threads.iter().collect();
    sorted.sort_by_key(|t| std::cmp::Reverse(t.wait_ns));
    let columns = ["tid", "life", "lock wait", "overhead", "other wait", "holding", "longest wait", "blame"];
    let mut table = Table::new("Threads", 24, &columns.map(|c| (c, Side::Right)));
    for t in sorted.iter().take(ROWS) {
        let other = t.condition_ns + t.barrier_ns + t.semaphore_ns + t.join_ns;
        table.row(vec![
            t.name.clone(),
            t.tid.to_string(),
            duration(Nanos(t.last_ns.0.saturating_sub(t.first_ns.0))),
            duration(t.wait_ns),
            duration(t.overhead_ns),
            duration(other),
            duration(t.hold_ns),
            duration(t.longest_wait_ns),
            duration(t.blame_ns),
        ]);
    }
    table.render(style, sorted.len().saturating_sub(ROWS)) + &bound(&report.threads)
}

/// Which threads were bound to some of the CPUs, where not all could run on the same.
fn bound(threads: &[Thread]) -> String {
    let mut sets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for thread in threads {
        sets.entry(thread.cpus.as_deref().unwrap_or("unknown")).or_default().push(&thread.name);
    }
    if sets.len() < 2 {
        return String::new();
    }
    let names = |names: &[&str]| match names {
        [name] => clip(name, 30),
        [name, rest @ ..] => format!("{} and {} more", clip(name, 30), rest.len()),
        [] => String::new(),
    };
    let sets: Vec<String> =
        sets.iter().take(ROWS).map(|(cpus, threads)| format!("{cpus} ({})", names(threads))).collect();
    wrap("CPUs:", "CPUs:", &sets.join(", "))
}

fn sites(report: &Report, style: Style) -> String {
    let weighs = |s: &&Site| s.class.is_some() && (s.wait_ns > Nanos(0) || s.blame_ns > Nanos(0));
    let places = report.places();
    let worst: Vec<&Site> = places.iter().filter(weighs).collect();
    if worst.is_empty() {
        return String::new();
    }
    let columns = [
        ("lock", Side::Left),
        ("acquired", Side::Right),
        ("waited here", Side::Right),
        ("held up others", Side::Right),
    ];
    let mut table = Table::new("Call sites", 48, &columns);
    for site in worst.iter().take(ROWS) {
        let lock = site.class.and_then(|c| report.classes.get(c as usize)).map_or("", |c| &c.name);
        table.row(vec![
            site.name.clone(),
            clip(lock, 24),
            count(site.acquisitions),
            duration(site.wait_ns),
            duration(site.blame_ns),
        ]);
    }
    table.render(style, worst.len().saturating_sub(ROWS))
}

fn path(report: &Report, style: Style) -> String {
    let path = &report.critical_path;
    if path.length_ns == Nanos(0) {
        return String::new();
    }
    let columns = [("time", Side::Right), ("share", Side::Right)];
    let title = format!("Critical path, {}", duration(path.length_ns));
    let mut table = Table::new(&title, 60, &columns);
    for PathPart { kind, lock, total_ns } in path.parts.iter().take(ROWS) {
        let lock = lock.and_then(|l| report.locks.get(l as usize)).map_or("", |l| &l.name);
        let share = crate::model::ratio(total_ns.0, path.length_ns.0);
        table.row(vec![format!("{} {lock}", kind.replace('-', " ")), duration(*total_ns), percent(share)]);
    }
    let mut out = table.render(style, path.parts.len().saturating_sub(ROWS));
    for lock in report.locks.iter().take(3) {
        let (Some(cheap), Some(free)) = (lock.program_without_overhead_ns, lock.program_without_exclusion_ns) else {
            continue;
        };
        let all = report.totals.span_ns;
        out += &clip(
            &format!(
                "without {}'s overhead: {} (of {}); if it excluded nobody: {}",
                clip(&lock.name, 30),
                duration(cheap),
                duration(all),
                duration(free)
            ),
            WIDTH,
        );
        out.push('\n');
    }
    out
}

fn limits(limits: &Limits, style: Style) -> String {
    let mut out = String::new();
    for line in &limits.lost {
        out += &wrap(&style.warn("lost:"), "lost:", line);
    }
    for line in &limits.unseen {
        out += &wrap(&style.bold("not seen:"), "not seen:", line);
    }
    for note in &limits.notes {
        let times = if note.times > 1 { format!(" ({} times)", note.times) } else { String::new() };
        out += &wrap(&style.bold("note:"), "note:", &format!("{}: {}{times}", note.object, note.text));
    }
    for line in &limits.symbols {
        out += &wrap(&style.bold("names:"), "names:", line);
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// A sentence behind a painted word, broken at blanks, later lines indented.
fn wrap(painted: &str, plain: &str, text: &str) -> String {
    let mut out = painted.to_owned();
    let mut column = plain.chars().count();
    for word in printable(text).split_whitespace() {
        let length = word.chars().count();
        if column + 1 + length > WIDTH && column > 2 {
            out += "\n ";
            column = 1;
        }
        out.push(' ');
        out += word;
        column += 1 + length;
    }
    out + "\n"
}

/// Control characters as Rust writes them: a command or a thread's name may hold any, and a terminal obeys them.
fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

/// Cut to a width, with a sign that it is.
fn clip(text: &str, width: usize) -> String {
    let text = &*printable(text);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n as u64)) }
}
