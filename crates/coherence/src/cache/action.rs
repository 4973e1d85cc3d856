//! What a core's private caches do.

use crate::names::named;

named! {
    /// One step of a row. `requestor` is [`crate::Message::core`] of the message at hand.
    Action {
        /// The access that was presented is performed now: a hit. Calls [`super::Effects::hit`].
        Hit = "hit",
        /// The access that began the transaction is performed now. (A store-conditional: if its link still stands.) Calls
        /// [`super::Effects::complete`].
        Complete = "complete",
        /// As `complete`, but the copy was invalidated on its way: the load may return the value it was sent, which was the
        /// newest some time after the load was issued, and nothing stays here.
        CompleteOnce = "complete once",
        /// The core can no longer read the line: its link breaks, a watcher wakes. Calls [`super::Effects::lost`].
        Lost = "lost",
        /// The message's data goes into the caches. Calls [`super::Effects::fill`].
        Fill = "fill",

        /// Sends GetS to the home.
        GetS = "GetS > home",
        /// Sends GetM to the home.
        GetM = "GetM > home",
        /// Sends Upgrade to the home.
        Upgrade = "Upgrade > home",
        /// Sends FarAtomic to the home.
        FarAtomic = "FarAtomic > home",
        /// Sends PutS to the home.
        PutS = "PutS > home",
        /// Sends PutE to the home.
        PutE = "PutE > home",
        /// Sends PutO, with the data, to the home.
        PutO = "PutO > home",
        /// Sends PutM, with the data, to the home.
        PutM = "PutM > home",
        /// Sends Push, with the data, to the home, naming the core that is to have it.
        Push = "Push > home",
        /// Tells the blocking home that the transaction is over.
        Unblock = "Unblock > home",
        /// Tells the home that the offer was taken.
        Accept = "Accept > home",
        /// Tells the home that the offer was not taken.
        Refuse = "Refuse > home",

        /// Sends the requestor a copy to read.
        DataS = "DataS > requestor",
        /// Sends the requestor the line, with the count of acknowledgements that the forward said.
        DataM = "DataM > requestor",
        /// Tells the requestor that the copy here is gone.
        Ack = "Ack > requestor",
        /// Tells the home that the copy here is gone.
        AckHome = "Ack > home",
        /// Sends the home the data, which also says that the copy here is gone.
        DataHome = "DataHome > home",

        /// One acknowledgement fewer is missing.
        TakeAck = "missing - 1",
        /// As many more acknowledgements are missing as the message says.
        TakeCount = "missing + count",
        /// Keeps the requestor: it gets a copy once the data is here.
        DeferReader = "defer reader",
        /// Keeps the requestor and its count: it gets the line once the transaction is over.
        DeferWriter = "defer writer",
        /// Keeps in mind that the home gets the line once the transaction is over.
        DeferHome = "defer home",
        /// Sends every deferred reader a copy.
        ServeReaders = "DataS > deferred readers",
        /// Sends the line to the deferred writer, or to the home if it recalls it.
        ServeNext = "line > deferred writer or home",
    }
}
