//! The critical path, and the program's length without a lock's costs.

use super::figures::{nanos, places};
use super::kinds::SHARED;
use super::names::Names;
use super::spins::{Spin, Told};
use super::vain::{FUTILE, POLLING};
use crate::model::{self, NestedPart, PathPart, PathStep, PathThread, SectionTime};
use baton_trace::analysis::{
    self, Along, Analysis, Background, CriticalPath, Doing, Left, LeftCpus, ObjectId, OffCpu, WaitKind, relax,
};
use baton_trace::{ThreadIndex, Ticks, Trace};
use baton_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The most steps that the report keeps. The path of a long run has millions.
const STEPS: usize = 500;
/// The most locks for which the report computes the program's length without them, starting with
/// the lock with the most waiting. Eight take one walk over the trace.
const RELAXED: usize = 8;

/// The most pairs of nested locks that the report keeps.
const NESTED: usize = 20;

/// The most threads of the path that the report keeps.
const THREADS: usize = 20;

/// The objects that are shared with other processes. Where no thread of this process holds such a lock,
/// or posts such a semaphore, one of another process may.
fn shared(analysis: &Analysis) -> BTreeSet<ObjectId> {
    let noted = |object: &analysis::Object| {
        analysis.notes.contains(&(object.process, object.address, baton_trace::notes::PROCESS_SHARED))
    };
    let locks = analysis.locks.iter().filter(|lock| lock.is_shared).map(|lock| lock.id);
    let others = analysis.waitables.iter().filter(|one| noted(&one.object)).map(|one| one.id);
    locks.chain(others).collect()
}

