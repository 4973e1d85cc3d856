//! The keys of coherent chips and of chips with fixed latencies, and the fixed prices of the
//! latter.

use super::key::{Key, Need, Value, ValueKind, share, text, whole};
use crate::config::chip::MemoryModel;
use crate::config::clocks::{ClockLevels, CoreClocks};
use crate::config::coherent::Atomics;
use crate::config::limits::{MOST_CONTEXTS, MOST_CORES};
use crate::config::waits::{Evicted, Level};
use baton_units::{Cycles, Hertz};

/// Whether a chip of fixed latencies gives a key, and whether a coherent chip does.
type Needs = (Need, Need);
const BOTH: Needs = (Need::Must, Need::Must);
const FIXED: Needs = (Need::Must, Need::No);
/// The key may be absent; the key's explanation states what its absence means.
const MAY: Needs = (Need::May, Need::May);
/// The key may be absent on a chip of fixed latencies and is then 0, as its explanation states.
const WINDOW: Needs = (Need::May, Need::Must);

macro_rules! key {
    ($needs:ident cycles $path:literal, $($field:ident).+, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: $needs.0, coherent: $needs.1, what: $what,
            get: |_, chip| Some(Value::Whole(chip.$($field).+.0)),
            set: |_, chip, value| chip.$($field).+ = Cycles(whole(value)),
        }
    };
    ($needs:ident count $path:literal, $($field:ident).+, $kind:expr, $what:literal) => {
        Key {
            path: $path, kind: $kind, fixed: $needs.0, coherent: $needs.1, what: $what,
            get: |_, chip| Some(Value::Whole(u64::from(chip.$($field).+))),
            set: |_, chip, value| chip.$($field).+ = whole(value) as u32,
        }
    };
    // A price of a policy that the chip may lack as a whole.
    (part $path:literal, $($policy:ident).+, $part:ident, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: Need::Table, coherent: Need::Table, what: $what,
            get: |_, chip| chip.wait.$($policy).+.map(|price| Value::Whole(price.$part.0)),
            set: |_, chip, value| chip.wait.$($policy).+.get_or_insert_default().$part = Cycles(whole(value)),
        }
    };
    // A price that may be absent by itself.
    (option $path:literal, $field:ident, $what:literal) => {
        Key {
            path: $path, kind: ValueKind::Cycles, fixed: Need::May, coherent: Need::May, what: $what,
            get: |_, chip| chip.wait.$field.map(|cycles| Value::Whole(cycles.0)),
            set: |_, chip, value| chip.wait.$field = Some(Cycles(whole(value))),
        }
    };
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "chip.name",
        kind: ValueKind::Text,
        fixed: Need::Must,
        coherent: Need::Must,
        what: "what the chip is called in results",
        get: |_, chip| Some(Value::Text(chip.name.clone())),
        set: |_, chip, value| chip.name = text(value),
    },
    Key {
        path: "memory.model",
        kind: ValueKind::Choice(MemoryModel::NAMES),
        fixed: Need::May,
        coherent: Need::Must,
        what: "caches of fixed latencies, coherent ones with a directory on a network, or the coarse mode of phases; absent: fixed",
        get: |_, chip| Some(Value::Text(chip.model().name().into())),
        set: |_, chip, value| {
            let model = MemoryModel::named(&text(value)).unwrap_or_default();
            match model {
                MemoryModel::Fixed => chip.coherent = None,
                MemoryModel::Coherent | MemoryModel::Phases => _ = chip.coherent.get_or_insert_default(),
            }
            chip.phases = (model == MemoryModel::Phases).then(|| chip.phases.unwrap_or_default());
        },
    },
    key!(BOTH count "core.count", core.count, ValueKind::Count(1, MOST_CORES), "cores"),
    key!(MAY count "core.contexts", core.contexts, ValueKind::Power(1, MOST_CONTEXTS as u64),
        "hardware contexts a core (SMT), which the operating system schedules on; absent: 1"),
    Key {
        path: "core.clock_hz",
        kind: ValueKind::Count(1_000_000, 100_000_000_000),
        fixed: Need::Must,
        coherent: Need::Must,
        what: "their clock, the fastest that they can have; every price below is in its cycles",
        get: |_, chip| Some(Value::Whole(chip.core.clock.0)),
        set: |_, chip, value| chip.core.clock = Hertz(whole(value)),
    },
    Key {
        path: "core.clocks",
        kind: ValueKind::Parsed(CoreClocks::EXPECTED, |text| CoreClocks::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "cores that begin with a slower clock, and which; absent: none",
        get: |_, chip| (!chip.core.clocks.0.is_empty()).then(|| Value::Text(chip.core.clocks.text())),
        set: |_, chip, value| chip.core.clocks = CoreClocks::parse(&text(value)).unwrap_or_default(),
    },
    Key {
        path: "core.clock_change",
        kind: ValueKind::Cycles,
        fixed: Need::May,
        coherent: Need::May,
        what: "changing a core's clock: by system call, at its caller, and by a governor, at a thread of that core; absent: no thread can, and \
               a governor's changes are free",
        get: |_, chip| chip.core.clock_change.map(|cycles| Value::Whole(cycles.0)),
        set: |_, chip, value| chip.core.clock_change = Some(Cycles(whole(value))),
    },
    Key {
        path: "core.clock_latency",
        kind: ValueKind::Cycles,
        fixed: Need::May,
        coherent: Need::May,
        what: "from a request for another clock until the core has it; it goes on at its old one meanwhile; absent: none",
        get: |_, chip| (chip.core.clock_latency.0 != 0).then_some(Value::Whole(chip.core.clock_latency.0)),
        set: |_, chip, value| chip.core.clock_latency = Cycles(whole(value)),
    },
    Key {
        path: "core.clock_levels",
        kind: ValueKind::Parsed(ClockLevels::EXPECTED, |text| ClockLevels::parse(text).is_some()),
        fixed: Need::May,
        coherent: Need::May,
        what: "clocks that os.governor chooses from, beside the one that a core begins with, which is its fastest; absent: eighths of \
               core.clock_hz, from the half up",
        get: |_, chip| (!chip.core.clock_levels.0.is_empty()).then(|| Value::Text(chip.core.clock_levels.text())),
        set: |_, chip, value| chip.core.clock_levels = ClockLevels::parse(&text(value)).unwrap_or_default(),
    },
    key!(BOTH count "core.per_cluster", core.per_cluster, ValueKind::Count(1, MOST_CORES), "cores that share a last-level cache"),
    key!(BOTH count "core.clusters_per_socket", core.clusters_per_socket, ValueKind::Count(1, MOST_CORES),
        "such clusters in a socket, which is also a NUMA node"),
    key!(BOTH cycles "core.clock_read", core.clock_read, "reading the clock"),
    key!(BOTH cycles "core.fence", core.fence, "a sequentially consistent fence"),
    key!(WINDOW count "core.store_buffer", core.store_buffer, ValueKind::Count(0, 1024),
        "stores of a hardware thread that wait for their line; 0 or absent: each store waits for itself"),
    key!(WINDOW count "core.rob", core.rob, ValueKind::Count(0, 4096),
        "instructions under way at once; 0 or absent: one access at a time"),
    key!(WINDOW count "core.load_queue", core.load_queue, ValueKind::Count(0, 4096),
        "loads under way at once; 0 or absent: one"),
    key!(WINDOW count "core.store_queue", core.store_queue, ValueKind::Count(0, 4096),
        "stores of the buffer whose lines are asked for at once; 0 or absent: one"),
    key!(WINDOW count "core.width", core.width, ValueKind::Count(0, 64),
        "instructions a cycle between guest operations; 0 or absent: they cost nothing"),
    key!(WINDOW cycles "core.flush", core.flush,
        "what the mis-speculated loads at the end of a spin cost; absent: nothing"),
    Key {
        path: "core.result_latency",
        kind: ValueKind::Share(0.0, 1000.0),
        fixed: Need::May,
        coherent: Need::May,
        what: "mean cycles from an instruction's issue to its result in computations; for core.contexts, core.rob and core.width",
        get: |_, chip| Some(Value::Share(chip.core.result_latency)),
        set: |_, chip, value| chip.core.result_latency = share(value),
    },
    key!(MAY cycles "core.mode_change", core.mode_change,
        "how long a core's contexts stand still when another one becomes active, or one less is; absent: nothing"),
    Key {
        path: "core.atomics",
        kind: ValueKind::Choice(Atomics::NAMES),
        fixed: Need::No,
        coherent: Need::Must,
        what: "where an atomic read-modify-write is done: in the L1, at the home, or as load-linked and store-conditional",
        get: |_, chip| chip.coherent.as_ref().map(|coherent| Value::Text(coherent.atomics.name().into())),
        set: |_, chip, value| {
            chip.coherent.get_or_insert_default().atomics = Atomics::named(&text(value)).unwrap_or_default();
        },
    },
    key!(BOTH count "cache.line_bytes", cache.line_bytes, ValueKind::Power(16, 4096), "bytes in a cache line"),
    key!(FIXED cycles "cache.hit", cache.hit, "load or store of a line that the core holds"),
    key!(FIXED cycles "cache.memory", cache.memory, "fetching a line that no cache holds"),
    key!(FIXED cycles "cache.occupancy", cache.occupancy,
        "how long a read of a shared line keeps the next request of that line waiting"),
    key!(BOTH cycles "cache.atomic", cache.atomic, "what an atomic read-modify-write costs over a store"),
    key!(FIXED cycles "cache.transfer.same_cluster", cache.transfer.same_cluster,
        "taking a line from a core under the same last-level cache"),
    key!(FIXED cycles "cache.transfer.same_socket", cache.transfer.same_socket,
        "taking a line from another cluster of the socket"),
    key!(FIXED cycles "cache.transfer.cross_socket", cache.transfer.cross_socket, "taking a line from another socket"),
    key!(FIXED cycles "cache.upgrade.same_cluster", cache.upgrade.same_cluster,
        "writing a line that is held as a copy: invalidating the other copies, all in the cluster"),
    key!(FIXED cycles "cache.upgrade.same_socket", cache.upgrade.same_socket, "the same, the farthest copy in the socket"),
    key!(FIXED cycles "cache.upgrade.cross_socket", cache.upgrade.cross_socket,
        "the same, the farthest copy in another socket"),
    key!(BOTH cycles "wait.spin", wait.spin, "one turn of a spinning loop beside its load: compare and branch"),
    key!(BOTH cycles "wait.pause", wait.pause, "a PAUSE or YIELD"),
    key!(option "wait.tpause", tpause, "a TPAUSE between two loads; absent: the chip has no WAITPKG"),
    key!(option "wait.tpause_c02", tpause_c02, "the same at C0.2; absent: the chip has no such depth, or the kernel forbids it"),
    key!(MAY cycles "wait.monitor", wait.monitor, "arming any monitor, beside the load of its line; absent: nothing"),
    Key {
        path: "wait.spurious",
        kind: ValueKind::Share(0.0, 1000.0),
        fixed: Need::May,
        coherent: Need::May,
        what: "wake-ups for no reason in a million cycles with a monitor, by the seed; absent: none",
        get: |_, chip| Some(Value::Share(chip.wait.spurious)),
        set: |_, chip, value| chip.wait.spurious = share(value),
    },
    Key {
        path: "wait.evicted",
        kind: ValueKind::Choice(Evicted::NAMES),
        fixed: Need::No,
        coherent: Need::May,
        what: "whether a wait with a monitor ends when its core loses the line without a store; absent: ends",
        get: |_, chip| (chip.wait.evicted != Evicted::Ends).then(|| Value::Text(chip.wait.evicted.name().into())),
        set: |_, chip, value| chip.wait.evicted = Evicted::named(&text(value)).unwrap_or_default(),
    },
    key!(part "wait.umwait.enter", umwait, enter, "UMWAIT until the context stands still; absent: the chip has no WAITPKG"),
    key!(part "wait.umwait.exit", umwait, exit, "from what ends the wait to the next instruction"),
    key!(option "wait.umwait.limit", umwait_limit,
        "the longest that one UMWAIT rests (IA32_UMWAIT_CONTROL); absent: without bound"),
    key!(part "wait.umwait_c02.enter", umwait_c02, enter,
        "UMWAIT at C0.2 until the context stands still; absent: the chip has no such depth, or the kernel forbids it"),
    key!(part "wait.umwait_c02.exit", umwait_c02, exit, "from what ends the wait to the next instruction"),
    key!(part "wait.mwaitx.enter", mwaitx, enter, "MWAITX until the context stands still; absent: the chip has no MWAITX"),
    key!(part "wait.mwaitx.exit", mwaitx, exit, "from what ends the wait to the next instruction"),
    key!(part "wait.wfe.enter", wfe, enter, "WFE until the context stands still; absent: the chip has no WFE"),
    key!(part "wait.wfe.exit", wfe, exit, "from what ends the wait to the next instruction"),
    Key {
        path: "wait.mwait.level",
        kind: ValueKind::Choice(Level::NAMES),
        fixed: Need::May,
        coherent: Need::May,
        what: "who may execute MONITOR and MWAIT: user code, or the kernel alone; absent: user",
        get: |_, chip| Some(Value::Text(chip.wait.mwait.level.name().into())),
        set: |_, chip, value| chip.wait.mwait.level = Level::named(&text(value)).unwrap_or_default(),
    },
    key!(part "wait.mwait.c1.enter", mwait.c1, enter,
        "MWAIT at depth 1 until the context stands still; absent: the chip has no such depth"),
    key!(part "wait.mwait.c1.exit", mwait.c1, exit, "from what ends the wait to the next instruction"),
    key!(part "wait.mwait.c2.enter", mwait.c2, enter, "the same at depth 2"),
    key!(part "wait.mwait.c2.exit", mwait.c2, exit, "from what ends the wait to the next instruction"),
    key!(part "wait.mwait.c3.enter", mwait.c3, enter, "the same at depth 3"),
    key!(part "wait.mwait.c3.exit", mwait.c3, exit, "from what ends the wait to the next instruction"),
    key!(part "wait.mwmon.call", mwmon, call,
        "the system call around MWAIT at depth 1, up to its MONITOR; absent: the kernel has no such call"),
    key!(part "wait.mwmon.return", mwmon, back, "from the end of its wait to the caller's next instruction"),
    key!(part "wait.halt.enter", halt, enter,
        "the system call that halts the CPU, until it stands still; absent: the kernel has no such call"),
    key!(part "wait.halt.send", halt, send, "the waker's system call, which sends an interrupt when it begins"),
    key!(part "wait.halt.exit", halt, exit, "from there to the waiter's next instruction"),
];
