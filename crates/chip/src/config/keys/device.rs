//! The keys of a chip's devices, and those that kinds of devices have of their own.

use super::{Key, Kind, Need, Value, text, whole};
use crate::config::Chip;
use crate::config::coherent::Placement;
use crate::config::device::{Devices, KINDS, Link, PLACEMENT, are_kinds, placement};
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
            get: |chip| {
                let $d = chip.devices.as_ref()?;
                $get
            },
            set: |chip, $value| {
                let $m = of(chip);
                $set
            },
        }
    };
}

/// They, in the order in which a chip file is written.
pub(super) const KEYS: &[Key] = &[
    key!(
        "device.kind",
        Kind::Parsed(KINDS, are_kinds),
        "what the devices are: one kind for all, or one for each; without [device] there is none",
        |d| Value::Text(d.kind.clone()),
        |d, value| d.kind = text(value)
    ),
    key!("device.count", Kind::Count(1, 1024), "how many there are", |d| Value::Whole(d.count.into()), |d, value| d
        .count =
        whole(value) as u32),
    key!(
        "device.clock_hz",
        Kind::Count(1_000_000, 100_000_000_000),
        "the clock of each, not faster than core.clock_hz",
        |d| Value::Whole(d.clock.0),
        |d, value| d.clock = Hertz(whole(value))
    ),
    key!(
        "device.latency",
        Kind::Cycles,
        "from a request's turn to its answer, in cycles of the device's clock",
        |d| Value::Whole(d.latency.0),
        |d, value| d.latency = Cycles(whole(value))
    ),
    key!(
        "device.words",
        Kind::Count(1, 1 << 32),
        "words of eight bytes that each keeps",
        |d| Value::Whole(d.words),
        |d, value| d.words = whole(value)
    ),
    key!(may "device.places", Kind::Count(1, 65536),
        "requests that have come and that it has not taken; more wait in the network, or on its wires; absent: no bound",
        |d| d.places.map(|places| Value::Whole(places.into())), |d, value| d.places = Some(whole(value) as u32)),
    key!(
        "device.outstanding",
        Kind::Count(1, 1024),
        "requests that a thread has under way at once, to all devices together",
        |d| Value::Whole(d.outstanding.into()),
        |d, value| d.outstanding = whole(value) as u32
    ),
    key!(
        "device.link",
        Kind::Choice(Link::NAMES),
        "wires of its own, or the network of a coherent chip",
        |d| Value::Text(d.link.name().into()),
        |d, value| d.link = Link::named(&text(value)).unwrap_or_default()
    ),
    key!(may "device.way", Kind::Cycles, "one way on wires of its own, which alone have it",
        |d| d.way.map(|way| Value::Whole(way.0)), |d, value| d.way = Some(Cycles(whole(value)))),
    key!(may "device.flits", Kind::Count(1, 64), "flits of a request or an answer on the network, which alone has it",
        |d| d.flits.map(|flits| Value::Whole(flits.into())), |d, value| d.flits = Some(whole(value) as u32)),
    key!(may "device.placement", Kind::Parsed(PLACEMENT, |text| placement(text).is_some()),
        "on a grid or ring: the nodes that they hang on; absent: spread evenly",
        |d| (d.placement != Placement::All).then(|| Value::Text(d.placement.text())),
        |d, value| d.placement = placement(&text(value)).unwrap_or_default()),
    key!(
        "device.call",
        Kind::Cycles,
        "a system call to one, beside the request's own way",
        |d| Value::Whole(d.call.0),
        |d, value| d.call = Cycles(whole(value))
    ),
    key!(
        "device.interrupt",
        Kind::Cycles,
        "taking its interrupt, on the core",
        |d| Value::Whole(d.interrupt.0),
        |d, value| d.interrupt = Cycles(whole(value))
    ),
];

/// What one kind has of its own: its place in [`crate::device::KINDS`], and its name there.
macro_rules! kind {
    ($at:literal, $kind:literal) => {
        [
            kind!(@ $at, $kind, "clock_hz", Kind::Count(1_000_000, 100_000_000_000), clock, |it| it.0, |n| Hertz(n)),
            kind!(@ $at, $kind, "latency", Kind::Cycles, latency, |it| it.0, |n| Cycles(n)),
            kind!(@ $at, $kind, "words", Kind::Count(1, 1 << 32), words, |it| it, |n| n),
            kind!(@ $at, $kind, "places", Kind::Count(1, 65536), places, |it| it.into(), |n| n as u32),
            kind!(@ $at, $kind, "way", Kind::Cycles, way, |it| it.0, |n| Cycles(n)),
            kind!(@ $at, $kind, "flits", Kind::Count(1, 64), flits, |it| it.into(), |n| n as u32),
            kind!(@ $at, $kind, "call", Kind::Cycles, call, |it| it.0, |n| Cycles(n)),
            kind!(@ $at, $kind, "interrupt", Kind::Cycles, interrupt, |it| it.0, |n| Cycles(n)),
        ]
    };
    (@ $at:literal, $kind:literal, $name:literal, $takes:expr, $field:ident, |$it:ident| $whole:expr, |$n:ident| $made:expr) => {
        Key {
            path: concat!("device.", $kind, ".", $name), kind: $takes, fixed: Need::May, coherent: Need::May,
            what: concat!("device.", $name, " of each ", $kind, "; absent: as in [device]"),
            get: |chip| chip.devices.as_ref()?.own[$at].$field.map(|$it| Value::Whole($whole)),
            set: |chip, value| {
                let $n = whole(value);
                of(chip).own[$at].$field = Some($made);
            },
        }
    };
}

/// Of each kind, in the order of [`crate::device::KINDS`]: a new one is a line here.
pub(super) const OF_KINDS: [[Key; 8]; crate::device::KINDS.len()] = [kind!(0, "mailbox"), kind!(1, "alarm")];
