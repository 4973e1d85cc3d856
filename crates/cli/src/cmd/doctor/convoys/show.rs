//! The findings as text for a terminal.

use super::{FACTOR, Found, Handoffs, LongHolds, Row};
use crate::ui;
use std::fmt::Write;

/// All findings as text.
pub(super) fn text(found: &Found) -> String {
    let header = ["lock", "threads", "CPUs", "think", "measured", "simulated", "factor", ""];
    let rows: Vec<_> = found.rows.iter().map(row).collect();
    let mut out = ui::table(&header, &rows);
    let _ = writeln!(
        out,
        "\nHand-offs to sleepers that follow when a holder stalls for {} µs: median and range of {} convoys. Holds of {} ns; simulated on {}.",
        found.stall_ns / 1_000,
        found.trials,
        found.critical_ns,
        found.chip
    );
    let off = found.rows.iter().filter(|row| !row.agrees).count();
    let _ = match off {
        0 => writeln!(out, "All {} rows agree within a factor of {FACTOR}.", rows.len()),
        off => writeln!(out, "{off} of {} rows do not agree within a factor of {FACTOR}.", rows.len()),
    };
    let _ = writeln!(
        out,
        "Holds that took 1 µs longer than most, unasked: measured {}; simulated {}.",
        long(found.long_holds.measured),
        long(found.long_holds.simulated)
    );
    for left in &found.left_out {
        let _ = writeln!(out, "not told: {left}");
    }
    out
}

fn row(row: &Row) -> Vec<String> {
    vec![
        format!("{}:{}", row.lock, row.wait),
        row.threads.to_string(),
        row.cpus.to_string(),
        format!("{} µs", row.think_ns as f64 / 1e3),
        handoffs(row.handoffs.measured),
        handoffs(row.handoffs.simulated),
        format!("{:.2}", row.factor),
        if row.agrees { String::new() } else { "does not agree".to_owned() },
    ]
}

fn handoffs(found: Handoffs) -> String {
    let Handoffs { median, low, high, to_the_end } = found;
    let end = if to_the_end == 0 { String::new() } else { format!(", {to_the_end} to the end") };
    format!("{median} ({low} – {high}{end})")
}

fn long(found: LongHolds) -> String {
    let a_million = found.long as f64 * 1e6 / found.holds.max(1) as f64;
    format!("{a_million:.0} in a million, the longest {:.1} µs", found.longest_ns as f64 / 1e3)
}
