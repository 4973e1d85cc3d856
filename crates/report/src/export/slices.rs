//! Arranges the intervals of one thread as nested slices. A slice may lie inside another, but must
//! not reach beyond its end; a slice that would is moved to a further lane.

use crate::intervals::Interval;
use baton_units::Nanos;
use std::cmp::Reverse;

/// An edge of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    Begin(Interval),
    /// The most recent slice that is open on this lane ends.
    End(Nanos),
}

/// Sorts the intervals of one thread into lanes. Returns the edges, each with the number of its
/// lane; the edges of one lane are in the order of time.
pub(super) fn place(intervals: &mut [Interval]) -> Vec<(usize, Placed)> {
    // If two intervals begin together, the longer is the outer one. If their times are equal, the
    // wait is outside its overhead.
    intervals.sort_by_key(|i| (i.start, Reverse(i.end), i.doing));
    let mut edges = Vec::with_capacity(intervals.len() * 2);
    let mut lanes: Vec<Vec<Nanos>> = Vec::new();
    for interval in intervals.iter() {
        let mut lane = 0;
        loop {
            if lane == lanes.len() {
                lanes.push(Vec::new());
            }
            let open = &mut lanes[lane];
            while let Some(end) = open.pop_if(|end| *end <= interval.start) {
                edges.push((lane, Placed::End(end)));
            }
            if open.last().is_none_or(|end| interval.end <= *end) {
                open.push(interval.end);
                edges.push((lane, Placed::Begin(*interval)));
                break;
            }
            lane += 1;
        }
    }
    for (lane, mut open) in lanes.into_iter().enumerate() {
        while let Some(end) = open.pop() {
            edges.push((lane, Placed::End(end)));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Doing, Entry};
    use baton_trace::{Mode, ThreadIndex};

    fn interval(doing: Doing, start: u64, end: u64) -> Interval {
        Interval {
            thread: ThreadIndex(0),
            doing,
            object: Some(0),
            site: None,
            start: Nanos(start),
            end: Nanos(end),
            from: None,
            tries: 0,
            open: 0,
        }
    }

    const HOLD: Doing = Doing::Hold(Mode::Exclusive);

    fn lanes(intervals: &mut [Interval]) -> Vec<(usize, u64, bool)> {
        place(intervals)
            .into_iter()
            .map(|(lane, edge)| match edge {
                Placed::Begin(i) => (lane, i.start.0, true),
                Placed::End(time) => (lane, time.0, false),
            })
            .collect()
    }

    #[test]
    fn nested_slices_share_a_lane() {
        let mut nested = [interval(HOLD, 2, 3), interval(HOLD, 1, 9), interval(HOLD, 3, 5)];
        let edges = [(1, true), (2, true), (3, false), (3, true), (5, false), (9, false)];
        assert_eq!(lanes(&mut nested), edges.map(|(t, begin)| (0, t, begin)));
    }

    #[test]
    fn hand_over_hand_takes_a_second_lane() {
        let mut overlapping = [interval(HOLD, 0, 4), interval(HOLD, 2, 6), interval(HOLD, 5, 8)];
        let expected = [(0, 0, true), (0, 4, false), (1, 2, true), (0, 5, true), (0, 8, false), (1, 6, false)];
        let mut found = lanes(&mut overlapping);
        found.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_wait_that_is_all_overhead_contains_it() {
        let wait = Doing::Wait(Entry::Spinning);
        let mut same = [interval(Doing::Overhead, 0, 4), interval(wait, 0, 4)];
        let Placed::Begin(first) = place(&mut same)[0].1 else { panic!("no slice begins") };
        assert_eq!(first.doing, wait);
    }
}
