//! The cache's rows that depend on the home's policy: how a transaction ends, and what arrives
//! during it.

use super::{Action, Entry, Event, State};
use crate::table::rows;

rows! {
    /// Rows under a blocking home: no message of a later transaction arrives during a transaction,
    /// and the cache tells the home when the transaction ends.
    BLOCKING: State, Event, Action;

    IsD: DataS => S { Fill, Complete, Unblock };
    IsD: DataE => E { Fill, Complete, Unblock };
    ImAd: DataM => M { Fill, TakeCount, Complete, Unblock };
    ImA: AckLast => M { TakeAck, Complete, Unblock };
    SmA | OmA: Count => M { TakeCount, Complete, Unblock };

    // An offer or a Probe may overtake the PutAck.
    MiA | EiA | OiA | SiA: OfferFull => same { Refuse };
    MiA | EiA | OiA | SiA: Probe => same { Ack };
}

rows! {
    /// Rows under a non-blocking home: forwards of later transactions may overtake the data.
    /// Because forwards are ordered, a forward that reaches this cache before the data belongs to a
    /// transaction after this core's request. The cache remembers it and serves it at the end.
    NONBLOCKING: State, Event, Action;

    // Rows of transactions without a forward.
    IsD: DataS => S { Fill, Complete };
    IsD: DataE => E { Fill, Complete };
    ImAd: DataM => M { Fill, TakeCount, Complete };
    ImA: AckLast => M { TakeAck, Complete };
    SmA | OmA: Count => M { TakeCount, Complete };

    // A later transaction wants the line that has not arrived yet.
    IsD: Inv => IsDI { Ack };
    IsD: Recall => IsDI { AckHome };
    IsD | IsDO: FwdGetS => IsDO { DeferReader };
    IsD | IsDO: FwdGetM => IsDX { DeferWriter };
    IsDO: Recall => IsDX { DeferHome };
    ImAd | ImAdO: FwdGetS => ImAdO { DeferReader };
    ImAd | ImAdO: FwdGetM => ImAdX { DeferWriter };
    ImAd | ImAdO: Recall => ImAdX { DeferHome };
    ImA | ImAO: FwdGetS => ImAO { DeferReader };
    ImA | ImAO: FwdGetM => ImAX { DeferWriter };
    ImA | ImAO: Recall => ImAX { DeferHome };

    // This core has passed the line on, or will not keep it.
    IsDI | IsDX | ImAdX | ImAX: Probe => same { Ack };

    IsDI | IsDO | IsDX | ImAdO | ImAdX | ImAO | ImAX: Load | Store | LoadLinked | FarAtomic => wait;
    ImAO | ImAX: StoreConditional => wait;
    IsDI | IsDO | IsDX | ImAdO | ImAdX | ImAO | ImAX: PrefetchS | PrefetchM | PushHome | PushTo => same {};

    // While a forward is deferred, the core's own transaction goes on.
    ImAdO | ImAdX | ImAO | ImAX: Ack => same { TakeAck };
    ImAdO: DataMWait => ImAO { Fill, TakeCount };
    ImAdX: DataMWait => ImAX { Fill, TakeCount };

    // The transaction ends, and then the deferred requests are served.
    IsDI: DataS | DataE => I { CompleteOnce };
    IsDO: DataE => O { Fill, Complete, ServeReaders };
    IsDX: DataE => I { Fill, Complete, ServeReaders, ServeNext, Lost };
    ImAdO: DataM => O { Fill, TakeCount, Complete, ServeReaders };
    ImAdX: DataM => I { Fill, TakeCount, Complete, ServeReaders, ServeNext, Lost };
    ImAO: AckLast => O { TakeAck, Complete, ServeReaders };
    ImAX: AckLast => I { TakeAck, Complete, ServeReaders, ServeNext, Lost };
    IsDI: OfferFull => same { Refuse };
}
