//! Prints the comparison of two profiles on a terminal.

use super::table::{Side, Table};
use super::text::{Style, clip, wrap};
use crate::diff::{Change, Diff};
use crate::format::{count, duration};
use baton_units::Nanos;

/// The most locks that are printed, in the table and in each list.
const ROWS: usize = 20;

/// The comparison as lines of text, with a line feed at the end. A lock's change that is within the
/// noise stands in brackets; one whose noise is unknown has a question mark after it.
pub fn diff(diff: &Diff, style: Style) -> String {
    let columns = ["before", "after", "change"].map(|c| (c, Side::Right));
    let mut whole = Table::new("Program", 60, &columns);
    let (a, b) = (&diff.before, &diff.after);
    let lock = |lock: &Option<String>| clip(lock.as_deref().unwrap_or("C library"), 16);
    whole.row(vec!["lock".into(), lock(&a.lock), lock(&b.lock), String::new()]);
    for (name, x, y) in [
        ("elapsed", a.elapsed_ns, b.elapsed_ns),
        ("waits for locks", a.blocked_ns, b.blocked_ns),
        ("competition overhead", a.overhead_ns, b.overhead_ns),
    ] {
        whole.row(vec![name.into(), duration(x), duration(y), relative(x.0 as f64, y.0 as f64)]);
    }
    whole.row(vec![
        "acquisitions".into(),
        count(a.acquisitions),
        count(b.acquisitions),
        relative(a.acquisitions as f64, b.acquisitions as f64),
    ]);
    let columns = ["wait each", "±", "change", "overhead", "change", "hold", "change"];
    let mut locks = Table::new("Locks, an acquisition", 28, &columns.map(|c| (c, Side::Right)));
    for l in diff.locks.iter().take(ROWS) {
        locks.row(vec![
            l.name.clone(),
            each(&l.wait_each_ns),
            l.wait_each_ns.noise.map_or("?".into(), |n| duration(Nanos(n.round() as u64))),
            change(&l.wait_each_ns),
            each(&l.overhead_each_ns),
            change(&l.overhead_each_ns),
            each(&l.hold_each_ns),
            change(&l.hold_each_ns),
        ]);
    }
    let mut out = whole.render(style, 0).trim_start().to_owned();
    out += &locks.render(style, diff.locks.len().saturating_sub(ROWS));
    out.push('\n');
    for (title, names) in [("only before:", &diff.only_before), ("only after:", &diff.only_after)] {
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().take(ROWS).map(String::as_str).collect();
            let more = names.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            out += &wrap(&style.bold(title), title, &format!("{}{more}", shown.join(", ")));
        }
    }
    for remark in &diff.remarks {
        out += &wrap(&style.bold("note:"), "note:", remark);
    }
    out
}

fn each(change: &Change) -> String {
    duration(Nanos(change.after.round() as u64))
}

fn change(change: &Change) -> String {
    let text = relative(change.before, change.after);
    match change.is_beyond_noise() {
        Some(true) => text,
        Some(false) if text == "-" => text,
        Some(false) => format!("({text})"),
        None => format!("{text}?"),
    }
}

fn relative(before: f64, after: f64) -> String {
    if before == after {
        return "-".to_owned();
    }
    if before == 0.0 {
        return "new".to_owned();
    }
    let ratio = after / before;
    if ratio >= 10.0 { format!("×{ratio:.0}") } else { format!("{:+.1}%", (ratio - 1.0) * 100.0) }
}
