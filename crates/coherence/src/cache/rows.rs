//! The cache's rows that do not depend on the home's policy.

use super::{Action, Entry, Event, State};
use crate::table::rows;

rows! {
    /// Rows for accesses, evictions and pushes, for forwards to lines that this cache has, and for
    /// acknowledgements.
    SHARED: State, Event, Action;

    // Accesses that hit.
    S | E | O | M: Load | LoadLinked => same { Hit };
    S | E | O | M: PrefetchS => same {};
    E | M: Store | StoreConditional | FarAtomic => M { Hit };
    E | M: PrefetchM => same {};

    // Misses and upgrades.
    I: Load | LoadLinked | PrefetchS => IsD { GetS };
    I: Store | PrefetchM => ImAd { GetM };
    S: Store | StoreConditional | PrefetchM => SmA { Upgrade };
    O: Store | StoreConditional | PrefetchM => OmA { Upgrade };
    I: FarAtomic => IF { FarAtomic };
    S: FarAtomic => SF { FarAtomic };
    O: FarAtomic => OF { FarAtomic };

    // A line has at most one transaction: accesses wait for it, hints are dropped.
    IsD | ImAd | ImA | SmA | OmA | MiA | EiA | OiA | SiA | IiA | IF | SF | OF: Load | Store | LoadLinked | FarAtomic => wait;
    ImA | SmA | OmA | SF | OF: StoreConditional => wait;
    IsD | ImAd | ImA | SmA | OmA | MiA | EiA | OiA | SiA | IiA | IF | SF | OF:
        PrefetchS | PrefetchM | PushHome | PushTo => same {};

    // The caches give a line up. A push gives up an owned line; a sharer's push has no data to
    // bring.
    S: Evict => SiA { Lost, PutS };
    E: Evict | PushHome => EiA { Lost, PutE };
    O: Evict | PushHome => OiA { Lost, PutO };
    M: Evict | PushHome => MiA { Lost, PutM };
    I | S: PushHome | PushTo => same {};
    E: PushTo => EiA { Lost, Push };
    O: PushTo => OiA { Lost, Push };
    M: PushTo => MiA { Lost, Push };
    MiA | EiA | OiA | SiA | IiA: PutAck => I {};

    // Another core reads.
    E | O | M: FwdGetS => O { DataS };
    OmA | OF: FwdGetS => same { DataS };
    MiA | EiA | OiA: FwdGetS => OiA { DataS };

    // Another core writes.
    E | O | M: FwdGetM => I { DataM, Lost };
    OmA: FwdGetM => ImAd { DataM, Lost };
    OF: FwdGetM => IF { DataM, Lost };
    MiA | EiA | OiA: FwdGetM => IiA { DataM };
    S | O: Inv => I { Ack, Lost };
    SmA | OmA: Inv => ImAd { Ack, Lost };
    SF | OF: Inv => IF { Ack, Lost };
    SiA | OiA: Inv => IiA { Ack };

    // A directory that does not name sharers asks all cores; these have no copy.
    I | IsD | ImAd | IiA: Probe => same { Ack };

    // The home wants the line back.
    S | E: Recall => I { AckHome, Lost };
    O | M: Recall => I { DataHome, Lost };
    SmA: Recall => ImAd { AckHome, Lost };
    OmA: Recall => ImAd { DataHome, Lost };
    SF: Recall => IF { AckHome, Lost };
    OF: Recall => IF { DataHome, Lost };
    SiA | EiA: Recall => IiA { AckHome };
    MiA | OiA: Recall => IiA { DataHome };

    // A pushed line is taken if there is a free place, and refused otherwise.
    I: OfferS => S { Fill, Accept };
    I: OfferE => E { Fill, Accept };
    I | IsD | ImAd | IF | IiA: OfferFull => same { Refuse };

    // Acknowledgements and data for the core's own transaction.
    ImAd | ImA | SmA | OmA: Ack => same { TakeAck };
    SmA | OmA: CountWait => ImA { TakeCount };
    ImAd: DataMWait => ImA { Fill, TakeCount };
    IF: AtomicDone => I { Complete };
}
