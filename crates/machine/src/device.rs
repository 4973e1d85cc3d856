//! Devices: units beside the processors that take requests and give answers. Not every machine has some, so they are an extension
//! of [`Machine`]: an algorithm that can use a device asks for it, and does without where there is none. The queue device, which
//! algorithms of `sync` use, every machine can be asked for: [`Machine::queues`].
//!
//! A kind of device is a [`Protocol`]: what it is asked, and what it answers. The simulated machine's devices and their prices are
//! described in `docs/devices.md`; [`Native`](crate::Native) has none, and says so by a type that has no value.

use crate::Machine;

/// What is asked of a kind of device, and what it answers.
pub trait Protocol: 'static {
    /// What the kind is called, in chip files too.
    const KIND: &'static str;
    /// A request.
    type Request: Payload;
    /// An answer.
    type Answer: Payload;
}

/// What a packet carries: a number that says what it means, and three words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Which request it is, or how it ended: the protocol's own numbers. 0 in an answer: done.
    pub tag: u32,
    /// What with.
    pub words: [u64; 3],
}

impl Words {
    /// With so many words that differ from 0.
    pub fn new<const N: usize>(tag: u32, words: [u64; N]) -> Words {
        const { assert!(N <= 3, "a packet has three words") };
        let mut all = [0; 3];
        all[..N].copy_from_slice(&words);
        Words { tag, words: all }
    }
}

/// A value that travels to a device or back.
pub trait Payload: Copy {
    /// As it travels.
    fn to_words(self) -> Words;

    /// As it arrives; `None`: these words are none of the protocol's.
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

/// Why a device refuses, by number.
pub trait Refusal: Copy {
    /// The number, which is not 0.
    fn code(self) -> u32;

    /// The reason of that number.
    fn of(code: u32) -> Option<Self>;
}

/// The answer of a device that gives one word, or says why it does not.
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

/// Machines that can have devices.
pub trait Devices: Machine {
    /// A device of a kind.
    type Device<P: Protocol>: Device<P>;

    /// How many devices there are, of all kinds. They are numbered from 0.
    fn count() -> u32;

    /// The device of that number, if it is of the protocol's kind.
    fn at<P: Protocol>(number: u32) -> Option<Self::Device<P>>;

    /// The first device of the protocol's kind.
    fn first<P: Protocol>() -> Option<Self::Device<P>> {
        (0..Self::count()).find_map(Self::at)
    }
}

/// A device as a guest thread sees it.
pub trait Device<P: Protocol>: Copy {
    /// A request under way.
    type Ticket: Ticket<P>;

    /// Sends a request, behind all older stores of the thread; those of one thread reach the device in their order.
    fn request(self, request: P::Request) -> Self::Ticket;

    /// A system call to the device: the request comes privileged, and the call returns when it is answered. Outside of guest
    /// threads, where data is set up before a run and given back after it, it takes no time.
    fn call(self, request: P::Request) -> P::Answer;

    /// Sleeps until the device interrupts, if it has not done so since the last time.
    fn interrupt(self);
}

/// A request under way. Dropped, the request is posted: its answer is thrown away.
pub trait Ticket<P: Protocol> {
    /// Whether the answer is here.
    fn is_here(&self) -> bool;

    /// Waits until the answer is here.
    fn wait(self) -> P::Answer;
}

/// The device of a machine that has none: there is no such value.
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
}

impl<P: Protocol> Ticket<P> for NoDevice {
    fn is_here(&self) -> bool {
        match *self {}
    }

    fn wait(self) -> P::Answer {
        match self {}
    }
}

impl Devices for crate::Native {
    type Device<P: Protocol> = NoDevice;

    fn count() -> u32 {
        0
    }

    fn at<P: Protocol>(_: u32) -> Option<NoDevice> {
        None
    }
}
