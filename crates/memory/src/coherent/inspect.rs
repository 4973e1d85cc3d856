//! Checks of an idle memory system, and, for a run that hangs, which unit waits for what.

use super::caches::Caches;
use super::chip::Coherent;
use super::homes::Homes;
use super::message::{Content, Flight, Flights, Stage, Unit};
use baton_coherence::CoreSet;
use baton_coherence::cache::State;
use baton_coherence::home;
use baton_units::CoreId;

impl<S: CoreSet> Coherent<S> {
    /// Checks the idle memory system: nothing is under way, every transaction is over, a line has
    /// at most one owner, and the directory knows which cores have a line.
    ///
    /// # Panics
    /// One of these conditions does not hold.
    pub(super) fn check(&self) {
        let (state, net) = (&self.state, &self.wiring.net);
        // A packet for which a device has no place stays in the network for ever, if no thread
        // waits for its answer.
        let left = self.travelling_to_devices().count();
        assert_eq!(net.in_flight(), left, "packets are left in the network");
        let kicks = state.memories.all.len();
        assert_eq!(state.exchange.flights.used() as usize, kicks + left, "messages are left");
        let requests = (state.caches.slots.used(), state.caches.waiters.used(), state.exchange.outstanding);
        assert_eq!(requests, (0, 0, 0), "requests are left");
        assert_eq!(self.check_caches(), state.homes.check(), "the directory names copies that are not there");
    }

    /// Checks that the directory knows of every copy. Returns the number of copies.
    fn check_caches(&self) -> u32 {
        let Caches { outer, cores, .. } = &self.state.caches;
        let (homes, golden) = (&self.state.homes, &self.state.exchange.golden);
        let mut held = 0;
        for (number, core) in (0..).zip(cores) {
            let idle = core.used == 0 && core.without_way.is_empty() && core.blocked.is_empty();
            assert!(idle, "core {number} is not idle");
            for way in outer.held(number) {
                let (line, state) = (outer.line(way), State::ALL[usize::from(outer.state[way])]);
                let entry = homes.entry_of[line as usize];
                assert!(entry != 0, "core {number} has line {line}, which has no home");
                let directory = &homes.entries[entry as usize - 1].directory;
                let core = CoreId(number);
                let owns = directory.owner == Some(core);
                assert_eq!(owns, state.is_owner(), "owner of line {line}: core {core}, {state}");
                assert!(directory.holds(core), "the directory does not know that core {core} has line {line}");
                golden.read(line, golden.copy(way));
                held += 1;
            }
        }
        held
    }

    /// What waits for what: a text for each core's transaction, for each line whose home is not
    /// done, for each message that waits, and the network's ring of packets that wait for each
    /// other.
    pub(super) fn waits(&self) -> Vec<String> {
        let (state, net) = (&self.state, &self.wiring.net);
        let mut lines = state.caches.waits();
        for entry in 0..state.homes.entries.len() {
            lines.extend(self.waits_at(entry));
        }
        lines.extend(state.homes.parked(&state.exchange.flights));
        if net.in_flight() != 0 {
            lines.push(format!("{} packet(s) are in the network", net.in_flight()));
            lines.extend(self.refused());
            lines.extend(self.refused_by_devices());
            lines.extend(net.explain());
        }
        lines
    }

    /// Returns texts that say what a line's home waits for, and which requests wait for the line.
    fn waits_at(&self, entry: usize) -> Vec<String> {
        let entry = &self.state.homes.entries[entry];
        let directory = &entry.directory;
        if directory.state.is_stable() && entry.waiting.is_empty() && entry.wanting.is_empty() {
            return Vec::new();
        }
        let (flights, pages) = (&self.state.exchange.flights, &self.state.exchange.pages);
        let home = self.spec.map.home(entry.line, pages);
        let owner = directory.owner.map_or("none".to_owned(), |core| format!("core {core}"));
        let mut lines = vec![format!(
            "home {home} has line {} in state {}, owner {owner}, {} answer(s) awaited, {} request(s) waiting{}",
            entry.line,
            directory.state,
            directory.pending,
            entry.waiting.iter(flights).count(),
            if entry.wanting.is_empty() { "" } else { ", its data is being read from memory" },
        )];
        for id in entry.waiting.iter(flights) {
            if let Content::Protocol(message) = flights[id].content {
                lines.push(format!("  {} of core {} waits there", message.kind, message.core));
            }
        }
        lines
    }

