//! The states of a line in a core's private caches.

use crate::names::named;

named! {
    /// A line's state in one core's private caches. Transient states are named as in the Primer:
    /// the state from which the line comes, the state to which it goes, and what it still awaits (D
    /// for data, A for acknowledgements). A trailing letter says what must happen to the line once
    /// it has arrived, because the forward of a later transaction came first (only under a
    /// non-blocking home).
    State {
        /// No copy here.
        I = "I",
        /// A copy to read; other cores may have copies too.
        S = "S",
        /// The only copy, equal to the home's.
        E = "E",
        /// A copy to read, which supplies the other readers and must be written back; it may be
        /// dirty. Other cores may have copies too.
        O = "O",
        /// The only copy, dirty.
        M = "M",
        /// GetS sent.
        IsD = "IS_D",
        /// GetS sent, and the copy was invalidated before the data arrived: the load is served
        /// once, and no copy is kept.
        IsDI = "IS_D_I",
        /// GetS sent, and requests of readers were forwarded to this cache before the data arrived.
        IsDO = "IS_D_O",
        /// GetS sent, and the request of the next owner, or the home's recall, reached this cache
        /// before the data.
        IsDX = "IS_D_X",
        /// GetM sent (or an Upgrade whose copy was lost); no data yet.
        ImAd = "IM_AD",
        /// IM_AD, and requests of readers were forwarded to this cache.
        ImAdO = "IM_AD_O",
        /// IM_AD, and the request of the next owner, or the home's recall, reached this cache.
        ImAdX = "IM_AD_X",
        /// The data has arrived, but acknowledgements are missing.
        ImA = "IM_A",
        /// IM_A, and requests of readers were forwarded to this cache.
        ImAO = "IM_A_O",
        /// IM_A, and the request of the next owner, or the home's recall, reached this cache.
        ImAX = "IM_A_X",
        /// Upgrade sent from S; this cache still has its copy, and the Count has not arrived.
        SmA = "SM_A",
        /// Upgrade sent from O; this cache still has its copy, and the Count has not arrived.
        OmA = "OM_A",
        /// PutM, or a Push from M, sent; this cache is still the owner.
        MiA = "MI_A",
        /// PutE, or a Push from E, sent; this cache is still the owner.
        EiA = "EI_A",
        /// PutO, or a Push from O, sent (or another Put that had to serve a reader); this cache is
        /// still the owner.
        OiA = "OI_A",
        /// PutS sent.
        SiA = "SI_A",
        /// A Put was sent and the line is gone already; only the PutAck is awaited.
        IiA = "II_A",
        /// FarAtomic sent; this cache has no copy.
        IF = "IF_A",
        /// FarAtomic sent from S; this cache has its copy until the home recalls it or another core
        /// writes.
        SF = "SF_A",
        /// FarAtomic sent from O; this cache has its copy until the home recalls it or another core
        /// writes.
        OF = "OF_A",
    }
}

impl State {
    /// Whether no transaction is under way, so that the line needs no MSHR.
    #[inline]
    pub const fn is_stable(self) -> bool {
        (self as u8) <= State::M as u8
    }

    #[inline]
    pub const fn is_readable(self) -> bool {
        matches!(self, State::S | State::E | State::O | State::M)
    }

    /// Whether the core may write the line without a request to the home.
    #[inline]
    pub const fn is_writable(self) -> bool {
        matches!(self, State::E | State::M)
    }

    /// Whether this copy supplies the others. At most one cache has such a copy of a line.
    #[inline]
    pub const fn is_owner(self) -> bool {
        matches!(self, State::E | State::O | State::M)
    }

    /// Whether the cache has a copy that it need not wait for and is not giving up, readable or
    /// not. The copy must then be the newest version.
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(self, State::S | State::E | State::O | State::M | State::SmA | State::OmA | State::SF | State::OF)
    }
}
