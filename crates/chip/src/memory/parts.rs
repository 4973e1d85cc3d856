//! Where the cycles of a request went.

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
