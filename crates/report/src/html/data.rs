//! The data in the page: the report, cut to what a page can show, and the timeline.

use super::Predicted;
use crate::Profile;
use crate::model::{Report, Site};
use crate::timeline::{Timeline, timeline};
use serde::Serialize;

/// The most locks, classes, call sites and places in the page; it has twice as many pairs of a
/// waiter and a holder. The JSON has all rows.
const ROWS: usize = 400;

/// The data that the page's scripts find in the element `data`.
#[derive(Serialize)]
struct Data<'a> {
    report: &'a Report,
    /// Call sites merged by return address and object; the report's own list is by stack.
    places: Vec<Site>,
    timeline: Timeline,
    predictions: &'a [Predicted],
    /// A sentence that says how many predictions the measurements confirmed.
    borne_out: Option<String>,
    /// The length of each list before it was cut.
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

/// The data as JSON that may stand inside a script element.
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
    // Threads are not cut, because everything else refers to them by number.
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