    /// Packets in the network that need a place at their receiver's endpoint.
    fn travelling(&self) -> impl Iterator<Item = &Flight> {
        self.state.exchange.flights.iter().filter(|flight| flight.stage == Stage::Travel && flight.placed)
    }

    /// Yields the device of each packet in the network that needs a place at a device's endpoint.
    fn travelling_to_devices(&self) -> impl Iterator<Item = u32> + '_ {
        self.travelling().filter_map(|flight| match (flight.content, flight.to) {
            (Content::Carried(_), Unit::Device(device)) => Some(device),
            _ => None,
        })
    }

    /// Returns a text for each device to which requests travel that need a place at its endpoint.
    fn refused_by_devices(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.spec.packets.devices.len() as u32).filter_map(|device| {
            let n = self.travelling_to_devices().filter(|&to| to == device).count();
            (n != 0).then(|| format!("  {n} request(s) for device {device} wait for a place at its port"))
        })
    }

    /// Returns a text for each request that travels to a home, if homes may refuse requests.
    fn refused(&self) -> Vec<String> {
        if !self.spec.packets.bounded {
            return Vec::new();
        }
        let homes = &self.state.homes;
        let to_homes = self.travelling().filter(|flight| matches!(flight.to, Unit::Home(_)));
        let line_of = |flight: &Flight| {
            let (line, to) = (flight.line, flight.to);
            let entry = homes.entry_of[line as usize].checked_sub(1);
            match entry.map(|entry| homes.entries[entry as usize].directory.state) {
                Some(state) if state != home::State::I => {
                    format!("  a request for line {line} is on its way to {to:?}, where the line is {state}")
                }
                _ => format!("  a request for line {line} is on its way to {to:?}"),
            }
        };
        to_homes.map(line_of).collect()
    }
}

impl<S: CoreSet> Caches<S> {
    /// Transactions under way, and accesses that could not begin one.
    fn waits(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, core) in (0..).zip(&self.cores) {
            let ways = self.outer.held(number).filter_map(|way| self.outer.slot[way].checked_sub(1));
            for slot in ways.chain(core.without_way.iter().copied()) {
                let slot = &self.slots[slot];
                let (line, state, missing) = (slot.line, slot.state, slot.transaction.missing);
                lines.push(format!(
                    "core {number} has line {line} in state {state}, {missing} acknowledgements missing"
                ));
            }
            if let Some(&first) = core.blocked.front() {
                let line = self.waiters[first].request.line.0;
                let n = core.blocked.len();
                lines.push(format!(
                    "core {number} has {n} access(es) that wait for an MSHR or a way, the first to line {line}"
                ));
            }
        }
        lines
    }
}

impl<S: CoreSet> Homes<S> {
    /// Checks that no line has a transaction under way or requests that wait. Returns the number of
    /// copies that the directory names.
    fn check(&self) -> u32 {
        let mut named = 0;
        for entry in &self.entries {
            let (line, directory) = (entry.line, &entry.directory);
            assert!(directory.state.is_stable() && directory.pending == 0, "line {line} is {}", directory.state);
            assert!(entry.waiting.is_empty() && entry.wanting.is_empty(), "requests wait for line {line}");
            named += u32::from(directory.pointers());
        }
        named
    }

    /// Requests for which an inclusive bank has no place yet.
    fn parked(&self, flights: &Flights) -> Vec<String> {
        let parked = (0..)
            .zip(&self.all)
            .flat_map(|(number, home): (u32, _)| home.parked.iter().map(move |&(id, _)| (number, id)));
        let line_of = |(home, id)| {
            let line = flights[id].line;
            format!("home {home} has no place yet in its bank for line {line}, which a request waits for")
        };
        parked.map(line_of).collect()
    }
}
