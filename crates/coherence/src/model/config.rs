//! How large the world is and what its cores do.

use crate::{Policy, Protocol};

/// What cores and homes do beside loading and storing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Caches evict.
    pub evictions: bool,
    /// Cores use far atomics.
    pub far_atomics: bool,
    /// Cores use load-linked and store-conditional.
    pub links: bool,
    /// Cores prefetch, to read and to write.
    pub prefetches: bool,
    /// Cores push lines home.
    pub push_home: bool,
    /// Cores push lines to any other core.
    pub push_to: bool,
    /// Homes evict.
    pub recalls: bool,
}

/// In which order requests that wait for one line are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order of their arrival.
    #[default]
    Arrival,
    /// In any order, chosen anew whenever the line's state has changed; but one that has begun, as it waits for what it recalled,
    /// goes first.
    AnyButBegun,
    /// In any order whatever, which is wrong: for a test that the check notices.
    Any,
}

/// One world to explore.
#[derive(Clone, Debug)]
pub struct Config {
    /// A name to print.
    pub name: &'static str,
    /// Which protocol. Under the blocking one nothing in the network keeps its order.
    pub policy: Policy,
    /// How many cores, up to [`super::MAX_CORES`].
    pub cores: usize,
    /// How many lines, up to [`super::MAX_LINES`], all at one home.
    pub lines: usize,
    /// How many lines a core's caches have places for.
    pub capacity: usize,
    /// How many transactions a core may have under way.
    pub mshrs: usize,
    /// How many requests may wait at the home; beyond it none is looked at.
    pub places: usize,
    /// In which order they are served.
    pub order: Order,
    /// How many cores a directory entry can name.
    pub pointers: u16,
    /// What is done beside loads and stores.
    pub operations: Operations,
    /// Whether to show from each state that the world comes to rest when the cores do.
    pub drain: bool,
}

impl Config {
    /// `cores` × 1 line with room for everything and only loads and stores.
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
            pointers: u16::MAX,
            operations: Operations::default(),
            drain: false,
        }
    }

    /// `cores` × 2 lines that have one place in each cache, one MSHR a core, and one place in the home's queue.
    pub fn two_lines(name: &'static str, policy: Policy, cores: usize) -> Config {
        Config {
            lines: 2,
            places: 1,
            operations: Operations { evictions: true, ..Operations::default() },
            ..Config::one_line(name, policy, cores)
        }
    }

    /// The same with other operations.
    pub fn with(mut self, operations: Operations) -> Config {
        self.operations = operations;
        self
    }

    /// The same with so many pointers an entry.
    pub fn pointers(mut self, pointers: u16) -> Config {
        self.pointers = pointers;
        self
    }

    /// The same with requests served in any order that is allowed.
    pub fn in_any_order(mut self) -> Config {
        self.order = Order::AnyButBegun;
        self
    }

    /// Whether forwards of a line to a core keep their order.
    pub fn ordered(&self) -> bool {
        self.policy == Policy::Nonblocking
    }

    /// The tables of its policy.
    pub fn protocol(&self) -> &'static Protocol {
        self.policy.protocol()
    }
}
