//! Coherent caches on a network: every message of the protocol is a packet.
//!
//! A core's request goes to its private caches (`cores`). On a miss a message travels to the line's home (`homes`), which
//! answers from its bank (`bank`) or from memory (`controller`), or has another core answer. Who may do what is in the
//! tables of `baton-coherence`; this room adds places, time and queues.
//!
//! Within a moment the network comes first, then messages in the order in which they were put in, then the engine's own
//! events. So a request meets the state after everything that happened at its moment.
//!
//! | file | holds |
//! | --- | --- |
//! | [`places`] | which home and controller a line belongs to |
//! | [`message`] | messages under way |
//! | [`net`] | the network |
//! | [`own`] | latencies that scale with a core's clock |
//! | [`array`] | tag arrays with replacement |
//! | [`private`] | transactions, waiting accesses, pins |
//! | [`cores`] | the cores' side |
//! | [`effects`] | what the rows do to a core's caches |
//! | [`homes`] | the homes' side |
//! | [`build`] | chip file → memory system |
//! | [`bank`] | the shared level |
//! | [`controller`] | memory controllers |
//! | [`counts`] | what is counted |
//! | [`inspect`] | what must hold at the end; who waits for what when a run hangs |
//! | [`golden`] | values checked against a golden memory, in debug builds |

mod array;
mod bank;
mod build;
mod controller;
mod cores;
mod counts;
mod effects;
mod golden;
mod homes;
mod inspect;
#[cfg(test)]
mod link_tests;
mod message;
mod net;
mod own;
mod places;
mod private;
#[cfg(test)]
mod tests;

use super::border::{Answer, Carried, Interrupt, Line, Notice, Part, Place, Request};
use super::lines::Sparse;
use super::{CoreCounts, Memory, MemoryCounts};
use crate::clock::Ratio;
use crate::config::coherent::Atomics;
use crate::config::plan::{CLASSES, DEVICE_CLASS};
use crate::core::mark::URGENT;
use crate::engine::queue::{EventQueue, Rank};
use array::Array;
use baton_coherence::{CoreSet, Protocol};
use baton_noc::Header;
use baton_units::{CoreId, Cycles};
pub(crate) use build::Unbuilt;
use controller::Memories;
use counts::Counts;
use golden::Golden;
use homes::{Entry, Home};
use message::{Flight, Flights, Stage, Unit, What};
use net::{Arrived, Net};
use own::OwnTimes;
use places::{Places, REQUESTS};
use private::{Own, Slab, Slot, Waiter};

/// Cycles without any request served after which the memory system is taken to hang. Beyond every queue that a chip can
/// have: 1,024 cores that all miss to one home, each served alone by memory.
const PATIENCE: u64 = 2_000_000;

/// Latencies that no core's clock changes, in cycles of the reference.
#[derive(Clone, Copy)]
struct Times {
    directory: u64,
    bank: u64,
    home_cycles: u64,
    home_atomic: u64,
    /// Between units of one node.
    local: u64,
}

/// The caches, the homes, the controllers and the network between them. `S`: a set of cores as wide as the chip.
pub(crate) struct Coherent<S: CoreSet> {
    now: u64,
    next: u64,
    net_next: u64,
    times: Times,
    /// By core.
    own: Box<[OwnTimes]>,
    at_reference: OwnTimes,
    atomics: Atomics,
    /// Cores have several contexts.
    siblings: bool,
    mshrs: u32,
    control_flits: u32,
    data_flits: u32,
    /// By device: flits of its packets, and whether its endpoint has a bound.
    devices: Box<[(u32, bool)]>,
    bounded: bool,
    inclusive: bool,
    /// How many cores a directory entry can name.
    pointers: u16,
    /// Packets do not meet.
    no_contention: bool,
    /// By class: whether a message takes over its request's mark; and whether marks are there at all.
    marks: [bool; CLASSES as usize],
    /// Some requests go before all others, and all that they cause.
    urgent: bool,
    protocol: &'static Protocol,
    plan: Places,
    net: Net,
    arrived: Vec<Arrived>,
    flights: Flights,
    events: EventQueue,
    /// First levels, where there is a second one.
    l1: Option<Array>,
    /// The outer private level.
    outer: Array,
    cores: Vec<Own>,
    slots: Slab<Slot<S>>,
    waiters: Slab<Waiter>,
    /// Requests that have not been served.
    outstanding: u64,
    /// When a request was served last, or the first of those that are not was made.
    progress: u64,
    /// The entry of each line, plus one.
    entry_of: Sparse<u32>,
    entries: Vec<Entry<S>>,
    homes: Vec<Home>,
    bank: Option<Array>,
    victims: u32,
    memories: Memories,
    out: Vec<Notice>,
    counts: Counts,
    golden: Golden,
    /// The next message of this kind is lost, for tests of what then hangs.
    #[cfg(test)]
    loses: Option<baton_coherence::Kind>,
}

impl<S: CoreSet> Coherent<S> {
    /// Puts a message under way; it leaves at `at`.
    #[inline]
    fn post(&mut self, flight: Flight, at: u64) {
        let id = self.flights.put(flight);
        self.events.put(id, at, Rank::Next);
    }

