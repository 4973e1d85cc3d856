//! The devices of a simulation: packets under way to them and from them, and the edges of their clocks.
//!
//! Requests of one thread reach a device in the order in which it made them, whatever way they took: one that comes early
//! waits at the port for those before it.

use super::port::{Answer, Effect, Hold, Port, Request};
use super::{Config, Device, KINDS};
use crate::clock::Ratio;
use crate::config::Chip;
use crate::engine::thread::ThreadId;
use std::collections::BTreeMap;

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On its way to the device.
    Going,
    /// At the device.
    There,
    /// On its way to the core.
    Coming,
    /// At the core: its ticket can be cashed.
    Here,
    /// On its way to the core; nobody's ticket.
    Interrupt,
}

/// A request with its answer, or an interrupt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) device: u32,
    pub(crate) thread: ThreadId,
    /// Where the answer goes, or the interrupt.
    pub(crate) cpu: u32,
    pub(crate) place: Place,
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// The thread stalls for it.
    pub(crate) stalls: bool,
    /// Its ticket is still there.
    pub(crate) wanted: bool,
    /// Its number among the thread's requests to the device.
    order: u64,
    /// Why the device kept it, from when and until when.
    pub(crate) held: Option<(Hold, u64, u64)>,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A packet's time on its wires is over.
    Arrives(u32),
    /// A device has an edge.
    Edge(u32, u64),
    /// An answer leaves its device.
    Leaves(u32),
}

/// What the engine is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Upshot {
    /// Carry the packet over the network.
    Carry { packet: u32, to_core: bool },
    /// An answer is here.
    Here(u32),
    /// A device interrupts a CPU.
    Interrupt { device: u32, cpu: u32 },
}

/// A thread's requests to one device.
#[derive(Clone, Default)]
struct Order {
    sent: u64,
    taken: u64,
    early: Vec<u32>,
}

struct Attached {
    device: Box<dyn Device>,
    inbox: Vec<u32>,
    /// Its next edge that is in the list of events, by cycle.
    next: u64,
    tick: u64,
    orders: BTreeMap<ThreadId, Order>,
    requests: u64,
    held: [u64; 2],
}

/// What a device did in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// Requests that it took.
    pub requests: u64,
    /// Cycles that requests were kept waiting for want of room, all together.
    pub full: u64,
    /// The same for want of what they asked for.
    pub empty: u64,
    /// What the device itself counted.
    pub counts: Vec<(&'static str, u64)>,
}

/// They all.
pub(crate) struct Devices {
    pub(crate) config: Config,
    ratio: Ratio,
    all: Vec<Attached>,
    packets: Vec<Packet>,
    free: Vec<u32>,
    events: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    effects: Vec<Effect>,
    /// Requests under way, by thread.
    pub(crate) outstanding: BTreeMap<ThreadId, u32>,
    /// Threads that wait until fewer of their requests are under way.
    pub(crate) crowded: Vec<ThreadId>,
    /// By device: threads that wait for its interrupt, and interrupts that nobody waited for.
    pub(crate) waiting: Vec<Vec<ThreadId>>,
    pub(crate) pending: Vec<u64>,
    /// The time for which the engine has an event.
    pub(crate) scheduled: u64,
}

impl Devices {
    /// The devices of a chip, if it has any.
    pub(crate) fn of(chip: &Chip) -> Option<Box<Devices>> {
        let config = chip.devices.clone()?;
        let count = config.count as usize;
        let mut devices = Devices {
            ratio: Ratio::of(config.clock, chip.core.clock),
            all: Vec::new(),
            packets: Vec::new(),
            free: Vec::new(),
            events: BTreeMap::new(),
            sequence: 0,
            effects: Vec::new(),
            outstanding: BTreeMap::new(),
            crowded: Vec::new(),
            waiting: vec![Vec::new(); count],
            pending: vec![0; count],
            scheduled: u64::MAX,
            config,
        };
        let make = |device| {
            let kind = devices.config.kind_of(device);
            let make = KINDS.iter().find(|(name, _)| *name == kind).map_or(KINDS[0].1, |(_, make)| *make);
            make(&devices.config)
        };
        devices.replace((0..count as u32).map(make).collect());
        Some(Box::new(devices))
    }

