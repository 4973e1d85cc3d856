//! Every possible move, and the world after it.

use super::effects::{OfCache, OfHome};
use super::{Age, Config, Coverage, Fault, Order, Packet, World};
use crate::cache::{self, Access, Event, State};
use crate::{Agent, Class, CoreSet, Kind, Message, Protocol, Then, Unhandled, home};
use baton_units::CoreId;

/// A move: one thing that happens in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A core presents an access, a hint or an eviction.
    Core { core: CoreId, line: u8, access: Access },
    /// The home wants to evict a line.
    Evict { line: u8 },
    /// A packet arrives.
    Arrive {
        /// Position of the packet in the network.
        place: usize,
        /// Number of the sharer that is the victim, if one is needed.
        pick: u8,
        /// Number of the order in which the requests that wait for the packet's line are then
        /// looked at ([`World::reorder`]).
        order: u8,
    },
}

/// The rules of a world.
pub struct Model {
    pub config: Config,
    /// The tables, which mutation tests change.
    pub protocol: Protocol,
    /// Which rows were exercised.
    pub coverage: Coverage,
}

impl Model {
    /// Creates the rules of `config` with the tables of its policy.
    pub fn new(config: Config) -> Model {
        let protocol = config.protocol().clone();
        Model { config, protocol, coverage: Coverage::default() }
    }

    /// Returns the world in which everything begins: no copies, no messages.
    pub fn start(&self) -> World {
        World::default()
    }

    /// Appends to `moves` what may happen next in `world`.
    pub fn moves(&self, world: &World, moves: &mut Vec<Move>) {
        if world.fault.is_some() {
            return;
        }
        let picks = if usize::from(self.config.naming.cores) < self.config.cores { self.config.cores as u8 } else { 1 };
        for place in world.arrivals(self.config.ordered(), self.config.places) {
            let packet = &world.network[place];
            let request = packet.class == Class::Request;
            let orders = if !request && packet.to == Agent::Home { self.orders(world, packet.line) } else { 1 };
            let picks = if request { picks } else { 1 };
            moves.extend((0..picks).flat_map(|pick| (0..orders).map(move |order| Move::Arrive { place, pick, order })));
        }
        for line in 0..self.config.lines as u8 {
            if self.config.operations.recalls && world.homes[usize::from(line)].state.is_stable() {
                moves.push(Move::Evict { line });
            }
            for core in 0..self.config.cores as u32 {
                self.core_moves(world, CoreId(core), line, moves);
            }
        }
    }

    /// Number of orders in which the requests that wait for `line` can be served from now on.
    fn orders(&self, world: &World, line: u8) -> u8 {
        if self.config.order == Order::Arrival {
            return 1;
        }
        let waiting = world.waiting.iter().filter(|packet| packet.line == line).count();
        (1..=waiting - self.begun(world, line)).product::<usize>() as u8
    }

    /// Number of requests that wait for `line` and stay first in every order: 1 if the first one
    /// waits for the copies that it recalled, otherwise 0.
    fn begun(&self, world: &World, line: u8) -> usize {
        let waits = world.waiting.iter().any(|packet| packet.line == line);
        let recalls = world.homes[usize::from(line)].state.recalls();
        usize::from(waits && recalls && self.config.order == Order::AnyButBegun)
    }

