//! The first screen: the verdict, and the critical path on which it is based.

use super::table::{Side, Table};
use super::text::{ROWS, Style, WIDTH, clip, printable, wrap};
use crate::format::{duration, lock_phrase, percent};
use crate::model::{Background, PathPart, Report, Verdict};
use baton_units::Nanos;

pub(super) fn verdict(verdict: &Verdict, style: Style) -> String {
    let mut out = String::from("\n");
    for doubt in &verdict.doubts {
        out += &wrap(&style.warn("Not to be trusted:"), "Not to be trusted:", doubt);
    }
    out += &wrap(&style.bold("Verdict:"), "Verdict:", &verdict.headline);
    let mut name = "Could be won";
    for gain in &verdict.gains {
        out += &wrap(&style.bold(name), name, gain);
        name = "            ";
    }
    let mut name = "Next:";
    for step in &verdict.next {
        out += &wrap(&style.bold(name), name, &step.text);
        // A command must stay on one line, because it is there to be copied.
        if let Some(command) = &step.command {
            out += &format!("        {}\n", style.bold(&printable(command)));
        }
        name = "     ";
    }
    out
}

/// A paragraph on the background threads, and on the option with which a user says that the program
/// does wait for one of them.
pub(super) fn background(report: &Report) -> String {
    let name =
        |thread: u32| report.threads.get(thread as usize).map_or_else(|| thread.to_string(), |one| one.name.clone());
    let of = |one: &Background| {
        let (thread, joiner) = (name(one.thread), name(one.joiner));
        if !one.joined {
            return format!("{thread} (thread {}) went on until {joiner} ended the process", one.thread);
        }
        format!(
            "{thread} (thread {}) ended {} after {joiner} had told it to end, or had come to join it",
            one.thread,
            duration(one.ended_ns - one.joined_ns)
        )
    };
    let shown: Vec<String> = report.background.iter().take(ROWS).map(of).collect();
    if shown.is_empty() {
        return String::new();
    }
    let more = report.background.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let text = format!(
        "{}{more}. The program is not taken to wait for such a thread's work, which goes on until another thread ends it \
         (`baton report DIR --until THREAD` if it does wait).",
        shown.join("; ")
    );
    wrap("Background threads:", "Background threads:", &text)
}

/// The phrase for a part of the path.
fn part(report: &Report, part: &PathPart) -> String {
    let lock = part.lock.and_then(|lock| report.locks.get(lock as usize)).map(|lock| lock_phrase(&lock.name));
    let waitable = part.waitable.and_then(|w| report.waitables.get(w as usize));
    let waitable = waitable.map(|w| crate::format::phrase(&w.kind, &w.name));
    let of = lock.or(waitable).unwrap_or_default();
    let what = match part.kind.as_str() {
        "running" => "on a CPU, outside of critical sections",
        "ready" => "ready, without a CPU",
        "blocked" => "blocked outside of what Baton sees",
        "call" => "blocked in input, output or sleep",
        "recorder" => "blocked in Baton's recorder",
        "off-cpu" => "off the CPU, why is not known",
        "critical-section" => return format!("on a CPU in {of}'s sections"),
        "critical-section-ready" => return format!("ready in {of}'s sections"),
        "critical-section-blocked" => return format!("blocked in {of}'s sections"),
        "critical-section-call" => return format!("in input, output or sleep in {of}'s sections"),
        "critical-section-recorder" => return format!("blocked in Baton's recorder in {of}'s sections"),
        "critical-section-off-cpu" => return format!("off the CPU in {of}'s sections"),
        "libc-lock-code" => return format!("on a CPU at {of}"),
        awaited if awaited.ends_with("-awaited") => return format!("on a CPU while others wait at {of}"),
        awaited if awaited.ends_with("-awaited-call") => {
            return format!("in input, output or sleep while others wait at {of}");
        }
        awaited if awaited.ends_with("-awaited-blocked") => return format!("blocked while others wait at {of}"),
        awaited if awaited.ends_with("-awaited-off-cpu") => return format!("off the CPU while others wait at {of}"),
        "futile-wake-ups" => return format!("cost of futile wake-ups at {of}"),
        "polling" => return format!("cost of polling under {of}"),
        "shared-wait" => return format!("waits for {of}, which other processes use, too"),
        other if of.is_empty() => return other.replace('-', " "),
        other => return format!("{} of {of}", other.replace('-', " ")),
    };
    what.to_owned()
}

/// The parts of the critical path, and the program's time without the costs of the most waited-for
/// locks.
pub(super) fn path(report: &Report, style: Style) -> String {
    let path = &report.critical_path;
    if path.length_ns == Nanos(0) {
        return String::new();
    }
    let columns = [("time", Side::Right), ("share", Side::Right)];
    let title = format!("Critical path, {}", duration(path.length_ns));
    let mut table = Table::new(&title, 60, &columns);
    for shown in path.parts.iter().take(ROWS) {
        let share = crate::model::ratio(shown.total_ns.0, path.length_ns.0);
        table.row(vec![part(report, shown), duration(shown.total_ns), percent(share)]);
    }
    let mut out = table.render(style, path.parts.len().saturating_sub(ROWS));
    let all = report.totals.span_ns;
    for lock in report.locks.iter().take(3) {
        let (Some(cheap), Some(free)) = (lock.program_without_overhead_ns, lock.program_without_exclusion_ns) else {
            continue;
        };
        if cheap == all && free == all {
            continue;
        }
        let name = clip(&lock_phrase(&lock.name), WIDTH - 20);
        let text = format!(
            "the program would take {} instead of {} if hand-offs took no time, {} if it excluded no thread",
            duration(cheap),
            duration(all),
            duration(free)
        );
        out += &wrap(&format!("{name}:"), &format!("{name}:"), &text);
    }
    out
}
