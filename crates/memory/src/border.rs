//! The requests of cores, and the answers and notices of a memory system.

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
    /// Read the line.
    Load,
    /// Write the line.
    Store,
    /// Read the line and write it as one access.
    Atomic,
    /// Read the line and set the link of this context of the core. The link breaks when the core
    /// loses the line, and when any context writes the line in the core's cache.
    LoadLinked(u8),
    /// Write the line if the context's link still stands.
    StoreConditional(u8),
    /// A hint that the line will be read; no thread waits for it.
    Prefetch,
    /// A hint that the line will be written.
    PrefetchExclusive,
    /// A hint to give the line up, to its home or to another core.
    Push {
        /// The core that is to have the line; `None` for its home.
        to: Option<CoreId>,
    },
}

impl Access {
    /// The context of the core whose link the access concerns; 0 for an access that concerns no
    /// link.
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
    /// The part to which the time beyond a hit is charged, if the request was not a hit.
    pub beyond: Part,
    /// Whether the request is a store-conditional whose link was broken, so that nothing is
    /// written.
    pub failed: bool,
    /// Whether from now on no other core has a copy, although one had. Only a memory system without
    /// notices reports this.
    pub invalidates: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request was served at once.
    Served(Served),
    /// A [`Notice::Done`] with the request's token follows.
    Pending,
}

/// What happened in the memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A request is served.
    Done {
        /// The token of the request.
        token: Token,
        /// The time at which the value is read or written: now, or later if no other access can
        /// come between.
        at: u64,
        /// The parts of the time from the request to `at`, which they sum to.
        parts: Parts,
        /// Whether the request is a store-conditional whose link was broken, so that nothing is
        /// written.
        failed: bool,
    },
    /// A packet to or from a device has arrived.
    Carried {
        /// The tag that [`Carried`](super::packets::Carried) had when the packet was sent.
        tag: u32,
        /// Whether the packet has one of the places that the device's endpoint has in the network.
        placed: bool,
    },
    /// An interrupt has arrived at its destination.
    Interrupt {
        /// The tag that the interrupt had when it was sent.
        tag: u32,
    },
    /// The home performs a far atomic: its word is read and written at this moment.
    Performed {
        /// The token of the core's request for the atomic.
        token: Token,
    },
    /// A core's nearest cache has lost a line.
    Lost {
        /// The core that has lost the line.
        core: CoreId,
        /// The line.
        line: Line,
    },
}
