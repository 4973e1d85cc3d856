//! Orders of locks that could deadlock.

use super::text::{ROWS, Style, wrap};
use crate::format::{count, list, lock_phrase};
use crate::model::{LockOrder, OrderStep, Report};

/// All circles of lock orders, as lines of text with a line feed at the end.
pub fn lock_orders(report: &Report, style: Style) -> String {
    if report.lock_orders.is_empty() {
        return "No two locks were taken in orders that could deadlock.\n".to_owned();
    }
    let mut out = style.bold("Lock orders that could deadlock") + "\n";
    for (n, circle) in (1..).zip(&report.lock_orders) {
        let head = format!("{n}.");
        let happened = if circle.happened { ": they did in this run" } else { "" };
        out += &wrap(&head, &head, &format!("{}{happened}", locks(report, circle)));
        for step in &circle.steps {
            out += &wrap("  ", "  ", &sentence(report, step));
        }
        for doubt in &circle.doubts {
            out += &wrap(&style.warn("  perhaps not:"), "  perhaps not:", doubt);
        }
    }
    out
}

/// A sentence about the circles for the summary; empty if there are none.
pub(super) fn note(report: &Report, style: Style) -> String {
    if report.lock_orders.is_empty() {
        return String::new();
    }
    let named = report.lock_orders.iter().take(ROWS).map(|circle| locks(report, circle));
    let more = report.lock_orders.len().saturating_sub(ROWS);
    let more = if more == 0 { String::new() } else { format!("; {more} more") };
    let text = format!(
        "taken in orders that could deadlock: {}{more} (`baton report --lock-order` says where)",
        named.collect::<Vec<_>>().join("; ")
    );
    format!("\n{}", wrap(&style.warn("lock orders:"), "lock orders:", &text))
}

fn lock(report: &Report, number: u32) -> String {
    report.locks.get(number as usize).map_or_else(|| format!("lock {number}"), |lock| lock_phrase(&lock.name))
}

fn locks(report: &Report, circle: &LockOrder) -> String {
    let names: Vec<String> = circle.steps.iter().map(|step| lock(report, step.held)).collect();
    list(&names)
}

fn sentence(report: &Report, step: &OrderStep) -> String {
    let thread = report.threads.get(step.thread as usize).map_or("", |thread| &thread.name);
    let at = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
    let times = if step.times == 1 { "once".to_owned() } else { format!("{} times", count(step.times)) };
    format!(
        "{}{}, then {}{} inside: {times}, as thread {} ({thread}) did",
        lock(report, step.held),
        at(&step.held_at),
        lock(report, step.wanted),
        at(&step.wanted_at),
        step.thread
    )
}
