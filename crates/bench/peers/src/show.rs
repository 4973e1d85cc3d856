//! Medians over runs, as tables and as JSON.

use crate::What;
use crate::foreign::Absent;
use crate::numbers::{jain, median};
use crate::window::{ENERGY, Outcome};
use serde::Serialize;
use std::fmt::Write;
use std::time::Duration;

/// A run.
#[derive(Serialize)]
pub struct Raw {
    pub name: String,
    pub threads: usize,
    pub pinned: bool,
    pub run: u32,
    /// The share of all CPUs' time that other programs took.
    pub foreign: f64,
    pub outcome: Outcome,
}

/// A subject with a number of threads, over all of its runs.
#[derive(Serialize)]
struct Row {
    name: String,
    threads: usize,
    pinned: bool,
    /// Whether each run proved that its threads overlapped; without it there are no figures.
    overlapped: bool,
    /// Whether other programs took more than a tenth of the CPUs in one of the runs.
    loaded: bool,
    per_second: Option<f64>,
    cpu_ns: Option<f64>,
    jain: Option<f64>,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    p999_ns: Option<f64>,
    longest_ns: Option<f64>,
    /// Operations a second of the other threads while one was stopped.
    stopped_per_second: Option<f64>,
    /// CPUs that these threads then used.
    stopped_cpus: Option<f64>,
    /// Energy of an operation.
    nanojoules: Option<f64>,
}

#[derive(Serialize)]
pub struct Report {
    what: String,
    processor: String,
    cpus: Vec<u32>,
    window_ms: f64,
    took_s: f64,
    seed: u64,
    /// Why there is no energy.
    no_energy: Option<String>,
    absent: Vec<Absent>,
    rows: Vec<Row>,
    runs: Vec<Raw>,
}

/// Others may take this share of the CPUs.
const FOREIGN: f64 = 0.1;

fn row(runs: &[&Raw]) -> Row {
    let overlapped = runs.iter().all(|run| run.outcome.overlapped);
    let of = |f: &dyn Fn(&Outcome) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs.iter().map(|run| f(&run.outcome)).collect();
        values.filter(|_| overlapped).and_then(median)
    };
    let done = |outcome: &Outcome| outcome.operations.iter().sum::<u64>() as f64;
    Row {
        name: runs[0].name.clone(),
        threads: runs[0].threads,
        pinned: runs[0].pinned,
        overlapped,
        loaded: runs.iter().any(|run| run.foreign > FOREIGN),
        per_second: of(&|outcome| Some(done(outcome) / outcome.seconds)),
        cpu_ns: of(&|outcome| Some(outcome.cpu_seconds * 1e9 / done(outcome)).filter(|ns| ns.is_finite())),
        jain: of(&|outcome| Some(jain(&outcome.operations))),
        p50_ns: of(&|outcome| outcome.times.percentile(0.5)),
        p99_ns: of(&|outcome| outcome.times.percentile(0.99)),
        p999_ns: of(&|outcome| outcome.times.percentile(0.999)),
        longest_ns: of(&|outcome| Some(outcome.times.longest_ns as f64).filter(|ns| *ns > 0.0)),
        stopped_per_second: of(&|outcome| Some(outcome.beside_stopped?.per_second)),
        stopped_cpus: of(&|outcome| Some(outcome.beside_stopped?.cpus)),
        nanojoules: of(&|outcome| Some(outcome.joules? * 1e9 / done(outcome)).filter(|nj| nj.is_finite())),
    }
}

impl Report {
    pub fn new(
        what: What,
        window: Duration,
        took: Duration,
        cpus: &[u32],
        seed: u64,
        (runs, absent): (Vec<Raw>, Vec<Absent>),
    ) -> Report {
        let key = |run: &Raw| (!run.pinned, run.threads, run.name.clone());
        let mut keys: Vec<_> = runs.iter().map(key).collect();
        keys.sort();
        keys.dedup();
        let rows = keys.iter().map(|wanted| row(&runs.iter().filter(|run| key(run) == *wanted).collect::<Vec<_>>()));
        let rows = rows.collect();
        Report {
            what: format!("{what:?}").to_lowercase(),
            processor: crate::machine::processor(),
            cpus: cpus.to_vec(),
            window_ms: window.as_secs_f64() * 1e3,
            took_s: took.as_secs_f64(),
            seed,
            no_energy: ENERGY.as_ref().err().cloned(),
            absent,
            rows,
            runs,
        }
    }

    /// A table for each number of threads, the fastest first.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {} CPUs of {}, {:.0} s\n", self.what, self.cpus.len(), self.processor, self.took_s);
        let mut groups: Vec<(bool, usize)> = self.rows.iter().map(|row| (row.pinned, row.threads)).collect();
        groups.dedup();
        for (pinned, threads) in groups {
            let of = |row: &&Row| (row.pinned, row.threads) == (pinned, threads);
            let mut rows: Vec<&Row> = self.rows.iter().filter(of).collect();
            rows.sort_by(|a, b| b.per_second.unwrap_or(0.0).total_cmp(&a.per_second.unwrap_or(0.0)));
            let width = rows.iter().map(|row| row.name.len() + 1).max().unwrap_or(0);
            let bound = if pinned { "pinned" } else { "not pinned" };
            let head =
                ["in a second", "CPU each", "p50", "p99", "p99.9", "longest", "Jain", "stopped", "CPUs then", "energy"];
            let _ = write!(text, "\n{threads} threads, {bound}\n{:width$}", "");
            head.iter().for_each(|head| _ = write!(text, " {head:>11}"));
            text.push('\n');
            for row in rows {
                let name = format!("{}{}", row.name, if row.loaded { "*" } else { "" });
                let ns = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), nanos);
                let cells = [
                    row.per_second.map_or_else(|| "-".to_owned(), count),
                    ns(row.cpu_ns),
                    ns(row.p50_ns),
                    ns(row.p99_ns),
                    ns(row.p999_ns),
                    ns(row.longest_ns),
                    row.jain.map_or_else(|| "-".to_owned(), |jain| format!("{jain:.3}")),
                    row.stopped_per_second.map_or_else(|| "-".to_owned(), count),
                    row.stopped_cpus.map_or_else(|| "-".to_owned(), |cpus| format!("{cpus:.2}")),
                    row.nanojoules.map_or_else(|| "-".to_owned(), |nj| format!("{nj:.0} nJ")),
                ];
                let _ = write!(text, "{name:width$}");
                cells.iter().for_each(|cell| _ = write!(text, " {cell:>11}"));
                text.push('\n');
            }
        }
        if self.rows.iter().any(|row| row.loaded) {
            text += "\n* other programs took more than a tenth of the CPUs: measure on a quiet machine\n";
        }
        if self.rows.iter().any(|row| !row.overlapped) {
            text += "\n- in place of a whole row: in one of its runs the threads did not provably overlap\n";
        }
        for absent in &self.absent {
            let _ = write!(text, "\nnot timed: {}: {}\n", absent.name, absent.why);
        }
        if let Some(why) = &self.no_energy {
            let _ = write!(text, "\nno energy: {why}\n");
        }
        text
    }
}

fn nanos(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

fn count(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{:.2} M", value / 1e6),
        value if value >= 1e3 => format!("{:.1} k", value / 1e3),
        value => format!("{value:.0}"),
    }
}
