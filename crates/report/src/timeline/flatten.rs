//! Turns intervals that contain each other into consecutive pieces. At each moment, the piece shows
//! the interval that says most about why the thread does not progress.

use super::lane::{LaneState, Piece};
use crate::intervals::{Doing, Entry, Interval};
use baton_trace::analysis::OffCpu;

fn state(doing: Doing) -> LaneState {
    match doing {
        Doing::Hold(_) => LaneState::Hold,
        Doing::Overhead => LaneState::Overhead,
        Doing::Wait(Entry::Spinning) => LaneState::Spin,
        Doing::Wait(Entry::Sleeping) => LaneState::Sleep,
        Doing::Wait(_) => LaneState::Wait,
        Doing::Condition | Doing::Barrier | Doing::Semaphore | Doing::Futex | Doing::LibcLock => LaneState::Other,
        Doing::Join | Doing::Idle | Doing::TaskWait | Doing::Room | Doing::Item => LaneState::Other,
        Doing::OffCpu(OffCpu::Ready) => LaneState::Ready,
        Doing::OffCpu(OffCpu::Blocked | OffCpu::Call | OffCpu::Recorder) => LaneState::Blocked,
        Doing::OffCpu(OffCpu::Unknown) => LaneState::Off,
    }
}

/// The priority of an interval: a wait outranks the hold around it, and overhead outranks its wait.
/// If two intervals have equal ranks, the one that began later wins, since it began inside the
/// other.
fn rank(interval: &Interval) -> (u8, u64) {
    let rank = match state(interval.doing) {
        LaneState::Hold => 0,
        LaneState::Other => 1,
        LaneState::Spin | LaneState::Sleep | LaneState::Wait => 2,
        LaneState::Overhead => 3,
        // Time off the CPU outside of a wait outranks the hold around it: it says why the critical
        // section takes long.
        LaneState::Ready | LaneState::Blocked | LaneState::Off => 1,
    };
    (rank, interval.start.0)
}

/// The pieces of one thread, in the order of time.
pub(super) fn flatten(intervals: &[Interval]) -> Vec<Piece> {
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by_key(|i| intervals[*i].start);
    let mut edges: Vec<u64> = intervals.iter().flat_map(|i| [i.start.0, i.end.0]).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut next = 0;
    for edge in edges.windows(2) {
        let (start, end) = (edge[0], edge[1]);
        open.retain(|i| intervals[*i].end.0 > start);
        while let Some(i) = order.get(next).filter(|i| intervals[**i].start.0 <= start) {
            open.push(*i);
            next += 1;
        }
        open.retain(|i| intervals[*i].end.0 > start);
        let Some(top) = open.iter().max_by_key(|i| rank(&intervals[**i])) else { continue };
        let top = &intervals[*top];
        let piece = Piece { start, end, state: state(top.doing), object: top.object };
        match pieces.last_mut() {
            Some(last) if last.end == start && (last.state, last.object) == (piece.state, piece.object) => {
                last.end = end
            }
            _ => pieces.push(piece),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_trace::{Mode, ThreadIndex};
    use baton_units::Nanos;

    #[test]
    fn overhead_covers_its_wait_and_the_wait_its_hold() {
        let interval = |doing, object, start, end| Interval {
            thread: ThreadIndex(0),
            doing,
            object: Some(object),
            site: None,
            start: Nanos(start),
            end: Nanos(end),
            from: None,
            tries: 0,
            open: 0,
        };
        let hold = Doing::Hold(Mode::Exclusive);
        let nested = [
            interval(Doing::Overhead, 1, 30, 40),
            interval(Doing::Wait(Entry::Sleeping), 1, 10, 40),
            interval(hold, 1, 40, 50),
            interval(hold, 0, 0, 60),
        ];
        let found: Vec<_> = flatten(&nested).iter().map(|p| (p.start, p.end, p.state, p.object)).collect();
        let expected = [
            (0, 10, LaneState::Hold, 0),
            (10, 30, LaneState::Sleep, 1),
            (30, 40, LaneState::Overhead, 1),
            (40, 50, LaneState::Hold, 1),
            (50, 60, LaneState::Hold, 0),
        ];
        assert_eq!(found, expected.map(|(a, b, s, o)| (a, b, s, Some(o))));
    }
}
