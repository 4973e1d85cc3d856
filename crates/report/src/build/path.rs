//! The critical path, and the program's length without a lock's costs.

use super::figures::nanos;
use crate::model::{self, PathPart, PathStep};
use baton_trace::analysis::{Analysis, CriticalPath, Doing, ObjectId, WaitKind, relax};
use baton_trace::{Ticks, Trace};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps that the report keeps. The path of a long run has millions.
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
    if steps.len() > STEPS {
        steps = thin(&steps);
    }
    model::CriticalPath { length_ns: ns(path.time(|_| true)), parts, steps, steps_total }
}

/// As many slots of equal length as steps are kept; each becomes the step that takes most of it.
fn thin(steps: &[PathStep]) -> Vec<PathStep> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Vec::new() };
    let (start, span) = (first.start_ns.0, last.end_ns.0.saturating_sub(first.start_ns.0));
    let border = |slot: usize| start + (u128::from(span) * slot as u128 / STEPS as u128) as u64;
    let mut out: Vec<PathStep> = Vec::new();
    let mut from = 0;
    for slot in 0..STEPS {
        let (begin, end) = (border(slot), border(slot + 1));
        while from < steps.len() && steps[from].end_ns.0 <= begin {
            from += 1;
        }
        let inside = steps[from..].iter().take_while(|s| s.start_ns.0 < end);
        let overlap = |s: &PathStep| s.end_ns.0.min(end).saturating_sub(s.start_ns.0.max(begin));
        let Some(most) = inside.max_by_key(|s| overlap(s)) else { continue };
        match out.last_mut() {
            Some(kept) if (kept.thread, &kept.kind, kept.lock) == (most.thread, &most.kind, most.lock) => {
                kept.end_ns = Nanos(end)
            }
            _ => out.push(PathStep { start_ns: Nanos(begin), end_ns: Nanos(end), ..most.clone() }),
        }
    }
    out
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
