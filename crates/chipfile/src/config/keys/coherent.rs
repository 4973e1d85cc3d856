//! The keys of a coherent chip.

use super::key::{Key, Need, Value, ValueKind, joined, text, whole};
use crate::config::chip::Chip;
use crate::config::coherent::{
    Coherent, Contention, DieLinks, DirectoryKind, HomePlacement, HomePolicy, Inclusion, Level, Network, Placement,
    Replacement, Shared, Topology,
};
use crate::config::limits::MOST_CORES;
use baton_noc::Pipeline;
use baton_noc::allocator::{ALLOCATORS, AllocatorKind};
use baton_noc::arbiter::{self, ArbiterKind};
use baton_noc::routing::{ROUTINGS, RoutingKind};
use baton_units::{Cycles, Hertz};

/// Largest number of routers in a row: the network takes grids whose width and height sum to at
/// most 1,024.
const MOST_ROUTERS: u64 = 1023;

/// Returns the coherent part of a chip, which the setters write into. A file of another model is
/// refused after it is read.
fn of(chip: &mut Chip) -> &mut Coherent {
    chip.coherent.get_or_insert_default()
}

fn shared(chip: &mut Chip) -> &mut Shared {
    of(chip).shared.get_or_insert_default()
}

/// Declares a key of [`Coherent`]; the forms differ in how they wrap the value.
macro_rules! key {
    (count $path:literal, $($field:ident).+, $least:expr, $most:expr, $what:literal) => {
        key!(@ $path, ValueKind::Count($least, $most), $what,
            |c| Value::Whole(c.$($field).+.into()), |c, value| c.$($field).+ = whole(value) as _)
    };
    (power $path:literal, $($field:ident).+, $least:expr, $most:expr, $what:literal) => {
        key!(@ $path, ValueKind::Power($least, $most), $what,
            |c| Value::Whole(c.$($field).+), |c, value| c.$($field).+ = whole(value))
    };
    (cycles $path:literal, $($field:ident).+, $what:literal) => {
        key!(@ $path, ValueKind::Cycles, $what,
            |c| Value::Whole(c.$($field).+.0), |c, value| c.$($field).+ = Cycles(whole(value)))
    };
    (choice $path:literal, $($field:ident).+, $type:ident, $what:literal) => {
        key!(@ $path, ValueKind::Choice($type::NAMES), $what,
            |c| Value::Text(c.$($field).+.name().into()),
            |c, value| c.$($field).+ = $type::named(&text(value)).unwrap_or_default())
    };
    (parsed $path:literal, $($field:ident).+, $type:ident, $what:literal) => {
        key!(@ $path, ValueKind::Parsed($type::EXPECTED, |text| $type::parse(text).is_some()), $what,
            |c| Value::Text(c.$($field).+.text()),
            |c, value| c.$($field).+ = $type::parse(&text(value)).unwrap_or_default())
    };
    // A word that the network crate knows, by the crate's registry of names.
    (word $path:literal, $field:ident, $registry:ident, $default:expr, $what:literal) => {
        key!(@ $path, ValueKind::Choice(&names($registry)), $what,
            |c| {
                let known = $registry.iter().find(|(_, kind)| *kind == c.network.router.$field);
                Value::Text(known.map_or("", |(name, _)| name).into())
            },
            |c, value| c.network.router.$field = text(value).parse().unwrap_or($default))
    };
    (stage $path:literal, $field:ident, $what:literal) => {
        key!(count $path, network.router.latency.$field, 1, 64, $what)
    };
    (@ $path:literal, $kind:expr, $what:literal, |$c:ident| $get:expr, |$m:ident, $value:ident| $set:expr) => {
        Key {
            path: $path, kind: $kind, fixed: Need::No, coherent: Need::Must, what: $what,
            get: |_, chip| chip.coherent.as_ref().map(|$c| $get),
            set: |_, chip, $value| {
                let $m = of(chip);
                $set
            },
        }
    };
}

