//! What devices and their packets do when: by time, then in the order in which it was put in.
//!
//! Packets of one way arrive in the order in which they set out, and a device of one latency answers in the order of its requests: what
//! is put into the list of its sort nearly always belongs at the end, so a list that is kept in order from its end is cheaper
//! than a heap.

use std::collections::VecDeque;

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceEvent {
    /// A packet's time on its wires is over.
    Arrives(u32),
    /// The answer to a posted request is in memory.
    Written(u32),
    /// A device has an edge.
    Edge(u32, u64),
    /// An answer leaves its device.
    Leaves(u32),
}

/// When an event is, and its number, which grows with each that is put in.
type Key = (u64, u64);

const NEVER: Key = (u64::MAX, u64::MAX);

/// The events of a sort, in order.
struct Sort {
    /// That of the first; [`NEVER`]: there is none.
    first: Key,
    events: VecDeque<(Key, DeviceEvent)>,
}

impl Sort {
    const EMPTY: Sort = Sort { first: NEVER, events: VecDeque::new() };

    #[inline]
    fn put(&mut self, key: Key, event: DeviceEvent) {
        match self.events.back() {
            Some((last, _)) if last.0 > key.0 => {
                let at = self.events.partition_point(|(other, _)| other.0 <= key.0);
                self.events.insert(at, (key, event));
            }
            _ => self.events.push_back((key, event)),
        }
        self.first = self.first.min(key);
    }

    #[inline]
    fn pop(&mut self) -> Option<DeviceEvent> {
        let (_, event) = self.events.pop_front()?;
        self.first = self.events.front().map_or(NEVER, |(key, _)| *key);
        Some(event)
    }
}

/// The events to come, in a list a sort.
pub(super) struct Agenda {
    arrivals: Sort,
    edges: Sort,
    leavings: Sort,
    sequence: u64,
}

impl Agenda {
    pub(super) const EMPTY: Agenda =
        Agenda { arrivals: Sort::EMPTY, edges: Sort::EMPTY, leavings: Sort::EMPTY, sequence: 0 };

    #[inline]
    pub(super) fn put(&mut self, time: u64, event: DeviceEvent) {
        self.sequence += 1;
        let sort = match event {
            DeviceEvent::Arrives(_) | DeviceEvent::Written(_) => &mut self.arrivals,
            DeviceEvent::Edge(..) => &mut self.edges,
            DeviceEvent::Leaves(_) => &mut self.leavings,
        };
        sort.put((time, self.sequence), event);
    }

    /// When something happens next.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.arrivals.first.0.min(self.edges.first.0).min(self.leavings.first.0)
    }

    /// What happens up to now, one thing after the other; `None`: nothing more.
    #[inline]
    pub(super) fn pop(&mut self, now: u64) -> Option<DeviceEvent> {
        if self.next() > now {
            return None;
        }
        let (arrival, edge, leaving) = (self.arrivals.first, self.edges.first, self.leavings.first);
        if arrival < edge && arrival < leaving {
            self.arrivals.pop()
        } else if edge < leaving {
            self.edges.pop()
        } else {
            self.leavings.pop()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(baton_needs::property!(128))]
        /// Against a sort that keeps the order of equals.
        #[test]
        fn events_come_by_time_and_then_in_their_order(all in prop::collection::vec((0u64..20, 0u8..3), 0..40)) {
            let mut agenda = Agenda::EMPTY;
            let mut expected: Vec<(u64, DeviceEvent)> = Vec::new();
            for (number, &(time, sort)) in (0..).zip(&all) {
                let event = match sort {
                    0 => DeviceEvent::Arrives(number),
                    1 => DeviceEvent::Edge(number, time),
                    _ => DeviceEvent::Leaves(number),
                };
                agenda.put(time, event);
                expected.push((time, event));
            }
            expected.sort_by_key(|(time, _)| *time);
            for (time, event) in expected {
                prop_assert_eq!(agenda.next(), time);
                prop_assert_eq!(time.checked_sub(1).and_then(|before| agenda.pop(before)), None);
                prop_assert_eq!(agenda.pop(time), Some(event));
            }
            prop_assert_eq!((agenda.next(), agenda.pop(u64::MAX)), (u64::MAX, None));
        }
    }
}
