//! The events to which a core's private caches react.

use super::step::Transaction;
use crate::names::named;
use crate::{CoreSet, Kind, Message};

named! {
    /// An access of the core, a decision of its caches, or a message. Messages of one kind are
    /// different events if they complete different things.
    Event {
        Load = "Load",
        /// A write, or a locked read-modify-write that is performed in this cache (a near atomic).
        Store = "Store",
        /// A read that sets the core's link.
        LoadLinked = "LL",
        /// A write that happens only if the core's link stands. The executor checks the link each
        /// time that it presents this event and when the event completes. A store-conditional
        /// without a link has failed and is never presented.
        StoreConditional = "SC",
        /// A read-modify-write that the home performs, unless this cache has the only copy.
        FarAtomic = "Far",
        /// A hint that the core will read the line.
        PrefetchS = "PrefetchS",
        /// A hint that the core will write the line.
        PrefetchM = "PrefetchM",
        /// The caches need the line's place. Presented only in stable states other than I.
        Evict = "Evict",
        /// A hint to write the line back to the shared level.
        PushHome = "PushHome",
        /// A hint to hand the line to a named core ([`super::Access::to`]).
        PushTo = "PushTo",
        /// The home forwards a reader's request to this owner.
        FwdGetS = "FwdGetS",
        /// The home forwards a writer's request to this owner.
        FwdGetM = "FwdGetM",
        /// Another core is going to write, so this copy must be dropped.
        Inv = "Inv",
        /// Another core is going to write, and the home's directory does not tell that this core
        /// has no copy.
        Probe = "Probe",
        /// The home wants this copy to be dropped.
        Recall = "Recall",
        /// The home has finished with the Put.
        PutAck = "PutAck",
        /// The Upgrade is granted, and all acknowledgements have arrived.
        Count = "Count",
        /// The Upgrade is granted, but acknowledgements are still missing.
        CountWait = "Count+",
        /// The home offers a pushed copy to read, for which this cache has a place.
        OfferS = "OfferS",
        /// The home offers the only copy of a pushed line, for which this cache has a place.
        OfferE = "OfferE",
        /// The home offers a pushed copy, but this cache has no place for it or has a transaction
        /// on that line.
        OfferFull = "Offer-full",
        /// A copy to read arrives.
        DataS = "DataS",
        /// The only copy of the line arrives; it is clean.
        DataE = "DataE",
        /// The only copy of the line arrives, and all acknowledgements have arrived.
        DataM = "DataM",
        /// The only copy of the line arrives, but acknowledgements are still missing.
        DataMWait = "DataM+",
        /// A sharer has dropped its copy, and either more are awaited or their number is not known
        /// yet.
        Ack = "Ack",
        /// A sharer has dropped its copy; this is the last acknowledgement that was awaited.
        AckLast = "Ack-last",
        /// The home has performed the far atomic.
        AtomicDone = "AtomicDone",
    }
}

impl Event {
    /// Whether the event comes from the core's side and is not a message.
    pub const fn is_local(self) -> bool {
        (self as u8) <= Event::PushTo as u8
    }

    /// Returns the event that `message` is, for the current transaction. `room` says that the line
    /// is in state I and has a place. Returns `None` for a message that no cache is ever sent.
    #[inline]
    pub fn of<S: CoreSet>(message: &Message, transaction: &Transaction<S>, room: bool) -> Option<Event> {
        let complete = transaction.missing + i32::from(message.acks) == 0;
        Some(match message.kind {
            Kind::FwdGetS => Event::FwdGetS,
            Kind::FwdGetM => Event::FwdGetM,
            Kind::Inv => Event::Inv,
            Kind::Probe => Event::Probe,
            Kind::Recall => Event::Recall,
            Kind::PutAck => Event::PutAck,
            Kind::Count if complete => Event::Count,
            Kind::Count => Event::CountWait,
            Kind::OfferS if room => Event::OfferS,
            Kind::OfferE if room => Event::OfferE,
            Kind::OfferS | Kind::OfferE => Event::OfferFull,
            Kind::DataS => Event::DataS,
            Kind::DataE => Event::DataE,
            Kind::DataM if complete => Event::DataM,
            Kind::DataM => Event::DataMWait,
            Kind::Ack if transaction.missing == 1 => Event::AckLast,
            Kind::Ack => Event::Ack,
            Kind::AtomicDone => Event::AtomicDone,
            _ => return None,
        })
    }
}

/// An event from the core's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// A local event ([`Event::is_local`]).
    pub event: Event,
    /// The core that a [`Event::PushTo`] names; for other events, the core itself.
    pub to: baton_units::CoreId,
}
