//! The devices of a simulation: the packets on their way to and from devices, and the edges of the
//! devices' clocks.

use super::agenda::{Agenda, DeviceEvent};
use super::entry::{Entry, Holds, Standing};
use super::packet::{Packet, PacketAt, Packets};
use super::qimu::{Location, Qimu};
use super::subjects::{NO_GUEST, Subjects};
use crate::base::ratio::Ratio;
use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::config::Chip;
use baton_chipfile::config::device::{Attachment, Devices as Config};
use baton_chipfile::peripheral::Device;
use baton_chipfile::peripheral::port::{Answer, Cancelled, Effect, Hold, Port, Request, Taken};
use baton_machine::device::Words;
use baton_machine::queues::QueueId;
use baton_memory::counters;
use baton_units::Hertz;
use std::collections::VecDeque;

/// What the engine must do after a device has acted or a packet has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Consequence {
    /// Carry the packet over the network: to its core, or to its device.
    Carry { packet: u32, to_core: bool },
    /// The answer in this packet has arrived at its core.
    Here(u32),
    /// The request in this packet, which was called back, is with its thread again.
    Back(u32),
    /// The answer in this packet, to a posted request, has arrived at its core and must be written.
    Write(u32),
    /// The core owns the line for the answer in this packet, to a posted request.
    Written(u32),
    /// The endpoint of this device has a free place in the network again.
    Place(u32),
    /// A device interrupts a CPU for `thread`, or, if that is [`OUTSIDE`], for the thread that has
    /// waited for the device's interrupt for longest.
    Interrupt { device: u32, cpu: u32, thread: ThreadId },
}

struct Attached {
    device: Box<dyn Device>,
    /// What the chip file says of the device's place and prices.
    config: Attachment,
    ratio: Ratio,
    entry: Entry,
    /// Whether the device declined the first request in its port at its last edge, and has not
    /// acted since.
    leaves: bool,
    /// Whether the device has done something that may make room, since its next edge was planned.
    stirs: bool,
    /// The threads that call their requests back, each with the number of its newest such request.
    cancels: Vec<(ThreadId, u64)>,
    /// The cycle of the device's next edge in the list of events; `u64::MAX` if there is none.
    next: u64,
    tick: u64,
    counts: PortCounts,
}

impl Attached {
    fn new(device: Box<dyn Device>, config: Attachment, core: Hertz, ordered: bool) -> Attached {
        Attached {
            ratio: Ratio::of(config.clock, core),
            entry: Entry::new(config.places, ordered),
            device,
            config,
            leaves: false,
            stirs: false,
            cancels: Vec::new(),
            next: u64::MAX,
            tick: u64::MAX,
            counts: PortCounts::default(),
        }
    }
}

counters! {
    /// What is counted at a device's port.
    pub struct PortCounts {
        /// Requests that it took.
        requests: Requests,
        /// Requests that threads called back, and got back: from its port, or from itself.
        cancelled: Requests,
        /// Requests that were answered to threads which had been killed.
        dropped: Requests,
        /// Cycles that requests stood in its port, or on its own wires before that, all together.
        waited: Cycles,
        /// Cycles that requests were kept waiting for want of room, all together.
        full: Cycles,
        /// The same for want of what they asked for.
        empty: Cycles,
    }
}

impl PortCounts {
    /// Ends the hold on the request in `packet`, if any; adds its length to `full` or `empty`.
    fn ends_hold(&mut self, packet: &mut Packet, now: u64) {
        if let Some((why, from, until)) = &mut packet.held {
            *until = now;
            let waited = match why {
                Hold::Full => &mut self.full,
                Hold::Empty => &mut self.empty,
            };
            *waited += now - *from;
        }
    }
}

/// The figures of a device in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// The counters of the device's port.
    pub port: PortCounts,
    /// The device's own counters, by name.
    pub counts: Vec<(&'static str, u64)>,
}

/// The devices of a simulation.
pub(crate) struct Devices {
    pub(crate) config: Config,
    /// The reference clock, and the number of CPUs in use.
    core: Hertz,
    cpus: u32,
    all: Vec<Attached>,
    pub(super) packets: Packets,
    events: Agenda,
    effects: Vec<Effect>,
    /// What the engine must do, in this order.
    pub(crate) out: VecDeque<Consequence>,
    /// For each device, the threads that wait for its interrupt; in `pending`, the number of
    /// interrupts that came when no thread waited.
    pub(crate) waiting: Vec<Vec<ThreadId>>,
    pub(crate) pending: Vec<u64>,
    /// The number of answers that devices have given.
    pub(crate) answers: u64,
    /// The time of the devices' event in the engine's queue; `u64::MAX` if there is none.
    pub(crate) scheduled: u64,
    /// The thread and the process for which each CPU sends its requests.
    pub(crate) subjects: Subjects,
    /// The unit that translates programs' queue ids; `None` if programs use the devices' own ids.
    pub(crate) qimu: Option<Qimu>,
}