/// Returns the names in one of the network crate's registries.
const fn names<T: Copy, const N: usize>(registry: [(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = registry[i].0;
        i += 1;
    }
    names
}

/// Declares the keys of one cache: its table, its owner, and the expressions that read and write
/// the cache in a chip.
macro_rules! cache {
    ($table:literal, $need:ident, $whose:literal, |$c:ident| $get:expr, |$m:ident| $set:expr) => {
        [
            cache!(@ concat!($table, ".size_bytes"), $need, ValueKind::Count(1, 1 << 40), concat!("bytes of data in ", $whose),
                |$c| $get, |level| Value::Whole(level.size_bytes),
                |$m| $set, |level, value| level.size_bytes = whole(value)),
            cache!(@ concat!($table, ".ways"), $need, ValueKind::Count(1, 128), concat!("lines of a set in ", $whose),
                |$c| $get, |level| Value::Whole(level.ways.into()),
                |$m| $set, |level, value| level.ways = whole(value) as u32),
            cache!(@ concat!($table, ".latency"), $need, ValueKind::Cycles, concat!("looking up ", $whose),
                |$c| $get, |level| Value::Whole(level.latency.0),
                |$m| $set, |level, value| level.latency = Cycles(whole(value))),
            cache!(@ concat!($table, ".replacement"), $need, ValueKind::Choice(Replacement::NAMES),
                concat!("which line of a set goes in ", $whose),
                |$c| $get, |level| Value::Text(level.replacement.name().into()),
                |$m| $set, |level, value| level.replacement = Replacement::named(&text(value)).unwrap_or_default()),
            cache!(@ concat!($table, ".mshrs"), $need, ValueKind::Count(1, 4096),
                concat!("misses under way at once in ", $whose),
                |$c| $get, |level| Value::Whole(level.mshrs.into()),
                |$m| $set, |level, value| level.mshrs = whole(value) as u32),
        ]
    };
    (@ $path:expr, $need:ident, $kind:expr, $what:expr,
        |$c:ident| $get:expr, |$l:ident| $read:expr, |$m:ident| $set:expr, |$level:ident, $value:ident| $write:expr) => {
        Key {
            path: $path, kind: $kind, fixed: Need::No, coherent: Need::$need, what: $what,
            get: |_, chip| {
                let $c = chip.coherent.as_ref()?;
                let $l: &Level = $get?;
                Some($read)
            },
            set: |_, chip, $value| {
                let $m = chip;
                let $level: &mut Level = $set;
                $write
            },
        }
    };
}

const CACHES: [Key; 16] = joined(&[
    &cache!("l1", Must, "a core's first-level data cache", |c| Some(&c.l1), |chip| &mut of(chip).l1),
    &cache!("l2", Table, "a core's private second level; without [l2] there is none", |c| c.l2.as_ref(), |chip| {
        of(chip).l2.get_or_insert_default()
    }),
    &cache!(
        "shared",
        Table,
        "one home's bank of the shared last level; without [shared] homes keep no data",
        |c| c.shared.as_ref().map(|shared| &shared.bank),
        |chip| &mut shared(chip).bank
    ),
    &[Key {
        path: "shared.inclusion",
        kind: ValueKind::Choice(Inclusion::NAMES),
        fixed: Need::No,
        coherent: Need::Table,
        what: "whether the shared level has a copy of everything that the cores hold",
        get: |_, chip| Some(Value::Text(chip.coherent.as_ref()?.shared?.inclusion.name().into())),
        set: |_, chip, value| shared(chip).inclusion = Inclusion::named(&text(value)).unwrap_or_default(),
    }],
]);

const REST: &[Key] = &[
    key!(parsed "directory.kind", directory.kind, DirectoryKind, "how an entry names sharers"),
    key!(cycles "directory.latency", directory.latency,
        "from a request's turn at its home to what it causes there; beside shared.latency, not before it"),
    key!(count "home.banks", home.banks, 1, MOST_CORES, "homes, over which lines are spread; each has its bank of the shared level"),
    key!(choice "home.placement", home.placement, HomePlacement,
        "lines go round all homes, or round those of the NUMA node that touched the page first"),
    key!(choice "home.policy", home.policy, HomePolicy,
        "whether a request waits while another of its line is under way"),
    key!(count "home.places", home.places, 0, 65536,
        "requests that a home takes in, further ones wait in the network; 0: without bound"),
    key!(cycles "home.cycles", home.cycles, "between one request's turn at a home and the next one's"),
    key!(cycles "home.atomic", home.atomic, "performing a far atomic, at the home"),
    key!(count "dram.controllers", dram.controllers, 1, 1024, "memory controllers"),
    key!(parsed "dram.placement", dram.placement, Placement, "the nodes that they hang on"),
    key!(power "dram.interleave_bytes", dram.interleave_bytes, 16, 1 << 40,
        "neighbouring bytes that one controller serves before the next one's turn"),
    key!(count "dram.banks", dram.banks, 1, 4096, "banks of a controller, each with one open row"),
    key!(power "dram.row_bytes", dram.row_bytes, 16, 1 << 30, "bytes of a row"),
    key!(cycles "dram.row_hit", dram.row_hit, "an access to the open row, from its turn at the bank to the data"),
    key!(cycles "dram.row_miss", dram.row_miss, "an access to another row"),
    key!(@ "dram.bytes_per_cycle", ValueKind::Share(0.001, 4096.0), "bytes that a controller moves in a cycle",
    |c| Value::Share(c.dram.bytes_per_cycle),
    |c, value| c.dram.bytes_per_cycle = match value {
        Value::Share(x) => x,
        other => whole(other) as f64,
    }),
    key!(count "dram.queue", dram.queue, 0, 65536, "oldest requests among which a controller chooses the next; 0: 64"),
    key!(choice "network.topology", network.topology, Topology, "how routers are joined"),
    Key {
        path: "network.width",
        kind: ValueKind::Count(1, MOST_ROUTERS),
        fixed: Need::No,
        coherent: Need::May,
        what: "routers in a row of a mesh or torus, which alone have it",
        get: |_, chip| on_grid(chip, |network| network.width),
        set: |_, chip, value| of(chip).network.width = whole(value) as u32,
    },
    Key {
        path: "network.height",
        kind: ValueKind::Count(1, MOST_ROUTERS),
        fixed: Need::No,
        coherent: Need::May,
        what: "rows of a mesh or torus, which alone have it",
        get: |_, chip| on_grid(chip, |network| network.height),
        set: |_, chip, value| of(chip).network.height = whole(value) as u32,
    },
    Key {
        path: "network.links",
        kind: ValueKind::Parsed(DieLinks::EXPECTED, |text| DieLinks::parse(text).is_some()),
        fixed: Need::No,
        coherent: Need::May,
        what: "links between dies, which topology \"dies\" alone has; the length multiplies network.latency.link",
        get: |_, chip| {
            let network = &chip.coherent.as_ref()?.network;
            (!network.links.is_empty()).then(|| Value::Text(network.links.text()))
        },
        set: |_, chip, value| of(chip).network.links = DieLinks::parse(&text(value)).unwrap_or_default(),
    },
    key!(@ "network.clock_hz", ValueKind::Count(1_000_000, 100_000_000_000),
        "the network's clock, of which the core's is a whole multiple; network latencies are in its cycles",
        |c| Value::Whole(c.network.clock.0), |c, value| c.network.clock = Hertz(whole(value))),
    Key {
        path: "network.contention",
        kind: ValueKind::Choice(Contention::NAMES),
        fixed: Need::No,
        coherent: Need::May,
        what: "whether packets meet in routers; \"none\": each takes as long as in an empty network, and homes take all in",
        get: |_, chip| Some(Value::Text(chip.coherent.as_ref()?.network.contention.name().into())),
        set: |_, chip, value| of(chip).network.contention = Contention::named(&text(value)).unwrap_or_default(),
    },
    key!(cycles "network.local", network.local,
        "from one unit to another at the same node, past the network; in cycles of the core's clock"),
    key!(count "network.control_flits", network.control_flits, 1, 64, "flits of a message without data"),
    key!(count "network.data_flits", network.data_flits, 1, 255, "flits of a message with a line"),
    key!(count "network.flit_bytes", network.flit_bytes, 1, 4096, "bytes of a flit, which is what a link moves in a cycle"),
    key!(count "network.vcs", network.vcs, 1, 16, "virtual channels of each of the message classes"),
    key!(count "network.buffer", network.router.buffer, 1, 4096, "flits that a virtual channel buffers"),
    key!(@ "network.pipeline", ValueKind::Choice(&["speculative", "nonspeculative"]),
    "whether a head flit bids for the switch while it bids for a virtual channel, or after",
    |c| Value::Text(match c.network.router.pipeline {
        Pipeline::Speculative => "speculative",
        Pipeline::Nonspeculative => "nonspeculative",
    }.into()),
    |c, value| c.network.router.pipeline = match text(value).as_str() {
        "speculative" => Pipeline::Speculative,
        _ => Pipeline::Nonspeculative,
    }),
    key!(word "network.routing", routing, ROUTINGS, RoutingKind::Auto, "how a packet chooses its way"),
    key!(@ "network.arbiter", ValueKind::OneOf(arbiter::names), "who wins when several want the same",
    |c| Value::Text(c.network.router.arbiter.info().name.into()),
    |c, value| c.network.router.arbiter = text(value).parse().unwrap_or(ArbiterKind::RoundRobin)),
    key!(word "network.allocator", allocator, ALLOCATORS, AllocatorKind::InputFirst, "how the switch is matched"),
    key!(stage "network.latency.vc_alloc", vc_alloc, "virtual-channel allocation"),
    key!(stage "network.latency.switch_alloc", switch_alloc, "switch allocation"),
    key!(stage "network.latency.traversal", traversal, "switch traversal"),
    key!(stage "network.latency.link", link, "a link of length 1"),
    key!(stage "network.latency.injection", injection, "from a node to its router"),
    key!(stage "network.latency.ejection", ejection, "from a router to its node"),
    key!(stage "network.latency.credit_link", credit_link, "a credit's way back over the link"),
    key!(stage "network.latency.credit", credit, "a credit's processing in a router"),
];

/// Returns a value of a mesh or torus; `None` on other topologies.
fn on_grid(chip: &Chip, what: fn(&Network) -> u32) -> Option<Value> {
    let network = &chip.coherent.as_ref()?.network;
    matches!(network.topology, Topology::Mesh | Topology::Torus).then(|| Value::Whole(what(network).into()))
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: [Key; CACHES.len() + REST.len()] = joined(&[&CACHES, REST]);
