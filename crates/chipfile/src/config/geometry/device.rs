//! Checks which values of devices must fit together.

use super::misfit::{Fits, ensure};
use crate::config::chip::Chip;
use crate::config::coherent::{Placement, Topology};
use crate::config::device::{Devices, Link, QueueHome};
use crate::config::keys::KEYS;
use crate::peripheral::{SettingMisfit, kinds};
use crate::value::Value;
use baton_units::Hertz;

/// Checks the tables of the kinds: the chip has the kind, and each value fits the rest of the chip.
fn check_own(devices: &Devices, chip: &Chip) -> Fits {
    let core = chip.core.clock;
    for (number, own) in devices.own.iter().enumerate() {
        let kind = kinds()[number].name;
        let table = format!("device.{kind}.");
        let given = KEYS.iter().find(|key| key.path.starts_with(&table) && key.get(chip).is_some());
        let Some(given) = given else { continue };
        let is_there = (0..devices.count).any(|device| devices.kind_of(device) == number);
        let expected = format!("no [device.{kind}]: device.kind, \"{}\", has no such device", devices.kind);
        ensure(is_there, given.path, "given", expected)?;
        let key =
            |name: &str| KEYS.iter().find(|key| key.path == format!("{table}{name}")).map_or("device", |key| key.path);
        let clock = own.whole("clock_hz").map_or(devices.all.clock, Hertz);
        ensure(clock <= core, key("clock_hz"), clock.0, format!("at most core.clock_hz, {}", core.0))?;
        let expected = |link: Link| format!("none with device.link \"{}\"", link.name());
        let network = devices.link == Link::Network;
        ensure(own.get("way").is_none() || !network, key("way"), "given", expected(devices.link))?;
        ensure(own.get("flits").is_none() || network, key("flits"), "given", expected(devices.link))?;
    }
    Ok(())
}

/// Checks the bounds of the values of each kind.
fn check_kinds(devices: &Devices) -> Fits {
    if devices.missing().is_some() {
        return Ok(());
    }
    for one in devices.each() {
        let device = (one.kind.make)(&one.settings);
        let Some(SettingMisfit { name, is, expected }) = device.misfit(devices.outstanding) else { continue };
        let path = format!("device.{}.{name}", one.kind.name);
        let key = KEYS.iter().find(|key| key.path == path).map_or("device.kind", |key| key.path);
        ensure(false, key, is, expected)?;
    }
    Ok(())
}

/// Checks the keys that belong to the translation of queue ids.
fn check_translation(devices: &Devices) -> Fits {
    let translation = devices.translation;
    let given = |here: bool| if here { "given" } else { "missing" };
    let (qimu, qtlb) = (translation.ids.is_some(), translation.qtlb.is_some());
    let expected = if qimu { "a value with device.qimu" } else { "none without device.qimu" };
    ensure(qimu == qtlb, "device.qtlb", given(qtlb), expected)?;
    let home = translation.home;
    let named = home == QueueHome::Named;
    ensure(qimu || named, "device.queue_home", format!("\"{}\"", home.name()), "\"named\" without device.qimu")?;
    if !qimu {
        return Ok(());
    }
    let all = devices.each().all(|one| one.kind.name == "qmd");
    let expected = format!("none: device.kind is \"{}\", where all are to be \"qmd\"", devices.kind);
    ensure(all, "device.qimu", "given", expected)?;
    // A request that waits for a moving queue would block the system calls that move the queue.
    let shared = |one: crate::config::device::OneDevice| {
        one.settings.get("buffers").is_some_and(|value| *value != Value::Text("context".into()))
    };
    ensure(!devices.each().any(shared), "device.qimu", "given", "none with device.qmd.buffers \"shared\"")
}

/// Checks all values of devices.
pub(super) fn check(devices: &Devices, chip: &Chip) -> Fits {
    let kinds = devices.kind.split_whitespace().count();
    let expected = format!("one kind for all, or one for each of device.count, {}", devices.count);
    ensure(kinds == 1 || kinds == devices.count as usize, "device.kind", format!("\"{}\"", devices.kind), expected)?;
    check_own(devices, chip)?;
    check_kinds(devices)?;
    check_translation(devices)?;
    let (clock, core) = (devices.all.clock, chip.core.clock);
    ensure(clock <= core, "device.clock_hz", clock.0, format!("at most core.clock_hz, {}", core.0))?;
    let given = |here: bool| if here { "given" } else { "missing" };
    let on_network = devices.link == Link::Network;
    let link = devices.link.name();
    let expected = |here: bool| format!("{} with device.link \"{link}\"", if here { "a value" } else { "none" });
    let (way, flits) = (devices.all.way.is_some(), devices.all.flits.is_some());
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
