//! Where a thread was while the critical path runs along it: on a CPU, ready for one, or blocked by
//! something that the trace does not show.

use super::off_cpu::{OffCpu, ThreadOffCpu};
use super::segment::{Doing, PathSegment};
use crate::clock::Ticks;
use crate::event::ThreadIndex;

/// Time along a thread, split by where the thread was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    /// On a CPU, or at an unknown place.
    pub running: Ticks,
    /// Ready to run, without a CPU.
    pub ready: Ticks,
    /// Blocked by something that the trace does not show.
    pub blocked: Ticks,
    /// Blocked in a call for input, output or sleep.
    pub calls: Ticks,
    /// Blocked in the recorder, which was making room for events.
    pub recorder: Ticks,
    /// Off the CPU, where the reason is not known.
    pub off: Ticks,
}

impl Along {
    /// The sum of all six.
    pub fn all(&self) -> Ticks {
        self.running + self.ready + self.blocked + self.calls + self.recorder + self.off
    }

    /// Adds the time of `other`.
    pub(super) fn merge(&mut self, other: &Along) {
        self.running += other.running;
        self.ready += other.ready;
        self.blocked += other.blocked;
        self.calls += other.calls;
        self.recorder += other.recorder;
        self.off += other.off;
    }

    fn add(&mut self, doing: Doing, time: Ticks) {
        match doing {
            Doing::OffCpu(OffCpu::Ready) => self.ready += time,
            Doing::OffCpu(OffCpu::Blocked) => self.blocked += time,
            Doing::OffCpu(OffCpu::Call) => self.calls += time,
            Doing::OffCpu(OffCpu::Recorder) => self.recorder += time,
            Doing::OffCpu(OffCpu::Unknown) => self.off += time,
            _ => self.running += time,
        }
    }
}

/// The parts of the path along each thread, in order.
pub(super) struct AlongThreads(Vec<Vec<PathSegment>>);

impl AlongThreads {
    pub(super) fn of(segments: &[PathSegment], threads: usize) -> AlongThreads {
        let mut along = vec![Vec::new(); threads];
        for segment in segments.iter().filter(|s| matches!(s.doing, Doing::Running | Doing::OffCpu(_))) {
            along[segment.thread.index()].push(*segment);
        }
        AlongThreads(along)
    }

    /// Adds the time of `thread` in `begin..end` that lies on the path.
    pub(super) fn add(&self, thread: ThreadIndex, begin: Ticks, end: Ticks, to: &mut Along) {
        let stretches = &self.0[thread.index()];
        let from = stretches.partition_point(|s| s.end <= begin);
        for s in stretches[from..].iter().take_while(|s| s.begin < end) {
            to.add(s.doing, end.min(s.end).since(begin.max(s.begin)));
        }
    }
}

/// Splits the path's parts along threads where a thread left its CPU and came back.
pub(super) fn tell_apart(path: Vec<PathSegment>, off: &[ThreadOffCpu]) -> Vec<PathSegment> {
    let mut cut = Vec::with_capacity(path.len());
    for segment in path {
        let off = off.get(segment.thread.index()).filter(|_| segment.doing == Doing::Running);
        let Some(off) = off else {
            cut.push(segment);
            continue;
        };
        let mut at = segment.begin;
        for stretch in off.within(segment.begin, segment.end) {
            let (begin, end) = (stretch.begin.max(at), stretch.end.min(segment.end));
            if at < begin {
                cut.push(PathSegment { begin: at, end: begin, ..segment });
            }
            if begin < end {
                cut.push(PathSegment { begin, end, doing: Doing::OffCpu(stretch.why), ..segment });
            }
            at = at.max(end);
        }
        if at < segment.end {
            cut.push(PathSegment { begin: at, ..segment });
        }
    }
    cut
}
