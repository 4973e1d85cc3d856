//! The simplest device: boxes of words. A letter to a full box, or a wish for one from an empty box, waits at the device and
//! keeps its core stalled; nothing else waits behind it.
//!
//! A box is opened by system call. It takes `device.words` at most, all boxes together. One request has its turn in a cycle
//! of the device's clock, and its answer leaves `device.latency` cycles later. A box can interrupt a CPU with each letter.
//!
//! A request that waits for room or for a letter keeps no place in the port: the mailbox has room for all that can be under
//! way. Otherwise letters for a full box would bar the way to the wish that makes room, and nobody would go on.

use super::port::Answer;
use super::{Config, Cpu, Device, Hold, Port, Request, Taken};
use std::collections::VecDeque;

/// Opens a box for so many letters; the second word is a CPU to interrupt with each letter, plus one. Gives its number.
pub const OPEN: u32 = 0;
/// Puts a letter (the second word) into a box (the first).
pub const SEND: u32 = 1;
/// Takes the oldest letter out of a box.
pub const RECEIVE: u32 = 2;
/// Such a request needs a system call, there is no such request, or no such box.
pub const REFUSED: u32 = 1;
/// There is no room for the box.
pub const NO_ROOM: u32 = 2;
/// There is no such CPU to interrupt.
pub const NO_CPU: u32 = 3;

/// A box: its letters, and who waits for room or for a letter.
struct Place {
    room: u64,
    rings: Option<Cpu>,
    letters: VecDeque<u64>,
    senders: VecDeque<Request>,
    receivers: VecDeque<Request>,
}

/// The device.
pub struct Mailbox {
    latency: u64,
    words: u64,
    free_at: u64,
    boxes: Vec<Place>,
    sent: u64,
    received: u64,
}

impl Mailbox {
    /// As the chip file describes it.
    pub fn new(config: &Config) -> Mailbox {
        Mailbox { latency: config.latency.0, words: config.words, free_at: 0, boxes: Vec::new(), sent: 0, received: 0 }
    }

    fn open(&mut self, room: u64, rings: u64, port: &Port<'_>) -> Answer {
        let cpu = rings.checked_sub(1).map(|cpu| port.cpu(cpu));
        if cpu == Some(None) {
            return Answer::refused(NO_CPU);
        }
        if room == 0 || room > self.words {
            return Answer::refused(NO_ROOM);
        }
        self.words -= room;
        let (letters, senders, receivers) = Default::default();
        self.boxes.push(Place { room, rings: cpu.flatten(), letters, senders, receivers });
        Answer::done(self.boxes.len() as u64 - 1)
    }
}

impl Device for Mailbox {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        if port.now() < self.free_at {
            return Taken::Later;
        }
        self.free_at = port.now() + 1;
        let at = port.now() + self.latency;
        if request.op == OPEN && request.privileged {
            let answer = self.open(request.words[0], request.words[1], port);
            port.answer(&request, at, answer);
            return Taken::Yes;
        }
        let here = self.boxes.get_mut(request.words[0] as usize).filter(|_| matches!(request.op, SEND | RECEIVE));
        let Some(here) = here else {
            port.answer(&request, at, Answer::refused(REFUSED));
            return Taken::Yes;
        };
        match request.op {
            SEND => here.senders.push_back(request),
            _ => here.receivers.push_back(request),
        }
        loop {
            // Who waits is in order, so a letter goes to the first who wished for one.
            if (here.letters.len() as u64) < here.room
                && let Some(sender) = here.senders.pop_front()
            {
                here.letters.push_back(sender.words[1]);
                self.sent += 1;
                port.answer(&sender, at, Answer::done(0));
                if let Some(cpu) = here.rings {
                    port.interrupt(cpu);
                }
            } else if !here.letters.is_empty()
                && let Some(receiver) = here.receivers.pop_front()
            {
                let letter = here.letters.pop_front().unwrap_or_default();
                self.received += 1;
                port.answer(&receiver, at, Answer::done(letter));
            } else {
                break;
            }
        }
        let waits = |queue: &VecDeque<Request>| queue.back().is_some_and(|last| *last == request);
        if waits(&here.senders) {
            port.hold(&request, Hold::Full);
        } else if waits(&here.receivers) {
            port.hold(&request, Hold::Empty);
        }
        Taken::Yes
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("sent", self.sent), ("received", self.received)]
    }
}
