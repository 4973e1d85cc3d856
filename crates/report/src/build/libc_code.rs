//! Time of the critical path on a CPU inside functions of the C library whose lock is contended.
//!
//! A contended lock costs more than waits: its cache line moves between CPUs, and an attempt that
//! does not sleep is no wait. If a thread often waits for such locks, the recording samples where
//! it runs. A sample counts if it lies in the function that takes the lock, and if its thread met
//! others at the lock (it waited, or woke a waiter) shortly before or after. A sample in the
//! functions that wait and wake, which all such locks share, belongs to the lock at which its
//! thread met others last, or else next. Each sample stands for the CPU time between two samples;
//! none is taken in the kernel.

use super::names::Names;
use crate::symbols::{Frame, short};
use baton_trace::analysis::{Analysis, CriticalPath, Doing, ObjectKind};
use baton_trace::{Address, ProcessIndex, ThreadIndex, Ticks, Trace, Waitable, What};
use baton_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// The longest time between a sample and its thread's last or next meeting with others at the lock.
const NEAR: Nanos = Nanos(1_000_000);

/// For each lock of the C library, by its number among the waitables, the functions in which its
/// waits begin.
type Functions = BTreeMap<u32, BTreeSet<String>>;

/// The time of the path that samples put inside the functions of each lock of the C library, by the
/// lock's number among the waitables.
pub(super) fn on_path(
    names: &mut Names,
    trace: &Trace,
    analysis: &Analysis,
    path: &CriticalPath,
) -> BTreeMap<u32, Ticks> {
    let functions = functions(names, analysis);
    let mut times = BTreeMap::new();
    if functions.is_empty() {
        return times;
    }
    let meetings = Meetings::of(trace, analysis);
    let near = Ticks(trace.clock.ticks(NEAR));
    let mut known: BTreeMap<(ProcessIndex, Address), Inside> = BTreeMap::new();
    for event in trace.complete_events() {
        let What::Sample { code, micros } = event.what else { continue };
        let process = trace.process_of(event.thread);
        let inside = known.entry((process, code)).or_insert_with(|| {
            let frames = names.sampled(process, code, event.time);
            let function = function(&frames).unwrap_or_default();
            if function.contains("lll_lock_wait") || function.contains("lll_lock_wake") {
                return Inside::Any;
            }
            Inside::Of(functions.iter().filter(|(_, all)| all.contains(&function)).map(|(lock, _)| *lock).collect())
        });
        if !inside.may_be_at_a_lock() || !runs(path, event.thread, event.time) {
            continue;
        }
        if let Some(waitable) = meetings.near(event.thread, inside, event.time, near) {
            let period = Nanos(u64::from(micros) * 1000);
            *times.entry(waitable).or_default() += Ticks(trace.clock.ticks(period));
        }
    }
    times
}

/// Where a sample lies.
enum Inside {
    /// In a function that takes the locks with these numbers; there may be none.
    Of(Vec<u32>),
    /// In a function that waits for any lock of the C library, or wakes a waiter.
    Any,
}

impl Inside {
    fn may_be_at_a_lock(&self) -> bool {
        !matches!(self, Inside::Of(locks) if locks.is_empty())
    }

    fn fits(&self, lock: u32) -> bool {
        match self {
            Inside::Of(locks) => locks.contains(&lock),
            Inside::Any => true,
        }
    }
}

fn functions(names: &mut Names, analysis: &Analysis) -> Functions {
    let mut functions = Functions::new();
    for (number, waitable) in analysis.waitables.iter().enumerate() {
        if waitable.object.kind != ObjectKind::Waitable(Waitable::LibcLock) {
            continue;
        }
        let all = functions.entry(number as u32).or_default();
        for (process, site) in waitable.stats.sites.keys() {
            let frames = names.symbols.site(names.trace, *process, *site);
            all.extend(function(&frames));
        }
    }
    functions
}

/// The innermost function that the compiler did not inline.
fn function(frames: &[Frame]) -> Option<String> {
    frames.iter().find(|frame| !frame.inlined).map(|frame| short(&frame.function))
}

/// Whether the path runs along the thread at that time, on a CPU, in time that has no other cause
/// yet.
fn runs(path: &CriticalPath, thread: ThreadIndex, time: Ticks) -> bool {
    let at = path.segments.partition_point(|segment| segment.end < time);
    let here = path.segments[at..].iter().take_while(|segment| segment.begin <= time);
    here.into_iter().any(|segment| segment.thread == thread && segment.doing == Doing::Running)
}

/// For each thread, the times at which it waited for a lock of the C library or woke a waiter, with
/// the lock.
struct Meetings(BTreeMap<ThreadIndex, Vec<(Ticks, u32)>>);

impl Meetings {
    fn of(trace: &Trace, analysis: &Analysis) -> Meetings {
        let locks =
            analysis.waitables.iter().zip(0..).map(|(w, number)| ((w.object.process, w.object.address), number));
        let locks: BTreeMap<(ProcessIndex, Address), u32> = locks.collect();
        let mut meetings: BTreeMap<_, Vec<(Ticks, u32)>> = BTreeMap::new();
        for event in trace.complete_events() {
            let (What::LibcWait { lock, .. } | What::LibcWake { lock, .. }) = event.what else { continue };
            if let Some(number) = locks.get(&(trace.process_of(event.thread), lock)) {
                meetings.entry(event.thread).or_default().push((event.time, *number));
            }
        }
        Meetings(meetings)
    }

    /// The lock that a sample belongs to: the lock at which the thread last met others before the
    /// sample, or else next after it. For a sample in a function that takes certain locks, only
    /// meetings at these locks count. `None` if no such meeting is near.
    fn near(&self, thread: ThreadIndex, inside: &Inside, time: Ticks, near: Ticks) -> Option<u32> {
        let met = self.0.get(&thread)?;
        let after = met.partition_point(|(met, _)| *met < time);
        let before = met[..after].iter().rev().take_while(|(met, _)| time.since(*met) <= near);
        let behind = met[after..].iter().take_while(|(met, _)| met.since(time) <= near);
        before.chain(behind).map(|(_, lock)| *lock).find(|lock| inside.fits(*lock))
    }
}