    /// Puts these in the place of those that there are.
    pub(crate) fn replace(&mut self, devices: Vec<Box<dyn Device>>) {
        let attached = |device| Attached {
            device,
            inbox: Vec::new(),
            next: u64::MAX,
            tick: u64::MAX,
            orders: BTreeMap::new(),
            requests: 0,
            held: [0; 2],
        };
        self.all = devices.into_iter().map(attached).collect();
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> u64 {
        self.events.first_key_value().map_or(u64::MAX, |(key, _)| key.0)
    }

    /// What happens now, one thing after the other; `None`: nothing more.
    pub(crate) fn pop(&mut self, now: u64) -> Option<Event> {
        let entry = self.events.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    fn put(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.events.insert((at, self.sequence), event);
    }

    pub(crate) fn packet(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    fn keep(&mut self, packet: Packet) -> u32 {
        let id = self.free.pop().unwrap_or(self.packets.len() as u32);
        if id as usize == self.packets.len() {
            self.packets.push(packet);
        } else {
            self.packets[id as usize] = packet;
        }
        self.packets[id as usize].request.packet = id;
        id
    }

    /// Nobody will ask for the packet any more.
    pub(crate) fn drop_packet(&mut self, id: u32) {
        self.packets[id as usize].stalls = false;
        self.free.push(id);
    }

    /// A thread's request sets out.
    pub(crate) fn send(
        &mut self,
        device: u32,
        (thread, cpu): (ThreadId, u32),
        request: Request,
        now: u64,
        out: &mut Vec<Upshot>,
    ) -> u32 {
        let order = self.all[device as usize].orders.entry(thread).or_default();
        order.sent += 1;
        let order = order.sent;
        *self.outstanding.entry(thread).or_default() += 1;
        let answer = Answer::done(0);
        let (place, held) = (Place::Going, None);
        let packet = Packet { device, thread, cpu, place, request, answer, stalls: false, wanted: true, order, held };
        let id = self.keep(packet);
        self.depart(id, false, now, out);
        id
    }

    fn depart(&mut self, packet: u32, to_core: bool, now: u64, out: &mut Vec<Upshot>) {
        match self.config.way {
            Some(way) => self.put(now + way.0, Event::Arrives(packet)),
            None => out.push(Upshot::Carry { packet, to_core }),
        }
    }

    /// A packet has come to its end of the way.
    pub(crate) fn arrives(&mut self, id: u32, now: u64, out: &mut Vec<Upshot>) {
        let packet = &mut self.packets[id as usize];
        let (device, cpu) = (packet.device, packet.cpu);
        match packet.place {
            Place::Going => {
                packet.place = Place::There;
                let (thread, order) = (packet.thread, packet.order);
                let at = &mut self.all[device as usize];
                let orders = at.orders.entry(thread).or_default();
                if order != orders.taken + 1 {
                    return orders.early.push(id);
                }
                let mut next = Some(id);
                while let Some(id) = next {
                    at.inbox.push(id);
                    orders.taken += 1;
                    let due = |&early: &u32| self.packets[early as usize].order == orders.taken + 1;
                    next = orders.early.iter().position(due).map(|at| orders.early.swap_remove(at));
                }
                self.edge(device, self.ratio.cycle_at(now));
            }
            Place::Coming => {
                packet.place = Place::Here;
                out.push(Upshot::Here(id));
            }
            Place::Interrupt => {
                self.drop_packet(id);
                out.push(Upshot::Interrupt { device, cpu });
            }
            Place::There | Place::Here => unreachable!("packet {id} arrives twice"),
        }
    }

    /// Sees to it that the device has this edge.
    fn edge(&mut self, device: u32, cycle: u64) {
        let at = &mut self.all[device as usize];
        if cycle < at.next {
            at.next = cycle;
            self.put(self.ratio.edge(cycle), Event::Edge(device, cycle));
        }
    }

    /// A device's edge: requests that have come are handed over, then its own tick.
    pub(crate) fn at_edge(&mut self, device: u32, cycle: u64, now: u64, out: &mut Vec<Upshot>) {
        let at = &mut self.all[device as usize];
        if at.next != cycle {
            // An earlier edge was asked for meanwhile, and has seen to everything.
            return;
        }
        at.next = u64::MAX;
        let mut effects = std::mem::take(&mut self.effects);
        for id in std::mem::take(&mut at.inbox) {
            at.requests += 1;
            at.device.take(self.packets[id as usize].request, &mut Port { now: cycle, effects: &mut effects });
        }
        if at.tick <= cycle {
            at.tick = u64::MAX;
            at.device.tick(&mut Port { now: cycle, effects: &mut effects });
        }
        for effect in effects.drain(..) {
            self.take_effect(device, effect, now, out);
        }
        self.effects = effects;
        let tick = self.all[device as usize].tick;
        if tick != u64::MAX {
            self.edge(device, tick);
        }
    }

    fn take_effect(&mut self, device: u32, effect: Effect, now: u64, out: &mut Vec<Upshot>) {
        match effect {
            Effect::Answer { packet: id, at, answer } => {
                let packet = &mut self.packets[id as usize];
                assert!(
                    packet.place == Place::There && packet.device == device,
                    "device {device} answers a request twice"
                );
                (packet.answer, packet.place) = (answer, Place::Coming);
                if let Some((why, from, until)) = &mut packet.held {
                    *until = now;
                    self.all[device as usize].held[*why as usize] += now - *from;
                }
                self.put(self.ratio.edge(at), Event::Leaves(id));
            }
            Effect::Hold { packet, why } => {
                self.packets[packet as usize].held.get_or_insert((why, now, u64::MAX));
            }
            Effect::Tick { at } => {
                let tick = &mut self.all[device as usize].tick;
                *tick = at.min(*tick);
            }
            Effect::Interrupt { cpu } => {
                let request = Request { packet: 0, op: 0, words: [0; 2], privileged: false };
                let (thread, place, answer) = (0, Place::Interrupt, Answer::done(0));
                let packet = Packet {
                    device,
                    thread,
                    cpu,
                    place,
                    request,
                    answer,
                    stalls: false,
                    wanted: false,
                    order: 0,
                    held: None,
                };
                let id = self.keep(packet);
                self.depart(id, true, now, out);
            }
        }
    }

    /// An answer leaves its device.
    pub(crate) fn leaves(&mut self, id: u32, now: u64, out: &mut Vec<Upshot>) {
        self.depart(id, true, now, out);
    }

    /// Packets that a thread stalls for.
    pub(crate) fn stalls(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(|packet| packet.stalls)
    }

    /// What each did.
    pub(crate) fn figures(&self) -> Vec<DeviceFigures> {
        let figures = |at: &Attached| DeviceFigures {
            requests: at.requests,
            full: at.held[Hold::Full as usize],
            empty: at.held[Hold::Empty as usize],
            counts: at.device.counts(),
        };
        self.all.iter().map(figures).collect()
    }
}
