//! The summary on a terminal: at most 80 columns, except in commands that are there to be copied;
//! no colour unless asked for. The verdict fits on the first screen.

mod diff;
mod openmp;
mod orders;
mod queues;
mod requests;
mod table;
mod text;
mod verdict;

pub use diff::diff;
pub use orders::lock_orders;
pub use text::{Style, WIDTH, wrap};

use crate::format::{count, duration, lock_phrase, percent, phrase};
use crate::model::{Class, Limits, Outside, Report, Site, Thread, Usage, Waitable};
use baton_units::Nanos;
use std::collections::BTreeMap;
use table::{Side, Table};
use text::{ROWS, clip, plural};

/// The summary of a report as lines of text, with a line feed at the end.
pub fn summary(report: &Report, style: Style) -> String {
    let mut out = head(report, style);
    out += &verdict::verdict(&report.verdict, style);
    out += &requests::requests(report, style);
    out += &verdict::path(report, style);
    out += &verdict::background(report);
    if report.totals.acquisitions == 0 {
        out += "\nNo lock was acquired where Baton can see it.\n";
    } else {
        out += &locks(report, style);
    }
    out += &orders::note(report, style);
    out += &openmp::regions(report, style);
    out += &queues::queues(report, style);
    out += &waitables(report, style);
    out += &openmp::tasks(report, style);
    out += &threads(report, style);
    out += &outside(report, style);
    out += &sites(report, style);
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
        "{} in {}, {} events\n",
        plural(report.threads.len(), "thread"),
        duration(run.elapsed_ns.unwrap_or(totals.span_ns)),
        count(totals.events),
    );
    out += &dilation(report);
    out += &match (totals.acquisitions, totals.contended) {
        (0, _) => "no acquisitions of locks\n".to_owned(),
        (acquisitions, contended) => format!(
            "{} acquisitions of {}, {} of them waited\n",
            count(acquisitions),
            plural(report.locks.iter().filter(|lock| lock.usage.was_used()).count(), "lock"),
            if contended == 0 { "none".to_owned() } else { percent(crate::model::ratio(contended, acquisitions)) },
        ),
    };
    let waiting = report.threads.iter().filter(|thread| thread.wait_ns > Nanos(0)).count();
    if totals.blocked_ns > Nanos(0) {
        out += &format!(
            "{} waited {} for locks, added over threads ({} of their lives):\n{} while others held them, {} of competition overhead (it was free)\n",
            plural(waiting, "thread"),
            duration(totals.blocked_ns),
            percent(crate::model::ratio(totals.blocked_ns.0, lifetimes)),
            some(totals.sections_ns),
            some(totals.overhead_ns),
        );
    }
    out
}

/// A line on how much longer the program took because it was recorded.
fn dilation(report: &Report) -> String {
    let Some(dilation) = &report.run.dilation else { return String::new() };
    match dilation.alone_ns {
        Some(alone) => format!(
            "recording: {:.2} times the program's own {} ({:.2} by the recorder's work)\n",
            dilation.times,
            duration(alone),
            dilation.estimated
        ),
        None => format!("recording: at least {:.2} times the program's own time (estimated)\n", dilation.times),
    }
}

/// A duration within a sentence. Zero is written `0`, not as a dash.
fn some(ns: Nanos) -> String {
    if ns == Nanos(0) { "0".to_owned() } else { duration(ns) }
}

/// The table of locks. Locks of one class share a line, with their number; the page and the JSON
/// list each lock by itself.
fn locks(report: &Report, style: Style) -> String {
    let columns = ["acquired", "waited", "wait", "hold", "overhead", "hand-off"].map(|c| (c, Side::Right));
    let mut table = Table::new("Locks", 26, &columns).with_whole_names();
    let used: Vec<&Class> = report.classes.iter().filter(|class| class.usage.was_used()).collect();
    for class in used.iter().take(ROWS) {
        let count = if class.locks > 1 { format!("{} × ", class.locks) } else { String::new() };
        table.row(usage_row(&format!("{count}{}", class.name), &class.usage));
    }
    let mut out = table.render(style, used.len().saturating_sub(ROWS));
    match report.locks.iter().filter(|lock| !lock.usage.was_used()).count() {
        0 => {}
        idle => out += &format!("… and {} that no thread acquired\n", plural(idle, "lock")),
    }
    for site in report.places().iter().filter(|site| site.is_poll()).take(ROWS) {
        let lock = site.class.and_then(|c| report.classes.get(c as usize)).map_or("", |c| &c.name);
        let text = format!(
            "{} takes {} again and again until a value changes: {} of its {} acquisitions; a wait in disguise",
            site.name,
            crate::format::lock_phrase(lock),
            count(site.polls),
            count(site.acquisitions)
        );
        out += &wrap(&style.warn("polls under lock:"), "polls under lock:", &text);
    }
    out
}

fn usage_row(name: &str, usage: &Usage) -> Vec<String> {
    vec![
        name.to_owned(),
        count(usage.acquisitions),
        percent(usage.contended_share()),
        duration(usage.blocked_ns),
        duration(usage.hold_ns.total_ns),
        duration(usage.overhead_ns),
        duration(usage.handoff_ns.p50_ns),
    ]
}

