//! Messages between caches and homes.

use crate::names::named;
use baton_units::CoreId;

named! {
    /// The virtual network of a message. Responses are always accepted; a forward needs only that
    /// responses are accepted; requests may wait at the home. So no class ever waits for itself or
    /// for an earlier class in this list, which is why nothing deadlocks.
    Class {
        /// From a cache to a home. The only class that may wait.
        Request = "request",
        /// From a home to a cache. Under a non-blocking home, the network must keep messages of
        /// this class in order between one home and one cache.
        Forward = "forward",
        /// To a requestor, or to a home that waits for it.
        Response = "response",
    }
}

named! {
    /// The kinds of messages.
    Kind {
        /// Request for a copy to read.
        GetS = "GetS",
        /// Request for the only copy, with data, to write.
        GetM = "GetM",
        /// Request for the only copy by a sender that has the data (in S or O). The home treats it
        /// as GetM if the sender has lost its copy.
        Upgrade = "Upgrade",
        /// Request to perform an atomic at the home. Carries the operand.
        FarAtomic = "FarAtomic",
        /// Request to give up an S copy.
        PutS = "PutS",
        /// Request to give up an E copy, which is equal to the home's data.
        PutE = "PutE",
        /// Request, with data, to give up an O copy.
        PutO = "PutO",
        /// Request, with data, to give up an M copy.
        PutM = "PutM",
        /// Request, with data, to give up an owned copy for [`Message::core`], to which the home
        /// shall offer it.
        Push = "Push",

        /// Forward: the owner sends [`Message::core`] a copy and stays the owner.
        FwdGetS = "FwdGetS",
        /// Forward: the owner sends [`Message::core`] the line, with the number of acknowledgements
        /// that it must await, and drops its copy.
        FwdGetM = "FwdGetM",
        /// Forward: the sharer drops its copy and acknowledges to [`Message::core`].
        Inv = "Inv",
        /// Forward: the receiver, which has no copy, acknowledges to [`Message::core`]. A home sends
        /// it whose directory does not name sharers ([`crate::home::Naming`]).
        Probe = "Probe",
        /// Forward: the cache drops its copy and answers the home, with the data if it may be
        /// dirty.
        Recall = "Recall",
        /// Forward: the home has finished with a Put or Push.
        PutAck = "PutAck",
        /// Forward: the Upgrade is granted, and the upgrader must await the number of
        /// acknowledgements that the message names. It is a forward and not a response, because it
        /// tells the upgrader which forwards came before its turn and which after.
        Count = "Count",
        /// Forward, with data: a pushed line is offered, to read.
        OfferS = "OfferS",
        /// Forward, with data: a pushed line that no other core has is offered.
        OfferE = "OfferE",

        /// Response, with data: a copy to read.
        DataS = "DataS",
        /// Response, with data: the only copy, equal to the home's.
        DataE = "DataE",
        /// Response, with data: the only copy, once the number of acknowledgements that it names
        /// has arrived.
        DataM = "DataM",
        /// Response to a requestor or to a recalling home: a copy was dropped.
        Ack = "Ack",
        /// Response, with data: a recalled copy that may be dirty. It also says that the copy was
        /// dropped.
        DataHome = "DataHome",
        /// Response: the requestor of a blocking home has what it asked for.
        Unblock = "Unblock",
        /// Response: the offered line was taken.
        Accept = "Accept",
        /// Response: the offered line was not taken; the home keeps the data.
        Refuse = "Refuse",
        /// Response: the far atomic was performed. Carries the old value.
        AtomicDone = "AtomicDone",
    }
}

impl Kind {
    /// The virtual network on which messages of this kind travel.
    pub const fn class(self) -> Class {
        use Kind::*;
        match self {
            GetS | GetM | Upgrade | FarAtomic | PutS | PutE | PutO | PutM | Push => Class::Request,
            FwdGetS | FwdGetM | Inv | Probe | Recall | PutAck | Count | OfferS | OfferE => Class::Forward,
            DataS | DataE | DataM | Ack | DataHome | Unblock | Accept | Refuse | AtomicDone => Class::Response,
        }
    }

    /// Whether the message carries a line: a header and the line's data. All other messages are
    /// short: a header, and in FarAtomic and AtomicDone one word.
    pub const fn carries_line(self) -> bool {
        matches!(
            self,
            Kind::PutO
                | Kind::PutM
                | Kind::Push
                | Kind::OfferS
                | Kind::OfferE
                | Kind::DataS
                | Kind::DataE
                | Kind::DataM
                | Kind::DataHome
        )
    }
}

/// A unit that sends and receives messages about one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// The home of the line: its directory entry and bank of the shared level.
    Home,
    /// A core's private caches, all levels together.
    Core(CoreId),
}

/// A message about one line; the executor knows which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    pub kind: Kind,
    /// The sender.
    pub from: Agent,
    /// The core on whose behalf the message is sent: the requestor, or in a Push or an offer the
    /// core that is to get the line.
    pub core: CoreId,
    /// Number of acknowledgements that the requestor must await (in FwdGetM, Count and DataM;
    /// otherwise 0).
    pub acks: u16,
}
