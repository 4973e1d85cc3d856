//! Looking inside: what must hold when nothing is under way, and, when a run hangs, who waits for what.

use super::Coherent;
use super::message::{Flight, Stage, Unit, What};
use super::net::Net;
use baton_coherence::CoreSet;
use baton_coherence::cache::State;
use baton_coherence::home;

impl<S: CoreSet> Coherent<S> {
    /// What must hold when the memory system is idle: nothing is under way, every transaction is over, a line has one owner
    /// at most, and the directory knows who has what.
    ///
    /// # Panics
    /// If it does not hold.
    pub(crate) fn check_idle(&self) {
        // What a device has no place for stays in the network for ever, if nobody waits for its answer.
        let left = self.travelling_to_devices().count();
        assert_eq!(self.net.in_flight(), left, "packets are left in the network");
        assert_eq!(self.flights.used() as usize, self.memories.all.len() + left, "messages are left");
        assert_eq!((self.slots.used(), self.waiters.used(), self.outstanding), (0, 0, 0), "requests are left");
        let mut held = 0;
        for (core, own) in self.cores.iter().enumerate() {
            let core = core as u32;
            assert!(own.used == 0 && own.beside.is_empty() && own.blocked.is_empty(), "core {core} is not idle");
            for way in self.outer.held(core) {
                let (line, state) = (self.outer.line(way), State::ALL[usize::from(self.outer.state[way])]);
                let entry = self.entry_of[line as usize];
                assert!(entry != 0, "core {core} has line {line}, which has no home");
                let directory = &self.entries[entry as usize - 1].directory;
                let core = baton_units::CoreId(core);
                assert_eq!(
                    directory.owner == Some(core),
                    state.is_owner(),
                    "owner of line {line}: core {core}, {state}"
                );
                assert!(directory.holds(core), "the directory does not know that core {core} has line {line}");
                self.golden.read(line, self.golden.copy(way));
                held += 1;
            }
        }
        let mut named = 0;
        for entry in &self.entries {
            let directory = &entry.directory;
            assert!(
                directory.state.is_stable() && directory.pending == 0,
                "line {} is {}",
                entry.line,
                directory.state
            );
            assert!(entry.waiting.is_empty() && entry.wanting.is_empty(), "somebody waits for line {}", entry.line);
            named += u32::from(directory.pointers());
        }
        assert_eq!(held, named, "the directory names copies that are not there");
    }

    /// Who waits for what: a line for each core's transaction, for each line whose home is not done, for each message that
    /// waits, and the network's ring of packets that wait for each other.
    pub(crate) fn explain(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (core, own) in self.cores.iter().enumerate() {
            let ways = self.outer.held(core as u32).filter_map(|way| self.outer.slot[way].checked_sub(1));
            for slot in ways.chain(own.beside.iter().copied()) {
                let slot = &self.slots[slot];
                let missing = slot.transaction.missing;
                lines.push(format!(
                    "core {core} has line {} in state {}, {missing} acknowledgements missing",
                    slot.line, slot.state
                ));
            }
            if let Some(&first) = own.blocked.front() {
                let line = self.waiters[first].request.line.0;
                let n = own.blocked.len();
                lines.push(format!(
                    "core {core} has {n} access(es) that wait for an MSHR or a way, the first to line {line}"
                ));
            }
        }
        for entry in &self.entries {
            let directory = &entry.directory;
            if directory.state.is_stable() && entry.waiting.is_empty() && entry.wanting.is_empty() {
                continue;
            }
            let (home, _) = self.plan.home(entry.line);
            let owner = directory.owner.map_or("none".to_owned(), |core| format!("core {core}"));
            lines.push(format!(
                "home {home} has line {} in state {}, owner {owner}, {} answer(s) awaited, {} request(s) waiting{}",
                entry.line,
                directory.state,
                directory.pending,
                entry.waiting.iter(&self.flights).count(),
                if entry.wanting.is_empty() { "" } else { ", its data is being read from memory" },
            ));
            for id in entry.waiting.iter(&self.flights) {
                if let What::Protocol(message) = self.flights[id].what {
                    lines.push(format!("  {} of core {} waits there", message.kind, message.core));
                }
            }
        }
        for (home, here) in self.homes.iter().enumerate() {
            for &(id, _) in &here.parked {
                let line = self.flights[id].line;
                lines.push(format!(
                    "home {home} has no place yet in its bank for line {line}, which a request waits for"
                ));
            }
        }
        if self.net.in_flight() != 0 {
            lines.push(format!("{} packet(s) are in the network", self.net.in_flight()));
            lines.extend(self.refused());
            lines.extend(self.refused_by_devices());
            lines.extend(Net::explain(&self.net));
        }
        lines
    }

    /// Packets on their way to devices that may refuse them, by device.
    fn travelling_to_devices(&self) -> impl Iterator<Item = u32> + '_ {
        self.flights.iter().filter(|flight| flight.stage == Stage::Travel && flight.placed).filter_map(|flight| match (
            flight.what,
            flight.to,
        ) {
            (What::Carried(_), Unit::Device(device)) => Some(device),
            _ => None,
        })
    }

    /// Devices that have no place left, while requests travel to them.
    fn refused_by_devices(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.devices.len() as u32).filter_map(|device| {
            let n = self.travelling_to_devices().filter(|&to| to == device).count();
            (n != 0).then(|| format!("  {n} request(s) for device {device} wait for a place at its port"))
        })
    }

    /// Homes that have no place left, while requests travel to them.
    fn refused(&self) -> Vec<String> {
        if !self.bounded {
            return Vec::new();
        }
        let to_home = |flight: &&Flight| matches!(flight.to, Unit::Home(_));
        let travelling = self.flights.iter().filter(|flight| flight.stage == Stage::Travel && flight.placed);
        let travelling = travelling.filter(to_home);
        travelling
            .map(|flight| match self.entry_of[flight.line as usize].checked_sub(1) {
                Some(entry) if self.entries[entry as usize].directory.state != home::State::I => {
                    let state = self.entries[entry as usize].directory.state;
                    format!(
                        "  a request for line {} is on its way to {:?}, where the line is {state}",
                        flight.line, flight.to
                    )
                }
                _ => format!("  a request for line {} is on its way to {:?}", flight.line, flight.to),
            })
            .collect()
    }
}
