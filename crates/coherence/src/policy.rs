//! The two protocols: both use the same caches and homes, but for the rows that depend on the
//! home's policy.

use crate::{cache, home};

/// What a home does with the next request for a line before the last requestor has confirmed that
/// it has the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The request waits. The network need not keep any order.
    Blocking,
    /// The request is served. The network must keep the forward class in order between each home
    /// and each cache.
    Nonblocking,
}

/// The two tables that define a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The rows of caches.
    pub cache: cache::Table,
    /// The rows of homes.
    pub home: home::Table,
}

/// The protocol of a blocking home.
pub static BLOCKING: Protocol = Protocol { cache: cache::BLOCKING, home: home::BLOCKING };
/// The protocol of a non-blocking home.
pub static NONBLOCKING: Protocol = Protocol { cache: cache::NONBLOCKING, home: home::NONBLOCKING };

impl Policy {
    pub fn protocol(self) -> &'static Protocol {
        match self {
            Policy::Blocking => &BLOCKING,
            Policy::Nonblocking => &NONBLOCKING,
        }
    }
}
