//! The state of the closed world.

use super::{Fault, Packet};
use crate::cache::Transaction;
use crate::{CoreSet, cache, home};
use baton_units::CoreId;

/// The largest number of cores of a world.
pub const MAX_CORES: usize = 4;
/// The largest number of lines of a world.
pub const MAX_LINES: usize = 2;

/// A set of up to eight cores in one byte, so that states stay small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Few(pub u8);

impl CoreSet for Few {
    fn insert(&mut self, core: CoreId) {
        self.0 |= 1 << core.0;
    }

    fn remove(&mut self, core: CoreId) {
        self.0 &= !(1 << core.0);
    }

    fn contains(&self, core: CoreId) -> bool {
        self.0 >> core.0 & 1 == 1
    }

    fn len(&self) -> u16 {
        self.0.count_ones() as u16
    }

    fn each(&self, mut f: impl FnMut(CoreId)) {
        (0..8).map(CoreId).filter(|core| self.contains(*core)).for_each(&mut f);
    }
}

/// How old data is, which is all that the world knows of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Age {
    /// Whether the data is the newest version.
    pub newest: bool,
    /// The cores that wait for a load, if this data was the newest at some time since the load was
    /// issued; such a load may return it.
    pub serves: Few,
}

/// One line in one core's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Copy {
    pub state: cache::State,
    pub transaction: Transaction<Few>,
    /// The access that began the transaction; `None` for a prefetch or an eviction.
    pub access: Option<cache::Event>,
    /// The data, if there is any.
    pub data: Age,
    /// Whether the core's link stands: it did a load-linked and has not lost the line since.
    pub linked: bool,
    /// Whether another core has written since the load-linked; a store-conditional that succeeds
    /// then is wrong.
    pub overwritten: bool,
}

impl Default for Copy {
    fn default() -> Self {
        Copy {
            state: cache::State::I,
            transaction: Transaction::default(),
            access: None,
            data: Age::default(),
            linked: false,
            overwritten: false,
        }
    }
}

/// The whole state of the closed world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct World {
    /// Copies by core and line.
    pub copies: [[Copy; MAX_LINES]; MAX_CORES],
    /// Directory entries by line.
    pub homes: [home::Line<Few>; MAX_LINES],
    /// The home's data, by line.
    pub home_data: [Age; MAX_LINES],
    /// Packets under way, in canonical order (`network.rs`).
    pub network: Vec<Packet>,
    /// Requests that wait at the home, in the order in which they are presented: that of arrival,
    /// unless the world's [`Order`](super::Order) is another. The home's own eviction is a packet
    /// from the home to itself, and comes first.
    pub waiting: Vec<Packet>,
    /// What went wrong on the way to this world. A world with a fault has no successors.
    pub fault: Option<Fault>,
}

impl Default for World {
    fn default() -> Self {
        World {
            copies: Default::default(),
            homes: Default::default(),
            home_data: [Age { newest: true, serves: Few(0) }; MAX_LINES],
            network: Vec::new(),
            waiting: Vec::new(),
            fault: None,
        }
    }
}

impl World {
    /// Records a fault, unless there is one already.
    pub fn blame(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Yields every piece of data of `line`: in caches, in packets and at the home.
    pub(super) fn pieces(&mut self, line: usize) -> impl Iterator<Item = &mut Age> {
        let copies = self.copies.iter_mut().map(move |core| &mut core[line].data);
        let packets = self.network.iter_mut().chain(&mut self.waiting);
        let packets = packets.filter(move |packet| usize::from(packet.line) == line).map(|packet| &mut packet.data);
        copies.chain(packets).chain(std::iter::once(&mut self.home_data[line]))
    }

    /// Puts the requests that wait for `line`, except the first `begun`, into the order with number
    /// `order`. For `n` requests there are `n!` orders, numbered from 0.
    pub(super) fn reorder(&mut self, line: u8, begun: usize, mut order: usize) {
        let places: Vec<usize> = (0..self.waiting.len()).filter(|&place| self.waiting[place].line == line).collect();
        let places = &places[begun.min(places.len())..];
        for (at, place) in places.iter().enumerate() {
            let rest = places.len() - at;
            self.waiting.swap(*place, places[at + order % rest]);
            order /= rest;
        }
    }

    /// Puts waiting requests into a canonical order. Used where any order is allowed, so that
    /// worlds that differ only in that order are one.
    pub(super) fn sort_waiting(&mut self) {
        let World { waiting, homes, .. } = self;
        // Sorts by line; a request that has begun stays first.
        waiting.sort_by_key(|packet| packet.line);
        for of_line in waiting.chunk_by_mut(|a, b| a.line == b.line) {
            let begun = usize::from(homes[usize::from(of_line[0].line)].state.recalls());
            of_line[begun..].sort();
        }
    }

    /// Whether nothing is under way and all states are stable.
    pub fn is_quiet(&self) -> bool {
        self.network.is_empty()
            && self.waiting.is_empty()
            && self.copies.iter().flatten().all(|copy| copy.state.is_stable())
            && self.homes.iter().all(|line| line.state.is_stable())
    }
}
