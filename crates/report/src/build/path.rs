//! The critical path, and the program's length without a lock's costs.

use super::figures::nanos;
use crate::model::{self, PathPart, PathStep};
use baton_trace::analysis::{Analysis, CriticalPath, Doing, ObjectId, WaitKind, relax};
use baton_trace::{Ticks, Trace};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps that the report keeps: the longest. The path of a long run has millions.
const STEPS: usize = 500;
/// Locks of which it is asked what the program would cost without them: the most waited-for. Eight take one walk over the trace.
const RELAXED: usize = 8;

type What = (&'static str, Option<u32>);

/// The path.
pub(super) fn path(trace: &Trace, analysis: &Analysis) -> model::CriticalPath {
    let path = CriticalPath::of(trace, &analysis.window);
    let locks: BTreeMap<ObjectId, u32> = analysis.locks.iter().enumerate().map(|(i, l)| (l.id, i as u32)).collect();
    let what = |doing: &Doing| -> What {
        match doing {
            Doing::Running => ("running", None),
            Doing::HandOff { kind, object } => (hand_off(*kind), object.and_then(|o| locks.get(&o).copied())),
            Doing::Waiting { kind, object } => (waiting(*kind), object.and_then(|o| locks.get(&o).copied())),
        }
    };
    let ns = |ticks| nanos(&trace.clock, ticks);
    let mut parts: BTreeMap<What, Ticks> = BTreeMap::new();
    for segment in &path.segments {
        *parts.entry(what(&segment.doing)).or_default() += segment.end.since(segment.begin);
    }
    // Running splits into what the path ran inside each lock's critical sections, and the rest.
    let mut inside = Ticks(0);
    for (object, share) in &path.objects {
        if let Some(lock) = locks.get(object).filter(|_| share.sections > Ticks(0)) {
            *parts.entry(("critical-section", Some(*lock))).or_default() += share.sections;
            inside += share.sections;
        }
    }
    if let Some(running) = parts.get_mut(&("running", None)) {
        *running = running.since(inside);
    }
    let mut parts: Vec<PathPart> = parts
        .into_iter()
        .filter(|(_, time)| *time > Ticks(0))
        .map(|((kind, lock), time)| PathPart { kind: kind.to_owned(), lock, total_ns: ns(time) })
        .collect();
    parts.sort_by_key(|p| Reverse(p.total_ns));
    let mut steps: Vec<PathStep> = path
        .segments
        .iter()
        .map(|s| {
            let (kind, lock) = what(&s.doing);
            PathStep { thread: s.thread.0, kind: kind.to_owned(), lock, start_ns: ns(s.begin), end_ns: ns(s.end) }
        })
        .collect();
    let steps_total = steps.len() as u64;
    steps.sort_by_key(|s| (Reverse(s.end_ns.0.saturating_sub(s.start_ns.0)), s.start_ns));
    steps.truncate(STEPS);
    steps.sort_by_key(|s| s.start_ns);
    model::CriticalPath { length_ns: ns(path.time(|_| true)), parts, steps, steps_total }
}

fn hand_off(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Lock => "lock-hand-off",
        WaitKind::Condition => "condition-wake-up",
        WaitKind::Barrier => "barrier-release",
        WaitKind::Semaphore => "semaphore-wake-up",
        WaitKind::Join => "join-wake-up",
        WaitKind::Start => "thread-start",
    }
}

fn waiting(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Lock => "lock-wait",
        WaitKind::Condition => "condition-wait",
        WaitKind::Barrier => "barrier-wait",
        WaitKind::Semaphore => "semaphore-wait",
        WaitKind::Join => "join-wait",
        WaitKind::Start => "start-wait",
    }
}

/// Writes into the most waited-for locks how long the program would have taken without them.
pub(super) fn relaxed(trace: &Trace, analysis: &Analysis, locks: &mut [model::Lock]) {
    let waited = |l: &&baton_trace::analysis::LockReport| l.stats.blocked > Ticks(0);
    let asked: Vec<ObjectId> = analysis.locks.iter().filter(waited).take(RELAXED).map(|l| l.id).collect();
    for (answer, lock) in relax(trace, &asked).iter().zip(locks) {
        lock.program_without_overhead_ns = Some(nanos(&trace.clock, answer.without_overhead));
        lock.program_without_exclusion_ns = Some(nanos(&trace.clock, answer.without_exclusion));
    }
}
