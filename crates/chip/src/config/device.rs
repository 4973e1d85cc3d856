//! Devices of a chip: of what kinds, how many, where they hang and how packets reach them.

use super::Chip;
use super::coherent::{Placement, Topology};
use super::geometry::{Fits, ensure};
use super::keys::KEYS;
use baton_units::{Cycles, Hertz};

/// The devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// Names in [`crate::device::KINDS`], with spaces between: one for all, or one a device, in the order of their numbers.
    pub kind: String,
    /// How many.
    pub count: u32,
    /// The clock of each.
    pub clock: Hertz,
    /// From a request's turn to its answer, in cycles of the device's clock.
    pub latency: Cycles,
    /// Words of eight bytes that each keeps.
    pub words: u64,
    /// Requests that have come and that the device has not taken yet, at most; `None`: without bound.
    pub places: Option<u32>,
    /// Requests that a thread has under way at once, to all devices together.
    pub outstanding: u32,
    /// How packets reach it.
    pub link: Link,
    /// [`Link::Dedicated`]: one way, in cycles of the core's clock.
    pub way: Option<Cycles>,
    /// [`Link::Network`]: flits of a packet.
    pub flits: Option<u32>,
    /// [`Link::Network`]: the nodes that they hang on.
    pub placement: Placement,
    /// A system call to one, beside the request's own way.
    pub call: Cycles,
    /// Taking its interrupt, on the core.
    pub interrupt: Cycles,
    /// What kinds have of their own, in the order of [`crate::device::KINDS`].
    pub own: [Own; crate::device::KINDS.len()],
}

/// What a kind of device has of its own: `[device.mailbox]` beside `[device]`. The fields are those of [`Devices`]; what is
/// absent is as it stands there.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "they are those of `Devices`")]
pub struct Own {
    pub clock: Option<Hertz>,
    pub latency: Option<Cycles>,
    pub words: Option<u64>,
    pub places: Option<u32>,
    pub way: Option<Cycles>,
    pub flits: Option<u32>,
    pub call: Option<Cycles>,
    pub interrupt: Option<Cycles>,
}

/// How packets reach a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Wires of its own, of a fixed length, on which nothing waits.
    #[default]
    Dedicated,
    /// The network of a coherent chip; requests and answers have virtual networks of their own.
    Network,
}

impl Link {
    /// Their names in a chip file.
    pub const NAMES: &[&str] = &["dedicated", "network"];

    /// The name in a chip file.
    pub fn name(self) -> &'static str {
        Link::NAMES[self as usize]
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Link> {
        [Link::Dedicated, Link::Network].into_iter().find(|link| link.name() == name)
    }
}

/// What `device.kind` may be.
pub const KINDS: &str = "\"mailbox\", \"alarm\", or one of them for each device as in \"mailbox alarm\"";

/// Whether these are names of kinds.
pub fn are_kinds(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| crate::device::KINDS.iter().any(|(name, _)| *name == word))
}

impl Devices {
    /// The kind of a device.
    pub fn kind_of(&self, device: u32) -> &str {
        let mut kinds = self.kind.split_whitespace();
        let first = kinds.next().unwrap_or_default();
        match device {
            0 => first,
            _ => kinds.nth(device as usize - 1).unwrap_or(first),
        }
    }

    /// This with what one device has: the values of its kind where those of all differ.
    pub fn one(&self, device: u32) -> Devices {
        let mut one = self.clone();
        let kind = crate::device::KINDS.iter().position(|(name, _)| *name == self.kind_of(device));
        let Some(own) = kind.map(|kind| &self.own[kind]) else { return one };
        one.clock = own.clock.unwrap_or(one.clock);
        one.latency = own.latency.unwrap_or(one.latency);
        one.words = own.words.unwrap_or(one.words);
        one.places = own.places.or(one.places);
        one.way = own.way.or(one.way);
        one.flits = own.flits.or(one.flits);
        one.call = own.call.unwrap_or(one.call);
        one.interrupt = own.interrupt.unwrap_or(one.interrupt);
        one
    }

    /// [`Devices::one`] of each, in the order of their numbers.
    pub fn each(&self) -> impl Iterator<Item = Devices> + '_ {
        (0..self.count).map(|device| self.one(device))
    }
}

impl Default for Devices {
    fn default() -> Devices {
        Devices {
            kind: crate::device::KINDS[0].0.to_owned(),
            count: 1,
            clock: Hertz(1_000_000_000),
            latency: Cycles(1),
            words: 0,
            places: None,
            outstanding: 1,
            link: Link::default(),
            way: None,
            flits: None,
            placement: Placement::default(),
            call: Cycles(0),
            interrupt: Cycles(0),
            own: Default::default(),
        }
    }
}

/// Where devices hang on a grid or ring.
pub const PLACEMENT: &str = "\"all\" or the nodes as in \"2 3 4 5\"";

