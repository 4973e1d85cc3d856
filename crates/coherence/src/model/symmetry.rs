//! Renames cores and lines: of all worlds that differ only in names, the least one represents all.
//! No row and no effect depends on a core's number, so worlds that differ only in names behave
//! alike.

use super::{Age, Config, MAX_CORES, MAX_LINES, Order, Packet, World};
use crate::{Agent, CoreSet, Kind, cache};
use baton_units::CoreId;

/// New names: the core `old` becomes `cores[old]`, the line `old` becomes `lines[old]`.
struct Names {
    cores: [u32; MAX_CORES],
    lines: [u8; MAX_LINES],
}

const LINES: [[u8; MAX_LINES]; 2] = [[0, 1], [1, 0]];

impl Names {
    fn core(&self, core: CoreId) -> CoreId {
        CoreId(self.cores[core.0 as usize])
    }

    fn agent(&self, agent: Agent) -> Agent {
        match agent {
            Agent::Home => Agent::Home,
            Agent::Core(core) => Agent::Core(self.core(core)),
        }
    }

    fn set(&self, set: super::Few) -> super::Few {
        let mut renamed = super::Few::default();
        set.each(|core| renamed.insert(self.core(core)));
        renamed
    }

    fn age(&self, data: Age) -> Age {
        Age { serves: self.set(data.serves), ..data }
    }

    fn packet(&self, mut packet: Packet) -> Packet {
        packet.line = self.lines[usize::from(packet.line)];
        packet.data = self.age(packet.data);
        packet.to = self.agent(packet.to);
        packet.message.from = self.agent(packet.message.from);
        // No rule reads the core on whose behalf a copy is recalled.
        let nobody = packet.message.kind == Kind::Recall;
        packet.message.core = if nobody { CoreId(0) } else { self.core(packet.message.core) };
        packet
    }

    fn world(&self, old: &World, config: &Config) -> World {
        let mut new = World { fault: old.fault, ..World::default() };
        for core in 0..config.cores {
            for line in 0..config.lines {
                let mut copy = old.copies[core][line];
                copy.data = self.age(copy.data);
                copy.transaction.readers = self.set(copy.transaction.readers);
                copy.transaction.next = copy.transaction.next.map(|(agent, acks)| (self.agent(agent), acks));
                new.copies[self.cores[core] as usize][usize::from(self.lines[line])] = copy;
            }
        }
        for line in 0..config.lines {
            let mut entry = old.homes[line];
            entry.owner = entry.owner.map(|core| self.core(core));
            entry.sharers = self.set(entry.sharers);
            new.homes[usize::from(self.lines[line])] = entry;
            new.home_data[usize::from(self.lines[line])] = self.age(old.home_data[line]);
        }
        new.network = old.network.iter().map(|packet| self.packet(*packet)).collect();
        new.sort_network(config.ordered());
        new.waiting = old.waiting.iter().map(|packet| self.packet(*packet)).collect();
        if config.order != Order::Arrival {
            new.sort_waiting();
        }
        new
    }
}

/// A name-independent summary of a core's state, for each line. Only cores with equal summaries
/// need be tried in each other's place.
type Looks = [(cache::State, i32, Option<cache::Event>, bool, bool, bool, bool); MAX_LINES];

impl World {
    /// Returns the least of the worlds that differ from this one only in names and in which cores
    /// are numbered in the order of their summaries.
    pub(super) fn renamed_least(self, config: &Config) -> World {
        let mut least: Option<World> = None;
        for lines in &LINES[..config.lines] {
            let mut looks = [Looks::default(); MAX_CORES];
            for (core, looks) in looks.iter_mut().enumerate().take(config.cores) {
                *looks = self.looks(core, lines);
            }
            let mut names = Names { cores: [u32::MAX; MAX_CORES], lines: *lines };
            name_cores(&looks[..config.cores], &mut names, 0, &mut |names| {
                let candidate = names.world(&self, config);
                if least.as_ref().is_none_or(|least| candidate < *least) {
                    least = Some(candidate);
                }
            });
        }
        least.unwrap_or(self)
    }

    fn looks(&self, core: usize, lines: &[u8; MAX_LINES]) -> Looks {
        let id = CoreId(core as u32);
        let mut looks = Looks::default();
        for (line, name) in lines.iter().enumerate() {
            let (copy, entry) = (&self.copies[core][line], &self.homes[line]);
            let (owns, shares) = (entry.owner == Some(id), entry.sharers.contains(id));
            looks[usize::from(*name)] =
                (copy.state, copy.transaction.missing, copy.access, copy.data.newest, copy.linked, owns, shares);
        }
        looks
    }
}

/// Gives the cores that have no name yet the names from `next` on, in every way in which names rise
/// with the cores' summaries, and calls `f` with each naming.
fn name_cores(looks: &[Looks], names: &mut Names, next: u32, f: &mut impl FnMut(&Names)) {
    let unnamed = |names: &Names, core: usize| names.cores[core] == u32::MAX;
    let Some(first) = (0..looks.len()).filter(|core| unnamed(names, *core)).map(|core| looks[core]).min() else {
        return f(names);
    };
    for core in 0..looks.len() {
        if unnamed(names, core) && looks[core] == first {
            names.cores[core] = next;
            name_cores(looks, names, next + 1, f);
            names.cores[core] = u32::MAX;
        }
    }
}
