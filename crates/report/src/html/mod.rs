//! `report.html`: one file that holds everything, needs no network, and opens in any browser.
//!
//! The page is data (the report and the timeline, as JSON in the page) and a few small scripts that draw it, each one file under
//! `assets/`. A content security policy in the page forbids it to load anything, so that "no network" is not a promise but a rule.

mod data;

use crate::Profile;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// What a prediction said about a lock and a way to wait, and what was measured, if it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Name of the lock's algorithm.
    pub lock: String,
    /// How its waiters wait.
    pub wait: String,
    /// Predicted time of the whole program.
    pub predicted_ns: Nanos,
    /// Lower end of the prediction's spread.
    pub low_ns: Nanos,
    /// Upper end.
    pub high_ns: Nanos,
    /// Where the measured time lies in 95 of 100 cases, by the prediction; without an upper end where the prediction is a lower bound.
    #[serde(default)]
    pub interval_ns: Option<(Nanos, Option<Nanos>)>,
    /// Predicted competition overhead, added over threads.
    pub overhead_ns: Option<Nanos>,
    /// Measured time, if it was run: the median.
    pub measured_ns: Option<Nanos>,
    /// Shortest and longest measured time.
    pub measured_range_ns: Option<(Nanos, Nanos)>,
    /// It is the lock that the trace was recorded with: the prediction of what is known.
    pub recorded: bool,
    /// Why it should not be trusted, or what else is to be said.
    pub remark: Option<String>,
}

impl Predicted {
    /// Whether the measured time lies in the interval; `None`: one of them is not known.
    pub fn borne_out(&self) -> Option<bool> {
        let (measured, (low, high)) = (self.measured_ns?, self.interval_ns?);
        Some(low <= measured && high.is_none_or(|high| measured <= high))
    }
}

/// How many measured times lie in the intervals that were foretold, as a sentence; `None`: none can be compared.
pub fn borne_out(rows: &[Predicted]) -> Option<String> {
    let all: Vec<bool> = rows.iter().filter_map(Predicted::borne_out).collect();
    let within = all.iter().filter(|&&within| within).count();
    let (lie, their) = if within == 1 { ("lies", "its 95% interval") } else { ("lie", "their 95% intervals") };
    (!all.is_empty()).then(|| format!("{within} of {} measured medians {lie} in {their}.", all.len()))
}

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 8] = [
    include_str!("assets/util.js"),
    include_str!("assets/blocks.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/plots.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/main.js"),
];

/// The page.
pub fn page(profile: &Profile, predictions: &[Predicted]) -> String {
    let data = data::json(profile, predictions);
    let command = profile.report.run.command.join(" ");
    let title = if command.is_empty() { "Baton report".to_owned() } else { format!("Baton: {command}") };
    // The style and scripts first: what the data holds must not be taken for a place of ours.
    let page = PAGE.replace("{{style}}", STYLE).replace("{{script}}", &SCRIPTS.join("\n"));
    let mut out = String::with_capacity(page.len() + data.len());
    let mut rest = page.as_str();
    for (mark, text) in [("{{title}}", escape(&title)), ("{{data}}", data)] {
        if let Some((before, after)) = rest.split_once(mark) {
            out += before;
            out += &text;
            rest = after;
        }
    }
    out + rest
}

/// Writes the page to a file.
///
/// # Errors
/// If the file cannot be written.
pub fn write(profile: &Profile, predictions: &[Predicted], path: &Path) -> io::Result<()> {
    std::fs::write(path, page(profile, predictions))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
