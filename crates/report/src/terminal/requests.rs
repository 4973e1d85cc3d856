//! Requests and progress points on a terminal.

use super::table::{Side, Table};
use super::text::{ROWS, Style, plural, wrap};
use crate::format::{duration, percent};
use crate::model::{Report, Requests};

/// The sections on the progress point and on requests; empty if the report has neither.
pub(super) fn requests(report: &Report, style: Style) -> String {
    let mut out = String::new();
    if let Some(progress) = &report.progress {
        let text = match (&progress.remark, progress.per_second) {
            (Some(remark), _) => format!("{}: {remark}", progress.point),
            (None, Some(rate)) => format!(
                "{}: {} passages a second, {} in all, by {}",
                progress.point,
                per_second(rate),
                progress.count,
                plural(progress.threads as usize, "thread")
            ),
            (None, None) => format!("{}: passed once", progress.point),
        };
        out += &format!("\n{}", wrap(&style.bold("Progress:"), "Progress:", &text));
    }
    if let Some(requests) = &report.requests {
        out += &format!("\n{}", wrap(&style.bold("Requests:"), "Requests:", &rate(requests)));
        out += &remarks(requests, style);
        out += &parts(requests, style);
        out += &slowest(report, requests, style);
    }
    out
}

/// A rate per second, which may be below one.
pub(super) fn per_second(rate: f64) -> String {
    if rate < 1000.0 { format!("{rate:.1}") } else { crate::format::count(rate.round() as u64) }
}

fn rate(requests: &Requests) -> String {
    let rate = requests.per_second.map_or("cannot tell how many".to_owned(), per_second);
    let latency = &requests.latency_ns;
    format!(
        "{rate} a second ({} in {}, {}); latency p50 {}, p99 {}, p99.9 {}, longest {}",
        requests.count,
        duration(requests.span_ns),
        requests.points,
        duration(latency.p50_ns),
        duration(latency.p99_ns),
        duration(latency.p999_ns),
        duration(latency.max_ns)
    )
}

fn remarks(requests: &Requests, style: Style) -> String {
    let clients = match (requests.named, requests.together) {
        (true, _) => format!("{:.1} under way on average", requests.under_way),
        (false, true) => format!(
            "{} of a client that waits for all answers, then sends again after {} (half of the time); {:.1} under way on average",
            plural(requests.connections as usize, "connection"),
            duration(requests.think_p50_ns),
            requests.under_way
        ),
        (false, false) => format!(
            "{}, each with its next request {} after its answer (half of the time); {:.1} under way on average",
            plural(requests.connections as usize, "connection"),
            duration(requests.think_p50_ns),
            requests.under_way
        ),
    };
    let mut out = wrap(&style.bold("Clients:"), "Clients:", &clients);
    for (count, text) in [
        (requests.passed_along, "answered by another thread than the one that read them"),
        (requests.unfinished, "not answered when the recording ended"),
        (requests.begun_twice, "left out: their thread came to the beginning again before the end"),
    ] {
        if count > 0 {
            out += &format!("          {count} {text}\n");
        }
    }
    out
}

fn parts(requests: &Requests, style: Style) -> String {
    let columns = ["a request", "of all", "of slowest 1%"].map(|name| (name, Side::Right));
    let mut table = Table::new("What requests take their time for", 36, &columns);
    for part in requests.parts.iter().take(ROWS) {
        table.row(vec![part.name.clone(), duration(part.mean_ns), percent(part.share), percent(part.share_of_slowest)]);
    }
    table.render(style, requests.parts.len().saturating_sub(ROWS))
}

fn slowest(report: &Report, requests: &Requests, style: Style) -> String {
    let columns = [("took", Side::Right), ("most of it", Side::Left)];
    let mut table = Table::new("Slowest requests", 28, &columns);
    for request in &requests.slowest {
        let thread = report.threads.get(request.thread as usize).map_or("", |thread| thread.name.as_str());
        let most = request
            .parts
            .first()
            .map_or_else(String::new, |part| format!("{}: {}", part.name, duration(part.total_ns)));
        table.row(vec![
            format!("{thread} at {}", duration(request.begin_ns)),
            duration(request.latency_ns),
            super::text::clip(&most, 40),
        ]);
    }
    table.render(style, 0)
}
