//! Work on the critical path that others wait for at one futex, semaphore or condition variable, or at
//! one lock of the C library.
//!
//! The trace does not show which thread holds a lock of the C library or a lock made of a futex:
//! taking either without a wait makes no system call, and a futex may also be an event. A semaphore that
//! begins at one may serve as a lock, and so may a condition variable with a flag. But if a
//! wake at an object brings the path to a thread, the thread's next wake at the same object leads
//! the path away, and other threads wait at the object meanwhile, then the path goes through that
//! object: what the thread does between the two wakes happens one thread at a time. A thread that
//! sleeps there, or waits for input or output, keeps the others waiting as one that computes does.
//! The same holds for what a thread does while it holds an object that serves as a lock
//! ([`super::retaken`]).

use super::causes::WaitKind;
use super::objects::ObjectId;
use super::off_cpu::OffCpu;
use super::retaken::{Hold, Retaken};
use super::segment::{Doing, PathSegment};
use crate::clock::Ticks;
use crate::event::{Event, ThreadIndex};
use crate::process::ProcessIndex;
use std::collections::BTreeMap;

/// Objects without a known holder, and the threads that wait there.
#[derive(Default)]
pub(super) struct Awaited {
    /// For each such object, the intervals in which any thread waited there.
    waits: BTreeMap<ObjectId, Vec<(Ticks, Ticks)>>,
    retaken: Retaken,
    /// What `retaken` has found: holds, and semaphores that count as another one.
    holds: BTreeMap<ThreadIndex, Vec<Hold>>,
    same: BTreeMap<ObjectId, ObjectId>,
}

impl Awaited {
    /// Follows an event of a process, which concerns `object`.
    pub(super) fn step(&mut self, event: &Event, process: ProcessIndex, object: Option<ObjectId>) {
        self.retaken.step(event, process, object);
    }

    /// Adds a wait.
    pub(super) fn add(&mut self, kind: WaitKind, object: Option<ObjectId>, begin: Ticks, end: Ticks) {
        if let (true, Some(object)) = (has_no_holder(kind), object) {
            self.waits.entry(object).or_default().push((begin, end));
        }
    }

    /// Sorts each object's waits, merges those that overlap, and finds the holds meanwhile.
    pub(super) fn settle(&mut self) {
        let retaken = std::mem::take(&mut self.retaken);
        self.same = retaken.same().clone();
        for (object, first) in self.same.iter().filter(|(object, first)| object != first) {
            let waits = self.waits.remove(object).unwrap_or_default();
            self.waits.entry(*first).or_default().extend(waits);
        }
        for waits in self.waits.values_mut() {
            waits.sort_unstable();
            waits.dedup_by(|next, kept| {
                let joined = next.0 <= kept.1;
                if joined {
                    kept.1 = kept.1.max(next.1);
                }
                joined
            });
        }
        self.holds = retaken.finish(&self.waits);
    }

    /// Marks as [`Doing::Awaited`] the parts of the path in which a thread runs, or is blocked,
    /// between two hand-offs of one object, or while it holds one, while other threads wait at that
    /// object. Time in which the thread is ready and has no CPU, or is blocked in the recorder, is left
    /// as it is.
    pub(super) fn mark(&self, path: Vec<PathSegment>) -> Vec<PathSegment> {
        let mut marked = Vec::with_capacity(path.len());
        let mut from = 0;
        while from < path.len() {
            let to = from + path[from..].iter().take_while(|s| is_along(s.doing)).count();
            let before = from.checked_sub(1).and_then(|at| self.handed(&path[at]));
            let through =
                before.filter(|before| path.get(to).and_then(|segment| self.handed(segment)) == Some(*before));
            for segment in &path[from..to] {
                match through {
                    _ if !holds_up(segment.doing) => marked.push(*segment),
                    Some((kind, object)) => self.cut(*segment, kind, object, &mut marked),
                    None => self.cut_by_holds(*segment, &mut marked),
                }
            }
            marked.extend(path.get(to));
            from = to + 1;
        }
        marked
    }

    /// The wait and the object of a hand-off, if the trace does not show which thread holds that
    /// object.
    fn handed(&self, segment: &PathSegment) -> Option<(WaitKind, ObjectId)> {
        match segment.doing {
            Doing::HandOff { kind, object: Some(object) } if has_no_holder(kind) => {
                Some((kind, self.same.get(&object).copied().unwrap_or(object)))
            }
            _ => None,
        }
    }

    /// Cuts a part of the path where other threads begin or cease to wait at `object`; marks the
    /// pieces in which they wait.
    fn cut(&self, segment: PathSegment, kind: WaitKind, object: ObjectId, marked: &mut Vec<PathSegment>) {
        let waits = self.waits.get(&object).map_or(&[][..], Vec::as_slice);
        let first = waits.partition_point(|(_, end)| *end <= segment.begin);
        let waits = waits[first..].iter().map(|(begin, end)| (*begin, *end, kind, object));
        cut(segment, waits, marked);
    }

    /// The same where the thread holds an object that serves as a lock.
    fn cut_by_holds(&self, segment: PathSegment, marked: &mut Vec<PathSegment>) {
        let holds = self.holds.get(&segment.thread).map_or(&[][..], Vec::as_slice);
        let first = holds.partition_point(|hold| hold.end <= segment.begin);
        cut(segment, holds[first..].iter().map(|hold| (hold.begin, hold.end, hold.kind, hold.object)), marked);
    }
}

/// Cuts a part of the path at intervals, which are in order and without overlap, and marks the pieces
/// inside of them.
fn cut(
    segment: PathSegment,
    inside: impl Iterator<Item = (Ticks, Ticks, WaitKind, ObjectId)>,
    marked: &mut Vec<PathSegment>,
) {
    let off = match segment.doing {
        Doing::OffCpu(why) => Some(why),
        _ => None,
    };
    let mut at = segment.begin;
    let mut push = |begin: Ticks, end: Ticks, doing| {
        if begin < end {
            marked.push(PathSegment { begin, end, doing, ..segment });
        }
    };
    for (begin, end, kind, object) in inside.take_while(|(begin, ..)| *begin < segment.end) {
        let (begin, end) = (begin.max(at), end.min(segment.end));
        push(at, begin, segment.doing);
        push(begin, end, Doing::Awaited { kind, object, off });
        at = end;
    }
    push(at, segment.end, segment.doing);
}

/// Whether the trace does not show which thread holds an object at which threads wait in this way.
fn has_no_holder(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Futex | WaitKind::LibcLock | WaitKind::Semaphore | WaitKind::Condition)
}

/// Whether what the thread does is part of what the others wait for.
fn holds_up(doing: Doing) -> bool {
    matches!(doing, Doing::Running | Doing::OffCpu(OffCpu::Blocked | OffCpu::Call | OffCpu::Unknown))
}

fn is_along(doing: Doing) -> bool {
    matches!(doing, Doing::Running | Doing::OffCpu(_))
}
