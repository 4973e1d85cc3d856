//! The packets under way between cores and devices, in a slab, so that a ticket is an index.

use crate::base::thread::{OUTSIDE, ThreadId};
use baton_chipfile::peripheral::port::{Answer, Hold, Request, Subject};
use baton_machine::device::Payload;
use baton_machine::flows::{FlowRequest, Token};
use baton_machine::queues::{Direction, QueueId, QueueRequest};

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
    /// At the core: the answer has arrived, and the thread can take it.
    Here,
    /// A request that was called back or forwarded, on its way to the core, which sends it again.
    Back,
    /// The answer to a posted request, whose line has left the core for the shared level; the
    /// answer's words are written next.
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
    /// The thread's number for the request, which is written into the second word, beside the
    /// device's refusal if there is one.
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
    /// Whether the request's ticket still exists, so that the thread may take the answer.
    pub(crate) wanted: bool,
    /// For a posted request, where its answer is written.
    pub(crate) lands: Option<Landing>,
    /// The request's number among the thread's posted requests to the device, or among its others.
    /// For a packet that calls requests back, the number of the newest of them.
    pub(super) order: u64,
    /// On a chip with a QIMU: the process, and the process's id of the queue that the request is
    /// for.
    pub(crate) queue: Option<(u32, QueueId)>,
    /// If the queue has moved: the device and the words with which the core must send the request
    /// again.
    pub(crate) forward: Option<(u32, [u64; 3])>,
    /// Why the device keeps the request waiting, from when, and until when (`u64::MAX` while the
    /// request still waits).
    pub(crate) held: Option<(Hold, u64, u64)>,
}

impl Packet {
    /// A device's interrupt of a CPU, for a certain thread or for whichever thread waits for it.
    pub(super) fn interrupt(device: u32, cpu: u32, thread: Option<ThreadId>) -> Packet {
        Packet::without_answer(device, thread.unwrap_or(OUTSIDE), cpu, PacketAt::Interrupt)
    }

    /// What the request keeps its order with: its thread's requests for a queue in this direction,
    /// and those with this token.
    pub(super) fn order_of(&self) -> (Option<Direction>, Option<Token>) {
        match QueueRequest::from_words(self.request.words()) {
            Some(QueueRequest::Enqueue { .. }) => (Some(Direction::Enqueue), None),
            Some(QueueRequest::Dequeue { .. } | QueueRequest::Flow(FlowRequest::Receive { .. })) => {
                (Some(Direction::Dequeue), None)
            }
            Some(QueueRequest::Flow(asked @ FlowRequest::Send { .. })) => (Some(Direction::Enqueue), asked.token()),
            Some(QueueRequest::Flow(asked)) => (None, asked.token()),
            _ => (None, None),
        }
    }

    /// A packet with an empty request and no answer yet.
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

/// The packets under way.
#[derive(Default)]
pub(super) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Adds a packet. Returns its index, which the packet's request has from now on.
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

    /// A thread's requests to a device that have left, are unanswered, are not posted, and have at
    /// most the number `newest`; the newest first.
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

    /// The indices of a thread's packets.
    pub(super) fn of(&self, thread: ThreadId) -> Vec<u32> {
        (0..).zip(&self.all).filter(|(_, packet)| packet.thread == thread).map(|(id, _)| id).collect()
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.all[id as usize]
    }

    /// Frees the index of a packet that is no longer needed.
    pub(super) fn forget(&mut self, id: u32) {
        self.all[id as usize].thread = OUTSIDE;
        self.free.push(id);
    }
}