    /// Everything that happens at the next moment, which is not after `to`. Moments in which nothing happens but that flits
    /// move on are passed at once.
    fn moment(&mut self, to: u64) {
        let message = self.events.first();
        let mut now = message;
        if self.net_next <= message {
            let mut arrived = std::mem::take(&mut self.arrived);
            let until = message.min(to).min(self.hangs_after().max(self.net_next));
            now = self.net.run(until, &mut arrived).unwrap_or(self.net_next);
            self.net_next = self.net.next();
            self.now = now;
            self.events.advance(now);
            for packet in arrived.drain(..) {
                let alone = self.net.alone(&packet);
                let id = packet.message;
                let flight = &mut self.flights[id];
                let took = now - flight.since;
                let longest = &mut self.counts.longest[usize::from(packet.marked)];
                *longest = took.max(*longest);
                flight.parts.add(Part::Network, took.min(alone));
                flight.parts.add(Part::NetworkQueueing, took.saturating_sub(alone));
                flight.since = now;
                self.deliver(id, now);
            }
            self.arrived = arrived;
        }
        self.now = now;
        self.events.advance(now);
        while self.events.first() == now {
            let Some((_, id)) = self.events.pop() else { break };
            self.happen(id, now);
        }
    }

    /// A message's time has come.
    #[inline]
    fn happen(&mut self, id: u32, now: u64) {
        let flight = &self.flights[id];
        match (flight.stage, flight.to, flight.what) {
            (Stage::Send, ..) => self.send(id, now),
            (Stage::Deliver, ..) => {
                self.flights[id].charge(Part::Network, now);
                self.deliver(id, now);
            }
            (Stage::Turn, Unit::Home(home), What::Protocol(message)) => self.home_turn(id, home, message, false, now),
            (Stage::Again, Unit::Home(home), What::Protocol(message)) => self.home_turn(id, home, message, true, now),
            (Stage::Moved, Unit::Controller(number), _) => self.moved(id, number, now),
            (Stage::Kick, Unit::Controller(number), _) => self.kicked(number, now),
            (stage, to, _) => unreachable!("message {id} for {to:?} has an event in stage {stage:?}"),
        }
    }

    /// A message leaves: into the network, or to a unit of the same node.
    #[inline]
    fn send(&mut self, id: u32, now: u64) {
        #[cfg(test)]
        if let What::Protocol(message) = self.flights[id].what
            && self.loses == Some(message.kind)
        {
            self.loses = None;
            self.flights.take(id);
            return;
        }
        let flight = &mut self.flights[id];
        let (src, dst) = (self.plan.node(flight.from), self.plan.node(flight.to));
        if src == dst {
            flight.stage = Stage::Deliver;
            self.events.put(id, now + self.times.local, Rank::Next);
            return;
        }
        let (short, long) = (self.control_flits, self.data_flits);
        let mut placed = false;
        let (class, flits) = match flight.what {
            What::Protocol(message) => {
                let class = message.kind.class() as u8;
                placed = class == REQUESTS && self.bounded;
                (class, if message.kind.carries_line() { long } else { short })
            }
            What::Read => (baton_coherence::Class::Forward as u8, short),
            What::Write => (baton_coherence::Class::Forward as u8, long),
            What::Line => (baton_coherence::Class::Response as u8, long),
            // Cores and homes always take it.
            What::Interrupt(_) => (baton_coherence::Class::Response as u8, short),
            What::Carried(_) => {
                let (device, answer) = match (flight.from, flight.to) {
                    (Unit::Device(device), _) => (device, true),
                    (_, Unit::Device(device)) => (device, false),
                    (from, to) => unreachable!("a packet of no device goes from {from:?} to {to:?}"),
                };
                let (flits, bounded) = self.devices[device as usize];
                placed = bounded && !answer;
                (DEVICE_CLASS as u8 + u8::from(answer), flits)
            }
        };
        if self.no_contention {
            flight.stage = Stage::Deliver;
            let took = self.net.alone_between(src, dst, flits);
            let request = class == REQUESTS || matches!(flight.what, What::Interrupt(_));
            self.counts.packets += 1;
            self.counts.lock_packets += u64::from(flight.mark.marked && request);
            self.events.put(id, now + took, Rank::Next);
            return;
        }
        flight.stage = Stage::Travel;
        flight.placed = placed;
        let mark = flight.mark;
        // An interrupt answers nobody: its mark is its sender's own.
        let rules = if matches!(flight.what, What::Interrupt(_)) { REQUESTS } else { class };
        let marked = self.marks.get(usize::from(rules)).is_some_and(|&marked| marked)
            || (self.urgent && mark == Header { class: mark.class, ..URGENT });
        let header = if marked { Header { class, ..mark } } else { Header::of_class(class) };
        self.counts.packets += 1;
        self.counts.lock_packets += u64::from(mark.marked && rules == REQUESTS);
        self.net.send(now, src, dst, flits, header, id);
        self.net_next = self.net_next.min(self.net.next());
    }

