//! The packets under way between cores and devices, in a slab, so that a ticket is an index.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::{Answer, Hold, Request};
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
    /// At the core, where the thread can take the answer.
    Here,
    /// A request that was called back, on its way to the core, which will issue it again.
    Back,
    /// The answer to a posted request, whose line is being written to the shared level.
    Landing,
    /// An interrupt, on its way to the core.
    Interrupt,
    /// A packet that calls a thread's requests back, on its way to the device.
    Cancel,
}

/// Where the answer to a posted request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landing {
    /// The offset of two words of guest memory in one line.
    pub(crate) offset: usize,
    /// The stamp that is written into the second word, besides the device's refusal if there is
    /// one.
    pub(crate) stamp: u32,
}

/// A request with its answer, or an interrupt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) device: u32,
    pub(crate) thread: ThreadId,
    /// The CPU to which the answer or the interrupt goes.
    pub(crate) cpu: u32,
    pub(crate) place: PacketAt,
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// Whether the thread still has the ticket.
    pub(crate) wanted: bool,
    /// For a posted request, where its answer is written.
    pub(crate) lands: Option<Landing>,
    /// Its number among the thread's requests to the device. For a packet that calls requests back,
    /// the number of the newest request.
    pub(super) order: u64,
    /// Where queue ids are translated: the process, and its id of the queue that the request aims
    /// at.
    pub(crate) queue: Option<(u32, QueueId)>,
    /// If the queue has moved: the device and the words with which the core must issue the request
    /// again.
    pub(crate) forward: Option<(u32, [u64; 3])>,
    /// Why the device kept the request waiting, from when, and until when.
    pub(crate) held: Option<(Hold, u64, u64)>,
}

impl Packet {
    /// A device's interrupt of a CPU; it belongs to no thread.
    pub(super) fn interrupt(device: u32, cpu: u32) -> Packet {
        Packet::without_answer(device, OUTSIDE, cpu, PacketAt::Interrupt)
    }

    /// A packet that is not a request.
    pub(super) fn without_answer(device: u32, thread: ThreadId, cpu: u32, place: PacketAt) -> Packet {
        Packet {
            device,
            thread,
            cpu,
            place,
            request: Request { packet: 0, op: 0, words: [0; 3], privileged: false, cpu },
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

/// The packets under way.
#[derive(Default)]
pub(super) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Adds a packet. Returns its index, which is the ticket of its request.
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

    /// A thread's unanswered requests to a device up to a number, newest first.
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
