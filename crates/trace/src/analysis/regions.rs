//! Parallel regions of OpenMP, tasks and waits for tasks, by their call sites.

use super::stats::Distribution;
use super::window::Window;
use crate::clock::Ticks;
use crate::event::{Address, Event, SiteId, ThreadIndex, What};
use crate::process::ProcessIndex;
use std::collections::{BTreeMap, BTreeSet};

/// The parallel regions that one call site opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionReport {
    /// The process of the call site.
    pub process: ProcessIndex,
    /// The call site.
    pub site: SiteId,
    /// Durations, inside the window, of the regions that ended inside it: from the moment at which
    /// the master opens a region until the master leaves the barrier at its end.
    pub time: Distribution,
    /// For each of these regions, its duration times the threads of its team, summed: the time in
    /// which the threads could have worked.
    pub capacity: Ticks,
    /// Number of threads of the smallest team.
    pub least: u32,
    /// Number of threads of the largest team.
    pub most: u32,
    /// Addresses of the barriers at the regions' ends: one for each master and depth of nesting.
    pub barriers: BTreeSet<Address>,
}

/// Waits for tasks from one call site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWaitReport {
    /// The process of the call site.
    pub process: ProcessIndex,
    /// The call site.
    pub site: SiteId,
    /// Durations of the waits that ended inside the window, including the tasks that the thread ran
    /// while it waited.
    pub whole: Distribution,
    /// The part of these waits in which the waiting thread ran tasks.
    pub running: Ticks,
}

/// Tasks that one call site creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReport {
    /// The process of the call site.
    pub process: ProcessIndex,
    /// The call site.
    pub site: SiteId,
    /// Durations of the tasks that ended inside the window, including other tasks that ran inside
    /// of them.
    pub run: Distribution,
    /// Number of these tasks that were run by another thread than the one that created them.
    pub moved: u64,
}

/// A region that is open.
struct Open {
    region: Address,
    site: SiteId,
    since: Ticks,
    threads: u32,
}

/// What a thread is inside of: a wait for tasks, or a running task.
#[derive(Clone, Copy)]
enum Inside {
    Wait { site: SiteId, since: Ticks, running: Ticks },
    Task { task: u64, since: Ticks },
}

/// State of the walk.
#[derive(Default)]
pub(super) struct Regions {
    open: BTreeMap<ThreadIndex, Vec<Open>>,
    inside: BTreeMap<ThreadIndex, Vec<Inside>>,
    created: BTreeMap<(ProcessIndex, u64), (SiteId, ThreadIndex)>,
    pub(super) regions: BTreeMap<(ProcessIndex, SiteId), RegionReport>,
    pub(super) waits: BTreeMap<(ProcessIndex, SiteId), TaskWaitReport>,
    pub(super) tasks: BTreeMap<(ProcessIndex, SiteId), TaskReport>,
}

impl Regions {
    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex, window: &Window) {
        let (now, thread) = (event.time, event.thread);
        match event.what {
            What::Fork { region, site } => {
                self.open.entry(thread).or_default().push(Open { region, site, since: now, threads: 0 });
                let report = self.regions.entry((process, site)).or_insert_with(|| RegionReport {
                    process,
                    site,
                    time: Distribution::default(),
                    capacity: Ticks(0),
                    least: u32::MAX,
                    most: 0,
                    barriers: BTreeSet::new(),
                });
                report.barriers.insert(region);
            }
            What::TeamBegin { region, threads, idled: false } => {
                let open = self.open.get_mut(&thread).and_then(|open| open.last_mut());
                let Some(open) = open.filter(|open| open.region == region) else { return };
                open.threads = threads;
                if let Some(report) = self.regions.get_mut(&(process, open.site)) {
                    (report.least, report.most) = (report.least.min(threads), report.most.max(threads));
                }
            }
            What::BarrierLeave { barrier, .. } => self.leave(now, thread, process, barrier, window),
            What::TaskCreate { task, site } => {
                self.created.insert((process, task), (site, thread));
            }
            What::TaskBegin { task } => self.push(thread, Inside::Task { task, since: now }),
            What::TaskEnd { .. } => self.task_ends(now, thread, process, window),
            What::TaskWaitBegin { site } => self.push(thread, Inside::Wait { site, since: now, running: Ticks(0) }),
            What::TaskWaitEnd => self.wait_ends(now, thread, process, window),
            What::ThreadEnd { .. } => {
                self.open.remove(&thread);
                self.inside.remove(&thread);
            }
            _ => {}
        }
    }

    fn push(&mut self, thread: ThreadIndex, inside: Inside) {
        self.inside.entry(thread).or_default().push(inside);
    }

    /// Records that a thread leaves a barrier. If it is the barrier at the end of a region that the
    /// thread opened, the region has ended.
    fn leave(&mut self, now: Ticks, thread: ThreadIndex, process: ProcessIndex, barrier: Address, window: &Window) {
        let Some(open) = self.open.get_mut(&thread) else { return };
        let Some(at) = open.iter().rposition(|open| open.region == barrier) else { return };
        let Some(Open { site, since, threads, .. }) = open.drain(at..).next() else { return };
        if let Some(report) = self.regions.get_mut(&(process, site)).filter(|_| window.contains(now)) {
            let time = window.overlap(since, now);
            report.time.add(time);
            report.capacity += Ticks(time.0.saturating_mul(u64::from(threads)));
        }
    }

    fn task_ends(&mut self, now: Ticks, thread: ThreadIndex, process: ProcessIndex, window: &Window) {
        let inside = self.inside.entry(thread).or_default();
        let Some(at) = inside.iter().rposition(|inside| matches!(inside, Inside::Task { .. })) else { return };
        let Some(Inside::Task { task, since }) = inside.drain(at..).next() else { return };
        if let Some(Inside::Wait { running, .. }) = inside.last_mut() {
            *running += window.overlap(since, now);
        }
        let Some((site, creator)) = self.created.remove(&(process, task)).filter(|_| window.contains(now)) else {
            return;
        };
        let new = TaskReport { process, site, run: Distribution::default(), moved: 0 };
        let report = self.tasks.entry((process, site)).or_insert(new);
        report.run.add(window.overlap(since, now));
        report.moved += u64::from(creator != thread);
    }

    fn wait_ends(&mut self, now: Ticks, thread: ThreadIndex, process: ProcessIndex, window: &Window) {
        let inside = self.inside.entry(thread).or_default();
        let Some(at) = inside.iter().rposition(|inside| matches!(inside, Inside::Wait { .. })) else { return };
        let Some(Inside::Wait { site, since, running }) = inside.drain(at..).next() else { return };
        if window.contains(now) {
            let new = TaskWaitReport { process, site, whole: Distribution::default(), running: Ticks(0) };
            let report = self.waits.entry((process, site)).or_insert(new);
            report.whole.add(window.overlap(since, now));
            report.running += running;
        }
    }
}
