//! The keys of a chip's devices, and the keys of each kind of device.

use super::key::{Key, Need, Value, ValueKind, text, whole};
use crate::config::chip::Chip;
use crate::config::coherent::Placement;
use crate::config::device::{Devices, Link, PLACEMENT, PostedTo, QueueHome, YoungerStores, placement};
use crate::peripheral::{self, kinds};
use baton_units::{Cycles, Hertz};

fn of(chip: &mut Chip) -> &mut Devices {
    chip.devices.get_or_insert_default()
}

macro_rules! key {
    ($path:literal, $kind:expr, $what:literal, |$d:ident| $get:expr, |$m:ident, $value:ident| $set:expr) => {
        key!(@ Table, $path, $kind, $what, |$d| Some($get), |$m, $value| $set)
    };
    (may $path:literal, $kind:expr, $what:literal, |$d:ident| $get:expr, |$m:ident, $value:ident| $set:expr) => {
        key!(@ May, $path, $kind, $what, |$d| $get, |$m, $value| $set)
    };
    (@ $need:ident, $path:literal, $kind:expr, $what:literal, |$d:ident| $get:expr, |$m:ident, $value:ident| $set:expr) => {
        Key {
            path: $path, kind: $kind, fixed: Need::$need, coherent: Need::$need, what: $what,
            get: |_, chip| {
                let $d = chip.devices.as_ref()?;
                $get
            },
            set: |_, chip, $value| {
                let $m = of(chip);
                $set
            },
        }
    };
}

/// The keys, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    key!(
        "device.kind",
        ValueKind::Words(peripheral::names, "or one of them for each device as in \"mailbox alarm\""),
        "what the devices are: one kind for all, or one for each; without [device] there is none",
        |d| Value::Text(d.kind.clone()),
        |d, value| d.kind = text(value)
    ),
    key!(
        "device.count",
        ValueKind::Count(1, 1024),
        "how many there are",
        |d| Value::Whole(d.count.into()),
        |d, value| d.count = whole(value) as u32
    ),
    key!(
        "device.clock_hz",
        ValueKind::Count(1_000_000, 100_000_000_000),
        "the clock of each, not faster than core.clock_hz",
        |d| Value::Whole(d.all.clock.0),
        |d, value| d.all.clock = Hertz(whole(value))
    ),
    key!(may "device.latency", ValueKind::Cycles, "from a request's turn to its answer, in cycles of the device's clock",
        |d| d.shared.get("latency").cloned(), |d, value| d.shared.set("latency", value)),
    key!(may "device.words", ValueKind::Count(1, 1 << 32), "words of eight bytes that each keeps",
        |d| d.shared.get("words").cloned(), |d, value| d.shared.set("words", value)),
    key!(may "device.places", ValueKind::Count(1, 65536),
        "requests that have come and that it has not taken; more wait in the network, or on its wires; absent: no bound",
        |d| d.all.places.map(|places| Value::Whole(places.into())), |d, value| d.all.places = Some(whole(value) as u32)),
    key!(
        "device.outstanding",
        ValueKind::Count(1, 1024),
        "requests that a thread has under way at once, to all devices together",
        |d| Value::Whole(d.outstanding.into()),
        |d, value| d.outstanding = whole(value) as u32
    ),
    key!(may "device.younger_stores", ValueKind::Choice(YoungerStores::NAMES),
        "stores behind a request that is not answered wait for it, or are written before; absent: they wait",
        |d| (d.younger_stores != YoungerStores::Wait).then(|| Value::Text(d.younger_stores.name().into())),
        |d, value| d.younger_stores = YoungerStores::named(&text(value)).unwrap_or_default()),
    key!(may "device.posted_to", ValueKind::Choice(PostedTo::NAMES),
        "answers to posted requests are written in the shared level, or in the caches of the core that asked; absent: in the shared level",
        |d| (d.posted_to != PostedTo::Home).then(|| Value::Text(d.posted_to.name().into())),
        |d, value| d.posted_to = PostedTo::named(&text(value)).unwrap_or_default()),
    key!(may "device.numbers", ValueKind::Switch,
        "requests are numbered, so that a thread's come to a device in their order by any way; absent: true",
        |d| (!d.numbers).then_some(Value::Switch(false)), |d, value| d.numbers = value == Value::Switch(true)),
    key!(may "device.qimu", ValueKind::Count(1, 4096),
        "queue ids that a process can have at a time, which each core translates; absent: programs use the devices' own",
        |d| d.translation.ids.map(|ids| Value::Whole(ids.into())),
        |d, value| d.translation.ids = Some(whole(value) as u32)),
    key!(may "device.qtlb", ValueKind::Count(1, 1024),
        "translations that a hardware context keeps; with device.qimu, which alone has it",
        |d| d.translation.qtlb.map(|qtlb| Value::Whole(qtlb.into())),
        |d, value| d.translation.qtlb = Some(whole(value) as u32)),
    key!(may "device.queue_home", ValueKind::Choice(QueueHome::NAMES),
        "a queue is made at the device that the program names, or at the nearest with room; absent: at the one that is named",
        |d| (d.translation.home != QueueHome::Named).then(|| Value::Text(d.translation.home.name().into())),
        |d, value| d.translation.home = QueueHome::named(&text(value)).unwrap_or_default()),
    key!(
        "device.link",
        ValueKind::Choice(Link::NAMES),
        "wires of its own, or the network of a coherent chip",
        |d| Value::Text(d.link.name().into()),
        |d, value| d.link = Link::named(&text(value)).unwrap_or_default()
    ),
    key!(may "device.way", ValueKind::Cycles, "one way on wires of its own, which alone have it",
        |d| d.all.way.map(|way| Value::Whole(way.0)), |d, value| d.all.way = Some(Cycles(whole(value)))),
    key!(may "device.flits", ValueKind::Count(1, 64), "flits of a request or an answer on the network, which alone has it",
        |d| d.all.flits.map(|flits| Value::Whole(flits.into())), |d, value| d.all.flits = Some(whole(value) as u32)),
    key!(may "device.placement", ValueKind::Parsed(PLACEMENT, |text| placement(text).is_some()),
        "on a grid or ring: the nodes that they hang on; absent: spread evenly",
        |d| (d.placement != Placement::All).then(|| Value::Text(d.placement.text())),
        |d, value| d.placement = placement(&text(value)).unwrap_or_default()),
    key!(
        "device.call",
        ValueKind::Cycles,
        "a system call to one, beside the request's own way",
        |d| Value::Whole(d.all.call.0),
        |d, value| d.all.call = Cycles(whole(value))
    ),
    key!(
        "device.interrupt",
        ValueKind::Cycles,
        "taking its interrupt, on the core",
        |d| Value::Whole(d.all.interrupt.0),
        |d, value| d.all.interrupt = Cycles(whole(value))
    ),
];

