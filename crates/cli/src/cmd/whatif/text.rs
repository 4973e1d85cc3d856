//! The table of predictions on a terminal.

use crate::ui;
use baton_chip::Chip;
use baton_replay::Prediction;
use baton_replay::doubt::Interval;
use baton_replay::percent::Percent;
use baton_replay::predict::{COLLAPSE, Outcome, Predicted, Spread};
use baton_replay::variant::Variant;
use baton_report::terminal::wrap;

/// The word before a reason not to trust the prediction.
const DOUBT: &str = "not trustworthy:";

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

/// The ends of a spread; `-` if the spread has no width, as that of a single seed.
pub(crate) fn range(spread: Spread) -> String {
    if spread.low == spread.high { "-".to_owned() } else { format!("{}–{}", ms(spread.low), ms(spread.high)) }
}

/// The 95% interval of a row's time; otherwise the spread over seeds.
pub(crate) fn interval(row: &Predicted) -> String {
    match row.interval_ns {
        Some(Interval { low, high: Some(high) }) => format!("{}–{}", ms(low), ms(high)),
        Some(Interval { low, high: None }) => format!("≥ {}", ms(low)),
        None => range(row.time_ns),
    }
}

/// The name of what [`interval`] returns.
pub(crate) fn interval_name(rows: &[Predicted]) -> &'static str {
    if rows.iter().any(|row| row.interval_ns.is_some()) { "95% interval" } else { "over seeds" }
}

/// A figure of a row. For a row that was cut off the figure is a lower bound: operations in
/// progress are counted only up to the cut.
pub(crate) fn figure(row: &Predicted, spread: Spread) -> String {
    format!("{}{}", if row.cut_off == 0 { "" } else { "≥ " }, ms(spread.median))
}

/// Names three times that differ: the recorded run, its replay with the cost of recording, and its
/// replay without that cost, which is the table's first row.
pub(crate) fn three_numbers(prediction: &Prediction) -> String {
    let own = prediction.results.first().map_or(0, |row| row.time_ns.median);
    format!(
        "recorded run {} ms, its replay with the cost of recording {} ms ({:+.1}%), and without that cost {} ms, which the table \
         compares with",
        ms(prediction.check.measured_ns),
        ms(prediction.check.replayed_ns.median),
        prediction.check.error * 100.0,
        ms(own)
    )
}

/// A line that says how far the prediction for the recorded lock is from runs without recording, if
/// there were such runs.
pub(crate) fn alone(prediction: &Prediction) -> String {
    prediction.alone.as_ref().map_or_else(String::new, |alone| {
        format!(
            "without recording: foretold {} ms, measured {} ms ({:+.1}%; median of {} runs)",
            ms(alone.foretold_ns),
            ms(alone.measured_ns.median),
            alone.error * 100.0,
            alone.runs
        )
    })
}

/// The remark on a row.
pub(crate) fn remark(row: &Predicted) -> String {
    let all = [
        if row.recorded { "recorded lock" } else { "" },
        &failure(row),
        &collapse(row),
        if row.far && row.interval_ns.is_some() && row.cut_off == 0 {
            "far from what was recorded: by how much is uncertain"
        } else {
            ""
        },
        variant_remark(row),
    ];
    all.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Says so if the row's network or policy had no effect to show: no packet was marked, or no thread
/// was moved.
fn variant_remark(row: &Predicted) -> &'static str {
    match &row.variant {
        // OCOR marks only requests of locks that give hints.
        Some(Variant::Network(network)) if network.marks && network.marked_packets == 0 => {
            "carries no marks: this lock gives no hints"
        }
        Some(Variant::Asymmetric(cores))
            // The first policy is the one that the others are compared with.
            if cores.less_time.is_some()
                && cores.placed.tells()
                && cores.placed.migrations + cores.placed.swaps == 0 =>
        {
            "no thread was moved: this replay cannot show what the policy does"
        }
        _ => "",
    }
}

/// The reason why a row has no figures, or only those of fewer seeds.
fn failure(row: &Predicted) -> String {
    row.failed.as_ref().map_or_else(String::new, |failed| {
        let why = failed.why.lines().next().unwrap_or_default().trim_end_matches(':');
        format!("replay failed with {} of {} seeds: {why}", failed.seeds, failed.seeds as usize + row.by_seed_ns.len())
    })
}

