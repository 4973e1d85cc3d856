//! The simplest device: boxes of words. A request that puts a letter into a full box, or takes one
//! from an empty box, waits at the device and stalls its core; other requests do not wait behind
//! it.
//!
//! A system call opens a box. All boxes together hold at most `device.words` words. In each cycle
//! of the device's clock one request has its turn, and its answer leaves `device.latency` cycles
//! later. A box can interrupt a CPU with each letter.
//!
//! A request that waits for room or for a letter occupies no place in the port: the mailbox has
//! room for all requests that can be under way. Otherwise letters for a full box could block the
//! request that would make room, which is a deadlock.

use super::settings::settings;
use super::{Cancelled, Cpu, DeviceKind, Hold, Port, Request, Taken, Typed, TypedDevice};
use crate::value::ValueKind;
use baton_machine::device::{Payload, Protocol, Refusal, Words};
use baton_units::Cycles;
use std::collections::VecDeque;

/// The mailbox's entry in the registry of kinds.
pub const KIND: DeviceKind = DeviceKind {
    name: Mail::KIND,
    keys: MailboxSettings::KEYS,
    make: |settings| Box::new(Typed(Mailbox::new(&MailboxSettings::read(settings)))),
};

settings! {
    /// The keys of a mailbox.
    MailboxSettings {
        /// Cycles of the device's clock from a request's turn to its answer.
        latency: Cycles, ValueKind::Cycles, "from a request's turn to its answer, in cycles of the device's clock";
        /// Number of words that a mailbox holds, in all boxes together.
        words: u64, ValueKind::Count(1, 1 << 32), "words of eight bytes that each keeps";
    }
}

/// Opens a box for a number of letters. The second word is a CPU to interrupt with each letter,
/// plus one; 0 for none.
pub const OPEN: u32 = 0;
/// Puts a letter (the second word) into a box (the first word).
pub const SEND: u32 = 1;
/// Takes the oldest letter out of a box.
pub const RECEIVE: u32 = 2;
/// The request needs a system call, or the device has no such request or no such box.
pub const REFUSED: u32 = 1;
/// The mailbox has no room for another box.
pub const NO_ROOM: u32 = 2;
/// The chip has no such CPU to interrupt.
pub const NO_CPU: u32 = 3;

/// The mailbox's protocol.
#[derive(Clone, Copy, Debug)]
pub enum Mail {}

impl Protocol for Mail {
    const KIND: &'static str = "mailbox";
    type Request = MailRequest;
    type Answer = Result<u64, MailRefusal>;
}

/// The requests of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRequest {
    /// Opens a box for a number of letters by system call, with the CPU that each letter
    /// interrupts.
    Open {
        /// The number of letters that the box has room for.
        room: u64,
        /// The number of the CPU that each letter interrupts; `None` for none.
        rings: Option<u64>,
    },
    /// Puts a letter into a box.
    Send {
        /// The number of the box.
        to: u64,
        /// The letter.
        letter: u64,
    },
    /// Takes the oldest letter out of a box; the answer is the letter.
    Receive {
        /// The number of the box.
        from: u64,
    },
}

impl Payload for MailRequest {
    fn to_words(self) -> Words {
        match self {
            MailRequest::Open { room, rings } => Words::new(OPEN, [room, rings.map_or(0, |cpu| cpu.saturating_add(1))]),
            MailRequest::Send { to, letter } => Words::new(SEND, [to, letter]),
            MailRequest::Receive { from } => Words::new(RECEIVE, [from]),
        }
    }

    fn from_words(Words { tag, words: [first, second, _] }: Words) -> Option<MailRequest> {
        match tag {
            OPEN => Some(MailRequest::Open { room: first, rings: second.checked_sub(1) }),
            SEND => Some(MailRequest::Send { to: first, letter: second }),
            RECEIVE => Some(MailRequest::Receive { from: first }),
            _ => None,
        }
    }
}

/// The reason for which a mailbox refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailRefusal {
    /// [`REFUSED`].
    Refused,
    /// [`NO_ROOM`].
    NoRoom,
    /// [`NO_CPU`].
    NoCpu,
}

impl Refusal for MailRefusal {
    fn code(self) -> u32 {
        match self {
            MailRefusal::Refused => REFUSED,
            MailRefusal::NoRoom => NO_ROOM,
            MailRefusal::NoCpu => NO_CPU,
        }
    }