/// A word for the kind of a step, and the indices of the lock or of the other object that the step
/// concerns.
type What = (&'static str, Option<u32>, Option<u32>);

/// What samples tell about the path's time on a CPU.
pub(super) struct Sampled {
    /// The time inside of functions of the C library whose lock is contended, by waitable.
    pub(super) libc_code: BTreeMap<u32, Ticks>,
    /// The time in loops that spin.
    pub(super) spinning: Ticks,
}

/// Makes the report's critical path.
pub(super) fn path(trace: &Trace, analysis: &Analysis, path: &CriticalPath, sampled: Sampled) -> model::CriticalPath {
    let locks = places(analysis.locks.iter().map(|lock| lock.id));
    let waitables = places(analysis.waitables.iter().map(|waitable| waitable.id));
    let shared = shared(analysis);
    let of = |word, object: &Option<ObjectId>| -> What {
        (word, object.and_then(|o| locks.get(&o).copied()), object.and_then(|o| waitables.get(&o).copied()))
    };
    let what = |doing: &Doing| match doing {
        Doing::Running => ("running", None, None),
        Doing::OffCpu(OffCpu::Ready) => ("ready", None, None),
        Doing::OffCpu(OffCpu::Blocked) => ("blocked", None, None),
        Doing::OffCpu(OffCpu::Call) => ("call", None, None),
        Doing::OffCpu(OffCpu::Recorder) => ("recorder", None, None),
        Doing::OffCpu(OffCpu::Unknown) => ("off-cpu", None, None),
        Doing::Awaited { kind, object, off } => of(awaited(*kind, *off), &Some(*object)),
        Doing::HandOff { kind: WaitKind::Lock, object } | Doing::Waiting { object, .. }
            if object.is_some_and(|object| shared.contains(&object)) =>
        {
            of(SHARED, object)
        }
        Doing::HandOff { kind, object } => of(hand_off(*kind), object),
        Doing::Waiting { kind, object } => of(waiting(*kind), object),
        Doing::Vain { object } if locks.contains_key(object) => of(POLLING, &Some(*object)),
        Doing::Vain { object } => of(FUTILE, &Some(*object)),
    };
    let ns = |ticks| nanos(&trace.clock, ticks);
    let parts = parts(path, &locks, &sampled, what, ns);
    let mut steps: Vec<PathStep> = path
        .segments
        .iter()
        .map(|s| {
            let (kind, lock, waitable) = what(&s.doing);
            let (start_ns, end_ns) = (ns(s.begin), ns(s.end));
            PathStep { thread: s.thread.0, kind: kind.to_owned(), lock, waitable, start_ns, end_ns }
        })
        .collect();
    let steps_total = steps.len() as u64;
    if steps.len() > STEPS {
        steps = thin(&steps);
    }
    let nested = nested(path, &locks, ns);
    let sections = sections(path, ns);
    let ready = Ready::of(trace, path);
    let (ready_ns, ready_left_ns, ready_bound_ns) = (ns(ready.all), ns(ready.left.free), ns(ready.left.bound));
    let length_ns = ns(path.time(|_| true));
    model::CriticalPath {
        length_ns,
        parts,
        sections,
        nested,
        steps,
        steps_total,
        ready_ns,
        ready_left_ns,
        ready_bound_ns,
        bound_thread: ready.most_bound(),
        threads: threads(path, ns),
        beside: Vec::new(),
    }
}

/// The threads along which the path runs on a CPU.
fn threads(path: &CriticalPath, ns: impl Fn(Ticks) -> Nanos) -> Vec<PathThread> {
    let mut times: BTreeMap<ThreadIndex, Ticks> = BTreeMap::new();
    for segment in path.segments.iter().filter(|segment| segment.doing == Doing::Running) {
        *times.entry(segment.thread).or_default() += segment.end.since(segment.begin);
    }
    let mut all: Vec<_> = times.into_iter().collect();
    all.sort_by_key(|(thread, time)| (Reverse(*time), *thread));
    all.iter().take(THREADS).map(|(thread, time)| PathThread { thread: thread.0, running_ns: ns(*time) }).collect()
}

/// The path's time by what happens, the greatest part first.
fn parts(
    path: &CriticalPath,
    locks: &BTreeMap<ObjectId, u32>,
    sampled: &Sampled,
    what: impl Fn(&Doing) -> What,
    ns: impl Fn(Ticks) -> Nanos,
) -> Vec<PathPart> {
    let mut parts: BTreeMap<What, Ticks> = BTreeMap::new();
    let mut waited_for: BTreeMap<What, Ticks> = BTreeMap::new();
    for segment in &path.segments {
        *parts.entry(what(&segment.doing)).or_default() += segment.end.since(segment.begin);
    }
    // Time along threads is split into time inside of each lock's critical sections, and the rest.
    for (word, _, time) in along(&path.sections) {
        if let Some(all) = parts.get_mut(&(word, None, None)) {
            *all = all.since(time);
        }
    }
    for (object, share) in &path.objects {
        let Some(&lock) = locks.get(object) else { continue };
        for (_, word, time) in along(&share.sections) {
            *parts.entry((word, Some(lock), None)).or_default() += time;
        }
        for (_, word, time) in along(&share.wanted) {
            waited_for.insert((word, Some(lock), None), time);
        }
    }
    for (waitable, time) in &sampled.libc_code {
        let running = parts.entry(("running", None, None)).or_default();
        let inside = (*time).min(*running);
        *running = running.since(inside);
        *parts.entry(("libc-lock-code", None, Some(*waitable))).or_default() += inside;
    }
    let running = parts.entry(("running", None, None)).or_default();
    let spinning = sampled.spinning.min(*running);
    *running = running.since(spinning);
    *parts.entry(("blocked", None, None)).or_default() += spinning;
    let mut sorted: Vec<PathPart> = parts
        .into_iter()
        .filter(|(_, time)| *time > Ticks(0))
        .map(|(what, time)| {
            let (kind, lock, waitable) = what;
            let waited_for_ns = ns(waited_for.get(&what).copied().unwrap_or_default());
            PathPart { kind: kind.to_owned(), lock, waitable, total_ns: ns(time), waited_for_ns }
        })
        .collect();
    sorted.sort_by_key(|p| Reverse(p.total_ns));
    sorted
}

/// The places where the path's thread was blocked while other threads were at work, or waited in a loop. In
/// the loops of `spins` it spun.
pub(super) fn beside(names: &mut Names, path: &CriticalPath, spins: Vec<(Spin, Ticks)>) -> Vec<model::Beside> {
    let clock = &names.trace.clock;
    let mut one = |from: &analysis::Beside| model::Beside {
        call: from.call.to_owned(),
        again: from.again,
        instructions: None,
        runtime: None,
        waits_for: None,
        at: names.site_place(from.process, from.site),
        total_ns: nanos(clock, from.time),
    };
    let mut all: Vec<_> = path.beside.iter().map(&mut one).collect();
    let spin = |(Spin { at, by }, time): (Spin, Ticks)| {
        let runtime = if let Told::Name(runtime) = by { Some(runtime) } else { None };
        model::Beside {
            call: by.word().to_owned(),
            again: true,
            instructions: if let Told::Turn(instructions) = by { Some(instructions) } else { None },
            runtime: runtime.map(|runtime| runtime.name.to_owned()),
            waits_for: runtime.map(|runtime| runtime.waits_for.to_owned()),
            at: Some(at),
            total_ns: nanos(clock, time),
        }
    };
    all.extend(spins.into_iter().map(spin));
    all.sort_by_key(|one| Reverse(one.total_ns));
    all
}

/// The path's time in critical sections of any lock, by activity.
fn sections(path: &CriticalPath, ns: impl Fn(Ticks) -> Nanos) -> Vec<SectionTime> {
    let both = along(&path.sections).into_iter().zip(along(&path.wanted));
    let some = both.filter(|((.., all), _)| *all > Ticks(0));
    let time = |((_, word, all), (.., wanted)): ((_, &str, Ticks), (_, _, Ticks))| SectionTime {
        kind: word.to_owned(),
        total_ns: ns(all),
        waited_for_ns: ns(wanted),
    };
    some.map(time).collect()
}

/// The pairs of locks whose sections are nested on the path, the longest first.
fn nested(path: &CriticalPath, locks: &BTreeMap<ObjectId, u32>, ns: impl Fn(Ticks) -> Nanos) -> Vec<NestedPart> {
    let part = |((outer, inner), time): (&(ObjectId, ObjectId), &Ticks)| {
        let (outer, inner) = (*locks.get(outer)?, *locks.get(inner)?);
        Some(NestedPart { outer, inner, total_ns: ns(*time) })
    };
    let mut parts: Vec<NestedPart> = path.nested.iter().filter_map(part).collect();
    parts.sort_by_key(|part| (Reverse(part.total_ns), part.outer, part.inner));
    parts.truncate(NESTED);
    parts
}

/// The path's time ready to run without a CPU.
struct Ready {
    all: Ticks,
    /// The part in which the program left a CPU to others.
    left: Left,
    /// For each thread, the time in which it was bound to other CPUs than the one that was left.
    bound: BTreeMap<ThreadIndex, Ticks>,
}

impl Ready {
    fn of(trace: &Trace, path: &CriticalPath) -> Ready {
        let parts: Vec<_> = path.segments.iter().filter(|s| s.doing == Doing::OffCpu(OffCpu::Ready)).collect();
        let cpus = LeftCpus::of(trace, &parts.iter().map(|part| part.thread).collect());
        let mut ready = Ready { all: Ticks(0), left: Left::default(), bound: BTreeMap::new() };
        for part in parts {
            let left = cpus.overlap(part.thread, part.begin, part.end);
            ready.all += part.end.since(part.begin);
            ready.left.free += left.free;
            ready.left.bound += left.bound;
            *ready.bound.entry(part.thread).or_default() += left.bound;
        }
        ready
    }

    /// The thread that was bound for most of the path's time, if one was.
    fn most_bound(&self) -> Option<u32> {
        let most = self.bound.iter().max_by_key(|(_, time)| **time)?;
        (*most.1 > Ticks(0)).then_some(most.0.0)
    }
}

/// The words for the parts of time along threads. Each entry has the word for time outside of
/// critical sections, the word for time inside of them, and the duration.
fn along(along: &Along) -> [(&'static str, &'static str, Ticks); 6] {
    [
        ("running", "critical-section", along.running),
        ("ready", "critical-section-ready", along.ready),
        ("blocked", "critical-section-blocked", along.blocked),
        ("call", "critical-section-call", along.calls),
        ("recorder", "critical-section-recorder", along.recorder),
        ("off-cpu", "critical-section-off-cpu", along.off),
    ]
}

/// Reduces the steps to [`STEPS`] slots of equal length. Each slot keeps the step that takes most
/// of it; neighbouring slots that keep the same kind of step become one step.
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
            Some(kept)
                if (kept.thread, &kept.kind, kept.lock, kept.waitable)
                    == (most.thread, &most.kind, most.lock, most.waitable) =>
            {
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
        WaitKind::Idle => "region-start",
        WaitKind::Tasks => "task-wake-up",
        WaitKind::Futex => "futex-wake-up",
        WaitKind::LibcLock => "libc-lock-hand-off",
        WaitKind::Room => "queue-room",
        WaitKind::Item => "queue-item",
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
        WaitKind::Idle => "idle-wait",
        WaitKind::Tasks => "task-wait",
        WaitKind::Futex => "futex-wait",
        WaitKind::LibcLock => "libc-lock-wait",
        WaitKind::Room => "queue-full-wait",
        WaitKind::Item => "queue-empty-wait",
    }
}

