//! The table on a terminal.

use crate::ui;
use baton_chip::Chip;
use baton_replay::Prediction;
use baton_replay::predict::{Predicted, Spread};

/// Nanoseconds as milliseconds.
pub(crate) fn ms(ns: u64) -> String {
    let ms = ns as f64 * 1e-6;
    if ms < 10.0 {
        format!("{ms:.3}")
    } else if ms < 1000.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}

/// The spread's ends.
pub(crate) fn range(spread: Spread) -> String {
    format!("{}–{}", ms(spread.low), ms(spread.high))
}

/// What is to be said of a row.
pub(crate) fn remark(row: &Predicted, first: bool) -> &'static str {
    match (first, row.cut_off) {
        (true, _) => "recorded lock",
        (false, 0) => "",
        (false, _) => "collapse: cut off, at least this",
    }
}

pub(crate) fn text(prediction: &Prediction, chip: &Chip) -> String {
    let check = &prediction.check;
    let mut out = format!(
        "{} threads on {} cores of chip {} · recorded with {}\nself-check: recorded run {} ms, its replay {} ms ({:+.1}%) · {:.1}% of the events not replayable\n",
        prediction.threads,
        prediction.cpus,
        chip.name,
        prediction.recorded_lock,
        ms(check.measured_ns),
        ms(check.replayed_ns.median),
        check.error * 100.0,
        prediction.not_replayable_share * 100.0,
    );
    for reason in &prediction.reasons {
        out += &format!("{} {reason}\n", ui::paint("not trustworthy:", ui::RED));
    }
    out.push('\n');
    let rows = prediction.results.iter().enumerate().map(|(i, row)| {
        let share = 100.0 * row.contended as f64 / row.acquisitions.max(1) as f64;
        vec![
            row.lock.clone(),
            row.wait.clone(),
            ms(row.time_ns.median),
            range(row.time_ns),
            format!("{:.2}", row.speedup),
            ms(row.overhead_ns.median),
            range(row.overhead_ns),
            format!("{share:.0}%"),
            remark(row, i == 0).to_owned(),
        ]
    });
    let header =
        ["lock", "wait", "time ms", "over seeds", "speed-up", "overhead ms", "over seeds", "contended", "remark"];
    out += &ui::table(&header, &rows.collect::<Vec<_>>());
    for note in &prediction.notes {
        out += &format!("note: {note}\n");
    }
    out
}