    /// Adds the accesses that `core` may present on `line`: all that need no place or MSHR that the
    /// core lacks.
    fn core_moves(&self, world: &World, core: CoreId, line: u8, moves: &mut Vec<Move>) {
        let operations = &self.config.operations;
        let copy = &world.copies[core.0 as usize][usize::from(line)];
        let lines = || world.copies[core.0 as usize].iter().map(|copy| copy.state);
        let mshr = lines().filter(|state| !state.is_stable()).count() < self.config.mshrs;
        let begins = !copy.state.is_stable() || (mshr && (copy.state != State::I || self.has_room(world, core)));
        let mut present = |event, to| moves.push(Move::Core { core, line, access: Access { event, to } });
        if begins {
            present(Event::Load, core);
            present(Event::Store, core);
            if operations.far_atomics {
                present(Event::FarAtomic, core);
            }
            if operations.prefetches {
                present(Event::PrefetchS, core);
                present(Event::PrefetchM, core);
            }
            if operations.links {
                present(Event::LoadLinked, core);
                // A store-conditional without a link fails before it is presented.
                if copy.linked {
                    present(Event::StoreConditional, core);
                }
            }
        }
        let gives = copy.state.is_stable() && copy.state != State::I && mshr;
        if operations.evictions && gives {
            present(Event::Evict, core);
        }
        if operations.push_home && (mshr || !copy.state.is_stable()) {
            present(Event::PushHome, core);
        }
        if operations.push_to && (mshr || !copy.state.is_stable()) {
            let others = (0..self.config.cores as u32).map(CoreId).filter(|to| *to != core);
            others.for_each(|to| present(Event::PushTo, to));
        }
    }

    /// Whether `core` has a place for another line.
    fn has_room(&self, world: &World, core: CoreId) -> bool {
        let held = world.copies[core.0 as usize].iter().filter(|copy| copy.state != State::I);
        held.count() < self.config.capacity
    }

    /// Returns the world after `step`, checked for faults and with its cores and lines renamed to
    /// the canonical names.
    pub fn after(&self, world: &World, step: Move) -> World {
        let mut next = self.carried_out(world, step);
        next.inspect(&self.config);
        if next.fault.is_none() {
            let fault = self.rest_fault(&next);
            next.fault = fault;
        }
        if next.fault.is_none() && self.config.drain && !self.drains(&next) {
            next.fault = Some(Fault::Livelock);
        }
        next.renamed_least(&self.config)
    }

    /// Returns the world after `step` with its names unchanged and without most of the checks.
    pub fn carried_out(&self, world: &World, step: Move) -> World {
        let mut next = world.clone();
        match step {
            Move::Core { core, line, access } => self.present(&mut next, core, usize::from(line), access),
            Move::Evict { line } => {
                let message = Message { kind: Kind::Recall, from: Agent::Home, core: CoreId(0), acks: 0 };
                let packet = Packet { line, to: Agent::Home, class: Class::Request, message, data: Age::default() };
                if self.reach_home(&mut next, &packet, 0) == Some(Then::Retain) {
                    next.waiting.insert(0, packet);
                }
            }
            Move::Arrive { place, pick, order } => {
                let packet = next.network.remove(place);
                match packet.to {
                    Agent::Core(core) => self.reach_cache(&mut next, core, &packet),
                    Agent::Home if packet.class == Class::Request => self.request(&mut next, packet, pick),
                    Agent::Home => {
                        if self.config.order != Order::Arrival {
                            let begun = self.begun(&next, packet.line);
                            next.reorder(packet.line, begun, order.into());
                        }
                        if self.reach_home(&mut next, &packet, pick) != Some(Then::Take) {
                            next.blame(Fault::Waits);
                        }
                        self.serve_waiting(&mut next, packet.line, pick);
                    }
                }
            }
        }
        next
    }

