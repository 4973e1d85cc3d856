//! What crosses the border between the engine and a memory system: requests of cores, answers and
//! notices.

use super::parts::{Part, Parts};
use crate::base::token::Token;
use baton_noc::Header;
use baton_units::{CoreId, Cycles};

/// A line of guest memory: its number counts from the start of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line(pub u32);

/// The access that a core makes to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it.
    Load,
    /// Write it.
    Store,
    /// Read and write it as one.
    Atomic,
    /// Read it and set the link of this context of the core. It breaks when the line is lost and when any context writes it in
    /// the core's cache.
    LoadLinked(u8),
    /// Write it if that context's link still stands.
    StoreConditional(u8),
    /// A hint, whose end no thread waits for: it will be read.
    Prefetch,
    /// A hint: it will be written.
    PrefetchExclusive,
    /// A hint: give it up, to its home or to another core.
    Push {
        /// The core that is to have the line; `None` for its home.
        to: Option<CoreId>,
    },
}

impl Access {
    /// The context of the core whose link the access concerns.
    pub fn context(self) -> usize {
        match self {
            Access::LoadLinked(context) | Access::StoreConditional(context) => usize::from(context),
            _ => 0,
        }
    }
}

/// A request of a core for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Returned with the notice that the request is served; the memory system does not look at it.
    pub token: Token,
    /// The core that requests the line.
    pub core: CoreId,
    /// The line.
    pub line: Line,
    /// The access.
    pub access: Access,
    /// The mark of the packet that the request may send; the mark's class is ignored.
    pub mark: Header,
}

/// How a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The time at which the value is read or written.
    pub at: Cycles,
    /// Whether the core's nearest cache had the line.
    pub hit: bool,
    /// The time beyond a hit, by part, if the request was not a hit.
    pub beyond: Part,
    /// A store-conditional whose link was broken: nothing is written.
    pub failed: bool,
    /// Whether from now on no other core has a copy, although one had. Only a memory system without
    /// notices reports this.
    pub invalidates: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is known when it is served.
    Served(Served),
    /// A [`Notice::Done`] with its token will say.
    Pending,
}

/// What happened in the memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A request is served.
    Done {
        /// The request's.
        token: Token,
        /// When its value is read or written: now, or later if nothing can come between.
        at: u64,
        /// Where its time went: sums to the time from the request to `at`.
        parts: Parts,
        /// A store-conditional whose link was broken: nothing is written.
        failed: bool,
    },
    /// A packet to or from a device has arrived.
    Carried {
        /// The one it was given with.
        tag: u32,
        /// It has one of the places that the device's endpoint has in the network.
        placed: bool,
    },
    /// An interrupt has come to its place.
    Interrupt {
        /// The one it was sent with.
        tag: u32,
    },
    /// The home performs a far atomic: now its word is read and written.
    Performed {
        /// The request's.
        token: Token,
    },
    /// A core's nearest cache has lost a line.
    Lost {
        /// Whose.
        core: CoreId,
        /// Which.
        line: Line,
    },
}
