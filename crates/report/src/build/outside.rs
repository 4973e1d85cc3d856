//! Places where threads lost time that no recorded wait explains: the call sites around each
//! stretch off the CPU.

use super::figures::nanos;
use super::names::Names;
use crate::model::Outside;
use baton_trace::analysis::{CriticalPath, Doing, OffCpu, OffStretch, ThreadOffCpu};
use baton_trace::{ProcessIndex, SiteId, ThreadIndex, Ticks, Trace, What};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most places that the report keeps.
const KEPT: usize = 100;

type Around = (ProcessIndex, Option<SiteId>, Option<SiteId>, Option<SiteId>);

#[derive(Default)]
struct Sum {
    outside: Outside,
    threads: BTreeSet<ThreadIndex>,
}

/// The places of all threads, the one with the longest time first.
pub(super) fn outside(names: &mut Names, trace: &Trace, off_cpu: &[ThreadOffCpu], path: &CriticalPath) -> Vec<Outside> {
    let created = creators(trace);
    let around = |thread: ThreadIndex, stretch: &OffStretch| -> Around {
        let whole = stretch.after.is_none() && stretch.before.is_none();
        let created = created.get(&thread).copied().filter(|_| whole);
        (trace.process_of(thread), stretch.after, stretch.before, created)
    };
    let mut sites: BTreeMap<Around, Sum> = BTreeMap::new();
    for (thread, off) in off_cpu.iter().enumerate() {
        let thread = ThreadIndex(thread as u32);
        for stretch in &off.stretches {
            let sum = sites.entry(around(thread, stretch)).or_default();
            let length = nanos(&trace.clock, stretch.end.since(stretch.begin));
            match stretch.why {
                OffCpu::Ready => sum.outside.ready_ns += length,
                OffCpu::Blocked | OffCpu::Call | OffCpu::Recorder => sum.outside.blocked_ns += length,
                OffCpu::Unknown => sum.outside.off_ns += length,
            }
            sum.outside.times += 1;
            sum.threads.insert(thread);
        }
    }
    let is_off = |doing: &Doing| matches!(doing, Doing::OffCpu(_) | Doing::Awaited { off: Some(_), .. });
    for segment in path.segments.iter().filter(|s| is_off(&s.doing)) {
        for stretch in off_cpu[segment.thread.index()].within(segment.begin, segment.end) {
            let inside: Ticks = segment.end.min(stretch.end).since(segment.begin.max(stretch.begin));
            sites.entry(around(segment.thread, stretch)).or_default().outside.path_ns += nanos(&trace.clock, inside);
        }
    }
    named(names, sites)
}

/// Merges sums whose sites lie at the same source locations.
fn named(names: &mut Names, sites: BTreeMap<Around, Sum>) -> Vec<Outside> {
    let mut places: BTreeMap<[Option<String>; 3], Sum> = BTreeMap::new();
    for ((process, after, before, created), sum) in sites {
        let mut name = |site: Option<SiteId>| site.and_then(|site| names.site_place(process, site));
        let place = places.entry([name(after), name(before), name(created)]).or_default();
        place.threads.extend(sum.threads);
        let (into, from) = (&mut place.outside, sum.outside);
        into.times += from.times;
        for (into, from) in [
            (&mut into.ready_ns, from.ready_ns),
            (&mut into.blocked_ns, from.blocked_ns),
            (&mut into.off_ns, from.off_ns),
            (&mut into.path_ns, from.path_ns),
        ] {
            *into += from;
        }
    }
    let finish = |([after, before, created], sum): ([Option<String>; 3], Sum)| Outside {
        after,
        before,
        created,
        threads: sum.threads.len() as u32,
        ..sum.outside
    };
    let mut all: Vec<Outside> = places.into_iter().map(finish).collect();
    all.retain(|place| place.total() > Nanos(0));
    all.sort_by_key(|place| Reverse(place.total()));
    all.truncate(KEPT);
    all
}

/// The call site that created each thread. A thread handle may be reused, so each creation is
/// matched with one start.
fn creators(trace: &Trace) -> BTreeMap<ThreadIndex, SiteId> {
    let mut creators = BTreeMap::new();
    let mut creating: BTreeMap<ThreadIndex, SiteId> = BTreeMap::new();
    let mut created: BTreeMap<(ProcessIndex, u64), SiteId> = BTreeMap::new();
    // Threads that started before the thread that creates them had recorded the handle.
    let mut early: BTreeMap<(ProcessIndex, u64), ThreadIndex> = BTreeMap::new();
    for event in trace.complete_events() {
        let process = trace.process_of(event.thread);
        match event.what {
            What::Create { site } => drop(creating.insert(event.thread, site)),
            What::Created { handle, error: 0 } => {
                let Some(site) = creating.remove(&event.thread) else { continue };
                match early.remove(&(process, handle)) {
                    Some(thread) => drop(creators.insert(thread, site)),
                    None => drop(created.insert((process, handle), site)),
                }
            }
            What::ThreadStart { handle } => match created.remove(&(process, handle)) {
                Some(site) => drop(creators.insert(event.thread, site)),
                None => drop(early.insert((process, handle), event.thread)),
            },
            _ => {}
        }
    }
    creators.retain(|_, site| *site != SiteId::UNKNOWN);
    creators
}