impl Devices {
    /// The devices of a chip with `cpus` CPUs in use; `None` if the chip has no devices.
    pub(crate) fn of(chip: &Chip, cpus: u32) -> Option<Box<Devices>> {
        let config = chip.devices.clone()?;
        let count = config.count as usize;
        let mut devices = Devices {
            core: chip.core.clock,
            cpus,
            all: Vec::new(),
            packets: Packets::default(),
            events: Agenda::EMPTY,
            effects: Vec::new(),
            out: VecDeque::new(),
            waiting: vec![Vec::new(); count],
            pending: vec![0; count],
            answers: 0,
            scheduled: u64::MAX,
            subjects: Subjects::new(cpus),
            qimu: Qimu::of(chip, cpus),
            config,
        };
        devices.replace(devices.config.each().map(|one| (one.kind.make)(&one.settings)).collect());
        Some(Box::new(devices))
    }

    /// Replaces all devices by `devices`, attached as the chip file says.
    pub(crate) fn replace(&mut self, devices: Vec<Box<dyn Device>>) {
        let each = self.config.each().map(|one| one.attachment);
        let attached = |(device, at)| Attached::new(device, at, self.core, self.config.numbers);
        self.all = devices.into_iter().zip(each).map(attached).collect();
    }

    /// What the chip file says of a device's place and prices.
    pub(crate) fn of_one(&self, device: u32) -> &Attachment {
        &self.all[device as usize].config
    }

    /// The time of the next event; `u64::MAX` if there is none.
    pub(crate) fn next(&self) -> u64 {
        self.events.next()
    }

    /// Removes the next event and returns it, if it is due at `now`; otherwise returns `None`.
    #[inline]
    pub(crate) fn pop(&mut self, now: u64) -> Option<DeviceEvent> {
        self.events.pop(now)
    }

    pub(crate) fn packet(&self, id: u32) -> &Packet {
        self.packets.get(id)
    }

    pub(crate) fn packet_mut(&mut self, id: u32) -> &mut Packet {
        self.packets.get_mut(id)
    }

    /// Forgets a packet, whose thread will not ask for its answer.
    pub(crate) fn drop_packet(&mut self, id: u32) {
        self.packets.forget(id);
    }

