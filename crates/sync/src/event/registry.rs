//! Every event by name. A new event is one file and one line in `events!`.

use super::{EventInfo, RawEvent, count, queue};
use crate::registry::registry;
use baton_machine::{Machine, Native};

registry! {
    /// Every event, in the order in which people read about them.
    EVENTS: EventInfo,
    /// A name that is no event.
    UnknownEvent "event",
    /// What to do with an event that is known by name only: its type arrives as `T`.
    EventVisitor RawEvent,
    queue::QueueEvent,
    count::EventCount,
}
