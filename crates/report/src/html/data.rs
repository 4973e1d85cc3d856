//! The page's data: the report, cut to what a page can show, and the timeline.

use super::Predicted;
use crate::Profile;
use crate::model::{Report, Site};
use crate::timeline::{Timeline, timeline};
use serde::Serialize;

/// Rows of a table, in a page. The JSON has them all.
const ROWS: usize = 400;

/// What the page's scripts find under `data`.
#[derive(Serialize)]
struct Data<'a> {
    report: &'a Report,
    /// Call sites by place; the report's own are by stack.
    places: Vec<Site>,
    timeline: Timeline,
    predictions: &'a [Predicted],
    /// How many of them were borne out, as a sentence.
    borne_out: Option<String>,
    /// How many entries each list had before it was cut.
    full: Full,
}

#[derive(Serialize)]
struct Full {
    locks: usize,
    classes: usize,
    sites: usize,
    threads: usize,
    waiters: usize,
}

/// As JSON that may stand inside a script element.
pub(super) fn json(profile: &Profile, predictions: &[Predicted]) -> String {
    let timeline = timeline(profile);
    let mut report = profile.report.clone();
    let mut places = report.places();
    let full = Full {
        locks: report.locks.len(),
        classes: report.classes.len(),
        sites: places.len(),
        threads: report.threads.len(),
        waiters: report.waiters.len(),
    };
    // Threads stay, as everything else speaks of them by number.
    report.locks.truncate(ROWS);
    report.classes.truncate(ROWS);
    report.sites.truncate(ROWS);
    places.truncate(ROWS);
    report.waiters.truncate(2 * ROWS);
    let data = Data { report: &report, places, timeline, predictions, borne_out: super::borne_out(predictions), full };
    // Serialising plain data with string keys cannot fail.
    let json = serde_json::to_string(&data).unwrap_or_else(|e| format!("{{\"error\":{:?}}}", e.to_string()));
    // `</script>` in a name would end the element; in JSON, `<` stands only in strings.
    json.replace('<', "\\u003c")
}
