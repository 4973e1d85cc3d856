//! What a device sees and does.

use baton_machine::device::Words;

/// A request at its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its packet's number: see [`Request::number`].
    pub packet: u32,
    /// What is wanted; the device's own numbers.
    pub op: u32,
    /// What with.
    pub words: [u64; 3],
    /// It comes from a system call: only such may configure.
    pub privileged: bool,
    /// The CPU that it comes from: a hardware thread.
    pub cpu: u32,
}

impl Request {
    /// Its number: no two requests that are under way have the same.
    pub fn number(&self) -> u32 {
        self.packet
    }

    /// What it carries.
    pub fn words(&self) -> Words {
        Words { tag: self.op, words: self.words }
    }
}

/// What a device does with a request that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It has taken the request out of its port, whose place is free.
    Yes,
    /// The request stays where it is, and those behind it: the device has no room for it. It is offered again at the next edge
    /// of its clock, if it has taken another one meanwhile, had a tick or seen an answer leave: otherwise it would say the same.
    Later,
}

/// Whether a device gives a request back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// The device has forgotten the request, and will not answer it. Nothing has come of it.
    Yes,
    /// The device has answered it, or will do so whatever other requests come.
    TooLate,
}

/// A CPU that the chip has, and that can be interrupted: [`Port::cpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu(pub(crate) u32);

/// What keeps a request waiting at its device; the thread that stalls for it has this in its cycle stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// There is no room for what it brings.
    Full,
    /// What it wants is not there.
    Empty,
}

/// What a device did. The chip that the device hangs on carries it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An answer leaves at a cycle of the device.
    Answer {
        /// The number of the request's packet.
        packet: u32,
        /// The cycle of the device.
        at: u64,
        /// What the request's thread is told.
        answer: Answer,
    },
    /// A request is kept waiting from now on.
    Hold {
        /// The number of the request's packet.
        packet: u32,
        /// What the request waits for.
        why: Hold,
    },
    /// The device wants an edge.
    Tick {
        /// The cycle of the device.
        at: u64,
    },
    /// A request goes back to its core, which sends it on to another device.
    Forward {
        /// The number of the request's packet.
        packet: u32,
        /// The other device.
        device: u32,
        /// What the request carries from there on.
        words: [u64; 3],
    },
    /// A CPU is interrupted; the packet leaves now.
    Interrupt {
        /// The CPU.
        cpu: u32,
    },
}

/// A device's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0: done. Other numbers are the device's own, and say why not.
    pub status: u32,
    /// What was asked for.
    pub value: u64,
    /// More of it, in protocols whose answers have more than a word.
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
    /// Done, with this.
    pub fn done(value: u64) -> Answer {
        Answer { status: 0, value, more: [0; 2] }
    }

    /// Not done, for a reason of the device's own; not 0.
    pub fn refused(status: u32) -> Answer {
        Answer { status, value: 0, more: [0; 2] }
    }
}

/// A device's side of its link.
pub struct Port<'a> {
    /// The cycle of the device's clock.
    pub now: u64,
    /// CPUs in use.
    pub cpus: u32,
    /// What the device has done so far in this cycle.
    pub effects: &'a mut Vec<Effect>,
}

impl Port<'_> {
    /// The cycle of the device's clock.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Answers a request; the answer leaves in `at`, a cycle of the device's clock that is not past. Each request is answered
    /// once.
    pub fn answer(&mut self, request: &Request, at: u64, answer: Answer) {
        self.effects.push(Effect::Answer { packet: request.packet, at: at.max(self.now), answer });
    }

    /// From now until its answer the request is kept waiting, for this reason: inside the device, which has taken it, or in
    /// its port, if it takes it later.
    pub fn hold(&mut self, request: &Request, why: Hold) {
        self.effects.push(Effect::Hold { packet: request.packet, why });
    }

    /// Gives a request that was taken back to its core, which makes it anew, with these words, at another device.
    pub fn forward(&mut self, request: &Request, device: u32, words: [u64; 3]) {
        self.effects.push(Effect::Forward { packet: request.packet, device, words });
    }

    /// Asks for the edge `at`, which is to come; of several the first counts, and it can ask again then.
    pub fn tick_at(&mut self, at: u64) {
        self.effects.push(Effect::Tick { at: at.max(self.now + 1) });
    }

    /// The CPU with this number, if the chip has it in use.
    pub fn cpu(&self, number: u64) -> Option<Cpu> {
        u32::try_from(number).ok().filter(|&number| number < self.cpus).map(Cpu)
    }

    /// Interrupts a CPU.
    pub fn interrupt(&mut self, cpu: Cpu) {
        self.effects.push(Effect::Interrupt { cpu: cpu.0 });
    }
}
