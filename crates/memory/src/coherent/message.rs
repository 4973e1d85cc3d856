//! Everything that is under way: a slab of messages. Each message is always in exactly one place:
//! in the event queue, in the network, or in a list of waiting messages.

use crate::parts::{Part, Parts};
use baton_coherence::Message;
use baton_noc::Header;

/// A unit of the chip that sends and takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A core's private caches.
    Core(u32),
    /// A home.
    Home(u32),
    /// A memory controller.
    Controller(u32),
    /// A device. The memory system only carries its packets.
    Device(u32),
}

/// The content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A message of the coherence protocol.
    Protocol(Message),
    /// A home wants a line from memory.
    Read,
    /// A home gives a line to memory.
    Write,
    /// Memory's answer to a read.
    Line,
    /// A packet to a device, or from one, by its tag.
    Carried(u32),
    /// A packet that calls off requests at a device, by the tag that the sender gave it.
    Cancel(u32),
    /// An interrupt for a core, on its way to the core or to the home that sends it on.
    Interrupt(u32),
}

/// What the next event of a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The message leaves its sender.
    Send,
    /// The message is in the network.
    Travel,
    /// The receiver takes the message.
    Deliver,
    /// The message has its turn at its home's bank.
    Turn,
    /// The message has another turn at the bank, after it had waited for the line.
    Again,
    /// The message waits at its home, or for data; no time is set.
    Wait,
    /// Memory has moved the message's line.
    Moved,
    /// A controller looks for work; this is no message.
    Kick,
}

/// No message.
pub(super) const NONE: u32 = u32::MAX;

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) stage: Stage,
    pub(super) content: Content,
    pub(super) line: u32,
    pub(super) from: Unit,
    pub(super) to: Unit,
    /// Whether the message comes through the network, and takes one of the places of its home or
    /// device.
    pub(super) placed: bool,
    /// How often later requests for the line were served before this message, where marks decide
    /// (`order.rs`).
    pub(super) passed: u16,
    /// The next message in the list.
    pub(super) next: u32,
    /// The time up to which `parts` is complete.
    pub(super) since: u64,
    /// The parts of the time of the request that the message serves.
    pub(super) parts: Parts,
    /// The version of the data that the message carries (debug builds).
    pub(super) version: u32,
    /// The mark of the request that caused the message.
    pub(super) mark: Header,
}

impl Flight {
    /// A message that belongs to no request, and leaves its sender at `at`.
    #[inline(always)]
    pub(super) fn leaving(content: Content, line: u32, from: Unit, to: Unit, at: u64) -> Flight {
        Flight {
            stage: Stage::Send,
            content,
            line,
            from,
            to,
            placed: false,
            passed: 0,
            next: NONE,
            since: at,
            parts: Parts::default(),
            version: 0,
            mark: Header::default(),
        }
    }

    /// Charges all time up to `now` that is not yet accounted for to `part`.
    #[inline]
    pub(super) fn charge(&mut self, part: Part, now: u64) {
        self.parts.add(part, now - self.since);
        self.since = now;
    }
}

/// The slab.
#[derive(Clone)]
pub(super) struct Flights {
    all: Vec<Flight>,
    free: u32,
    used: u32,
}

impl Flights {
    pub(super) fn new() -> Flights {
        Flights { all: Vec::new(), free: NONE, used: 0 }
    }

    /// Adds a message. Returns its number.
    #[inline]
    pub(super) fn put(&mut self, flight: Flight) -> u32 {
        self.used += 1;
        if self.free == NONE {
            self.all.push(flight);
            return self.all.len() as u32 - 1;
        }
        let id = self.free;
        self.free = self.all[id as usize].next;
        self.all[id as usize] = flight;
        id
    }

    /// Takes a message out of the slab.
    #[inline]
    pub(super) fn take(&mut self, id: u32) -> Flight {
        self.used -= 1;
        let flight = self.all[id as usize];
        let place = &mut self.all[id as usize];
        (place.next, place.stage) = (self.free, Stage::Wait);
        self.free = id;
        flight
    }

    /// All messages under way, and free places.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.all.iter()
    }

    /// Number of messages under way.
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}

impl std::ops::Index<u32> for Flights {
    type Output = Flight;
    #[inline(always)]
    fn index(&self, id: u32) -> &Flight {
        &self.all[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Flights {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut Flight {
        &mut self.all[id as usize]
    }
}

/// A first-in first-out list of messages, linked through themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NONE, tail: NONE };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(super) fn push(&mut self, id: u32, flights: &mut Flights) {
        flights[id].next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            flights[self.tail].next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub(super) fn push_front(&mut self, id: u32, flights: &mut Flights) {
        flights[id].next = self.head;
        if self.head == NONE {
            self.tail = id;
        }
        self.head = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, flights: &Flights) -> Option<u32> {
        let id = self.head;
        if id == NONE {
            return None;
        }
        self.head = flights[id].next;
        Some(id)
    }

    pub(super) fn iter<'a>(&self, flights: &'a Flights) -> impl Iterator<Item = u32> + 'a {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let id = at;
            (id != NONE).then(|| {
                at = flights[id].next;
                id
            })
        })
    }
}
