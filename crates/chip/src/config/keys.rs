//! The table of a chip file's keys. Reading, writing, `--set` and the check of the docs all go through it, so a new
//! key is one field in [`Chip`] and one line here.

use super::{Chip, Monitor};
use baton_units::{Cycles, Hertz};

/// What a key's value looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A name in quotes.
    Text,
    /// A whole number within bounds, both included.
    Count(u64, u64),
    /// A whole number within bounds that is a power of two.
    Power(u64, u64),
    /// Whole cycles of the core's clock.
    Cycles,
    /// A number within bounds, both included.
    Share(f64, f64),
}

/// Cycles at most: a thousand seconds at 1 GHz, so that sums of prices cannot overflow.
pub const MOST_CYCLES: u64 = 1_000_000_000_000;

/// A key's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Count`], [`Kind::Power`] and [`Kind::Cycles`].
    Whole(u64),
    /// Of [`Kind::Share`].
    Share(f64),
}

/// One key.
#[derive(Clone, Copy)]
pub struct Key {
    /// Table and name, joined by a dot.
    pub path: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// Whether every chip file must give it. One that may be absent is a thing that a chip may lack.
    pub required: bool,
    /// What it is for.
    pub what: &'static str,
    /// Reads it.
    pub get: fn(&Chip) -> Option<Value>,
    /// Sets it; the value has been checked against `kind`.
    pub set: fn(&mut Chip, Value),
}

impl Key {
    /// The table and the name within it.
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// What is expected, for messages.
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Text => "a text in quotes".into(),
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Power(least, most) => format!("a power of two from {least} to {most}"),
            Kind::Cycles => format!("whole cycles from 0 to {MOST_CYCLES}"),
            Kind::Share(least, most) => format!("a number from {least} to {most}"),
        }
    }

    /// Whether `value` may stand there.
    pub fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (Kind::Text, Value::Text(text)) => !text.is_empty() && !text.contains(|c: char| c.is_control()),
            (Kind::Count(least, most), Value::Whole(n)) => (least..=most).contains(n),
            (Kind::Power(least, most), Value::Whole(n)) => (least..=most).contains(n) && n.is_power_of_two(),
            (Kind::Cycles, Value::Whole(n)) => *n <= MOST_CYCLES,
            (Kind::Share(least, most), Value::Share(x)) => (least..=most).contains(x),
            _ => false,
        }
    }
}

/// The key named `path`.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

fn whole(value: Value) -> u64 {
    match value {
        Value::Whole(n) => n,
        Value::Share(x) => x as u64,
        Value::Text(_) => 0,
    }
}

macro_rules! key {
    (cycles $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: Kind::Cycles, required: true, what: $what,
            get: |chip| Some(Value::Whole(chip.$($field).+.0)),
            set: |chip, value| chip.$($field).+ = Cycles(whole(value)),
        }
    };
    (count $path:literal, $($field:ident).+, $kind:expr, $what:literal) => {
        Key {
            path: $path, kind: $kind, required: true, what: $what,
            get: |chip| Some(Value::Whole(u64::from(chip.$($field).+))),
            set: |chip, value| chip.$($field).+ = whole(value) as u32,
        }
    };
    (monitor $path:literal, $policy:ident, $part:ident, $what:literal) => {
        Key {
            path: $path, kind: Kind::Cycles, required: false, what: $what,
            get: |chip| chip.wait.$policy.map(|monitor| Value::Whole(monitor.$part.0)),
            set: |chip, value| {
                let none = Monitor { enter: Cycles(0), exit: Cycles(0) };
                chip.wait.$policy.get_or_insert(none).$part = Cycles(whole(value));
            },
        }
    };
}

/// Cores at most; sharers of a line are kept in bit sets that are this wide.
pub const MOST_CORES: u64 = 1024;

