//! The home's rows for reads and writes, which depend on its policy.

use super::{Action, Entry, Event, State};
use crate::table::rows;

rows! {
    /// A blocking home serves a line's next request only after the last requestor has confirmed
    /// that it has the line. Readers do not disturb each other, so several are served together.
    BLOCKING: State, Event, Action;

    I: GetS => XU { DataE, SetOwner, Await };
    I: GetM => XU { DataM, SetOwner, Await };
    S | SU: GetS => SU { DataS, AddSharer, Await };
    S: GetM => XU { DataM, Inv, NoSharers, SetOwner, Await };
    S: UpgradeSharer => XU { Count, Inv, NoSharers, SetOwner, Await };
    X | O | OU: GetS => OU { FwdGetS, AddSharer, Await };
    X: GetM => XU { FwdGetM, SetOwner, Await };
    X: UpgradeOwner => XU { Count, Await };
    O: GetM => XU { FwdGetM, Inv, NoSharers, SetOwner, Await };
    O: UpgradeOwner => XU { Count, Inv, NoSharers, Await };
    // The upgrader already has the owner's data, so the owner's copy is only invalidated.
    O: UpgradeSharer => XU { OwnerShares, Count, Inv, NoSharers, SetOwner, Await };

    SU | OU: Unblock => same { Answered };
    SU: UnblockLast => S { Answered };
    OU: UnblockLast => O { Answered };
    XU: UnblockLast => X { Answered };
    XU: GetS => wait;
    SU | OU | XU: Later => wait;
}

rows! {
    /// A non-blocking home serves the next request at once. What it forwards may reach a cache that
    /// still waits for the line; the cache then serves it when the line is there.
    NONBLOCKING: State, Event, Action;

    I: GetS => X { DataE, SetOwner };
    I: GetM => X { DataM, SetOwner };
    S: GetS => S { DataS, AddSharer };
    S: GetM => X { DataM, Inv, NoSharers, SetOwner };
    S: UpgradeSharer => X { Count, Inv, NoSharers, SetOwner };
    X | O: GetS => O { FwdGetS, AddSharer };
    X: GetM => X { FwdGetM, SetOwner };
    X: UpgradeOwner => X { Count };
    O: GetM => X { FwdGetM, Inv, NoSharers, SetOwner };
    O: UpgradeOwner => X { Count, Inv, NoSharers };
    O: UpgradeSharer => X { OwnerShares, Count, Inv, NoSharers, SetOwner };
}
