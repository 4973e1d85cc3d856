//! Every event by name. A new event is one file and one line in [`every_event!`](crate::every_event).

use super::{EventInfo, RawEvent};
use baton_machine::{Machine, Native};

/// Passes every event to the macro that is named in brackets, behind the tokens that follow the brackets: its module, its
/// type and its abilities. The ability is `oldest_first`: a notification wakes the one
/// that has waited longest.
#[macro_export]
macro_rules! every_event {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            queue::QueueEvent [oldest_first],
            count::EventCount [],
        }
    };
}

every_event! {
    [crate::registry::registry]
    /// Every event, in the order in which people read about them.
    EVENTS: EventInfo,
    /// A name that is no event.
    UnknownEvent "event",
    /// What to do with an event that is known by name only: its type arrives as `T`.
    EventVisitor RawEvent,
    ()
}