/// Says that all runs were cut off, or how the runs differ where they lie apart.
fn collapse(row: &Predicted) -> String {
    let (cut, all) = (row.cut_off as usize, row.by_seed_ns.len());
    if cut == all && all != 0 {
        return format!("collapse: more than {COLLAPSE}×");
    }
    outcomes(&row.outcomes, all)
}

/// The outcomes of `all` runs: `1.0 times in 4 of 5 runs, 10 times or more in 1`.
fn outcomes(outcomes: &[Outcome], all: usize) -> String {
    let one = |(at, outcome): (usize, &Outcome)| {
        let times =
            if outcome.times < 9.95 { format!("{:.1}", outcome.times) } else { format!("{:.0}", outcome.times) };
        let or_more = if outcome.at_least { " or more" } else { "" };
        let of = if at == 0 { format!(" of {all} runs") } else { String::new() };
        format!("{times} times{or_more} in {}{of}", outcome.runs)
    };
    outcomes.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

/// A line that says what the outcomes in the remarks are multiples of; empty if no row has outcomes
/// that lie apart.
pub(crate) fn explained(rows: &[Predicted]) -> &'static str {
    match rows.iter().any(|row| !row.outcomes.is_empty()) {
        true => "times in runs: how often the seeds' runs took so many times as long as the recorded lock\n",
        false => "",
    }
}

/// The name of the network or policy of a row; `as it is` for a row on the unchanged chip.
pub(crate) fn variant(row: &Predicted) -> &str {
    row.variant.as_ref().map_or("as it is", Variant::name)
}

/// The share of computation that waits for memory in a row's replays, if cores differ.
pub(crate) fn memory_bound(row: &Predicted) -> String {
    match &row.variant {
        Some(Variant::Asymmetric(cores)) => format!("{:.0}%", 100.0 * cores.memory_bound),
        _ => "-".to_owned(),
    }
}

/// The name of what [`memory_bound`] returns; `None` if no row has it.
pub(crate) fn memory_bound_name(rows: &[Predicted]) -> Option<&'static str> {
    let has = |row: &Predicted| matches!(row.variant, Some(Variant::Asymmetric(_)));
    rows.iter().any(has).then_some("memory-bound")
}

/// The assumptions of rows of fast and slow cores; empty for other rows.
pub(crate) fn assumed(rows: &[Predicted]) -> &'static str {
    let shares = rows.iter().filter_map(|row| match &row.variant {
        Some(Variant::Asymmetric(cores)) => Some(cores.memory_bound),
        _ => None,
    });
    let mut shares: Vec<f64> = shares.collect();
    shares.dedup();
    match shares[..] {
        [] => "",
        [_] => {
            "memory-bound: the share of computing that waits for memory and takes as long on a slow core: none, as was asked for"
        }
        _ => {
            "memory-bound: the share of computing that waits for memory and takes as long on a slow core; a recording does not say how \
             much does, so both ends of what may be stand here"
        }
    }
}

/// The saving compared with the first network or policy, with its range over seeds.
pub(crate) fn less(percent: Option<Percent>) -> String {
    percent.map_or_else(|| "-".to_owned(), |p| format!("{:.1}% ({:.1}…{:.1})", p.median, p.low, p.high))
}

/// The property of the chip that differs between rows and is then a column.
pub(crate) fn varies(rows: &[Predicted]) -> Option<&'static str> {
    rows.iter().find_map(|row| row.variant.as_ref()).map(|variant| match variant {
        Variant::Network(_) => "network",
        Variant::Asymmetric(_) => "policy",
    })
}

/// The rows of the table, and the rows of locks that collapse in every run, which share one line
/// below the table. On several networks or policies every row stays in the table, for comparison.
fn apart(rows: &[Predicted]) -> (Vec<&Predicted>, Vec<&Predicted>) {
    let collapses = |row: &&Predicted| {
        row.variant.is_none() && !row.recorded && row.cut_off != 0 && row.cut_off as usize == row.by_seed_ns.len()
    };
    rows.iter().partition(|row| !collapses(row))
}

