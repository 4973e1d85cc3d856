//! The two protocols: the same caches and homes, with the rows that the home's policy changes.

use crate::{cache, home};

/// What a home does with a line's next request while the last requestor has not said that it has the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// It waits. Needs no order in the network.
    Blocking,
    /// It is served. Needs the forward class ordered from each home to each cache.
    Nonblocking,
}

/// A pair of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// What caches do.
    pub cache: cache::Table,
    /// What homes do.
    pub home: home::Table,
}

/// The protocol of a blocking home.
pub static BLOCKING: Protocol = Protocol { cache: cache::BLOCKING, home: home::BLOCKING };
/// The protocol of a non-blocking home.
pub static NONBLOCKING: Protocol = Protocol { cache: cache::NONBLOCKING, home: home::NONBLOCKING };

impl Policy {
    /// Its tables.
    pub fn protocol(self) -> &'static Protocol {
        match self {
            Policy::Blocking => &BLOCKING,
            Policy::Nonblocking => &NONBLOCKING,
        }
    }
}
