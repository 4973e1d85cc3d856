//! The energy prices of a chip file: watts for states and for parts that are always on, picojoules
//! for events.

/// One price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// The watts of a CPU in the state of that number (`PowerState`).
    State(usize),
    /// The part of a CPU's watts that a slower clock does not lower.
    Static,
    /// The exponent with which the rest of a CPU's watts falls with the clock.
    Exponent,
    /// The price of an access to a first-level cache.
    L1,
    /// The price of an access to a private second level.
    L2,
    /// The price of an access to a bank of the shared level.
    Shared,
    /// The price of a protocol message, at its directory or cache.
    Message,
    /// The price of a flit that passes a router.
    FlitHop,
    /// The constant power of the network, in watts.
    Network,
    /// The price of reading a line from memory.
    Read,
    /// The price of writing a line to memory.
    Write,
    /// The price of opening a row.
    Activate,
    /// The constant power of a memory controller with its memory, in watts.
    Controller,
    /// The price of a request to a device.
    Request,
    /// The constant power of a device, in watts.
    Device,
    /// The constant power of everything else, in watts.
    Base,
}

impl Price {
    /// The power of a CPU that computes, waits for memory or is in a system call.
    pub const ACTIVE: Price = Price::State(0);
    /// The power of a CPU that spins.
    pub const SPIN: Price = Price::State(1);
    /// The power of a CPU that waits with a monitor, at the shallowest depth.
    pub const MONITOR: Price = Price::State(4);
    /// The power of a halted CPU without a thread.
    pub const IDLE: Price = Price::State(9);
}

/// The dependence of watts on the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The part of the watts that a slower clock does not lower.
    pub still: f64,
    /// The exponent for the rest: the rest is proportional to this power of `clock / reference`.
    pub exponent: f64,
}

impl Scaling {
    /// The power of a state at a share of the reference clock, from its power `watts` at the
    /// reference.
    pub fn watts(self, watts: f64, share: f64) -> f64 {
        let clocked = (watts - self.still).max(0.0);
        watts + clocked * (share.powf(self.exponent) - 1.0)
    }
}

/// The key of a price in a chip file.
#[derive(Clone, Copy, Debug)]
pub struct PriceKey {
    /// The price that the key gives.
    pub price: Price,
    /// The key's table and name, joined by a dot.
    pub path: &'static str,
    /// The unit of the price.
    pub unit: &'static str,
    /// The meaning of the price.
    pub what: &'static str,
}

const fn key(price: Price, path: &'static str, unit: &'static str, what: &'static str) -> PriceKey {
    PriceKey { price, path, unit, what }
}

/// Number of prices.
pub const PRICES: usize = 27;

/// The keys of all prices, in the order in which a chip file is written.
pub const KEYS: [PriceKey; PRICES] = [
    key(Price::Base, "energy.base", "W", "what everything that is not named here takes, always"),
    key(Price::State(0), "energy.cpu.active", "W", "a CPU that computes, waits for memory or is in a system call"),
    key(Price::State(1), "energy.cpu.spin", "W", "a CPU that spins with nothing between its tries"),
    key(Price::State(2), "energy.cpu.pause", "W", "a CPU that spins with PAUSE or TPAUSE between its tries"),
    key(Price::State(3), "energy.cpu.device", "W", "a CPU that stalls for a device; absent: as energy.cpu.active"),
    key(
        Price::State(4),
        "energy.cpu.monitor_c1",
        "W",
        "a CPU that stands still with a monitor, at the shallowest depth",
    ),
    key(Price::State(5), "energy.cpu.monitor_c2", "W", "the same at the second depth"),
    key(Price::State(6), "energy.cpu.monitor_c3", "W", "the same at the third depth"),
    key(Price::State(7), "energy.cpu.halt", "W", "a CPU that its thread has halted"),
    key(Price::State(8), "energy.cpu.idle_poll", "W", "a CPU without a thread that polls for one"),
    key(Price::State(9), "energy.cpu.idle", "W", "a CPU without a thread that has halted"),
    key(Price::State(10), "energy.cpu.idle_deep", "W", "a CPU without a thread in one of os.idle_states"),
    key(Price::State(11), "energy.cpu.off", "W", "a CPU that is not in use"),
    key(Price::Static, "energy.cpu.static", "W", "of these, what a slower clock does not lower"),
    key(
        Price::Exponent,
        "energy.cpu.exponent",
        "",
        "the rest goes with the clock's share of core.clock_hz to this power: 1 at the same voltage",
    ),
    key(Price::L1, "energy.l1.access", "pJ", "an access to a first-level cache"),
    key(Price::L2, "energy.l2.access", "pJ", "an access to a private second level"),
    key(
        Price::Shared,
        "energy.shared.access",
        "pJ",
        "an access to a bank of the shared level; with fixed latencies: a transfer or an upgrade",
    ),
    key(
        Price::Message,
        "energy.home.message",
        "pJ",
        "a message of the coherence protocol, at the cache or directory that takes it",
    ),
    key(Price::FlitHop, "energy.network.flit_hop", "pJ", "a flit that passes a router, with the link behind it"),
    key(Price::Network, "energy.network.static", "W", "the network, whatever it does"),
    key(Price::Read, "energy.memory.read", "pJ", "a line read from memory"),
    key(Price::Write, "energy.memory.write", "pJ", "a line written to memory"),
    key(Price::Activate, "energy.memory.activate", "pJ", "a row opened"),
    key(
        Price::Controller,
        "energy.memory.static",
        "W",
        "a memory controller with its memory, whatever they do; with fixed latencies: a NUMA node's",
    ),
    key(Price::Request, "energy.device.request", "pJ", "a request to a device"),
    key(Price::Device, "energy.device.static", "W", "a device, whatever it does"),
];

/// The prices that a chip file gives, in the order of [`KEYS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(pub [Option<f64>; PRICES]);

impl Prices {
    /// Returns a price and its key; the price is `None` if the file does not give it.
    pub fn of(&self, price: Price) -> (Option<f64>, &'static PriceKey) {
        let at = KEYS.iter().position(|key| key.price == price).unwrap_or(0);
        (self.0[at], &KEYS[at])
    }
}