/// Returns the keys of the tables of all kinds: the keys of link and clock, and the kind's keys.
/// The path of a key names the kind and the value.
pub(super) fn of_kinds() -> Vec<Key> {
    let key = |kind: &str, name: &str, kind_of: ValueKind, what: String| Key {
        path: format!("device.{kind}.{name}").leak(),
        kind: kind_of,
        fixed: Need::May,
        coherent: Need::May,
        what: what.leak(),
        get: |key, chip| {
            let (kind, name) = of_path(key);
            chip.devices.as_ref()?.own[kind].get(name).cloned()
        },
        set: |key, chip, value| {
            let (kind, name) = of_path(key);
            of(chip).own[kind].set(name, value);
        },
    };
    let common = |name: &str| KEYS.iter().find(|key| key.parts().1 == name);
    let mut keys = Vec::new();
    for kind in kinds() {
        let own: Vec<_> = kind.keys.iter().map(|own| (own.name, own.takes, own.what)).collect();
        let link = |name: &'static str| common(name).map(|key| (name, key.kind, key.what));
        let behind: Vec<_> = ["places", "way", "flits", "call", "interrupt"].into_iter().filter_map(link).collect();
        for (name, takes, what) in link("clock_hz").into_iter().chain(own).chain(behind) {
            let what = match common(name) {
                Some(_) => format!("device.{name} of each {}; absent: as in [device]", kind.name),
                None => what.to_owned(),
            };
            keys.push(key(kind.name, name, takes, what));
        }
    }
    keys
}

/// Returns the number of the kind, and the name within the kind's table.
fn of_path(key: &Key) -> (usize, &'static str) {
    let (table, name) = key.parts();
    let kind = kinds().iter().position(|kind| table.strip_prefix("device.") == Some(kind.name));
    (kind.unwrap_or_else(|| unreachable!("{} is a key of a kind", key.path)), name)
}
