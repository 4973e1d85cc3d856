//! What a core's private caches react to.

use super::step::Transaction;
use crate::names::named;
use crate::{CoreSet, Kind, Message};

named! {
    /// An access of the core, a decision of its caches, or a message (told apart by what it completes).
    Event {
        /// A read.
        Load = "Load",
        /// A write, or a locked read-modify-write performed here (near atomic).
        Store = "Store",
        /// A read that sets the core's link.
        LoadLinked = "LL",
        /// A write if the core's link stands. The executor looks at the link each time that it presents this and when it
        /// completes; without a link it has failed, and never comes here.
        StoreConditional = "SC",
        /// A read-modify-write performed at the home unless the only copy is here.
        FarAtomic = "Far",
        /// A hint: the line will be read.
        PrefetchS = "PrefetchS",
        /// A hint: the line will be written.
        PrefetchM = "PrefetchM",
        /// The caches need its place. Presented in stable states other than I.
        Evict = "Evict",
        /// A hint: write the line back to the shared level.
        PushHome = "PushHome",
        /// A hint: hand the line to a named core ([`super::Access::to`]).
        PushTo = "PushTo",
        /// A reader's request reached this owner.
        FwdGetS = "FwdGetS",
        /// A writer's request reached this owner.
        FwdGetM = "FwdGetM",
        /// Another core writes.
        Inv = "Inv",
        /// The home wants the copy gone.
        Recall = "Recall",
        /// The Put is done with.
        PutAck = "PutAck",
        /// The Upgrade is granted, and all acknowledgements are in.
        Count = "Count",
        /// The Upgrade is granted, acknowledgements are missing.
        CountWait = "Count+",
        /// A pushed copy to read, and there is a place for it.
        OfferS = "OfferS",
        /// A pushed only copy, and there is a place for it.
        OfferE = "OfferE",
        /// A pushed copy and no place for it, or a transaction of our own on that line.
        OfferFull = "Offer-full",
        /// A copy to read.
        DataS = "DataS",
        /// The only copy, clean.
        DataE = "DataE",
        /// The only copy, and all acknowledgements are in.
        DataM = "DataM",
        /// The only copy, acknowledgements are missing.
        DataMWait = "DataM+",
        /// A sharer has dropped its copy; not the last awaited, or it is not known yet how many are.
        Ack = "Ack",
        /// The last awaited acknowledgement.
        AckLast = "Ack-last",
        /// The home has performed the atomic.
        AtomicDone = "AtomicDone",
    }
}

impl Event {
    /// Whether it comes from the core's side, not as a message.
    pub const fn is_local(self) -> bool {
        (self as u8) <= Event::PushTo as u8
    }

    /// Which event `message` is, given the transaction that is under way; `room`: the line is in state I and has a place.
    /// `None`: no cache is ever sent such a message.
    #[inline]
    pub fn of<S: CoreSet>(message: &Message, transaction: &Transaction<S>, room: bool) -> Option<Event> {
        let complete = transaction.missing + i32::from(message.acks) == 0;
        Some(match message.kind {
            Kind::FwdGetS => Event::FwdGetS,
            Kind::FwdGetM => Event::FwdGetM,
            Kind::Inv => Event::Inv,
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
    /// Whom a [`Event::PushTo`] names; the core itself otherwise.
    pub to: baton_units::CoreId,
}
