//! What a home does.

use crate::names::named;

named! {
    /// One step of a row. The requestor is the message's sender; `others` are the sharers without the requestor, counted
    /// when the action runs.
    Action {
        /// Sends the requestor the home's data, to read. The executor reads the bank, or memory if the bank has it not.
        DataS = "DataS > requestor",
        /// Sends the requestor the home's data as the only copy, to read.
        DataE = "DataE > requestor",
        /// Sends the requestor the home's data, to write, with the count of others.
        DataM = "DataM > requestor",
        /// Has the owner send the requestor a copy.
        FwdGetS = "FwdGetS > owner",
        /// Has the owner send the requestor the line, with the count of others.
        FwdGetM = "FwdGetM > owner",
        /// Tells the requestor the count of others: it has the data.
        Count = "Count > requestor",
        /// Has each of the others drop its copy and acknowledge to the requestor.
        Inv = "Inv > others",
        /// Has every sharer drop its copy and answer the home; awaits that many answers.
        RecallAll = "Recall > sharers",
        /// Has one sharer, whom the executor picks ([`super::Effects::victim`]), drop its copy and answer the home; takes it
        /// out of the sharers; awaits one answer.
        RecallOne = "Recall > a sharer",
        /// Tells the requestor that its Put is done with.
        PutAck = "PutAck > requestor",
        /// Offers the data to the core that the Push names, to read.
        OfferS = "OfferS > named",
        /// Offers the data to the core that the Push names, as the only copy.
        OfferE = "OfferE > named",

        /// The message's data becomes the home's. Calls [`super::Effects::store`].
        TakeData = "take data",
        /// Performs the atomic on the home's data (which memory then lacks) and sends the requestor AtomicDone. Calls
        /// [`super::Effects::atomic`] before it sends.
        Perform = "perform, AtomicDone > requestor",
        /// The line leaves the shared level, to memory if it is dirty. Calls [`super::Effects::drop_line`].
        Drop = "drop",

        /// The requestor is the owner.
        SetOwner = "owner := requestor",
        /// There is no owner.
        NoOwner = "owner := none",
        /// The owner is counted among the sharers, and there is no owner.
        OwnerShares = "owner joins sharers",
        /// The requestor is a sharer.
        AddSharer = "sharers + requestor",
        /// The requestor is no sharer.
        RemoveSharer = "sharers - requestor",
        /// There are no sharers.
        NoSharers = "sharers := none",
        /// One more answer is awaited.
        Await = "pending + 1",
        /// One answer fewer is awaited.
        Answered = "pending - 1",
    }
}
