//! The events to which a home reacts.

use super::{Line, Naming};
use crate::names::named;
use crate::{Agent, Class, CoreSet, Kind, Message};

named! {
    /// A message, told apart by what the directory knows of its sender, or the shared level's wish
    /// to evict.
    Event {
        /// A read request.
        GetS = "GetS",
        /// A read request for which the entry has no pointer left; several sharers have the line,
        /// beside an owner or without one.
        GetSFull = "GetS-full",
        /// A read request for which the entry has no pointer left; only the owner has the line, or
        /// the owner and one sharer.
        GetSFullLast = "GetS-full-last",
        /// A write request of a core without a copy (also an Upgrade whose sender lost its copy).
        GetM = "GetM",
        /// An Upgrade of a sharer.
        UpgradeSharer = "Upgrade-sharer",
        /// An Upgrade of the owner.
        UpgradeOwner = "Upgrade-owner",
        /// An atomic that the home is to perform.
        FarAtomic = "FarAtomic",
        /// A sharer, not the last one, gives up its copy.
        PutS = "PutS",
        /// The last sharer gives up its copy.
        PutSLast = "PutS-last",
        /// The owner gives up the line, with data (PutM, PutO, or a Push that is offered to no
        /// core).
        PutData = "Put-data",
        /// The owner gives up the line, which is equal to the home's.
        PutClean = "Put-clean",
        /// The owner gives up the line, with data, for a core that has no copy and for which there
        /// is a pointer.
        Push = "Push",
        /// A Put or Push of a core that no longer has a copy.
        PutStale = "Put-stale",
        /// Any request while the home waits for answers, except a read request for which there is a
        /// pointer (GetS).
        Later = "any other",
        /// The shared level (if it is inclusive or its entries are limited) needs the place.
        /// Presented only in stable states.
        Evict = "Evict",
        /// A requestor has its copy; other requestors do not have theirs yet.
        Unblock = "Unblock",
        /// The last requestor has its copy.
        UnblockLast = "Unblock-last",
        /// A recalled copy is dropped; more answers are awaited.
        Ack = "Ack",
        /// The last recalled copy is dropped.
        AckLast = "Ack-last",
        /// The owner's recalled copy is dropped and its data has arrived; more answers are awaited.
        Data = "DataHome",
        /// The owner's recalled copy is dropped and its data has arrived; no more answers are
        /// awaited.
        DataLast = "DataHome-last",
        /// The offered core took the line.
        Accept = "Accept",
        /// The offered core refused the line.
        Refuse = "Refuse",
    }
}

impl Event {
    /// Whether the event is a request or the home's wish to evict; only these may wait.
    pub const fn may_wait(self) -> bool {
        (self as u8) <= Event::Evict as u8
    }

    /// Returns the event that `message` is to `line`. `naming` is what entries name.
    /// Returns `None` for a message that no home is
    /// ever sent.
    #[inline]
    pub fn of<S: CoreSet>(message: &Message, line: &Line<S>, naming: Naming) -> Option<Event> {
        let Agent::Core(from) = message.from else { return None };
        let pointers = naming.cores;
        let last = line.pending == 1;
        let owner = line.owner == Some(from);
        let sharer = line.sharers.contains(from);
        let busy = !line.state.is_stable();
        Some(match message.kind {
            Kind::GetS if busy && line.pointers() >= pointers => Event::Later,
            kind if busy && kind != Kind::GetS && kind.class() == Class::Request => Event::Later,
            Kind::GetS if line.pointers() < pointers => Event::GetS,
            Kind::GetS if line.sharers.len() > 1 => Event::GetSFull,
            Kind::GetS => Event::GetSFullLast,
            Kind::Upgrade if owner => Event::UpgradeOwner,
            Kind::Upgrade if sharer => Event::UpgradeSharer,
            Kind::GetM | Kind::Upgrade => Event::GetM,
            Kind::FarAtomic => Event::FarAtomic,
            Kind::PutS | Kind::PutE | Kind::PutO | Kind::PutM | Kind::Push if !owner && !sharer => Event::PutStale,
            Kind::PutS if line.sharers.len() > 1 => Event::PutS,
            Kind::PutS => Event::PutSLast,
            Kind::PutE => Event::PutClean,
            // A push frees the pusher's own pointer.
            Kind::Push if !line.holds(message.core) && line.sharers.len() < pointers => Event::Push,
            Kind::PutO | Kind::PutM | Kind::Push => Event::PutData,
            Kind::Unblock if last => Event::UnblockLast,
            Kind::Unblock => Event::Unblock,
            Kind::Ack if last => Event::AckLast,
            Kind::Ack => Event::Ack,
            Kind::DataHome if last => Event::DataLast,
            Kind::DataHome => Event::Data,
            Kind::Accept => Event::Accept,
            Kind::Refuse => Event::Refuse,
            _ => return None,
        })
    }
}