    fn present(&self, world: &mut World, core: CoreId, line: usize, access: Access) {
        let mut copy = world.copies[core.0 as usize][line];
        let before = copy.state;
        self.coverage.cache(before, access.event);
        let mut effects = OfCache {
            world,
            config: &self.config,
            core,
            line,
            presented: Some(access.event),
            data: Age::default(),
            performed: 0,
            wrote: false,
            once: false,
            lost: false,
        };
        let table = &self.protocol.cache;
        let then = cache::step(table, core, &mut copy.state, &mut copy.transaction, access, &mut effects);
        let performed = effects.performed;
        let began = before.is_stable() && !copy.state.is_stable();
        let asks = access.event <= Event::FarAtomic;
        let kept = if effects.wrote { State::M } else { before };
        let right = match then {
            Ok(Then::Take) if began => performed == 0,
            Ok(Then::Take) if asks => performed == 1 && copy.state == kept,
            Ok(Then::Take) => {
                access.event < Event::PrefetchS || access.event > Event::PrefetchM || copy.state == before
            }
            Ok(Then::Wait) => asks && performed == 0 && copy.state == before,
            _ => false,
        };
        self.settle(&mut effects, before, copy.state, copy.transaction, then);
        if !right {
            world.blame(Fault::LostAccess);
        }
        if began && asks && then == Ok(Then::Take) {
            world.copies[core.0 as usize][line].access = Some(access.event);
            // Only under a non-blocking home may a load be served with data that is old when it
            // arrives.
            if self.config.ordered() && matches!(access.event, Event::Load | Event::LoadLinked) {
                world.pieces(line).filter(|data| data.newest).for_each(|data| data.serves.insert(core));
                world.sort_network(true);
            }
        }
    }

    fn reach_cache(&self, world: &mut World, core: CoreId, packet: &Packet) {
        let line = usize::from(packet.line);
        let room = self.has_room(world, core);
        let mut copy = world.copies[core.0 as usize][line];
        let before = copy.state;
        let owed = !copy.transaction.readers.is_empty() || copy.transaction.next.is_some();
        if let Some(event) = Event::of(&packet.message, &copy.transaction, room && before == State::I) {
            self.coverage.cache(before, event);
        }
        let mut effects = OfCache {
            world,
            config: &self.config,
            core,
            line,
            presented: None,
            data: packet.data,
            performed: 0,
            wrote: false,
            once: false,
            lost: false,
        };
        let table = &self.protocol.cache;
        let message = &packet.message;
        let then = cache::deliver(table, core, &mut copy.state, &mut copy.transaction, message, room, &mut effects);
        let performed = effects.performed;
        // A core that has written must have the line in M now, unless it owes the line to another
        // agent. A core whose load was served once must keep no copy.
        let owed = owed || copy.state == State::M;
        if (effects.wrote && !owed) || (effects.once && copy.state != State::I) {
            effects.world.blame(Fault::LostAccess);
        }
        self.settle(&mut effects, before, copy.state, copy.transaction, then);
        if then.is_ok_and(|then| then != Then::Take) {
            world.blame(Fault::Waits);
        }
        if performed > 1 {
            world.blame(Fault::LostAccess);
        }
    }

    /// Stores the state that a cache's row left, and checks that the row reported a loss of the
    /// line.
    fn settle(
        &self,
        effects: &mut OfCache<'_>,
        before: State,
        after: State,
        transaction: cache::Transaction<super::Few>,
        then: Result<Then, Unhandled>,
    ) {
        let (lost, performed) = (effects.lost, effects.performed);
        let copy = &mut effects.world.copies[effects.core.0 as usize][effects.line];
        (copy.state, copy.transaction) = (after, transaction);
        let arriving = matches!(after, State::ImA | State::ImAO | State::ImAX);
        let leaving = matches!(after, State::MiA | State::EiA | State::OiA);
        if !after.has_data() && !arriving && !leaving {
            copy.data = Age::default();
        }
        let had = before.has_data() || (performed > 0 && !before.is_stable());
        if had && !after.has_data() && !arriving && !lost {
            effects.world.blame(Fault::LostAccess);
        }
        if then.is_err() {
            effects.world.blame(Fault::Unhandled);
        }
    }

    /// Lets a request reach the home: it queues behind requests that wait for its line, or is
    /// presented at once.
    fn request(&self, world: &mut World, packet: Packet, pick: u8) {
        let line = packet.line;
        world.waiting.push(packet);
        if world.waiting.iter().filter(|other| other.line == line).count() == 1 {
            self.serve_waiting(world, line, pick);
        }
    }