/// Reads [`PLACEMENT`].
pub fn placement(text: &str) -> Option<Placement> {
    Placement::parse(text).filter(|placement| matches!(placement, Placement::All | Placement::Nodes(_)))
}

/// Checks what kinds have of their own: the kind is there, and each value goes with the rest of the chip.
fn check_own(devices: &Devices, chip: &Chip) -> Fits {
    let core = chip.core.clock;
    for ((kind, _), own) in crate::device::KINDS.iter().zip(&devices.own) {
        let table = format!("device.{kind}.");
        let given = KEYS.iter().find(|key| key.path.starts_with(&table) && (key.get)(chip).is_some());
        let Some(given) = given else { continue };
        let is_there = (0..devices.count).any(|device| devices.kind_of(device) == *kind);
        let expected = format!("no [device.{kind}]: device.kind, \"{}\", has no such device", devices.kind);
        ensure(is_there, given.path, "given", expected)?;
        let key =
            |name: &str| KEYS.iter().find(|key| key.path == format!("{table}{name}")).map_or("device", |key| key.path);
        let clock = own.clock.unwrap_or(devices.clock);
        ensure(clock <= core, key("clock_hz"), clock.0, format!("at most core.clock_hz, {}", core.0))?;
        let expected = |link: Link| format!("none with device.link \"{}\"", link.name());
        let network = devices.link == Link::Network;
        ensure(own.way.is_none() || !network, key("way"), "given", expected(devices.link))?;
        ensure(own.flits.is_none() || network, key("flits"), "given", expected(devices.link))?;
    }
    Ok(())
}

/// Checks what must fit together.
pub(super) fn check(devices: &Devices, chip: &Chip) -> Fits {
    let kinds = devices.kind.split_whitespace().count();
    let expected = format!("one kind for all, or one for each of device.count, {}", devices.count);
    ensure(kinds == 1 || kinds == devices.count as usize, "device.kind", format!("\"{}\"", devices.kind), expected)?;
    check_own(devices, chip)?;
    let (clock, core) = (devices.clock, chip.core.clock);
    ensure(clock <= core, "device.clock_hz", clock.0, format!("at most core.clock_hz, {}", core.0))?;
    let given = |here: bool| if here { "given" } else { "missing" };
    let on_network = devices.link == Link::Network;
    let link = devices.link.name();
    let expected = |here: bool| format!("{} with device.link \"{link}\"", if here { "a value" } else { "none" });
    let (way, flits) = (devices.way.is_some(), devices.flits.is_some());
    ensure(way != on_network, "device.way", given(way), expected(!on_network))?;
    ensure(flits == on_network, "device.flits", given(flits), expected(on_network))?;
    let Some(coherent) = chip.coherent.as_ref().filter(|_| on_network) else {
        let no_network = "\"dedicated\" on a chip without a network (memory.model = \"fixed\")";
        ensure(!on_network, "device.link", link, no_network)?;
        let all = devices.placement == Placement::All;
        return ensure(all, "device.placement", devices.placement.text(), expected(false));
    };
    let count = chip.core.count;
    match (coherent.network.topology, &devices.placement) {
        (Topology::Mesh | Topology::Torus | Topology::Ring, Placement::Nodes(list)) => {
            let fresh = |(i, node): (usize, &u32)| *node < count && !list[..i].contains(node);
            let expected = format!("different nodes from 0 to {}", count - 1);
            ensure(list.iter().enumerate().all(fresh), "device.placement", devices.placement.text(), expected)?;
            let expected = format!("{}, the number of nodes in device.placement", list.len());
            ensure(devices.count as usize == list.len(), "device.count", devices.count, expected)
        }
        (Topology::Mesh | Topology::Torus | Topology::Ring, _) => {
            ensure(devices.count <= count, "device.count", devices.count, format!("at most core.count, {count}"))
        }
        (_, Placement::Nodes(_)) => {
            let expected = "none with this network.topology: devices have ports of their own";
            ensure(false, "device.placement", devices.placement.text(), expected)
        }
        (Topology::Dies, _) => {
            let dies = count / chip.core.per_cluster;
            let a_die = devices.count.div_ceil(dies);
            let links = coherent.network.links.0.iter();
            let most =
                (0..dies).map(|die| links.clone().filter(|link| link.from == die || link.to == die).count()).max();
            let (homes, controllers) = (coherent.home.banks / dies, coherent.dram.controllers / dies);
            let others = chip.core.per_cluster + homes + controllers + most.unwrap_or(0) as u32;
            let expected = format!("at most {} a die, which has 64 ports", 64u32.saturating_sub(others));
            ensure(others + a_die <= 64, "device.count", devices.count, expected)
        }
        _ => {
            let others = u64::from(count) + u64::from(coherent.home.banks) + u64::from(coherent.dram.controllers);
            let expected =
                format!("at most {}: cores, homes, controllers and devices on 64 ports", 64 - others.min(64));
            ensure(others + u64::from(devices.count) <= 64, "device.count", devices.count, expected)
        }
    }
}
