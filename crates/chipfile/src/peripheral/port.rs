//! The interface between a device and its link: requests, answers and port.

use baton_machine::device::Words;

/// A request at its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number of the request's packet: see [`Request::number`].
    pub packet: u32,
    /// The operation, as a number that the device defines.
    pub op: u32,
    /// The arguments of the operation.
    pub words: [u64; 3],
    /// Whether the request comes from a system call: only such requests may configure the device.
    pub privileged: bool,
    /// The CPU that made the request: a hardware thread.
    pub cpu: u32,
    /// The thread that makes the request, and its process's domain. A program does not choose them:
    /// the operating system loads them into the CPU at each switch.
    pub subject: Subject,
}

/// The software thread that made a request, and its protection domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The thread.
    pub thread: u32,
    /// The thread's process. Where the operating system translates names, a request has the domain
    /// of what it aims at.
    pub domain: u32,
}

impl Request {
    /// Returns the number of the request; no two requests that are under way have the same number.
    pub fn number(&self) -> u32 {
        self.packet
    }

    /// Returns the operation and its arguments, as the words that the request carries.
    pub fn words(&self) -> Words {
        Words { tag: self.op, words: self.words }
    }
}

/// The response of a device to a request that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The device has taken the request out of its port; the place in the port is free.
    Yes,
    /// The device has no room, so that the request stays in the port, with the requests behind it.
    /// The device is offered the request again at the next edge at which its response can differ:
    /// after it has taken another request, had a tick or seen an answer leave.
    Later,
}

/// Whether a device gives a request back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The device has dropped the request and will not answer it. The request has had no effect.
    Yes,
    /// The device has answered the request, or will answer it whatever other requests come.
    TooLate,
}

/// A CPU that the chip has and that can be interrupted; see [`Port::cpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu(pub(crate) u32);

/// The reason for which a request waits at its device. The reason is recorded in the cycle stack of
/// the thread that stalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The device has no room for the words that the request brings.
    Full,
    /// The words that the request asks for are not there.
    Empty,
}

/// Something that a device did, which the device's chip carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An answer leaves in a cycle of the device.
    Answer {
        /// The number of the request's packet.
        packet: u32,
        /// The cycle of the device.
        at: u64,
        /// The answer, which the request's thread receives.
        answer: Answer,
    },
    /// A request waits from now on.
    Hold {
        /// The number of the request's packet.
        packet: u32,
        /// What the request waits for.
        why: Hold,
    },
    /// The device asks for an edge of its clock.
    Tick {
        /// The cycle of the device.
        at: u64,
    },
    /// A request goes back to its core, which sends it to another device.
    Forward {
        /// The number of the request's packet.
        packet: u32,
        /// The device to which the core sends the request.
        device: u32,
        /// The words that the request has on its way to that device.
        words: [u64; 3],
    },
    /// A CPU is interrupted; the packet leaves now.
    Interrupt {
        /// The CPU.
        cpu: u32,
        /// The thread that the interrupt is for, which sleeps until it comes; `None`: it is for
        /// the thread that has waited for the device's interrupts for longest.
        thread: Option<u32>,
    },
}

/// The answer of a device to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0 if the request was done. The device defines the other numbers, each of which is a reason
    /// for a refusal.
    pub status: u32,
    /// The value that the request asked for.
    pub value: u64,
    /// Further words of the value, in protocols whose answers have more than one word.
    pub more: [u64; 2],
}

impl From<Words> for Answer {
    fn from(Words { tag, words: [value, more, most] }: Words) -> Answer {
        Answer { status: tag, value, more: [more, most] }
    }
}

impl From<Answer> for Words {
    fn from(Answer { status, value, more: [more, most] }: Answer) -> Words {
        Words { tag: status, words: [value, more, most] }
    }
}

impl Answer {
    /// Returns an answer that says that the request was done and has the result `value`.
    pub fn done(value: u64) -> Answer {
        Answer { status: 0, value, more: [0; 2] }
    }

    /// Returns an answer that refuses the request. `status` is the device's number of the reason,
    /// not 0.
    pub fn refused(status: u32) -> Answer {
        Answer { status, value: 0, more: [0; 2] }
    }
}

/// The device's side of its link.
pub struct Port<'a> {
    /// The present cycle of the device's clock.
    pub now: u64,
    /// Number of CPUs in use.
    pub cpus: u32,
    /// What the device has done so far in this cycle.
    pub effects: &'a mut Vec<Effect>,
}

impl Port<'_> {
    /// Returns the present cycle of the device's clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Answers a request. The answer leaves in `at`, a cycle of the device's clock that is not in
    /// the past. Each request is answered once.
    pub fn answer(&mut self, request: &Request, at: u64, answer: Answer) {
        self.effects.push(Effect::Answer { packet: request.packet, at: at.max(self.now), answer });
    }

    /// Records that the request waits from now until its answer, with the reason. The request may
    /// wait inside the device, or in its port if the device takes the request later.
    pub fn hold(&mut self, request: &Request, why: Hold) {
        self.effects.push(Effect::Hold { packet: request.packet, why });
    }

    /// Sends a taken request back to its core, which makes the request again with `words` at
    /// another device.
    pub fn forward(&mut self, request: &Request, device: u32, words: [u64; 3]) {
        self.effects.push(Effect::Forward { packet: request.packet, device, words });
    }

    /// Asks for the edge `at`, which is in the future. If the device asks for several edges, the
    /// first counts; the device can ask again at that edge.
    pub fn tick_at(&mut self, at: u64) {
        self.effects.push(Effect::Tick { at: at.max(self.now + 1) });
    }

    /// The CPU with this number, if the chip has it in use.
    pub fn cpu(&self, number: u64) -> Option<Cpu> {
        u32::try_from(number).ok().filter(|&number| number < self.cpus).map(Cpu)
    }

    /// Interrupts a CPU, for the thread that has waited for the device's interrupts for longest.
    pub fn interrupt(&mut self, cpu: Cpu) {
        self.effects.push(Effect::Interrupt { cpu: cpu.0, thread: None });
    }

    /// Interrupts a CPU for a thread that sleeps until then, there or elsewhere.
    pub fn interrupt_for(&mut self, cpu: Cpu, thread: u32) {
        self.effects.push(Effect::Interrupt { cpu: cpu.0, thread: Some(thread) });
    }
}
