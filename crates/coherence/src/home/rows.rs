//! The home's rows that do not depend on its policy.

use super::{Action, Entry, Event, State};
use crate::table::rows;

rows! {
    /// Rows for puts, pushes, recalls, far atomics and pointer overflow. Under either policy the
    /// home waits for the answers that these need.
    SHARED: State, Event, Action;

    // Caches give up copies.
    S: PutS => S { RemoveSharer, PutAck };
    S: PutSLast => I { RemoveSharer, PutAck };
    O: PutS => O { RemoveSharer, PutAck };
    O: PutSLast => X { RemoveSharer, PutAck };
    X: PutData => I { TakeData, NoOwner, PutAck };
    X: PutClean => I { NoOwner, PutAck };
    O: PutData => S { TakeData, NoOwner, PutAck };
    O: PutClean => S { NoOwner, PutAck };
    I | S | X | O: PutStale => same { PutAck };

    // Pushes to a named core.
    X: Push => IP { TakeData, NoOwner, PutAck, OfferE };
    O: Push => SP { TakeData, NoOwner, PutAck, OfferS };
    IP: Accept => X { SetOwner };
    IP: Refuse => I {};
    SP: Accept => S { AddSharer };
    SP: Refuse => S {};

    // An atomic at the home: all copies are first recalled, and the request waits until they are
    // gone.
    I: FarAtomic => I { Perform };
    S: FarAtomic => retain IR { RecallAll, NoSharers };
    X | O: FarAtomic => retain IR { OwnerShares, RecallAll, NoSharers };

    // The shared level gives the line up.
    I: Evict => I { Drop };
    S: Evict => retain IR { RecallAll, NoSharers };
    X | O: Evict => retain IR { OwnerShares, RecallAll, NoSharers };

    // A reader finds no free pointer: one sharer is recalled, or the owner if there is no other
    // sharer.
    S: GetSFull => retain SR { RecallOne };
    O: GetSFull => retain OR { RecallOne };
    O: GetSFullLast => retain XR { RecallOne };
    X: GetSFullLast => retain IR { OwnerShares, RecallAll, NoSharers };

    // Answers to recalls.
    IR: Ack => IR { Answered };
    IR: AckLast => I { Answered };
    IR: Data => IR { TakeData, Answered };
    IR: DataLast => I { TakeData, Answered };
    SR: AckLast => S { Answered };
    OR: AckLast => O { Answered };
    XR: AckLast => X { Answered };

    // While the home waits for answers, requests for the line wait. The request that began the
    // recall of one sharer is a reader's and stays first in the queue, so no other request is
    // presented meanwhile.
    IR | SR | OR | XR | IP | SP: GetS => wait;
    IR | IP | SP: Later => wait;
}