/// Every key, in the order in which a chip file is written.
pub const KEYS: &[Key] = &[
    Key {
        path: "chip.name",
        kind: Kind::Text,
        required: true,
        what: "what the chip is called in results",
        get: |chip| Some(Value::Text(chip.name.clone())),
        set: |chip, value| {
            if let Value::Text(name) = value {
                chip.name = name;
            }
        },
    },
    key!(count "core.count", core.count, Kind::Count(1, MOST_CORES), "cores that the operating system schedules on"),
    Key {
        path: "core.clock_hz",
        kind: Kind::Count(1_000_000, 100_000_000_000),
        required: true,
        what: "their clock; every price below is in its cycles",
        get: |chip| Some(Value::Whole(chip.core.clock.0)),
        set: |chip, value| chip.core.clock = Hertz(whole(value)),
    },
    key!(count "core.per_cluster", core.per_cluster, Kind::Count(1, MOST_CORES), "cores that share a last-level cache"),
    key!(count "core.clusters_per_socket", core.clusters_per_socket, Kind::Count(1, MOST_CORES),
        "such clusters in a socket, which is also a NUMA node"),
    key!(cycles "core.clock_read", core.clock_read, "reading the clock"),
    key!(cycles "core.fence", core.fence, "a sequentially consistent fence"),
    key!(count "cache.line_bytes", cache.line_bytes, Kind::Power(16, 4096), "bytes in a cache line"),
    key!(cycles "cache.hit", cache.hit, "load or store of a line that the core holds"),
    key!(cycles "cache.memory", cache.memory, "fetching a line that no cache holds"),
    key!(cycles "cache.occupancy", cache.occupancy,
        "how long a read of a shared line keeps the next request of that line waiting"),
    key!(cycles "cache.atomic", cache.atomic, "what an atomic read-modify-write costs over a store"),
    key!(cycles "cache.transfer.same_cluster", cache.transfer.same_cluster,
        "taking a line from a core under the same last-level cache"),
    key!(cycles "cache.transfer.same_socket", cache.transfer.same_socket,
        "taking a line from another cluster of the socket"),
    key!(cycles "cache.transfer.cross_socket", cache.transfer.cross_socket, "taking a line from another socket"),
    key!(cycles "cache.upgrade.same_cluster", cache.upgrade.same_cluster,
        "writing a line that is held as a copy: invalidating the other copies, all in the cluster"),
    key!(cycles "cache.upgrade.same_socket", cache.upgrade.same_socket, "the same, the farthest copy in the socket"),
    key!(cycles "cache.upgrade.cross_socket", cache.upgrade.cross_socket,
        "the same, the farthest copy in another socket"),
    key!(cycles "wait.spin", wait.spin, "one turn of a spinning loop beside its load: compare and branch"),
    key!(cycles "wait.pause", wait.pause, "a PAUSE or YIELD"),
    Key {
        path: "wait.tpause",
        kind: Kind::Cycles,
        required: false,
        what: "a TPAUSE between two loads; absent: the chip has no WAITPKG",
        get: |chip| chip.wait.tpause.map(|cycles| Value::Whole(cycles.0)),
        set: |chip, value| chip.wait.tpause = Some(Cycles(whole(value))),
    },
    key!(monitor "wait.umwait.enter", umwait, enter, "UMONITOR and going to wait; absent: the chip has no WAITPKG"),
    key!(monitor "wait.umwait.exit", umwait, exit, "from the line's invalidation to the next instruction"),
    key!(monitor "wait.mwaitx.enter", mwaitx, enter, "MONITORX and going to wait; absent: the chip has no MWAITX"),
    key!(monitor "wait.mwaitx.exit", mwaitx, exit, "from the line's invalidation to the next instruction"),
    key!(monitor "wait.wfe.enter", wfe, enter, "load-exclusive and going to wait; absent: the chip has no WFE"),
    key!(monitor "wait.wfe.exit", wfe, exit, "from the line's invalidation to the next instruction"),
    key!(cycles "os.futex_wait", os.futex_wait, "futex wait that sleeps: from the call until the core is free"),
    key!(cycles "os.futex_wait_changed", os.futex_wait_changed, "futex wait that finds the value changed"),
    key!(cycles "os.futex_wake_none", os.futex_wake_none, "futex wake that finds nobody asleep"),
    key!(cycles "os.futex_wake", os.futex_wake, "futex wake of one sleeper, until the waker goes on"),
    key!(cycles "os.futex_wake_more", os.futex_wake_more, "each further sleeper that the same call wakes"),
    key!(cycles "os.context_switch", os.context_switch, "from one thread to the next on a core"),
    key!(cycles "os.wake_idle", os.wake_idle,
        "from a wake-up to the thread's first instruction, on a core that has halted"),
    key!(cycles "os.wake_polling", os.wake_polling, "the same on an idle core that still polls for work"),
    key!(cycles "os.idle_poll", os.idle_poll, "how long an idle core polls before it halts"),
    key!(cycles "os.time_slice", os.time_slice, "how long a thread runs before one that waits for the core gets it"),
    key!(cycles "os.wakeup_granularity", os.wakeup_granularity,
        "how far behind in run time a woken thread must be to preempt the running one"),
    key!(cycles "os.thread_create", os.thread_create, "creating a thread, at its creator"),
    Key {
        path: "noise.latency",
        kind: Kind::Share(0.0, 0.5),
        required: true,
        what: "each transfer takes up to this share longer or shorter, by the seed",
        get: |chip| Some(Value::Share(chip.noise.latency)),
        set: |chip, value| {
            chip.noise.latency = match value {
                Value::Share(x) => x,
                other => whole(other) as f64,
            }
        },
    },
    key!(cycles "noise.start", noise.start, "each thread starts up to this many cycles late, by the seed"),
];
