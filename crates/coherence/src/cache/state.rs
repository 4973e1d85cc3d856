//! The states of a line in a core's private caches.

use crate::names::named;

named! {
    /// A line's state in one core's private caches. The transient ones are named as in the Primer: where it comes from, where
    /// it goes, and what it still awaits (D data, A acknowledgement). A trailing letter says what must become of the line
    /// once it is there, because a later transaction's forward came first (non-blocking home only).
    State {
        /// Not here.
        I = "I",
        /// To read; others may have it too.
        S = "S",
        /// The only copy, equal to the home's.
        E = "E",
        /// To read; others may have it too; this one supplies it and writes it back. May be dirty.
        O = "O",
        /// The only copy, dirty.
        M = "M",
        /// GetS sent.
        IsD = "IS_D",
        /// GetS sent; invalidated before the data came: the load is served once, and nothing is kept.
        IsDI = "IS_D_I",
        /// GetS sent; readers were forwarded here before the data came.
        IsDO = "IS_D_O",
        /// GetS sent; the next owner was forwarded here before the data came.
        IsDX = "IS_D_X",
        /// GetM sent (or an Upgrade that lost its copy); no data yet.
        ImAd = "IM_AD",
        /// As IM_AD; readers were forwarded here.
        ImAdO = "IM_AD_O",
        /// As IM_AD; the next owner was forwarded here.
        ImAdX = "IM_AD_X",
        /// The data is here, acknowledgements are missing.
        ImA = "IM_A",
        /// As IM_A; readers were forwarded here.
        ImAO = "IM_A_O",
        /// As IM_A; the next owner was forwarded here.
        ImAX = "IM_A_X",
        /// Upgrade sent from S; the home has not had it yet, as far as is known here.
        SmA = "SM_A",
        /// Upgrade sent from O.
        OmA = "OM_A",
        /// PutM, or a Push from M, sent; still owner.
        MiA = "MI_A",
        /// PutE, or a Push from E, sent; still owner.
        EiA = "EI_A",
        /// PutO, or a Push from O, sent (or a Put that had to serve a reader); still owner.
        OiA = "OI_A",
        /// PutS sent.
        SiA = "SI_A",
        /// A Put was sent and the line is gone already; only the PutAck is awaited.
        IiA = "II_A",
        /// FarAtomic sent; no copy.
        IF = "IF_A",
        /// FarAtomic sent from S, whose copy the home will recall.
        SF = "SF_A",
        /// FarAtomic sent from O, whose copy the home will recall.
        OF = "OF_A",
    }
}

impl State {
    /// Whether no transaction is under way: the line needs no MSHR.
    #[inline]
    pub const fn is_stable(self) -> bool {
        (self as u8) <= State::M as u8
    }

    /// Whether the core may read the line.
    #[inline]
    pub const fn is_readable(self) -> bool {
        matches!(self, State::S | State::E | State::O | State::M)
    }

    /// Whether the core may write the line without asking.
    #[inline]
    pub const fn is_writable(self) -> bool {
        matches!(self, State::E | State::M)
    }

    /// Whether this copy is the one that supplies the others: at most one is, in all caches.
    #[inline]
    pub const fn is_owner(self) -> bool {
        matches!(self, State::E | State::O | State::M)
    }

    /// Whether valid data is held here, readable or not: it must be the newest.
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(self, State::S | State::E | State::O | State::M | State::SmA | State::OmA | State::SF | State::OF)
    }
}
