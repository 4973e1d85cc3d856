//! What a home reacts to.

use super::Line;
use crate::names::named;
use crate::{Agent, Class, CoreSet, Kind, Message};

named! {
    /// A message, told apart by what the directory knows of its sender, or the shared level's own wish.
    Event {
        /// A reader.
        GetS = "GetS",
        /// A reader for whom the entry has no pointer left; several sharers have the line.
        GetSFull = "GetS-full",
        /// A reader for whom the entry has no pointer left; one sharer has the line, or only the owner.
        GetSFullLast = "GetS-full-last",
        /// A writer without a copy (also an upgrader that lost its copy).
        GetM = "GetM",
        /// A writer that is a sharer.
        UpgradeSharer = "Upgrade-sharer",
        /// A writer that is the owner.
        UpgradeOwner = "Upgrade-owner",
        /// An atomic to be performed here.
        FarAtomic = "FarAtomic",
        /// A sharer, not the last, gives up its copy.
        PutS = "PutS",
        /// The last sharer gives up its copy.
        PutSLast = "PutS-last",
        /// The owner gives up the line, with data (PutM, PutO, or a Push that no core is offered).
        PutData = "Put-data",
        /// The owner gives up the line, which is as the home has it.
        PutClean = "Put-clean",
        /// The owner gives up the line, with data, for a core that has no copy and for which there is a pointer.
        Push = "Push",
        /// A Put or Push of someone who has no copy any more.
        PutStale = "Put-stale",
        /// Any request while the home waits for answers, but for a reader for whom there is a pointer (GetS).
        Later = "any other",
        /// The shared level needs the place (an inclusive one, or a directory whose entries are limited). In stable states only.
        Evict = "Evict",
        /// A requestor has its copy; others have not yet.
        Unblock = "Unblock",
        /// The last requestor has its copy.
        UnblockLast = "Unblock-last",
        /// A recalled copy is gone; others are awaited.
        Ack = "Ack",
        /// The last recalled copy is gone.
        AckLast = "Ack-last",
        /// The owner's recalled copy is gone and its data is here; others are awaited.
        Data = "DataHome",
        /// The owner's recalled copy is gone and its data is here; it was the last.
        DataLast = "DataHome-last",
        /// The offer was taken.
        Accept = "Accept",
        /// The offer was refused.
        Refuse = "Refuse",
    }
}

impl Event {
    /// Whether it is a request or the home's own wish: such may wait.
    pub const fn may_wait(self) -> bool {
        (self as u8) <= Event::Evict as u8
    }

    /// Which event `message` is to `line`; `pointers` is how many cores an entry can name (`u16::MAX` for a full map).
    /// `None`: no home is ever sent such a message.
    #[inline]
    pub fn of<S: CoreSet>(message: &Message, line: &Line<S>, pointers: u16) -> Option<Event> {
        let Agent::Core(from) = message.from else { return None };
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
            // The pusher's own pointer becomes free.
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
