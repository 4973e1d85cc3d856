//! Packets under way between cores and devices: a slab of them, so that a ticket is a number.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::{Answer, Hold, Request, Subject};
use baton_machine::queues::QueueId;

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketAt {
    /// In its thread's store buffer.
    Waiting,
    /// On its way to the device.
    Going,
    /// At the device.
    There,
    /// On its way to the core.
    Coming,
    /// At the core: its ticket can be cashed.
    Here,
    /// A request that was called back, on its way to the core, which is to make it again.
    Back,
    /// A posted request's answer, whose line goes to the shared level: it can be read in a moment.
    Landing,
    /// An interrupt, on its way to the core.
    Interrupt,
    /// Calls a thread's requests back, on its way to the device.
    Cancel,
}

/// Where the answer to a posted request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landing {
    /// Two words of guest memory, in one line.
    pub(crate) offset: usize,
    /// What the second says beside the device's refusal.
    pub(crate) stamp: u32,
}

/// A request with its answer, or an interrupt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) device: u32,
    pub(crate) thread: ThreadId,
    /// Where the answer goes, or the interrupt.
    pub(crate) cpu: u32,
    pub(crate) place: PacketAt,
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// Its ticket is still there.
    pub(crate) wanted: bool,
    /// It was posted, and its answer goes there.
    pub(crate) lands: Option<Landing>,
    /// Its number among the thread's requests to the device; of what calls requests back, the newest one's.
    pub(super) order: u64,
    /// The process and its name for the queue that the request aims at, where these are translated.
    pub(crate) queue: Option<(u32, QueueId)>,
    /// The device and the words with which its core is to make it anew.
    pub(crate) forward: Option<(u32, [u64; 3])>,
    /// Why the device kept it, from when and until when.
    pub(crate) held: Option<(Hold, u64, u64)>,
}

impl Packet {
    /// A device's interrupt of a CPU, for a thread or for none.
    pub(super) fn interrupt(device: u32, cpu: u32, thread: Option<ThreadId>) -> Packet {
        Packet::without_answer(device, thread.unwrap_or(OUTSIDE), cpu, PacketAt::Interrupt)
    }

    /// A packet that is no request.
    pub(super) fn without_answer(device: u32, thread: ThreadId, cpu: u32, place: PacketAt) -> Packet {
        Packet {
            device,
            thread,
            cpu,
            place,
            request: Request { packet: 0, op: 0, words: [0; 3], privileged: false, cpu, subject: Subject::default() },
            answer: Answer::done(0),
            wanted: false,
            lands: None,
            order: 0,
            queue: None,
            forward: None,
            held: None,
        }
    }
}

/// All packets that are under way.
#[derive(Default)]
pub(super) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// A packet sets out; its number, which its request has from now on.
    pub(super) fn put(&mut self, packet: Packet) -> u32 {
        let id = self.free.pop().unwrap_or(self.all.len() as u32);
        if id as usize == self.all.len() {
            self.all.push(packet);
        } else {
            self.all[id as usize] = packet;
        }
        self.all[id as usize].request.packet = id;
        id
    }

    pub(super) fn get(&self, id: u32) -> &Packet {
        &self.all[id as usize]
    }

    /// A thread's requests to a device that have set out, up to that number, and are not answered; the newest first.
    pub(super) fn called_back(&self, device: u32, thread: ThreadId, newest: u64) -> Vec<u32> {
        let mine = |packet: &Packet| {
            (packet.device, packet.thread) == (device, thread)
                && packet.order <= newest
                && packet.lands.is_none()
                && matches!(packet.place, PacketAt::Going | PacketAt::There)
        };
        let mut mine: Vec<u32> = (0..).zip(&self.all).filter(|(_, packet)| mine(packet)).map(|(id, _)| id).collect();
        mine.sort_unstable_by_key(|&id| std::cmp::Reverse(self.get(id).order));
        mine
    }

    /// Packets of a thread.
    pub(super) fn of(&self, thread: ThreadId) -> Vec<u32> {
        (0..).zip(&self.all).filter(|(_, packet)| packet.thread == thread).map(|(id, _)| id).collect()
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.all[id as usize]
    }

    /// The packet has served its purpose; its number is another's next.
    pub(super) fn forget(&mut self, id: u32) {
        self.all[id as usize].thread = OUTSIDE;
        self.free.push(id);
    }
}
