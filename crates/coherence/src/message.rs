//! What travels between caches and homes.

use crate::names::named;
use baton_units::CoreId;

named! {
    /// The virtual network of a message. Responses are always taken; forwards need only responses to be taken; requests
    /// may wait at the home. So no class ever waits for itself or for one before it: that is why nothing deadlocks.
    Class {
        /// From a cache to a home. The only class that may wait.
        Request = "request",
        /// From a home to a cache. A non-blocking home needs this class ordered from one home to one cache.
        Forward = "forward",
        /// To a requestor or to a home that waits for it.
        Response = "response",
    }
}

named! {
    /// The kinds of messages.
    Kind {
        /// Request: a copy to read.
        GetS = "GetS",
        /// Request: the only copy, with data, to write.
        GetM = "GetM",
        /// Request: the only copy; the sender has the data (S or O). The home treats it as GetM if the sender has lost it.
        Upgrade = "Upgrade",
        /// Request: perform an atomic at the home. Carries the operand.
        FarAtomic = "FarAtomic",
        /// Request: an S copy is given up.
        PutS = "PutS",
        /// Request: an E copy is given up, which is what memory has.
        PutE = "PutE",
        /// Request, with data: an O copy is given up.
        PutO = "PutO",
        /// Request, with data: an M copy is given up.
        PutM = "PutM",
        /// Request, with data: an owned copy is given up for [`Message::core`], to whom the home shall offer it.
        Push = "Push",

        /// Forward: send [`Message::core`] a copy and stay owner.
        FwdGetS = "FwdGetS",
        /// Forward: send [`Message::core`] the line with the count of acknowledgements it must await, and drop it.
        FwdGetM = "FwdGetM",
        /// Forward: drop the copy and acknowledge to [`Message::core`].
        Inv = "Inv",
        /// Forward: drop the copy and answer the home, with the data if it may be dirty.
        Recall = "Recall",
        /// Forward: a Put or Push is done with.
        PutAck = "PutAck",
        /// Forward: the Upgrade is granted; await this many acknowledgements. A forward and not a response, as it tells
        /// the upgrader which forwards came before its turn and which after.
        Count = "Count",
        /// Forward, with data: a pushed line, to read.
        OfferS = "OfferS",
        /// Forward, with data: a pushed line that no other core has.
        OfferE = "OfferE",

        /// Response, with data: a copy to read.
        DataS = "DataS",
        /// Response, with data: a copy that no other core has, equal to the home's.
        DataE = "DataE",
        /// Response, with data: the only copy once as many acknowledgements are in as it says.
        DataM = "DataM",
        /// Response: a copy was dropped, to the requestor or to the recalling home.
        Ack = "Ack",
        /// Response, with data: a recalled copy that may be dirty; acknowledges too.
        DataHome = "DataHome",
        /// Response: the requestor of a blocking home has what it asked for.
        Unblock = "Unblock",
        /// Response: the offer was taken.
        Accept = "Accept",
        /// Response: the offer was not taken; the home keeps the data.
        Refuse = "Refuse",
        /// Response: the far atomic is performed. Carries the old value.
        AtomicDone = "AtomicDone",
    }
}

impl Kind {
    /// The virtual network that it travels on.
    pub const fn class(self) -> Class {
        use Kind::*;
        match self {
            GetS | GetM | Upgrade | FarAtomic | PutS | PutE | PutO | PutM | Push => Class::Request,
            FwdGetS | FwdGetM | Inv | Recall | PutAck | Count | OfferS | OfferE => Class::Forward,
            DataS | DataE | DataM | Ack | DataHome | Unblock | Accept | Refuse | AtomicDone => Class::Response,
        }
    }

    /// Whether it carries a line (and so is as long as a line and a header; the rest are a header, FarAtomic and
    /// AtomicDone a header with one word).
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
    /// The line's home: its directory entry and shared bank.
    Home,
    /// A core's private caches, all levels together.
    Core(CoreId),
}

/// A message about one line. Which line, the executor knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// What it says.
    pub kind: Kind,
    /// Who sent it.
    pub from: Agent,
    /// The core on whose behalf: the requestor, and in a Push the core that is to have the line.
    pub core: CoreId,
    /// How many acknowledgements the requestor must await (FwdGetM, Count, DataM; else 0).
    pub acks: u16,
}
