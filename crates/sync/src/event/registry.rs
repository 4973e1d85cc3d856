//! All events by name. A new event is one file and one line in
//! [`every_event!`](crate::every_event).

use super::{EventInfo, RawEvent};
use baton_machine::{Machine, Native};

/// Passes every event (its module, its type and its abilities) to the macro named in brackets,
/// after the tokens that follow the brackets. The ability `oldest_first` says that a notification
/// wakes the waiter that has waited longest.
#[macro_export]
macro_rules! every_event {
    ([$($then:tt)*] $($before:tt)*) => {
        $($then)*! { $($before)*
            queue::QueueEvent [oldest_first],
            chain::Chain [oldest_first],
            count::EventCount [],
        }
    };
}

every_event! {
    [crate::registry::registry]
    /// Descriptions of all events, in the order of the documentation.
    EVENTS: EventInfo,
    /// The error for a name that is not an event.
    UnknownEvent "event",
    /// Code to run with the type `T` of an event that is known only by name.
    EventVisitor RawEvent,
    ()
}
