//! The states of a line at its home, and the directory entry.

use crate::CoreSet;
use crate::names::named;
use baton_units::CoreId;

named! {
    /// A line's state at its home. In the transient states (all but the first four), requests for
    /// the line wait, except that further readers are served in S_U and O_U.
    State {
        /// No core has the line; the home's data is the newest.
        I = "I",
        /// At least one sharer has the line; the home's data is the newest.
        S = "S",
        /// One owner (in E, O or M) and no sharer has the line; the home's data may be old.
        X = "X",
        /// An owner and at least one sharer have the line; the home's data may be old.
        O = "O",
        /// S, while readers have not yet confirmed that they have their copy. Further readers are
        /// served.
        SU = "S_U",
        /// O, while readers have not yet confirmed that they have their copy. Further readers are
        /// served.
        OU = "O_U",
        /// The new owner has not yet confirmed that it has the line.
        XU = "X_U",
        /// All copies are being recalled.
        IR = "I_R",
        /// One of several sharers is being recalled.
        SR = "S_R",
        /// One of several sharers beside an owner is being recalled.
        OR = "O_R",
        /// The only sharer beside an owner is being recalled.
        XR = "X_R",
        /// The line was pushed to the home and is offered to a core; no other core has it.
        IP = "I_P",
        /// The line was pushed to the home and is offered to a core; sharers have it.
        SP = "S_P",
    }
}

impl State {
    #[inline]
    pub const fn is_stable(self) -> bool {
        (self as u8) <= State::O as u8
    }

    /// Whether copies are being recalled for a request or an eviction, which is presented again
    /// when the copies are gone.
    #[inline]
    pub const fn recalls(self) -> bool {
        matches!(self, State::IR | State::SR | State::OR | State::XR)
    }

    /// Whether the home's own data must be the newest. In the other states it may be old.
    #[inline]
    pub const fn has_data(self) -> bool {
        matches!(self, State::I | State::S | State::SU | State::SR | State::IP | State::SP)
    }
}

/// What the entries of a directory name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Naming {
    /// Number of cores that an entry can name; `u16::MAX`: all.
    pub cores: u16,
    /// Number of cores of the chip, if entries name the owner alone; otherwise 0.
    ///
    /// Such an entry tells whether a line has sharers, and not who they are. So a write to a line
    /// with sharers asks all cores, and waits for the answers of all. [`Line::sharers`] is exact
    /// all the same, as bookkeeping: a sharer is sent an Inv and another core a Probe, which are
    /// one message in such a chip.
    pub asked: u16,
}

impl Naming {
    /// Entries name every core that has the line.
    pub const FULL: Naming = Naming::pointers(u16::MAX);

    /// Entries name up to `cores` cores.
    pub const fn pointers(cores: u16) -> Naming {
        Naming { cores, asked: 0 }
    }

    /// Entries name the owner alone, on a chip with this number of cores.
    pub const fn owner(cores: u16) -> Naming {
        Naming { cores: u16::MAX, asked: cores }
    }
}

/// A directory entry, which records the cores that have the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line<S> {
    pub state: State,
    /// The core that supplies the line and must write it back, if there is one.
    pub owner: Option<CoreId>,
    /// The other cores that have the line, to read.
    pub sharers: S,
    /// Number of answers that the home awaits (Unblock, Ack or DataHome).
    pub pending: u16,
}

impl<S: CoreSet> Default for Line<S> {
    fn default() -> Self {
        Line { state: State::I, owner: None, sharers: S::default(), pending: 0 }
    }
}

impl<S: CoreSet> Line<S> {
    /// Whether `core` has a copy, as far as the directory knows.
    #[inline]
    pub fn holds(&self, core: CoreId) -> bool {
        self.owner == Some(core) || self.sharers.contains(core)
    }

    /// Number of pointers that the entry uses.
    #[inline]
    pub fn pointers(&self) -> u16 {
        self.sharers.len() + u16::from(self.owner.is_some())
    }
}