    /// Presents the requests that wait for `line`, beginning with the first, until one has to wait
    /// unchanged.
    fn serve_waiting(&self, world: &mut World, line: u8, pick: u8) {
        while let Some(place) = world.waiting.iter().position(|packet| packet.line == line) {
            let packet = world.waiting[place];
            let stable = world.homes[usize::from(line)].state.is_stable();
            if packet.message.from == Agent::Home && !stable {
                return;
            }
            match self.reach_home(world, &packet, pick) {
                Some(Then::Take) => drop(world.waiting.remove(place)),
                // A request that needs another state of the line causes the change, and then has to
                // wait for it.
                Some(Then::Retain) if stable && !world.homes[usize::from(line)].state.is_stable() => {
                    if self.config.order == Order::Any {
                        // With `Order::Any` the request that has begun goes to the end of the queue
                        // on purpose, which is wrong: another request is presented before it.
                        let begun = world.waiting.remove(place);
                        world.waiting.push(begun);
                    }
                }
                Some(Then::Retain) => return world.blame(Fault::Livelock),
                Some(Then::Wait) | None => return,
            }
        }
    }

    fn reach_home(&self, world: &mut World, packet: &Packet, pick: u8) -> Option<Then> {
        let line = usize::from(packet.line);
        let mut entry = world.homes[line];
        let own = packet.message.from == Agent::Home;
        let event =
            if own { Some(home::Event::Evict) } else { home::Event::of(&packet.message, &entry, self.config.naming) };
        if let Some(event) = event {
            self.coverage.home(entry.state, event);
        }
        let before = entry;
        let mut effects = OfHome { world, config: &self.config, line, data: packet.data, pick, dropped: false };
        let then = if own {
            home::evict(&self.protocol.home, &mut entry, &mut effects)
        } else {
            home::deliver(&self.protocol.home, &mut entry, &packet.message, self.config.naming, &mut effects)
        };
        let dropped = effects.dropped;
        world.homes[line] = entry;
        match then {
            Err(_) => world.blame(Fault::Unhandled),
            Ok(_) if !fits(&entry) => world.blame(Fault::Directory),
            Ok(Then::Wait) if entry != before => world.blame(Fault::Waits),
            // The line leaves the shared level exactly when its eviction is taken, and then no core
            // may hold it.
            Ok(Then::Take) if own != dropped || (own && entry.pointers() > 0) => world.blame(Fault::Directory),
            Ok(_) => {}
        }
        then.ok()
    }

    /// Checks a world in which nothing can arrive: everything must be at rest and in order. Returns
    /// the fault that it finds.
    fn rest_fault(&self, world: &World) -> Option<Fault> {
        if world.arrivals(self.config.ordered(), self.config.places).next().is_some() {
            return None;
        }
        if !world.is_quiet() {
            return Some(Fault::Deadlock);
        }
        world.inspect_rest(&self.config)
    }

    /// Whether the world comes to rest when the cores begin nothing more. A fault on the way also
    /// counts, because it is found elsewhere.
    fn drains(&self, world: &World) -> bool {
        let mut world = world.clone();
        for _ in 0..32 * self.config.cores * self.config.lines {
            let Some(place) = world.arrivals(self.config.ordered(), self.config.places).next() else { return true };
            world = self.carried_out(&world, Move::Arrive { place, pick: 0, order: 0 });
            if world.fault.is_some() {
                return true;
            }
        }
        false
    }
}

/// Whether a stable state matches its owner and sharers and awaits nothing; true for transient
/// states.
fn fits(entry: &home::Line<super::Few>) -> bool {
    let expected = match (entry.owner, entry.sharers.is_empty()) {
        (None, true) => home::State::I,
        (None, false) => home::State::S,
        (Some(_), true) => home::State::X,
        (Some(_), false) => home::State::O,
    };
    !entry.state.is_stable() || (entry.state == expected && entry.pending == 0)
}
