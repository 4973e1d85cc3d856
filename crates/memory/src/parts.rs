//! Where the cycles of a request went.

times! {
    /// What a request's cycles went to.
    pub enum Part {
        /// Hits in the nearest cache, its part of other requests, and fences.
        L1 = "l1",
        /// The private second level.
        L2 = "l2",
        /// The line's home: its bank and directory.
        Home = "home",
        /// Waiting there, for the bank or for the transaction before.
        HomeQueueing = "home_queueing",
        /// Ways through the network, as an empty one takes.
        Network = "network",
        /// What they took longer.
        NetworkQueueing = "network_queueing",
        /// Other cores' caches. On a chip of fixed latencies: transfers and upgrades, waiting for the line included.
        Remote = "remote_cache",
        /// Memory controllers. On a chip of fixed latencies: fetches.
        Memory = "memory",
        /// Reading, changing and writing as one.
        Atomic = "atomic",
    }
}

/// How many parts there are.
pub const PARTS: usize = Part::COUNT;

/// What a request's cycles can go to, by name: the order of `Stretch::parts` of `baton-chip`.
pub const MEMORY_PARTS: [&str; PARTS] = {
    let (mut names, mut at) = ([""; PARTS], 0);
    while at < PARTS {
        names[at] = Part::ALL[at].name();
        at += 1;
    }
    names
};

/// Where the cycles of a request went, so that a thread's cycle stack sums exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts(pub [u32; PARTS]);

impl Parts {
    /// Adds `cycles` to the time that went to `part`.
    #[inline]
    pub fn add(&mut self, part: Part, cycles: u64) {
        self.0[part as usize] += cycles as u32;
    }

    /// Returns the parts in the same proportions for a time of `cycles`, which is at most the
    /// whole. The result sums to `cycles`.
    pub fn scaled(&self, cycles: u64) -> Parts {
        let whole = self.total();
        if whole == cycles || whole == 0 {
            return *self;
        }
        let mut scaled = Parts(self.0.map(|part| (u64::from(part) * cycles / whole) as u32));
        // The largest part gets the cycles that rounding leaves over.
        let most = (0..PARTS).max_by_key(|&part| self.0[part]).unwrap_or(0);
        scaled.0[most] += (cycles - scaled.total()) as u32;
        scaled
    }

    /// The whole time, in cycles.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&part| u64::from(part)).sum()
    }
}
