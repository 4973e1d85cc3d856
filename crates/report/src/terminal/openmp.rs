//! Prints OpenMP's regions and tasks.

use super::table::{Side, Table};
use super::text::{ROWS, Style, clip};
use crate::format::{count, duration, percent};
use crate::model::{ParallelRegion, Report, TaskSite};

/// Parallel regions by call site, with the thread that arrives last at their ends.
pub(super) fn regions(report: &Report, style: Style) -> String {
    if report.parallel.is_empty() {
        return String::new();
    }
    let right = ["times", "threads", "time", "waits at end"].map(|name| (name, Side::Right));
    let columns: Vec<_> = right.into_iter().chain([("came last", Side::Left)]).collect();
    let mut table = Table::new("Parallel regions", 24, &columns);
    for region in report.parallel.iter().take(ROWS) {
        table.row(vec![
            region.name.clone(),
            count(region.time_ns.count),
            threads(region),
            duration(region.time_ns.total_ns),
            percent(region.imbalance),
            last(report, region),
        ]);
    }
    table.render(style, report.parallel.len().saturating_sub(ROWS))
}

fn threads(region: &ParallelRegion) -> String {
    match (region.least_threads, region.most_threads) {
        (least, most) if least == most => most.to_string(),
        (least, most) => format!("{least}–{most}"),
    }
}

/// The thread that arrived last most often, and how often.
fn last(report: &Report, region: &ParallelRegion) -> String {
    let Some((thread, share)) = region.latest() else { return "–".to_owned() };
    let name = report.threads.get(thread as usize).map_or("?", |thread| &thread.name);
    format!("{} {}", clip(name, 14), percent(share))
}

/// Places that create tasks, and places that wait for tasks.
pub(super) fn tasks(report: &Report, style: Style) -> String {
    if report.tasks.is_empty() {
        return String::new();
    }
    let columns = ["kind", "times", "time", "p50", "waited", "moved"].map(|name| (name, Side::Right));
    let mut table = Table::new("Tasks, and waits for them", 30, &columns);
    for site in report.tasks.iter().take(ROWS) {
        let waits = site.kind == "wait";
        table.row(vec![
            site.name.clone(),
            site.kind.clone(),
            count(site.time_ns.count),
            duration(site.time_ns.total_ns),
            duration(site.time_ns.p50_ns),
            if waits { duration(waited(site)) } else { String::new() },
            if waits { String::new() } else { count(site.moved) },
        ]);
    }
    table.render(style, report.tasks.len().saturating_sub(ROWS))
}

/// The waiting time during which no task ran.
fn waited(site: &TaskSite) -> baton_units::Nanos {
    baton_units::Nanos(site.time_ns.total_ns.0.saturating_sub(site.running_ns.0))
}
