//! What crosses the border between the engine and a memory system.

use baton_noc::Header;
use baton_units::{CoreId, Cycles};

/// A line of guest memory: its number counts from the start of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line(pub(crate) u32);

/// What a core wants of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "hints and links come with the verbs of the machine that ask for them")]
pub(crate) enum Access {
    /// Read it.
    Load,
    /// Write it.
    Store,
    /// Read and write it as one.
    Atomic,
    /// Read it and set the link of this context of the core. It breaks when the line is lost and when anybody writes it in
    /// the core's cache.
    LoadLinked(u8),
    /// Write it if that context's link still stands.
    StoreConditional(u8),
    /// A hint, which nobody waits for: it will be read.
    Prefetch,
    /// A hint: it will be written.
    PrefetchExclusive,
    /// A hint: give it up, to its home or to another core.
    Push {
        /// Who is to have it; `None`: its home.
        to: Option<CoreId>,
    },
}

impl Access {
    /// The context of the core whose link it is about.
    pub(crate) fn context(self) -> usize {
        match self {
            Access::LoadLinked(context) | Access::StoreConditional(context) => usize::from(context),
            _ => 0,
        }
    }
}

/// A core asks for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Comes back with the notice that it is served; the memory system does not look at it.
    pub(crate) token: u32,
    /// Who asks.
    pub(crate) core: CoreId,
    /// For what.
    pub(crate) line: Line,
    /// What for.
    pub(crate) access: Access,
    /// The mark of the packet that it may send; its class is not looked at.
    pub(crate) mark: Header,
}

/// How a request is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When its value is read or written.
    pub(crate) at: Cycles,
    /// The core's nearest cache had it.
    pub(crate) hit: bool,
    /// What its time beyond a hit went to, if it was none.
    pub(crate) beyond: Part,
    /// A store-conditional whose link was broken: nothing is written.
    pub(crate) failed: bool,
    /// From now on no other core has a copy, and one had. Only a memory system without notices says so.
    pub(crate) invalidates: bool,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is known when it is served.
    Served(Served),
    /// A [`Notice::Done`] with its token will say.
    Pending,
}

/// What happened in the memory system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A request is served.
    Done {
        /// The request's.
        token: u32,
        /// When its value is read or written: now, or later if nothing can come between.
        at: u64,
        /// Where its time went: sums to the time from the request to `at`.
        parts: Parts,
        /// A store-conditional whose link was broken: nothing is written.
        failed: bool,
    },
    /// A packet to or from a device has arrived.
    Carried {
        /// The one it was given with.
        tag: u32,
        /// It has one of the places that the device's endpoint has in the network.
        placed: bool,
    },
    /// An interrupt has come to its place.
    Interrupt {
        /// The one it was sent with.
        tag: u32,
    },
    /// The home performs a far atomic: now its word is read and written.
    Performed {
        /// The request's.
        token: u32,
    },
    /// A core's nearest cache has lost a line.
    Lost {
        /// Whose.
        core: CoreId,
        /// Which.
        line: Line,
    },
}

/// A packet between a core and a device, which the chip's network carries beside its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Comes back with the notice that it has arrived.
    pub(crate) tag: u32,
    /// One end.
    pub(crate) core: CoreId,
    /// The other, by its number.
    pub(crate) device: u32,
    /// From the device to the core: an answer or an interrupt.
    pub(crate) to_core: bool,
}

/// Where an interrupt comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A core.
    Core(CoreId),
    /// The home of a line.
    HomeOf(Line),
}

/// An interrupt from one core to another, or a part of its way: a packet of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupt {
    /// Comes back with the notice that it has arrived.
    pub(crate) tag: u32,
    /// Who sends it.
    pub(crate) from: Place,
    /// Whom it is for.
    pub(crate) to: Place,
    /// What the sender's network interface writes into its header.
    pub(crate) mark: Header,
}

/// What a request's cycles went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The nearest cache.
    L1,
    /// The private second level.
    L2,
    /// The line's home: its bank and directory.
    Home,
    /// Waiting there for the bank, or for the transaction before.
    HomeQueueing,
    /// Ways through the network, as an empty one takes.
    Network,
    /// Whatever they took longer.
    NetworkQueueing,
    /// Other cores' caches.
    Remote,
    /// Memory controllers.
    Memory,
    /// Reading, changing and writing as one.
    Atomic,
}

/// How many parts there are.
pub(crate) const PARTS: usize = 9;

/// What a request's cycles can go to, by name: the order of [`Stretch::parts`](crate::Stretch::parts).
pub const MEMORY_PARTS: [&str; PARTS] = [
    Part::L1.name(),
    Part::L2.name(),
    Part::Home.name(),
    Part::HomeQueueing.name(),
    Part::Network.name(),
    Part::NetworkQueueing.name(),
    Part::Remote.name(),
    Part::Memory.name(),
    Part::Atomic.name(),
];

/// Where the cycles of a request went, so that a thread's cycle stack sums exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(pub(crate) [u32; PARTS]);

impl Part {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Part; PARTS] = [
        Part::L1,
        Part::L2,
        Part::Home,
        Part::HomeQueueing,
        Part::Network,
        Part::NetworkQueueing,
        Part::Remote,
        Part::Memory,
        Part::Atomic,
    ];

    /// Its name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Part::L1 => "l1",
            Part::L2 => "l2",
            Part::Home => "home",
            Part::HomeQueueing => "home_queueing",
            Part::Network => "network",
            Part::NetworkQueueing => "network_queueing",
            Part::Remote => "remote_cache",
            Part::Memory => "memory",
            Part::Atomic => "atomic",
        }
    }
}

impl Parts {
    /// `cycles` more went to `part`.
    #[inline]
    pub(crate) fn add(&mut self, part: Part, cycles: u64) {
        self.0[part as usize] += cycles as u32;
    }

    /// The same shares of another time, of at most the whole: sums to `cycles`.
    pub(crate) fn scaled(&self, cycles: u64) -> Parts {
        let whole = self.total();
        if whole == cycles || whole == 0 {
            return *self;
        }
        let mut scaled = Parts(self.0.map(|part| (u64::from(part) * cycles / whole) as u32));
        // What rounding left goes to the largest.
        let most = (0..PARTS).max_by_key(|&part| self.0[part]).unwrap_or(0);
        scaled.0[most] += (cycles - scaled.total()) as u32;
        scaled
    }

    /// The whole time, in cycles.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|&part| u64::from(part)).sum()
    }
}
