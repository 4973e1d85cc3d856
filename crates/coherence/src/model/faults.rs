//! The properties that must always hold.

use super::{Config, World};
use crate::names::named;
use crate::{CoreSet, cache};
use baton_units::CoreId;

named! {
    /// The ways in which the protocol can be wrong.
    Fault {
        /// An event has no row, or a message arrives at an agent that is never sent such a message.
        Unhandled = "unhandled message",
        /// A core may write while another may read, or two copies are the owner's.
        TwoWriters = "two writers, or a writer and a reader",
        /// An access, a copy, or data that is given back to the home is not the newest version; or,
        /// at rest, the home of a line that no core has in O or M does not have it.
        StaleData = "old data",
        /// A store-conditional succeeded although another core had written since the load-linked.
        BrokenLink = "store-conditional over another's write",
        /// An access was taken but neither performed nor begun, or it completed twice, or it lost
        /// its right to the line at once, or the loss of a line was not reported.
        LostAccess = "access or notice lost",
        /// A forward or a response was made to wait.
        Waits = "a forward or response waits",
        /// Nothing can arrive, but something is awaited.
        Deadlock = "deadlock",
        /// The cores begin nothing and messages arrive, but the world does not come to rest.
        Livelock = "no rest",
        /// The home is in a stable state that does not match its owner and sharers; or, at rest,
        /// the recorded cores are not those that have the line.
        Directory = "directory wrong",
        /// There are more messages than the protocol can have caused.
        Flood = "messages multiply",
    }
}

impl World {
    /// Checks a world in any state, and records the fault that it finds.
    pub(super) fn inspect(&mut self, config: &Config) {
        for line in 0..config.lines {
            if let Some(fault) = self.line_fault(config, line) {
                self.blame(fault);
            }
        }
        let most = 8 * config.cores * config.lines;
        if self.network.len() > most || self.waiting.len() > most {
            self.blame(Fault::Flood);
        }
    }

    fn line_fault(&self, config: &Config, line: usize) -> Option<Fault> {
        let copies = || self.copies[..config.cores].iter().map(|core| &core[line]);
        let count = |what: fn(cache::State) -> bool| copies().filter(|copy| what(copy.state)).count();
        let readers = count(cache::State::is_readable);
        if count(cache::State::is_owner) > 1 || count(cache::State::is_writable) == 1 && readers > 1 {
            return Some(Fault::TwoWriters);
        }
        if copies().any(|copy| copy.state.has_data() && !copy.data.newest) {
            return Some(Fault::StaleData);
        }
        if copies()
            .any(|copy| copy.state.is_stable() && (copy.transaction != Default::default() || copy.access.is_some()))
        {
            return Some(Fault::LostAccess);
        }
        None
    }

    /// Checks a world in which nothing is under way. Returns the fault that it finds.
    pub(super) fn inspect_rest(&self, config: &Config) -> Option<Fault> {
        (0..config.lines).find_map(|line| {
            let entry = &self.homes[line];
            let state_of = |core: CoreId| self.copies[core.0 as usize][line].state;
            let cores = || (0..config.cores as u32).map(CoreId);
            let owner = cores().find(|core| state_of(*core).is_owner());
            let shares = |core: CoreId| state_of(core) == cache::State::S;
            let exact = entry.owner == owner && cores().all(|core| entry.sharers.contains(core) == shares(core));
            let within = entry.pointers() <= config.naming.cores;
            if !exact || !within {
                return Some(Fault::Directory);
            }
            let state = owner.map(state_of);
            let newest = self.home_data[line].newest;
            if newest && state == Some(cache::State::M) && !config.operations.prefetches && !config.operations.links {
                // Only a prefetch or a failed store-conditional leaves a line in M that no core has
                // written.
                return Some(Fault::Directory);
            }
            let dirty = matches!(state, Some(cache::State::M | cache::State::O));
            (!dirty && !newest).then_some(Fault::StaleData)
        })
    }
}
