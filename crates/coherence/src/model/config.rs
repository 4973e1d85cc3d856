//! The size of the closed world, and what its cores do.

use crate::home::Naming;
use crate::{Policy, Protocol};

/// What cores and homes do beside loads and stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    pub evictions: bool,
    /// Cores perform far atomics.
    pub far_atomics: bool,
    /// Cores use load-linked and store-conditional.
    pub links: bool,
    /// Cores prefetch, to read and to write.
    pub prefetches: bool,
    pub push_home: bool,
    /// Cores push lines to any other core.
    pub push_to: bool,
    pub recalls: bool,
}

/// The order in which requests that wait for one line are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Requests are served in the order in which they arrived.
    #[default]
    Arrival,
    /// Any order, chosen anew whenever the line's state has changed; but a request that has begun,
    /// and waits for the copies that it recalled, goes first.
    AnyButBegun,
    /// Any order without exception, which is wrong; a test shows that the check notices.
    Any,
}

/// The description of one world to explore.
#[derive(Clone, Debug)]
pub struct Config {
    /// A name to print.
    pub name: &'static str,
    /// The protocol to check. Under the blocking one, the network keeps no order.
    pub policy: Policy,
    /// Number of cores, up to [`super::MAX_CORES`].
    pub cores: usize,
    /// Number of lines, up to [`super::MAX_LINES`]; all have the same home.
    pub lines: usize,
    /// Number of lines for which a core's caches have places.
    pub capacity: usize,
    /// Number of transactions that a core may have under way.
    pub mshrs: usize,
    /// Number of requests that may wait at the home; while it is reached, no further request
    /// arrives.
    pub places: usize,
    /// The order in which waiting requests are served.
    pub order: Order,
    /// What directory entries name.
    pub naming: Naming,
    /// What cores and homes do beside loads and stores.
    pub operations: Operations,
    /// Whether to show, for each state, that the world comes to rest when the cores begin nothing
    /// more.
    pub drain: bool,
}

impl Config {
    /// A world of `cores` cores and one line, with room for everything and only loads and stores.
    pub fn one_line(name: &'static str, policy: Policy, cores: usize) -> Config {
        Config {
            name,
            policy,
            cores,
            lines: 1,
            capacity: 1,
            mshrs: 1,
            places: usize::MAX,
            order: Order::Arrival,
            naming: Naming::FULL,
            operations: Operations::default(),
            drain: false,
        }
    }

    /// A world of `cores` cores and two lines, with evictions. Each cache has one place, each core
    /// one MSHR, and the home's queue one place.
    pub fn two_lines(name: &'static str, policy: Policy, cores: usize) -> Config {
        Config {
            lines: 2,
            places: 1,
            operations: Operations { evictions: true, ..Operations::default() },
            ..Config::one_line(name, policy, cores)
        }
    }

    /// Returns the same world with other operations.
    pub fn with(mut self, operations: Operations) -> Config {
        self.operations = operations;
        self
    }

    /// Returns the same world with `pointers` pointers in a directory entry.
    pub fn pointers(mut self, pointers: u16) -> Config {
        self.naming = Naming::pointers(pointers);
        self
    }

    /// Returns the same world with a directory whose entries name the owner alone.
    pub fn owner_alone(mut self) -> Config {
        self.naming = Naming::owner(self.cores as u16);
        self
    }

    /// Returns the same world, but requests are served in any order that is allowed.
    pub fn in_any_order(mut self) -> Config {
        self.order = Order::AnyButBegun;
        self
    }

    /// Whether the network keeps forwards of a line to a core in order.
    pub fn ordered(&self) -> bool {
        self.policy == Policy::Nonblocking
    }

    /// Returns the tables of the policy.
    pub fn protocol(&self) -> &'static Protocol {
        self.policy.protocol()
    }
}
