//! What a thread did while the critical path ran along it: it was on a CPU, ready for one, blocked
//! (in a call, in the recorder, or by something that the trace does not show), or off its CPU for
//! an unknown reason.

use super::off_cpu::{OffCpu, ThreadOffCpu};
use super::segment::{Doing, PathSegment};
use crate::clock::Ticks;
use crate::event::ThreadIndex;

/// Time that the critical path runs along a thread, split by what the thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Along {
    /// Time on a CPU, or in which nothing is known about the thread's CPU.
    pub running: Ticks,
    /// Time ready to run, without a CPU.
    pub ready: Ticks,
    /// Time blocked by something that the trace does not show.
    pub blocked: Ticks,
    /// Time blocked in a call for input, output or sleep.
    pub calls: Ticks,
    /// Time blocked in the recorder, which made room for events.
    pub recorder: Ticks,
    /// Time off the CPU for an unknown reason.
    pub off: Ticks,
}

impl Along {
    /// The sum of all six fields.
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

/// For each thread, the parts of the critical path that run along it, in order.
pub(super) struct AlongThreads(Vec<Vec<PathSegment>>);

impl AlongThreads {
    pub(super) fn of(segments: &[PathSegment], threads: usize) -> AlongThreads {
        let mut along = vec![Vec::new(); threads];
        for segment in segments.iter().filter(|s| matches!(s.doing, Doing::Running | Doing::OffCpu(_))) {
            along[segment.thread.index()].push(*segment);
        }
        AlongThreads(along)
    }

    /// Adds to `to` the time between `begin` and `end` in which the path runs along `thread`.
    pub(super) fn add(&self, thread: ThreadIndex, begin: Ticks, end: Ticks, to: &mut Along) {
        let stretches = &self.0[thread.index()];
        let from = stretches.partition_point(|s| s.end <= begin);
        for s in stretches[from..].iter().take_while(|s| s.begin < end) {
            to.add(s.doing, end.min(s.end).since(begin.max(s.begin)));
        }
    }
}

/// Splits the path's parts at the times at which their thread left its CPU and came back, as `off`
/// tells.
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