fn waitables(report: &Report, style: Style) -> String {
    let mut used: Vec<&Waitable> = report.waitables.iter().filter(|w| w.waits > 0 && w.kind != "queue").collect();
    if used.is_empty() {
        return String::new();
    }
    used.sort_by_key(|w| std::cmp::Reverse(w.wait_ns.total_ns));
    let columns = ["kind", "waits", "wait", "p50", "p99", "wake p50"];
    let mut table = Table::new("Waits at other objects", 32, &columns.map(|c| (c, Side::Right)));
    for w in used.iter().take(ROWS) {
        table.row(vec![
            w.name.clone(),
            w.kind.clone(),
            count(w.waits),
            duration(w.wait_ns.total_ns),
            duration(w.wait_ns.p50_ns),
            duration(w.wait_ns.p99_ns),
            duration(w.wake_ns.p50_ns),
        ]);
    }
    let mut out = table.render(style, used.len().saturating_sub(ROWS));
    for w in used.iter().take(ROWS) {
        if let Some(at) = &w.at {
            let head = format!("{}:", w.kind);
            out += &wrap(&style.bold(&head), &head, &format!("waits at {} begin in {at}", phrase(&w.kind, &w.name)));
        }
    }
    out
}

fn threads(report: &Report, style: Style) -> String {
    let mut sorted: Vec<&Thread> = report.threads.iter().collect();
    sorted.sort_by_key(|t| std::cmp::Reverse(t.wait_ns));
    // Columns in which no thread has a figure are left out.
    let columns: [Figure<Thread>; 9] = [
        ("life", |t| Nanos(t.last_ns.0.saturating_sub(t.first_ns.0))),
        ("on CPU", |t| t.running_ns),
        ("ready", |t| t.ready_ns),
        ("blocked", |t| t.blocked_ns),
        ("off CPU", |t| t.off_ns),
        ("lock wait", |t| t.wait_ns),
        ("other wait", |t| other_wait(t)),
        ("idle", |t| t.idle_ns),
        ("longest", |t| t.longest_wait_ns),
    ];
    let used: Vec<_> = columns.iter().filter(|(_, of)| sorted.iter().any(|t| of(t) > Nanos(0))).collect();
    let heads: Vec<(&str, Side)> = used.iter().map(|(name, _)| (*name, Side::Right)).collect();
    let mut table = Table::new("Threads", 16, &heads);
    for t in sorted.iter().take(ROWS) {
        table.row([t.name.clone()].into_iter().chain(used.iter().map(|(_, of)| duration(of(t)))).collect());
    }
    table.render(style, sorted.len().saturating_sub(ROWS)) + &bound(&report.threads)
}

fn other_wait(t: &Thread) -> Nanos {
    t.condition_ns + t.barrier_ns + t.semaphore_ns + t.queue_ns + t.join_ns + t.task_wait_ns + t.futex_ns
}

/// The title of a column, and its figure for a row.
type Figure<T> = (&'static str, fn(&T) -> Nanos);

/// The places where threads were off their CPUs outside of all recorded waits.
fn outside(report: &Report, style: Style) -> String {
    // Less than a thousandth of the program's length is not worth a row.
    let weighs = |place: &&Outside| place.total().0 > report.totals.span_ns.0 / 1000;
    let worst: Vec<&Outside> = report.outside.iter().filter(weighs).collect();
    if worst.is_empty() {
        return String::new();
    }
    let columns: [Figure<Outside>; 4] = [
        ("blocked", |place| place.blocked_ns),
        ("ready", |place| place.ready_ns),
        ("off CPU", |place| place.off_ns),
        ("on the path", |place| place.path_ns),
    ];
    let used: Vec<_> = columns.iter().filter(|(_, of)| worst.iter().any(|place| of(place) > Nanos(0))).collect();
    let heads: Vec<(&str, Side)> = used.iter().map(|(name, _)| (*name, Side::Right)).collect();
    let mut table = Table::new("Off the CPU, outside of waits", 44, &heads);
    for place in worst.iter().take(ROWS) {
        let name = match place.threads {
            1 => place.place(),
            threads => format!("{} ({threads} threads)", place.place()),
        };
        table.row([name].into_iter().chain(used.iter().map(|(_, of)| duration(of(place)))).collect());
    }
    table.render(style, worst.len().saturating_sub(ROWS))
}

/// The sets of CPUs that threads could run on, each with its first thread and the number of others;
/// empty if all threads could run on the same CPUs.
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
    let lock = |site: &Site| site.class.and_then(|c| report.classes.get(c as usize)).map_or("", |c| &c.name);
    let cells: Vec<_> = worst.iter().take(ROWS).map(|site| (site, site_and_lock(site, lock(site)))).collect();
    let has_locks = cells.iter().any(|(_, (_, lock))| !lock.is_empty());
    let figures = ["acquired", "waited", "blame"].map(|name| (name, Side::Right));
    let columns: Vec<_> = has_locks.then_some(("lock", Side::Left)).into_iter().chain(figures).collect();
    let mut table = Table::new("Call sites", 34, &columns).with_whole_names();
    for (site, (name, lock)) in cells {
        let figures = [count(site.acquisitions), duration(site.wait_ns), duration(site.blame_ns)];
        table.row([name].into_iter().chain(has_locks.then_some(lock)).chain(figures).collect());
    }
    table.render(style, worst.len().saturating_sub(ROWS))
}

/// The first two cells of a site's row: the place and the lock. If the site has callers in
/// `through`, or the lock's name is longer than 18 characters, the first cell has all of it on
/// lines of its own: the place, the callers, and the lock.
fn site_and_lock(site: &Site, lock: &str) -> (String, String) {
    if site.through.is_empty() && lock.chars().count() <= 18 {
        return (site.name.clone(), lock.to_owned());
    }
    let through = if site.through.is_empty() { String::new() } else { format!("\n  through {}", site.through) };
    (format!("{}{through}\n  takes {}", site.name, lock_phrase(lock)), String::new())
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
