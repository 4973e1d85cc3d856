//! Work on the critical path that others wait for at one futex, or at one lock of the C library.
//!
//! The trace does not show who holds such a lock: taking it without a wait is no call, and a futex
//! may also be an event. But if the path comes to a thread by a wake there, leaves it by its next
//! wake there, and other threads wait there meanwhile, then the path goes through that object: what
//! the thread does in between happens one thread at a time.

use super::causes::WaitKind;
use super::objects::ObjectId;
use super::segment::{Doing, PathSegment};
use crate::clock::Ticks;
use std::collections::BTreeMap;

/// When any thread waited at each object.
#[derive(Default)]
pub(super) struct Awaited(BTreeMap<ObjectId, Vec<(Ticks, Ticks)>>);

impl Awaited {
    /// Adds a wait.
    pub(super) fn add(&mut self, kind: WaitKind, object: Option<ObjectId>, begin: Ticks, end: Ticks) {
        if let (true, Some(object)) = (has_no_holder(kind), object) {
            self.0.entry(object).or_default().push((begin, end));
        }
    }

    /// Merges waits that overlap.
    pub(super) fn settle(&mut self) {
        for waits in self.0.values_mut() {
            waits.sort_unstable();
            waits.dedup_by(|next, kept| {
                let joined = next.0 <= kept.1;
                if joined {
                    kept.1 = kept.1.max(next.1);
                }
                joined
            });
        }
    }

    /// Marks the parts of the path in which a thread runs between two hand-offs of one object while
    /// others wait there.
    pub(super) fn mark(&self, path: Vec<PathSegment>) -> Vec<PathSegment> {
        let mut marked = Vec::with_capacity(path.len());
        let mut from = 0;
        while from < path.len() {
            let to = from + path[from..].iter().take_while(|s| is_along(s.doing)).count();
            let before = from.checked_sub(1).and_then(|at| handed(&path[at]));
            let through = before.filter(|before| path.get(to).and_then(handed) == Some(*before));
            for segment in &path[from..to] {
                match through.filter(|_| segment.doing == Doing::Running) {
                    Some((kind, object)) => self.cut(*segment, kind, object, &mut marked),
                    None => marked.push(*segment),
                }
            }
            marked.extend(path.get(to));
            from = to + 1;
        }
        marked
    }

    /// Cuts a part of the path where others begin or cease to wait at an object.
    fn cut(&self, segment: PathSegment, kind: WaitKind, object: ObjectId, marked: &mut Vec<PathSegment>) {
        let waits = self.0.get(&object).map_or(&[][..], Vec::as_slice);
        let first = waits.partition_point(|(_, end)| *end <= segment.begin);
        let mut at = segment.begin;
        let mut push = |begin: Ticks, end: Ticks, doing| {
            if begin < end {
                marked.push(PathSegment { begin, end, doing, ..segment });
            }
        };
        for (begin, end) in waits[first..].iter().take_while(|(begin, _)| *begin < segment.end) {
            let (begin, end) = ((*begin).max(at), (*end).min(segment.end));
            push(at, begin, Doing::Running);
            push(begin, end, Doing::Awaited { kind, object });
            at = end;
        }
        push(at, segment.end, Doing::Running);
    }
}

/// Whether the trace does not show who holds the objects of such waits.
fn has_no_holder(kind: WaitKind) -> bool {
    matches!(kind, WaitKind::Futex | WaitKind::LibcLock)
}

fn is_along(doing: Doing) -> bool {
    matches!(doing, Doing::Running | Doing::OffCpu(_))
}

/// The object of a hand-off, if the trace does not show who holds it.
fn handed(segment: &PathSegment) -> Option<(WaitKind, ObjectId)> {
    match segment.doing {
        Doing::HandOff { kind, object: Some(object) } if has_no_holder(kind) => Some((kind, object)),
        _ => None,
    }
}