    fn of(code: u32) -> Option<MailRefusal> {
        [MailRefusal::Refused, MailRefusal::NoRoom, MailRefusal::NoCpu].into_iter().find(|reason| reason.code() == code)
    }
}

/// A box: its letters, and the requests that wait for room or for a letter.
struct LetterBox {
    room: u64,
    rings: Option<Cpu>,
    letters: VecDeque<u64>,
    senders: VecDeque<(Request, u64)>,
    receivers: VecDeque<Request>,
}

/// The device.
pub struct Mailbox {
    latency: u64,
    words: u64,
    free_at: u64,
    boxes: Vec<LetterBox>,
    sent: u64,
    received: u64,
}

impl Mailbox {
    /// A mailbox as the chip file describes it.
    pub fn new(settings: &MailboxSettings) -> Mailbox {
        let (latency, words) = (settings.latency.0, settings.words);
        Mailbox { latency, words, free_at: 0, boxes: Vec::new(), sent: 0, received: 0 }
    }

    fn open(&mut self, room: u64, rings: Option<u64>, port: &Port<'_>) -> Result<u64, MailRefusal> {
        let cpu = rings.map(|cpu| port.cpu(cpu));
        if cpu == Some(None) {
            return Err(MailRefusal::NoCpu);
        }
        if room == 0 || room > self.words {
            return Err(MailRefusal::NoRoom);
        }
        self.words -= room;
        let (letters, senders, receivers) = Default::default();
        self.boxes.push(LetterBox { room, rings: cpu.flatten(), letters, senders, receivers });
        Ok(self.boxes.len() as u64 - 1)
    }

    /// Serves the waiting requests of a box, the oldest first: letters go to requests that wait for
    /// one, and room goes to requests that wait for room.
    fn serve(&mut self, number: u64, at: u64, port: &mut Port<'_>) {
        let here = &mut self.boxes[number as usize];
        loop {
            if (here.letters.len() as u64) < here.room
                && let Some((sender, letter)) = here.senders.pop_front()
            {
                here.letters.push_back(letter);
                self.sent += 1;
                port.reply(&sender, at, Ok::<u64, MailRefusal>(0));
                if let Some(cpu) = here.rings {
                    port.interrupt(cpu);
                }
            } else if !here.letters.is_empty()
                && let Some(receiver) = here.receivers.pop_front()
            {
                let letter = here.letters.pop_front().unwrap_or_default();
                self.received += 1;
                port.reply(&receiver, at, Ok::<u64, MailRefusal>(letter));
            } else {
                break;
            }
        }
    }
}

impl TypedDevice for Mailbox {
    type Protocol = Mail;

    fn take(&mut self, request: &Request, asked: Option<MailRequest>, port: &mut Port<'_>) -> Taken {
        if port.now() < self.free_at {
            return Taken::Later;
        }
        self.free_at = port.now() + 1;
        let at = port.now() + self.latency;
        let number = match asked {
            Some(MailRequest::Open { room, rings }) if request.privileged => {
                let answer = self.open(room, rings, port);
                port.reply(request, at, answer);
                return Taken::Yes;
            }
            Some(MailRequest::Send { to: number, .. } | MailRequest::Receive { from: number }) => number,
            _ => u64::MAX,
        };
        let here = usize::try_from(number).ok().and_then(|number| self.boxes.get_mut(number));
        let Some(here) = here else {
            port.reply(request, at, Err::<u64, _>(MailRefusal::Refused));
            return Taken::Yes;
        };
        match asked {
            Some(MailRequest::Send { letter, .. }) => here.senders.push_back((*request, letter)),
            _ => here.receivers.push_back(*request),
        }
        self.serve(number, at, port);
        let here = &self.boxes[number as usize];
        if here.senders.back().is_some_and(|(last, _)| last == request) {
            port.hold(request, Hold::Full);
        } else if here.receivers.back() == Some(request) {
            port.hold(request, Hold::Empty);
        }
        Taken::Yes
    }

    fn cancel(&mut self, request: &Request, _: &mut Port<'_>) -> Cancelled {
        for here in &mut self.boxes {
            let waited = here.senders.len() + here.receivers.len();
            here.senders.retain(|(sender, _)| sender != request);
            here.receivers.retain(|receiver| receiver != request);
            if here.senders.len() + here.receivers.len() != waited {
                return Cancelled::Yes;
            }
        }
        Cancelled::TooLate
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("sent", self.sent), ("received", self.received)]
    }
}