    /// The protocol that a device speaks.
    pub(crate) fn protocol(&self, device: u32) -> &'static str {
        self.all[device as usize].device.protocol()
    }

    /// A thread issues a request, which waits in the thread's store buffer. Returns the number of
    /// the request's packet.
    #[inline]
    pub(crate) fn issue(&mut self, device: u32, thread: ThreadId, request: Request) -> u32 {
        let packet = Packet::without_answer(device, thread, request.cpu, PacketAt::Waiting);
        self.packets.put(Packet { request, wanted: true, ..packet })
    }

    /// Gives a device a privileged request at once, as if from CPU 0, for code outside of guests
    /// and for the kernel. Returns the answer; `None` if the device does not answer at once.
    pub(crate) fn call_at_once(&mut self, device: u32, Words { tag: op, words }: Words, now: u64) -> Option<Answer> {
        let packet = Packet::without_answer(device, OUTSIDE, 0, PacketAt::There);
        let request = Request { packet: 0, op, words, privileged: true, cpu: 0, subject: NO_GUEST };
        let id = self.packets.put(Packet { request, ..packet });
        let at = &mut self.all[device as usize];
        let cycle = at.ratio.cycle_at(now);
        let mut port = Port { now: cycle, cpus: self.cpus, effects: &mut self.effects };
        let taken = at.device.take(self.packets.get(id).request, &mut port);
        at.stirs = true;
        let mut answer = None;
        self.effects.retain(|effect| match effect {
            Effect::Answer { packet, answer: given, .. } if *packet == id => {
                answer = Some(*given);
                false
            }
            _ => true,
        });
        self.packets.forget(id);
        self.settle(device, cycle, now);
        answer.filter(|_| taken == Taken::Yes)
    }

    /// Tells the devices whether threads wait for a CPU, if that has changed. This takes no time.
    pub(crate) fn crowd(&mut self, crowded: bool, now: u64) {
        if std::mem::replace(&mut self.subjects.crowded, crowded) == crowded {
            return;
        }
        for device in 0..self.config.count {
            let at = &mut self.all[device as usize];
            let cycle = at.ratio.cycle_at(now);
            let mut port = Port { now: cycle, cpus: self.cpus, effects: &mut self.effects };
            at.device.crowded(crowded, &mut port);
            self.settle(device, cycle, now);
        }
    }

    /// Records the answer to a request that never leaves its core. Returns the number of the
    /// packet.
    pub(crate) fn answered_at_once(&mut self, device: u32, thread: ThreadId, answer: Answer) -> u32 {
        let packet = Packet::without_answer(device, thread, 0, PacketAt::Here);
        self.packets.put(Packet { answer, wanted: true, ..packet })
    }

    /// Whether a request must not leave yet, because one of `others` is a request for the same queue
    /// and direction that goes to another place or must be sent again first, or a request with the
    /// same token for another queue: the context may know an old place of either.
    pub(crate) fn waits_for(&self, id: u32, mut others: impl Iterator<Item = u32>) -> bool {
        let packet = self.packets.get(id);
        if packet.queue.is_none() {
            return false;
        }
        let place = |packet: &Packet| (packet.device, packet.request.words[0] as u32);
        let (direction, token) = packet.order_of();
        others.any(|other| {
            let other = self.packets.get(other);
            let (its, its_token) = other.order_of();
            let same_queue = other.queue == packet.queue && direction.is_some() && its == direction;
            let same_token = token.is_some() && its_token == token;
            match same_queue {
                true => place(other) != place(packet) || matches!(other.place, PacketAt::Back | PacketAt::Waiting),
                false => same_token,
            }
        })
    }

    /// Sends a request from `cpu` to its device.
    #[inline]
    pub(crate) fn send(&mut self, id: u32, cpu: u32, now: u64) {
        let packet = self.packets.get_mut(id);
        (packet.cpu, packet.request.cpu, packet.place, packet.held) = (cpu, cpu, PacketAt::Going, None);
        packet.forward = None;
        packet.order = self.all[packet.device as usize].entry.send(packet.thread, packet.lands.is_some());
        self.depart(id, false, now);
    }

    /// A thread calls back the requests in `packets`, which have left: sends a packet to each of
    /// their devices.
    pub(crate) fn call_back(&mut self, thread: ThreadId, cpu: u32, packets: impl Iterator<Item = u32>, now: u64) {
        let mut newest: Vec<(u32, u64)> = Vec::new();
        for packet in packets {
            let Packet { device, order, .. } = *self.packets.get(packet);
            match newest.iter_mut().find(|(other, _)| *other == device) {
                Some((_, newest)) => *newest = order.max(*newest),
                None => newest.push((device, order)),
            }
        }
        for (device, order) in newest {
            let cancel = Packet { order, ..Packet::without_answer(device, thread, cpu, PacketAt::Cancel) };
            let id = self.packets.put(cancel);
            self.depart(id, false, now);
        }
    }

    /// Each request that the thread called back is answered or with the thread again: its order at
    /// every device starts anew.
    pub(crate) fn begin_anew(&mut self, thread: ThreadId) {
        self.all.iter_mut().for_each(|at| at.entry.begin_anew(thread));
    }

    /// The thread was killed: drops its unsent requests and the answers that it has not taken.
    pub(crate) fn drop_of(&mut self, thread: ThreadId) {
        for id in self.packets.of(thread) {
            let Packet { device, place, wanted, .. } = *self.packets.get(id);
            match place {
                PacketAt::Here => self.all[device as usize].counts.dropped += u64::from(wanted),
                PacketAt::Waiting => {}
                // Posted requests and calls for requests are still under way; each is forgotten
                // when it is over.
                _ => continue,
            }
            self.packets.forget(id);
        }
    }

    fn depart(&mut self, packet: u32, to_core: bool, now: u64) {
        match self.of_one(self.packets.get(packet).device).way {
            Some(way) => self.events.put(now + way.0, DeviceEvent::Arrives(packet)),
            None => self.out.push_back(Consequence::Carry { packet, to_core }),
        }
    }

    /// A packet has arrived. `placed` says whether it took a place of a device's endpoint in the
    /// network.
    pub(crate) fn arrives(&mut self, id: u32, placed: bool, now: u64) {
        let packet = self.packets.get_mut(id);
        let (device, cpu) = (packet.device, packet.cpu);
        match packet.place {
            PacketAt::Going => {
                packet.place = PacketAt::There;
                let holds = if placed { Holds::Networks } else { Holds::Nothing };
                let Packet { thread, order, lands, .. } = *packet;
                let at = &mut self.all[device as usize];
                let posted = lands.is_some();
                let free = at.entry.come(Standing { packet: id, thread, posted, order, since: now, holds });
                self.out.extend((0..free).map(|_| Consequence::Place(device)));
                if at.entry.first().is_some() && !at.leaves || !at.cancels.is_empty() {
                    let cycle = at.ratio.cycle_at(now);
                    self.edge(device, cycle);
                }
            }
            PacketAt::Back => {
                packet.place = PacketAt::Waiting;
                if let Some((device, words)) = packet.forward {
                    (packet.device, packet.request.words) = (device, words);
                    if let (Some((process, id)), Some(qimu)) = (packet.queue, &mut self.qimu) {
                        qimu.learn(cpu, process, id, Location { device, queue: QueueId(words[0] as u32) });
                    }
                }
                self.out.push_back(Consequence::Back(id));
            }
            PacketAt::Cancel => {
                let Packet { thread, order, .. } = *packet;
                self.packets.forget(id);
                let at = &mut self.all[device as usize];
                at.cancels.push((thread, order));
                let cycle = at.ratio.cycle_at(now);
                self.edge(device, cycle);
            }
            PacketAt::Coming if packet.lands.is_some() => self.out.push_back(Consequence::Write(id)),
            PacketAt::Coming => {
                packet.place = PacketAt::Here;
                self.out.push_back(Consequence::Here(id));
            }
            PacketAt::Interrupt => {
                let thread = packet.thread;
                self.packets.forget(id);
                self.out.push_back(Consequence::Interrupt { device, cpu, thread });
            }
            PacketAt::Waiting | PacketAt::There | PacketAt::Here | PacketAt::Landing => {
                unreachable!("packet {id} arrives twice")
            }
        }
    }

    /// Plans that the answer to a posted request will be in memory at `time`.
    pub(crate) fn written_at(&mut self, id: u32, time: u64) {
        self.events.put(time, DeviceEvent::Written(id));
    }

    /// Makes sure that the device has an edge at `cycle` or before.
    fn edge(&mut self, device: u32, cycle: u64) {
        let at = &mut self.all[device as usize];
        if cycle < at.next {
            at.next = cycle;
            let time = at.ratio.edge(cycle);
            self.events.put(time, DeviceEvent::Edge(device, cycle));
        }
    }

    /// Sends back the requests that threads call back: those in the port, and those that the device
    /// gives back. A request that is still on its way is sent back when it has arrived.
    fn give_back_requests(&mut self, device: u32, cycle: u64, now: u64) {
        let cancels = std::mem::take(&mut self.all[device as usize].cancels);
        for (thread, newest) in cancels {
            let mut all_here = true;
            for id in self.packets.called_back(device, thread, newest) {
                let at = &mut self.all[device as usize];
                let packet = self.packets.get_mut(id);
                if packet.place == PacketAt::Going {
                    all_here = false;
                    continue;
                }
                let mut port = Port { now: cycle, cpus: self.cpus, effects: &mut self.effects };
                if let Some(stood) = at.entry.remove(id) {
                    at.counts.waited += now - stood.since;
                    let free = at.entry.give_back(stood.holds);
                    self.out.extend((0..free).map(|_| Consequence::Place(device)));
                } else if at.device.cancel(&packet.request, &mut port) == Cancelled::TooLate {
                    continue;
                }
                at.counts.cancelled += 1;
                at.stirs = true;
                packet.place = PacketAt::Back;
                at.counts.ends_hold(packet, now);
                self.depart(id, true, now);
            }
            if !all_here {
                self.all[device as usize].cancels.push((thread, newest));
            }
        }
    }

    /// A device's edge: the device first gives back requests that threads call back, is then
    /// offered the requests in its port until it declines one, and then has its own tick.
    #[inline]
    pub(crate) fn at_edge(&mut self, device: u32, cycle: u64, now: u64) {
        let at = &mut self.all[device as usize];
        if at.next != cycle {
            // An earlier edge was planned after this one, and has done everything.
            return;
        }
        (at.next, at.leaves) = (u64::MAX, false);
        if !at.cancels.is_empty() {
            self.give_back_requests(device, cycle, now);
        }
        let at = &mut self.all[device as usize];
        let mut port = Port { now: cycle, cpus: self.cpus, effects: &mut self.effects };
        let mut ours = 0;
        while let Some(id) = at.entry.first() {
            if at.device.take(self.packets.get(id).request, &mut port) == Taken::Later {
                at.leaves = true;
                break;
            }
            let Some(taken) = at.entry.take() else { break };
            at.counts.requests += 1;
            at.counts.waited += now - taken.since;
            match taken.holds {
                Holds::Nothing => {}
                Holds::Ours => ours += 1,
                Holds::Networks => self.out.push_back(Consequence::Place(device)),
            }
            at.stirs = true;
        }
        if at.tick <= cycle {
            at.tick = u64::MAX;
            at.device.tick(&mut port);
            at.stirs = true;
        }
        // A request that gets a place now has come too late for this edge.
        for _ in 0..ours {
            let free = at.entry.give_back(Holds::Ours);
            self.out.extend((0..free).map(|_| Consequence::Place(device)));
        }
        self.settle(device, cycle, now);
    }

    /// Carries out the effects of what the device did, and plans its next edge.
    fn settle(&mut self, device: u32, cycle: u64, now: u64) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            self.take_effect(device, effect, now);
        }
        self.effects = effects;
        let at = &mut self.all[device as usize];
        let stirs = std::mem::replace(&mut at.stirs, false);
        let tick = at.tick;
        if at.entry.first().is_some() && (stirs || !at.leaves) {
            at.leaves = false;
            self.edge(device, cycle + 1);
        }
        if tick != u64::MAX {
            self.edge(device, tick);
        }
    }

    fn take_effect(&mut self, device: u32, effect: Effect, now: u64) {
        match effect {
            Effect::Answer { packet: id, at, answer } => {
                let packet = self.packets.get_mut(id);
                assert!(
                    packet.place == PacketAt::There && packet.device == device,
                    "device {device} answers a request twice"
                );
                (packet.answer, packet.place) = (answer, PacketAt::Coming);
                self.answers += 1;
                self.all[device as usize].counts.ends_hold(packet, now);
                let time = self.all[device as usize].ratio.edge(at);
                self.events.put(time, DeviceEvent::Leaves(id));
            }
            Effect::Hold { packet, why } => {
                self.packets.get_mut(packet).held.get_or_insert((why, now, u64::MAX));
            }
            Effect::Forward { packet: id, device: to, words } => {
                let packet = self.packets.get_mut(id);
                (packet.forward, packet.place) = (Some((to, words)), PacketAt::Back);
                self.all[device as usize].counts.ends_hold(packet, now);
                self.depart(id, true, now);
            }
            Effect::Tick { at } => {
                let tick = &mut self.all[device as usize].tick;
                *tick = at.min(*tick);
            }
            Effect::Interrupt { cpu, thread } => {
                let id = self.packets.put(Packet::interrupt(device, cpu, thread));
                self.depart(id, true, now);
            }
        }
    }

    /// An answer leaves its device.
    #[inline]
    pub(crate) fn leaves(&mut self, id: u32, now: u64) {
        let Packet { device, request, .. } = *self.packets.get(id);
        self.depart(id, true, now);
        let at = &mut self.all[device as usize];
        let cycle = at.ratio.cycle_at(now);
        at.device.left(&request, &mut Port { now: cycle, cpus: self.cpus, effects: &mut self.effects });
        at.stirs = at.leaves;
        self.settle(device, cycle, now);
    }

    /// One line of text for each device that has requests in its port or waiting before it.
    pub(crate) fn explain(&self) -> Vec<String> {
        let standing = self.all.iter().map(|at| (at.entry.standing(), at.config.places));
        let shown = (0..).zip(standing).filter(|(_, (standing, _))| *standing != (0, 0));
        let line = |(device, ((inside, before), places)): (u32, ((usize, usize), Option<u32>))| {
            let bound = places.map_or(String::new(), |places| format!(" of {places} place(s)"));
            format!("device {device} leaves {inside} request(s) standing in its port{bound}, {before} before it")
        };
        shown.map(line).collect()
    }

    /// The figures of each device. Those of the QIMU are among the first device's.
    pub(crate) fn figures(&self) -> Vec<DeviceFigures> {
        let figures = |at: &Attached| DeviceFigures { port: at.counts, counts: at.device.counts() };
        let mut all: Vec<DeviceFigures> = self.all.iter().map(figures).collect();
        if let (Some(qimu), Some(first)) = (&self.qimu, all.first_mut()) {
            first.counts.extend(qimu.counts());
        }
        all
    }
}