    /// A message has come to its receiver.
    #[inline]
    fn deliver(&mut self, id: u32, now: u64) {
        let flight = &self.flights[id];
        match (flight.to, flight.what) {
            (Unit::Core(core), What::Protocol(message)) => self.core_takes(id, core, message, now),
            (Unit::Home(home), What::Protocol(message)) => self.home_takes(id, home, message, now),
            (Unit::Home(home), What::Line) => self.line_comes_home(id, home, now),
            (Unit::Controller(number), What::Read | What::Write) => self.controller_takes(id, number, now),
            (Unit::Device(_) | Unit::Core(_), What::Carried(tag)) => {
                let placed = self.flights.take(id).placed;
                self.out.push(Notice::Carried { tag, placed });
            }
            (Unit::Core(_) | Unit::Home(_), What::Interrupt(tag)) => {
                self.flights.take(id);
                self.out.push(Notice::Interrupt { tag });
            }
            (to, what) => unreachable!("{to:?} is sent {what:?}"),
        }
    }

    /// Requests are under way, and none has been served for so long that none ever will be.
    pub(crate) fn is_hung(&self) -> bool {
        self.now > self.hangs_after()
    }

    /// The last moment at which it is not hung, if no request is served until then.
    fn hangs_after(&self) -> u64 {
        if self.outstanding == 0 { u64::MAX } else { self.progress.saturating_add(PATIENCE) }
    }

    fn refresh(&mut self) {
        self.next = if self.out.is_empty() { self.events.first().min(self.net_next) } else { self.now };
    }

    /// A packet of none of the protocol's concern leaves.
    fn depart(&mut self, what: What, from: Unit, to: Unit, mark: Header, now: Cycles) {
        self.now = now.0;
        self.events.advance(now.0);
        let flight = Flight {
            stage: Stage::Send,
            what,
            line: 0,
            from,
            to,
            placed: false,
            next: message::NONE,
            since: now.0,
            parts: Default::default(),
            version: 0,
            mark,
        };
        self.post(flight, now.0);
        self.refresh();
    }
}

impl<S: CoreSet> Memory for Coherent<S> {
    fn request(&mut self, request: Request, now: Cycles) -> Answer {
        self.now = now.0;
        self.events.advance(now.0);
        let answer = self.ask(request, now.0);
        if answer == Answer::Pending {
            self.progress = if self.outstanding == 0 { now.0 } else { self.progress };
            self.outstanding += 1;
        }
        self.refresh();
        answer
    }

    #[inline(always)]
    fn next(&self) -> u64 {
        self.next
    }

    fn advance(&mut self, to: u64, out: &mut Vec<Notice>) -> u64 {
        while self.out.is_empty() && self.next <= to && self.next != u64::MAX && !self.is_hung() {
            self.moment(to);
            self.refresh();
        }
        out.append(&mut self.out);
        self.refresh();
        self.now
    }

    #[inline]
    fn holds(&self, core: CoreId, line: Line) -> bool {
        let (core, line) = (core.0, line.0);
        let near = self.l1.as_ref().is_none_or(|l1| l1.find(core, line, line).is_some());
        near && self.find(core, line).state.is_readable()
    }

    #[inline(always)]
    fn hit(&self, core: CoreId) -> Cycles {
        Cycles(self.own[core.0 as usize].l1)
    }

    fn set_clock(&mut self, core: CoreId, ratio: Ratio) {
        self.own[core.0 as usize] = self.at_reference.scaled(ratio);
    }

    fn failed(&self, core: CoreId, context: u8) -> bool {
        self.cores[core.0 as usize].failed[usize::from(context)]
    }

    fn unlink(&mut self, core: CoreId, context: u8) {
        self.cores[core.0 as usize].links[usize::from(context)] = 0;
    }

    fn carry(&mut self, packet: Carried, now: Cycles) {
        let Carried { tag, core, device, to_core } = packet;
        let (core, device) = (Unit::Core(core.0), Unit::Device(device));
        let (from, to) = if to_core { (device, core) } else { (core, device) };
        self.depart(What::Carried(tag), from, to, Header::default(), now);
    }

    fn place(&mut self, device: u32, now: Cycles) {
        let node = self.plan.node(Unit::Device(device));
        self.net.release(now.0, node, DEVICE_CLASS as u8);
        self.net_next = self.net.next();
        self.refresh();
    }

    fn interrupt(&mut self, interrupt: Interrupt, now: Cycles) {
        let Interrupt { tag, from, to, mark } = interrupt;
        let unit = |place| match place {
            Place::Core(core) => Unit::Core(core.0),
            Place::HomeOf(line) => Unit::Home(self.plan.home(line.0).0),
        };
        let (from, to) = (unit(from), unit(to));
        self.depart(What::Interrupt(tag), from, to, mark, now);
    }

    fn count_hits(&mut self, core: CoreId, n: u64) {
        self.counts.cores[core.0 as usize].hits += n;
    }

    fn counts(&self) -> MemoryCounts {
        self.counts.summary(self.net.flit_hops())
    }

    fn by_core(&self) -> Vec<CoreCounts> {
        self.counts.cores.to_vec()
    }
}
