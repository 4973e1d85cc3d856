//! The actions of a core's private caches.

use crate::names::named;

named! {
    /// One step of a row. The requestor is [`crate::Message::core`] of the message at hand.
    Action {
        /// The presented access hits and is performed now. Calls [`super::Effects::hit`].
        Hit = "hit",
        /// The access that began the transaction is performed now: a store-conditional only if its
        /// link still stands. The home has performed a far atomic already. Calls
        /// [`super::Effects::complete`].
        Complete = "complete",
        /// Like `complete`, but the copy was invalidated before it arrived. The load may return the
        /// value that it was sent, which was the newest at some time after the load was issued; the
        /// caches keep no copy.
        CompleteOnce = "complete once",
        /// The core can no longer read the line: its link breaks, and a thread that watches the
        /// line wakes. Calls [`super::Effects::lost`].
        Lost = "lost",
        /// Writes the message's data into the caches. Calls [`super::Effects::fill`].
        Fill = "fill",

        GetS = "GetS > home",
        GetM = "GetM > home",
        Upgrade = "Upgrade > home",
        FarAtomic = "FarAtomic > home",
        PutS = "PutS > home",
        PutE = "PutE > home",
        /// Sends PutO, with the data, to the home.
        PutO = "PutO > home",
        /// Sends PutM, with the data, to the home.
        PutM = "PutM > home",
        /// Sends Push, with the data, to the home, and names the core that is to get the line.
        Push = "Push > home",
        /// Tells a blocking home that the transaction is over.
        Unblock = "Unblock > home",
        /// Tells the home that the offered line was taken.
        Accept = "Accept > home",
        /// Tells the home that the offered line was not taken.
        Refuse = "Refuse > home",

        /// Sends the requestor a copy to read.
        DataS = "DataS > requestor",
        /// Sends the requestor the line, with the number of acknowledgements that the forward
        /// named.
        DataM = "DataM > requestor",
        /// Tells the requestor that this cache has dropped its copy.
        Ack = "Ack > requestor",
        /// Tells the home that this cache has dropped its copy.
        AckHome = "Ack > home",
        /// Sends the home the data, which also tells it that this cache has dropped its copy.
        DataHome = "DataHome > home",

        /// Counts one acknowledgement as received.
        TakeAck = "missing - 1",
        /// Adds the number of acknowledgements in the message to those awaited.
        TakeCount = "missing + count",
        /// Remembers the requestor, which gets a copy once this cache has the data.
        DeferReader = "defer reader",
        /// Remembers the requestor and its number of acknowledgements; it gets the line when the
        /// transaction is over.
        DeferWriter = "defer writer",
        /// Remembers that the home gets the line when the transaction is over.
        DeferHome = "defer home",
        /// Sends every deferred reader a copy.
        ServeReaders = "DataS > deferred readers",
        /// Sends the line to the deferred writer, or to the home if the home recalls it.
        ServeNext = "line > deferred writer or home",
    }
}