/// The word for time of a thread while others wait at an object of which the trace does not show the
/// holder: on a CPU, or off it for reason `off`.
fn awaited(kind: WaitKind, off: Option<OffCpu>) -> &'static str {
    macro_rules! words {
        ($object:literal) => {
            [
                concat!($object, "-awaited"),
                concat!($object, "-awaited-call"),
                concat!($object, "-awaited-off-cpu"),
                concat!($object, "-awaited-blocked"),
            ]
        };
    }
    let [on_cpu, call, unknown, blocked] = match kind {
        WaitKind::LibcLock => words!("libc-lock"),
        WaitKind::Semaphore => words!("semaphore"),
        WaitKind::Condition => words!("condition"),
        _ => words!("futex"),
    };
    match off {
        None => on_cpu,
        Some(OffCpu::Call) => call,
        Some(OffCpu::Unknown) => unknown,
        Some(_) => blocked,
    }
}

/// Computes for the most waited-for locks how long the program would have taken without their
/// costs.
pub(super) fn relaxed(trace: &Trace, analysis: &Analysis, background: &[Background], locks: &mut [model::Lock]) {
    // The computation cannot handle waits that do not end in the trace.
    if analysis.window.end() > trace.span().1 {
        return;
    }
    let waited = |l: &&baton_trace::analysis::LockReport| l.stats.blocked > Ticks(0);
    let asked: Vec<ObjectId> = analysis.locks.iter().filter(waited).take(RELAXED).map(|l| l.id).collect();
    for (answer, lock) in relax(trace, &asked, background).iter().zip(locks) {
        lock.program_without_overhead_ns = Some(nanos(&trace.clock, answer.without_overhead));
        lock.program_without_exclusion_ns = Some(nanos(&trace.clock, answer.without_exclusion));
    }
}
