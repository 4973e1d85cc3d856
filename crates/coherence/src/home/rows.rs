//! The home's rows that do not depend on its policy.

use super::{Action, Entry, Event, State};
use crate::table::rows;

rows! {
    /// Puts, pushes, recalls, far atomics, pointer overflow: under either policy the home waits for the answers to these.
    SHARED: State, Event, Action;

    // Copies given up.
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

    // An atomic at the home: the copies come home first, and the request waits for them.
    I: FarAtomic => I { Perform };
    S: FarAtomic => retain IR { RecallAll, NoSharers };
    X | O: FarAtomic => retain IR { OwnerShares, RecallAll, NoSharers };

    // The shared level gives the line up.
    I: Evict => I { Drop };
    S: Evict => retain IR { RecallAll, NoSharers };
    X | O: Evict => retain IR { OwnerShares, RecallAll, NoSharers };

    // No pointer left for a reader: one sharer goes, or the owner if there is no other sharer.
    S: GetSFull => retain SR { RecallOne };
    O: GetSFull => retain OR { RecallOne };
    O: GetSFullLast => retain XR { RecallOne };
    X: GetSFullLast => retain IR { OwnerShares, RecallAll, NoSharers };

    // Recalled copies.
    IR: Ack => IR { Answered };
    IR: AckLast => I { Answered };
    IR: Data => IR { TakeData, Answered };
    IR: DataLast => I { TakeData, Answered };
    SR: AckLast => S { Answered };
    OR: AckLast => O { Answered };
    XR: AckLast => X { Answered };

    // While the home waits for answers, requests for the line wait. What began a recall of one sharer is a reader, and
    // stays first in the queue; so nothing else is presented meanwhile.
    IR | SR | OR | XR | IP | SP: GetS => wait;
    IR | IP | SP: Later => wait;
}
