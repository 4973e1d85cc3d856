//! The actions of a home.

use crate::names::named;

named! {
    /// One step of a row. The requestor is the sender of the message; `others` are the sharers
    /// without the requestor, counted when the action runs. If entries name the owner alone, the
    /// number of other sharers is that of all cores but the requestor and the owner.
    Action {
        /// Sends the requestor the home's data, to read. The executor reads the bank, or memory if
        /// the bank does not have the line.
        DataS = "DataS > requestor",
        /// Sends the requestor the home's data as the only copy, to read.
        DataE = "DataE > requestor",
        /// Sends the requestor the home's data, to write, with the number of other sharers.
        DataM = "DataM > requestor",
        /// Has the owner send the requestor a copy.
        FwdGetS = "FwdGetS > owner",
        /// Has the owner send the requestor the line, with the number of other sharers.
        FwdGetM = "FwdGetM > owner",
        /// Tells the requestor, which has the data, the number of other sharers.
        Count = "Count > requestor",
        /// Has each sharer but the requestor drop its copy and acknowledge to the requestor. If
        /// entries name the owner alone, all other cores acknowledge too ([`super::Naming`]).
        Inv = "Inv > others",
        /// Has every sharer drop its copy and answer the home. The home awaits as many answers.
        RecallAll = "Recall > sharers",
        /// Has one sharer, which the executor picks ([`super::Effects::victim`]), drop its copy and
        /// answer the home. Removes it from the sharers and awaits one answer.
        RecallOne = "Recall > a sharer",
        /// Tells the requestor that the home has finished with its Put.
        PutAck = "PutAck > requestor",
        /// Offers the data, to read, to the core that the Push names.
        OfferS = "OfferS > named",
        /// Offers the data, as the only copy, to the core that the Push names.
        OfferE = "OfferE > named",

        /// Makes the message's data the home's data. Calls [`super::Effects::store`].
        TakeData = "take data",
        /// Performs the atomic on the home's data, which makes memory out of date, and sends the
        /// requestor AtomicDone. Calls [`super::Effects::atomic`] before it sends.
        Perform = "perform, AtomicDone > requestor",
        /// Drops the line from the shared level, and writes it to memory if it is dirty. Calls
        /// [`super::Effects::drop_line`].
        Drop = "drop",

        SetOwner = "owner := requestor",
        NoOwner = "owner := none",
        /// Counts the owner among the sharers, and leaves the line without an owner.
        OwnerShares = "owner joins sharers",
        AddSharer = "sharers + requestor",
        RemoveSharer = "sharers - requestor",
        NoSharers = "sharers := none",
        /// Awaits one more answer.
        Await = "pending + 1",
        /// Counts one answer as received.
        Answered = "pending - 1",
    }
}