/// The whole prediction as text.
pub(crate) fn text(prediction: &Prediction, chip: &Chip) -> String {
    let mut out = format!(
        "{} threads on {} cores of chip {} · recorded with {}\nself-check: {}\n{:.1}% of the events not replayable\n",
        prediction.threads,
        prediction.cpus,
        chip.name,
        prediction.recorded_lock,
        three_numbers(prediction),
        prediction.not_replayable_share * 100.0,
    );
    let alone = alone(prediction);
    if !alone.is_empty() {
        out += &format!("{alone}\n");
    }
    for reason in &prediction.reasons {
        out += &wrap(&ui::paint(DOUBT, ui::RED), DOUBT, reason);
    }
    out.push('\n');
    let varies = varies(&prediction.results);
    let memory = memory_bound_name(&prediction.results);
    let (shown, collapsed) = apart(&prediction.results);
    let rows = shown.iter().map(|row| {
        let share = 100.0 * row.counts.contended as f64 / row.counts.acquisitions.max(1) as f64;
        let mut cells = vec![
            row.lock.clone(),
            row.wait.clone(),
            figure(row, row.time_ns),
            interval(row),
            format!("{:.2}", row.speedup),
            figure(row, row.overhead_ns),
            range(row.overhead_ns),
            format!("{share:.0}%"),
            remark(row),
        ];
        if varies.is_some() {
            cells.insert(2, variant(row).to_owned());
            cells.splice(9..9, row.variant.as_ref().map_or([None; 2], Variant::less).map(less));
        }
        if memory.is_some() {
            cells.insert(3, memory_bound(row));
        }
        cells
    });
    let mut header = vec![
        "lock",
        "wait",
        "time ms",
        interval_name(&prediction.results),
        "speed-up",
        "overhead ms",
        "over seeds",
        "contended",
        "remark",
    ];
    if let Some(varies) = varies {
        header.insert(2, varies);
        header.splice(9..9, ["less time", "less overhead"]);
    }
    if let Some(memory) = memory {
        header.insert(3, memory);
    }
    out += &ui::table(&header, &rows.collect::<Vec<_>>());
    if !collapsed.is_empty() {
        let names: Vec<String> = collapsed.iter().map(|row| format!("{}:{}", row.lock, row.wait)).collect();
        out += &format!("collapse, more than {COLLAPSE}× the recorded lock's time: {}\n", names.join(", "));
    }
    out += "overhead: competition overhead, added over threads\n";
    out += explained(&prediction.results);
    out += &varies.map_or_else(String::new, |varies| compared(&prediction.results, varies));
    for line in std::iter::once(assumed(&prediction.results)).filter(|line| !line.is_empty()) {
        out += &format!("{line}\n");
    }
    for note in &prediction.notes {
        out += &wrap("note:", "note:", note);
    }
    out
}

/// Lines that say what the rows of variants are compared with. `varies` is the name of what varies.
fn compared(rows: &[Predicted], varies: &str) -> String {
    let Some(first) = rows.iter().find_map(|row| row.variant.as_ref()) else { return String::new() };
    let mut lines =
        format!("less time, less overhead: against the same lock with {varies} {}, seed by seed\n", first.name());
    if matches!(first, Variant::Asymmetric(_)) {
        lines +=
            "over seeds: each seed lets another thread begin on a fast core, so the ends are those of the starts\n";
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_lie_apart_are_told_with_their_numbers() {
        let outcome = |times, runs, at_least| Outcome { times, runs, at_least };
        assert_eq!(outcomes(&[], 5), "");
        let convoys = [outcome(1.02, 4, false), outcome(10.0, 1, true)];
        assert_eq!(outcomes(&convoys, 5), "1.0 times in 4 of 5 runs, 10 times or more in 1");
        assert_eq!(
            outcomes(&[outcome(0.9, 7, false), outcome(2.25, 2, false)], 9),
            "0.9 times in 7 of 9 runs, 2.2 times in 2"
        );
    }

    #[test]
    fn one_seed_has_no_spread() {
        assert_eq!(range(Spread { median: 229_000_000, low: 229_000_000, high: 229_000_000 }), "-");
        assert_eq!(range(Spread { median: 229_000_000, low: 228_000_000, high: 231_000_000 }), "228.0–231.0");
    }
}
