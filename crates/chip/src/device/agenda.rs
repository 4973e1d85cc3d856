//! The future events of devices and their packets, in the order of time and, at equal times, of
//! insertion.
//!
//! There is a list for each sort of event. Packets of one way arrive in the order in which they
//! set out, and a device of one latency answers in the order of its requests. So a new event
//! nearly always belongs at the end of its list, and a sorted list is cheaper than a heap.

use std::collections::VecDeque;

/// An event of a device or of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceEvent {
    /// The packet with this number arrives at the end of its device's own wires.
    Arrives(u32),
    /// The answer in this packet, to a posted request, is in memory.
    Written(u32),
    /// The device with this number has a clock edge, at this cycle of its clock.
    Edge(u32, u64),
    /// The answer in this packet leaves its device.
    Leaves(u32),
}

/// The time of an event and its number, which grows with each insertion.
type Key = (u64, u64);

const NEVER: Key = (u64::MAX, u64::MAX);

/// The events of one sort, in order.
struct Sort {
    /// The key of the first event, or [`NEVER`] if there is none.
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

/// All future events, in one list per sort.
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

    /// The time of the next event; `u64::MAX` if there is none.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.arrivals.first.0.min(self.edges.first.0).min(self.leavings.first.0)
    }

    /// Removes the next event and returns it, if it is due at `now`; otherwise returns `None`.
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
        /// The agenda gives its events in the order of a stable sort by time.
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
