//! Devices: units beside the processors that answer requests.
//!
//! Most machines have none, so [`Devices`](crate::Devices) extends [`Machine`](crate::Machine): an
//! algorithm that can use a device asks for it, and works without it where there is none. The queue
//! device, which algorithms of `sync` use, can be asked for on every machine:
//! [`Machine::queues`](crate::Machine::queues).
//!
//! A [`Protocol`] defines a kind of device: its requests and answers. `docs/devices.md` describes
//! the simulated machine's devices and their costs; [`Native`](crate::Native) has none, which its
//! device type (without a value) expresses.

/// The requests and answers of a kind of device.
pub trait Protocol: 'static {
    /// The name of the kind, as chip files write it.
    const KIND: &'static str;
    /// A request.
    type Request: Payload;
    /// An answer.
    type Answer: Payload;
}

/// The content of a packet: a tag and three words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// In a request, its kind; in an answer, how the request ended (0: done). The protocol defines
    /// the numbers.
    pub tag: u32,
    /// Operands of the request, or the value of the answer.
    pub words: [u64; 3],
}

impl Words {
    /// Creates the content from a tag and up to three words; the remaining words are 0.
    pub fn new<const N: usize>(tag: u32, words: [u64; N]) -> Words {
        const { assert!(N <= 3, "a packet has three words") };
        let mut all = [0; 3];
        all[..N].copy_from_slice(&words);
        Words { tag, words: all }
    }
}

/// A value that travels to a device or back, as [`Words`].
pub trait Payload: Copy {
    /// Encodes the value.
    fn to_words(self) -> Words;

    /// Decodes the value; `None` if the protocol has no value with these words.
    fn from_words(words: Words) -> Option<Self>;
}

impl Payload for Words {
    fn to_words(self) -> Words {
        self
    }

    fn from_words(words: Words) -> Option<Words> {
        Some(words)
    }
}

/// A protocol's reasons for refusing a request, by number.
pub trait Refusal: Copy {
    /// Returns the reason's number, which is not 0.
    fn code(self) -> u32;

    /// Returns the reason with number `code`, if there is one.
    fn of(code: u32) -> Option<Self>;
}

/// The answer of a device that returns one word or a reason for its refusal.
impl<E: Refusal> Payload for Result<u64, E> {
    fn to_words(self) -> Words {
        match self {
            Ok(word) => Words::new(0, [word]),
            Err(reason) => Words::new(reason.code(), []),
        }
    }

    fn from_words(words: Words) -> Option<Self> {
        match words.tag {
            0 => Some(Ok(words.words[0])),
            code => E::of(code).map(Err),
        }
    }
}

/// A handle by which a guest thread uses a device.
pub trait Device<P: Protocol>: Copy {
    /// A request in flight.
    type Ticket: Ticket<P>;

    /// Sends a request after all older stores of the thread. A thread's requests reach the device
    /// in order.
    fn request(self, request: P::Request) -> Self::Ticket;

    /// Sends a privileged request by system call and waits for its answer. Outside of guest
    /// threads, where data is prepared before a run and returned after it, the call takes no
    /// simulated time.
    fn call(self, request: P::Request) -> P::Answer;

    /// Sleeps until the device's next interrupt; returns at once if one came since the last call.
    fn interrupt(self);

    /// Sleeps until the device interrupts the calling thread, which has asked for that by a request
    /// (of a queue device: [`Mode::Arm`](crate::queues::Mode::Arm)). Returns at once if the device
    /// has done so since the last call. May return early, so that the thread has to look again.
    fn armed(self);
}

/// A request in flight. Dropping the ticket makes the request a posted one: its answer is thrown
/// away.
pub trait Ticket<P: Protocol> {
    /// Whether the answer has arrived.
    fn is_here(&self) -> bool;

    /// Waits until the answer has arrived.
    fn wait(self) -> P::Answer;
}

/// The device type of a machine without devices: it has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoDevice {}

impl<P: Protocol> Device<P> for NoDevice {
    type Ticket = NoDevice;

    fn request(self, _: P::Request) -> NoDevice {
        match self {}
    }

    fn call(self, _: P::Request) -> P::Answer {
        match self {}
    }

    fn interrupt(self) {
        match self {}
    }

    fn armed(self) {
        match self {}
    }
}

impl<P: Protocol> Ticket<P> for NoDevice {
    fn is_here(&self) -> bool {
        match *self {}
    }

    fn wait(self) -> P::Answer {
        match self {}
    }
}
