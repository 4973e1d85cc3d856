//! OpenMP's parallel regions, its tasks, and waits for tasks.

use super::figures::{distribution, nanos, pid};
use super::names::Names;
use crate::model::{CameLast, ParallelRegion, TaskSite};
use baton_trace::analysis::{Analysis, RegionReport, WaitableStats};
use baton_trace::{Construct, ProcessIndex, SiteId, ThreadIndex, Ticks};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The word that reports use for a construct.
pub(super) fn construct(construct: Construct) -> &'static str {
    match construct {
        Construct::Barrier => "barrier",
        Construct::Region => "region",
        Construct::Loop => "loop",
        Construct::Sections => "sections",
        Construct::Single => "single",
    }
}

/// The threads that arrived last, the most frequent first.
pub(super) fn came_last(last: &BTreeMap<ThreadIndex, u64>) -> Vec<CameLast> {
    let mut all: Vec<_> = last.iter().map(|(thread, rounds)| CameLast { thread: thread.0, rounds: *rounds }).collect();
    all.sort_by_key(|last| (Reverse(last.rounds), last.thread));
    all
}

/// The call sites of regions, the one whose regions took the most time in all first. Sites of which
/// no region ended are left out.
pub(super) fn regions(names: &mut Names, analysis: &Analysis) -> Vec<ParallelRegion> {
    let mut all: Vec<ParallelRegion> = analysis.regions.iter().map(|region| one(names, analysis, region)).collect();
    all.retain(|region| region.time_ns.count > 0);
    all.sort_by_key(|region| Reverse(region.time_ns.total_ns));
    all
}

fn one(names: &mut Names, analysis: &Analysis, region: &RegionReport) -> ParallelRegion {
    let ends = analysis.waitables.iter().filter(|waitable| {
        waitable.object.process == region.process && region.barriers.contains(&waitable.object.address)
    });
    let (mut wait, mut rounds, mut last) = (Ticks(0), 0, BTreeMap::new());
    for WaitableStats { wait: waits, rounds: met, last: came, .. } in ends.map(|waitable| &waitable.stats) {
        wait += waits.sum;
        rounds += met;
        for (thread, times) in came {
            *last.entry(*thread).or_insert(0) += times;
        }
    }
    let time_ns = distribution(&names.trace.clock, &region.time);
    let end_wait_ns = nanos(&names.trace.clock, wait);
    let could = region.capacity.0 as f64;
    ParallelRegion {
        name: place(names, region.process, region.site),
        pid: pid(names.trace, region.process),
        least_threads: region.least.min(region.most),
        most_threads: region.most,
        time_ns,
        end_wait_ns,
        imbalance: if could > 0.0 { (wait.0 as f64 / could).min(1.0) } else { 0.0 },
        ends: rounds,
        last: came_last(&last),
    }
}

/// Tasks and waits for tasks by call site, the site with the most time in all first.
pub(super) fn tasks(names: &mut Names, analysis: &Analysis) -> Vec<TaskSite> {
    let mut all = Vec::new();
    for task in &analysis.tasks {
        all.push(TaskSite {
            name: place(names, task.process, task.site),
            pid: pid(names.trace, task.process),
            kind: "task".to_owned(),
            time_ns: distribution(&names.trace.clock, &task.run),
            running_ns: Nanos(0),
            moved: task.moved,
        });
    }
    for wait in &analysis.task_waits {
        all.push(TaskSite {
            name: place(names, wait.process, wait.site),
            pid: pid(names.trace, wait.process),
            kind: "wait".to_owned(),
            time_ns: distribution(&names.trace.clock, &wait.whole),
            running_ns: nanos(&names.trace.clock, wait.running),
            moved: 0,
        });
    }
    all.sort_by_key(|site| Reverse(site.time_ns.total_ns));
    all
}

fn place(names: &mut Names, process: ProcessIndex, site: SiteId) -> String {
    names.site_place(process, site).unwrap_or_else(|| format!("site {}", site.0))
}
