//! Medians over runs, as JSON and as tables.

use super::program::Measured;
use crate::ui;
use serde::Serialize;

/// One measurement under one runtime.
#[derive(Serialize)]
pub(super) struct Row {
    group: String,
    name: String,
    /// The time of the work without the construct, per construct, in the first run.
    reference_ns: f64,
    /// The median over the runs' medians, and its 95% interval; for fewer than six runs, the least
    /// and the greatest.
    median_ns: f64,
    low_ns: f64,
    high_ns: f64,
    /// The constructs per repetition and all overheads, run by run.
    reps: Vec<u64>,
    runs: Vec<Vec<f64>>,
}

/// A runtime with a number of threads.
#[derive(Serialize)]
pub(super) struct Column {
    pub(super) runtime: String,
    pub(super) threads: u32,
    rows: Vec<Row>,
}

impl Column {
    /// A column without runs.
    pub(super) fn new(runtime: &str, threads: u32) -> Column {
        Column { runtime: runtime.to_owned(), threads, rows: Vec::new() }
    }

    /// Adds a run.
    pub(super) fn enter(&mut self, run: Vec<Measured>) {
        for measured in run {
            let same = |row: &&mut Row| (&row.group, &row.name) == (&measured.group, &measured.name);
            match self.rows.iter_mut().find(same) {
                Some(row) => {
                    row.reps.push(measured.reps);
                    row.runs.push(measured.ns);
                }
                None => self.rows.push(Row {
                    group: measured.group,
                    name: measured.name,
                    reference_ns: measured.reference_ns,
                    median_ns: 0.0,
                    low_ns: 0.0,
                    high_ns: 0.0,
                    reps: vec![measured.reps],
                    runs: vec![measured.ns],
                }),
            }
        }
        for row in &mut self.rows {
            let mut medians: Vec<f64> = row.runs.iter().map(|run| median(run)).collect();
            medians.sort_by(f64::total_cmp);
            row.median_ns = median(&medians);
            (row.low_ns, row.high_ns) = interval(&medians);
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The 95% interval of the median, by ranks: how many of the values lie below the median follows a
/// binomial distribution. Fewer than six values cannot give such an interval; the least and the
/// greatest value are returned.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len();
    // `chance`: the probability that exactly `below` of the values lie below the median; `sum`:
    // that at most `below` do.
    let mut chance = 0.5f64.powi(n as i32);
    let (mut below, mut sum) = (0, chance);
    loop {
        chance *= (n - below) as f64 / (below + 1) as f64;
        if sum + chance > 0.025 {
            return (sorted[below], sorted[n - 1 - below]);
        }
        (below, sum) = (below + 1, sum + chance);
    }
}

/// Tables, one for each number of threads: a row per measurement, a column per runtime.
pub(super) fn tables(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut counts: Vec<u32> = Vec::new();
    for column in columns {
        if !counts.contains(&column.threads) {
            counts.push(column.threads);
        }
    }
    for threads in counts {
        let those: Vec<&Column> = columns.iter().filter(|column| column.threads == threads).collect();
        let mut header = vec!["measurement"];
        header.extend(those.iter().map(|column| column.runtime.as_str()));
        let first = those.first().map_or(&[][..], |column| &column.rows);
        let cells = |(at, row): (usize, &Row)| {
            let own = those.iter().map(|column| column.rows.get(at).map_or_else(|| "-".into(), shown));
            std::iter::once(format!("{}: {}", row.group, row.name)).chain(own).collect::<Vec<String>>()
        };
        text += &format!("{threads} threads\n");
        text += &ui::table(&header, &first.iter().enumerate().map(cells).collect::<Vec<_>>());
        text += &verdicts(&those);
        text.push('\n');
    }
    text
}

/// A median with its interval.
fn shown(row: &Row) -> String {
    format!("{} ({} – {})", nanos(row.median_ns), nanos(row.low_ns), nanos(row.high_ns))
}

/// Three digits and a unit; overheads may be negative.
fn nanos(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size < 999.5 => (ns, "ns"),
        size if size < 999.5e3 => (ns / 1e3, "µs"),
        size if size < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Says for each other runtime how many of its medians are at most those of the first, and which
/// are above them with intervals apart.
fn verdicts(columns: &[&Column]) -> String {
    let Some((first, others)) = columns.split_first() else { return String::new() };
    let mut text = String::new();
    for other in others {
        let pairs = || first.rows.iter().zip(&other.rows);
        let within = pairs().filter(|(own, theirs)| theirs.median_ns <= own.median_ns).count();
        let above: Vec<&str> = pairs()
            .filter(|(own, theirs)| theirs.median_ns > own.median_ns && theirs.low_ns > own.high_ns)
            .map(|(_, theirs)| theirs.name.as_str())
            .collect();
        let all = first.rows.len();
        text += &format!("{}: {within} of {all} medians are at most {}'s", other.runtime, first.runtime);
        if !above.is_empty() {
            text += &format!("; above it, with intervals apart: {}", above.join(", "));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, ns: &[f64]) -> Measured {
        Measured { group: "sync".into(), name: name.into(), reps: 4, reference_ns: 100.0, ns: ns.to_vec() }
    }

    #[test]
    fn a_row_is_the_median_of_the_runs_medians() {
        let mut column = Column::new("baton", 2);
        for ns in [[1.0, 5.0, 9.0], [7.0, 7.0, 70.0], [6.0, 2.0, 6.0]] {
            column.enter(vec![run("for", &ns)]);
        }
        let row = &column.rows[0];
        assert_eq!((row.median_ns, row.low_ns, row.high_ns, row.runs.len()), (6.0, 5.0, 7.0, 3));
    }

    #[test]
    fn the_interval_of_the_median_goes_by_ranks() {
        let of = |n: u32| interval(&(1..=n).map(f64::from).collect::<Vec<_>>());
        // The expected ranks come from tables of the binomial distribution.
        assert_eq!(
            [of(1), of(5), of(7), of(20), of(30)],
            [(1.0, 1.0), (1.0, 5.0), (1.0, 7.0), (6.0, 15.0), (10.0, 21.0)]
        );
    }

    #[test]
    fn a_number_of_threads_has_one_table_wherever_its_columns_stand() {
        let column = |runtime: &str, threads: u32| {
            let mut column = Column::new(runtime, threads);
            column.enter(vec![run("for", &[10.0])]);
            column
        };
        let text = tables(&[column("libgomp", 4), column("libgomp", 2), column("baton", 4), column("baton", 2)]);
        let heads: Vec<&str> = text.lines().filter(|line| line.ends_with(" threads")).collect();
        assert_eq!(heads, ["4 threads", "2 threads"]);
        assert_eq!(text.matches("baton: 1 of 1 medians are at most libgomp's").count(), 2, "{text}");
    }

    #[test]
    fn the_first_runtime_is_what_others_are_compared_with() {
        let (mut theirs, mut ours) = (Column::new("libgomp", 2), Column::new("baton", 2));
        for _ in 0..2 {
            theirs.enter(vec![run("for", &[10.0]), run("single", &[4000.0])]);
            ours.enter(vec![run("for", &[20.0]), run("single", &[-3.0])]);
        }
        let text = tables(&[theirs, ours]);
        assert!(text.contains("1 of 2 medians are at most libgomp's; above it, with intervals apart: for"), "{text}");
        assert!(text.contains("4.00 µs (4.00 µs – 4.00 µs)") && text.contains("-3.00 ns"), "{text}");
    }
}
