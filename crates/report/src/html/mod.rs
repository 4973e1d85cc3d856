//! `report.html`: one file that holds everything, needs no network, and opens in any browser.
//!
//! The page contains data (the report and the timeline, as JSON) and a few small scripts that draw
//! it, each a file under `assets/`. A content security policy in the page forbids it to load
//! anything, so that the browser enforces "no network".

mod data;

use crate::Profile;
use baton_units::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// A prediction for a lock and a wait policy, and the measurement, if one was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub lock: String,
    pub wait: String,
    pub predicted_ns: Nanos,
    /// The lower end of the prediction's spread.
    pub low_ns: Nanos,
    /// The upper end of the prediction's spread.
    pub high_ns: Nanos,
    /// The interval that should contain the measured time in 95 of 100 cases. It has no upper end
    /// where the prediction is a lower bound.
    #[serde(default)]
    pub interval_ns: Option<(Nanos, Option<Nanos>)>,
    /// Predicted competition overhead, added over threads.
    pub overhead_ns: Option<Nanos>,
    /// The median of the measured times, if the lock was measured.
    pub measured_ns: Option<Nanos>,
    /// The shortest and the longest measured time.
    pub measured_range_ns: Option<(Nanos, Nanos)>,
    /// Whether this is the lock that the trace was recorded with, so that its time is already
    /// known.
    pub recorded: bool,
    /// The reason not to trust the prediction, or another remark.
    pub remark: Option<String>,
}

impl Predicted {
    /// Whether the interval contains the measured time; `None` if one of the two is not known.
    pub fn borne_out(&self) -> Option<bool> {
        let (measured, (low, high)) = (self.measured_ns?, self.interval_ns?);
        Some(low <= measured && high.is_none_or(|high| measured <= high))
    }
}

/// A sentence that says how many measured times lie in their predicted intervals; `None` if no row
/// can be compared.
pub fn borne_out(rows: &[Predicted]) -> Option<String> {
    let all: Vec<bool> = rows.iter().filter_map(Predicted::borne_out).collect();
    let within = all.iter().filter(|&&within| within).count();
    let (lie, their) = if within == 1 { ("lies", "its 95% interval") } else { ("lie", "their 95% intervals") };
    (!all.is_empty()).then(|| format!("{within} of {} measured medians {lie} in {their}.", all.len()))
}

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// The scripts. Each follows the scripts that it uses.
const SCRIPTS: [&str; 10] = [
    include_str!("assets/util.js"),
    include_str!("assets/blocks.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/requests.js"),
    include_str!("assets/standstill.js"),
    include_str!("assets/plots.js"),
    include_str!("assets/flame.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/main.js"),
];

/// The text of the page, with the report and the predictions in it.
pub fn page(profile: &Profile, predictions: &[Predicted]) -> String {
    let data = data::json(profile, predictions);
    let command = profile.report.run.command.join(" ");
    let title = if command.is_empty() { "Baton report".to_owned() } else { format!("Baton: {command}") };
    // The style and the scripts are inserted before the data, so that no text in the data is taken
    // for their placeholders.
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
