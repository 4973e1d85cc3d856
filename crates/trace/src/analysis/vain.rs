//! Time in which threads are awake in vain, and what that costs along the critical path. Such
//! threads were woken by a broadcast for nothing ([`super::futile`]), or take a lock again and
//! again until another thread changes a value ([`super::polls`]).

use super::causes::WaitKind;
use super::objects::ObjectId;
use super::off_cpu::OffCpu;
use super::segment::{Doing, PathSegment};
use crate::clock::Ticks;
use crate::event::ThreadIndex;
use std::collections::BTreeMap;

/// An interval in which a thread is awake in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) thread: ThreadIndex,
    pub(super) begin: Ticks,
    pub(super) end: Ticks,
}

/// When threads were awake in vain, by the condition variable or the futex that woke them, or the
/// lock under which they polled.
#[derive(Clone, Debug, Default)]
pub struct Vain(BTreeMap<ObjectId, Awake>);

/// Intervals in the order of time, without overlap.
type Intervals = Vec<(Ticks, Ticks)>;

#[derive(Clone, Debug)]
struct Awake {
    /// The lock that the threads which are awake in vain take.
    lock: Option<ObjectId>,
    threads: BTreeMap<ThreadIndex, Intervals>,
    /// When any thread was awake in vain.
    any: Intervals,
    /// When at least as many threads were awake in vain as the machine has CPUs.
    crowd: Intervals,
}

impl Vain {
    /// Adds the intervals in which threads were awake in vain because of `object`. These threads
    /// take `lock`; `cpus` is the number of the machine's CPUs.
    pub(super) fn add(&mut self, object: ObjectId, lock: Option<ObjectId>, stretches: &[Stretch], cpus: usize) {
        let mut threads: BTreeMap<ThreadIndex, Intervals> = BTreeMap::new();
        for stretch in stretches {
            threads.entry(stretch.thread).or_default().push((stretch.begin, stretch.end));
        }
        threads.values_mut().for_each(|own| own.sort_unstable());
        let (any, crowd) = (overlaps(stretches, 1), overlaps(stretches, cpus.max(1)));
        self.0.insert(object, Awake { lock, threads, any, crowd });
    }

    /// Marks as [`Doing::Vain`] the parts of the path that are time or costs of threads awake in
    /// vain.
    pub(super) fn mark(&self, mut path: Vec<PathSegment>) -> Vec<PathSegment> {
        for (object, awake) in &self.0 {
            path = path.into_iter().flat_map(|segment| awake.cut(*object, segment)).collect();
        }
        path
    }
}

impl Awake {
    /// Marks a whole part of the path if it is a cost of other threads that are awake in vain.
    /// Otherwise cuts it, and marks the pieces in which its own thread is awake in vain.
    fn cut(&self, object: ObjectId, segment: PathSegment) -> Vec<PathSegment> {
        let vain = Doing::Vain { object };
        if self.costs(object, &segment) {
            return vec![PathSegment { doing: vain, ..segment }];
        }
        let own = self.threads.get(&segment.thread);
        let Some(own) = own.filter(|_| matches!(segment.doing, Doing::Running | Doing::OffCpu(_))) else {
            return vec![segment];
        };
        let (mut pieces, mut at) = (Vec::new(), segment.begin);
        for (begin, end) in inside(own, &segment) {
            pieces.push(PathSegment { begin: at, end: begin, ..segment });
            pieces.push(PathSegment { begin, end, doing: vain, ..segment });
            at = end;
        }
        pieces.push(PathSegment { begin: at, ..segment });
        pieces.retain(|piece| piece.begin < piece.end);
        pieces
    }

    /// Whether a part of the path, in which a thread wakes or waits for a CPU or the lock, lies
    /// mostly in time in which other threads are awake in vain. For wake-ups at other objects than
    /// `of` and the lock, as many threads must be awake in vain as there are CPUs.
    fn costs(&self, of: ObjectId, segment: &PathSegment) -> bool {
        let mostly = |intervals: &Intervals| {
            let inside: u64 = inside(intervals, segment).map(|(begin, end)| end.since(begin).0).sum();
            inside * 2 > segment.end.since(segment.begin).0
        };
        match segment.doing {
            Doing::OffCpu(OffCpu::Ready) => mostly(&self.any),
            Doing::HandOff { object: Some(object), .. }
            | Doing::Waiting { kind: WaitKind::Lock | WaitKind::Futex, object: Some(object) }
                if object == of || Some(object) == self.lock =>
            {
                mostly(&self.any)
            }
            Doing::HandOff { .. } => mostly(&self.crowd),
            _ => false,
        }
    }
}

/// Returns the intervals in which at least `least` of the stretches overlap.
fn overlaps(stretches: &[Stretch], least: usize) -> Intervals {
    let borders = stretches.iter().flat_map(|stretch| [(stretch.begin, 1), (stretch.end, -1)]);
    let mut borders: Vec<(Ticks, isize)> = borders.collect();
    let least = isize::try_from(least).unwrap_or(isize::MAX);
    borders.sort_unstable();
    let (mut depth, mut since, mut out) = (0, None, Intervals::new());
    for (at, step) in borders {
        depth += step;
        match since {
            None if depth >= least => since = Some(at),
            Some(begin) if depth < least => {
                out.push((begin, at));
                since = None;
            }
            _ => {}
        }
    }
    out
}

/// Returns the pieces of the intervals that lie inside a part of the path.
fn inside<'a>(intervals: &'a Intervals, segment: &PathSegment) -> impl Iterator<Item = (Ticks, Ticks)> + use<'a> {
    let PathSegment { begin: from, end: to, .. } = *segment;
    let first = intervals.partition_point(|(_, end)| *end <= from);
    let inside = intervals[first..].iter().take_while(move |(begin, _)| *begin < to);
    inside.map(move |(begin, end)| ((*begin).max(from), (*end).min(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_where_enough_stretches_overlap() {
        let stretch =
            |thread, begin, end| Stretch { thread: ThreadIndex(thread), begin: Ticks(begin), end: Ticks(end) };
        let stretches = [stretch(0, 10, 30), stretch(1, 20, 40), stretch(2, 40, 50)];
        let ticks = |intervals: Intervals| intervals.into_iter().map(|(a, b)| (a.0, b.0)).collect::<Vec<_>>();
        assert_eq!(ticks(overlaps(&stretches, 1)), [(10, 40), (40, 50)]);
        assert_eq!(ticks(overlaps(&stretches, 2)), [(20, 30)]);
        assert_eq!(ticks(overlaps(&stretches, 3)), []);
        assert_eq!(ticks(overlaps(&stretches, usize::MAX)), []);
    }
}
