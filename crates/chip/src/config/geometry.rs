//! Which values of a chip must fit together. What cannot be is refused when the file is read, so that nothing behind it
//! needs to look again.

use super::coherent::{Coherent, HomePlacement, HomePolicy, Level, Placement, Topology};
use super::{Chip, FutexHome, Ipi, keys::MOST_CORES};
use crate::clock::change::SLOWEST;
use baton_noc::routing::RoutingKind;
use baton_units::Cycles;

/// A key whose value does not go with the others.
pub(super) struct Misfit {
    pub(super) key: &'static str,
    pub(super) found: String,
    pub(super) expected: String,
}

pub(super) type Fits = Result<(), Misfit>;

pub(super) fn ensure(fits: bool, key: &'static str, found: impl ToString, expected: impl Into<String>) -> Fits {
    if fits { Ok(()) } else { Err(Misfit { key, found: found.to_string(), expected: expected.into() }) }
}

fn divides(part: u32, whole: u32) -> bool {
    part != 0 && part <= whole && whole.is_multiple_of(part)
}

/// Checks all of them.
pub(super) fn check(chip: &Chip) -> Fits {
    let (count, cluster) = (chip.core.count, chip.core.per_cluster);
    ensure(divides(cluster, count), "core.per_cluster", cluster, format!("a divisor of core.count, {count}"))?;
    let (clusters, socket) = (count / cluster, chip.core.clusters_per_socket);
    let expected = format!("a divisor of the number of clusters, {clusters} (core.count / core.per_cluster)");
    ensure(divides(socket, clusters), "core.clusters_per_socket", socket, expected)?;
    for one in &chip.core.clocks.0 {
        let expected = format!("cores from 0 to {} (core.count)", count - 1);
        ensure(one.to < count, "core.clocks", chip.core.clocks.text(), expected)?;
        let (least, most) = (SLOWEST, chip.core.clock);
        let expected = format!("clocks from {least} to {most} (core.clock_hz)");
        ensure((least..=most).contains(&one.clock), "core.clocks", chip.core.clocks.text(), expected)?;
    }
    let wake = chip.os.futex_wake_none;
    let expected = format!("at least os.futex_wake_none, {}", wake.0);
    ensure(chip.os.futex_wake >= wake, "os.futex_wake", chip.os.futex_wake.0, expected)?;
    if let Some(mwmon) = chip.wait.mwmon {
        let expected = "none without wait.mwait.c1: it is a system call around MWAIT at depth 1";
        ensure(chip.wait.mwait.c1.is_some(), "wait.mwmon.call", mwmon.call.0, expected)?;
    }
    let core = &chip.core;
    if core.contexts != 1 && core.rob != 0 && core.width != 0 {
        let expected =
            "more than 0 with core.contexts, core.rob and core.width: how much of a window computations need";
        ensure(core.result_latency > 0.0, "core.result_latency", core.result_latency, expected)?;
    }
    at_least_1("os.time_slice", chip.os.time_slice)?;
    system(chip)?;
    if let Some(devices) = &chip.devices {
        super::device::check(devices, chip)?;
    }
    match &chip.coherent {
        None => at_least_1("cache.hit", chip.cache.hit),
        Some(coherent) => {
            caches(coherent, chip.cache.line_bytes)?;
            network(coherent, chip)?;
            let (levels, tries) = (coherent.ocor.levels, coherent.ocor.tries);
            ensure(levels <= tries, "ocor.levels", levels, format!("at most ocor.tries, {tries}"))?;
            places(coherent, chip)
        }
    }
}

/// The operating system's keys.
fn system(chip: &Chip) -> Fits {
    let os = &chip.os;
    if chip.os.futex_home == Some(FutexHome::Lock) {
        let round = |coherent: &Coherent| coherent.home.placement == HomePlacement::Interleaved;
        let fits = chip.coherent.as_ref().is_some_and(round);
        let expected = "\"bucket\" where lines do not go round all homes (home.placement = \"interleaved\")";
        ensure(fits, "os.futex_home", "\"lock\"", expected)?;
    }
    let expected = "\"price\" or \"packet\" without os.futex_home: no home has the sleepers' queue";
    ensure(os.ipi != Ipi::Home || os.futex_home.is_some(), "os.ipi", "\"home\"", expected)?;
    if os.tick.0 != 0 {
        let expected = format!("less than os.tick, {}: a thread must get on", os.tick.0);
        ensure(os.tick_cost < os.tick, "os.tick_cost", os.tick_cost.0, expected)?;
    }
    if let Some(first) = os.idle_states.0.first() {
        let expected = format!("states that begin after os.idle_poll, {}", os.idle_poll.0);
        ensure(first.after > os.idle_poll.0, "os.idle_states", os.idle_states.text(), expected)?;
    }
    let count = chip.core.count;
    let there = os.off.cores.last().is_none_or(|&last| last < count);
    ensure(there, "os.off", os.off.text(), format!("cores from 0 to {} (core.count)", count - 1))?;
    let expected = format!("fewer cores than core.count, {count}: one must be on");
    ensure(os.off.cores.len() < count as usize, "os.off", os.off.text(), expected)
}

fn at_least_1(key: &'static str, cycles: Cycles) -> Fits {
    ensure(cycles.0 != 0, key, 0, "at least 1: a guest must not run for ever at one moment")
}

/// Sizes of caches, rows and entries.
fn caches(coherent: &Coherent, line_bytes: u32) -> Fits {
    at_least_1("l1.latency", coherent.l1.latency)?;
    sets("l1.size_bytes", "l1.ways", &coherent.l1, line_bytes)?;
    if let Some(l2) = &coherent.l2 {
        sets("l2.size_bytes", "l2.ways", l2, line_bytes)?;
        let (l1, l2) = (coherent.l1.size_bytes, l2.size_bytes);
        ensure(l2 >= l1, "l2.size_bytes", l2, format!("at least l1.size_bytes, {l1}"))?;
    }
    if let Some(shared) = &coherent.shared {
        sets("shared.size_bytes", "shared.ways", &shared.bank, line_bytes)?;
    }
    let line = u64::from(line_bytes);
    let dram = &coherent.dram;
    let expected = format!("at least cache.line_bytes, {line}");
    ensure(dram.row_bytes >= line, "dram.row_bytes", dram.row_bytes, expected.clone())?;
    ensure(dram.interleave_bytes >= line, "dram.interleave_bytes", dram.interleave_bytes, expected)?;
    let expected = format!("at least dram.row_hit, {}", dram.row_hit.0);
    ensure(dram.row_miss >= dram.row_hit, "dram.row_miss", dram.row_miss.0, expected)
}

/// A cache has a whole number of sets, which is a power of two: an address's bits choose one.
fn sets(size: &'static str, ways: &'static str, level: &Level, line_bytes: u32) -> Fits {
    let set = u64::from(level.ways) * u64::from(line_bytes);
    let expected = format!("{ways} times cache.line_bytes, {set} bytes, times a power of two (the number of sets)");
    let whole = level.size_bytes.is_multiple_of(set) && (level.size_bytes / set).is_power_of_two();
    ensure(whole, size, level.size_bytes, expected)?;
    if level.replacement == super::coherent::Replacement::Plru {
        ensure(level.ways.is_power_of_two(), ways, level.ways, "a power of two with replacement \"plru\"")?;
    }
    Ok(())
}

/// Topology and flits.
fn network(coherent: &Coherent, chip: &Chip) -> Fits {
    let network = &coherent.network;
    let count = chip.core.count;
    let grid = matches!(network.topology, Topology::Mesh | Topology::Torus);
    let (width, height) = (network.width, network.height);
    let name = network.topology.name();
    if grid {
        let cores = format!("network.width times network.height to be core.count, {count}: a core a router");
        ensure(u64::from(width) * u64::from(height) == u64::from(count), "network.width", width, cores)?;
    } else {
        for (key, side) in [("network.width", width), ("network.height", height)] {
            ensure(side == 0, key, side, format!("none with topology \"{name}\""))?;
        }
    }
    let dies = count / chip.core.per_cluster;
    if network.topology == Topology::Dies {
        for link in &network.links.0 {
            let expected = format!("dies from 0 to {} (core.count / core.per_cluster)", dies - 1);
            ensure(link.from.max(link.to) < dies, "network.links", network.links.text(), expected)?;
        }
        let mut reached = vec![0];
        let mut at = 0;
        while at < reached.len() {
            for link in &network.links.0 {
                for (from, to) in [(link.from, link.to), (link.to, link.from)] {
                    if from == reached[at] && !reached.contains(&to) {
                        reached.push(to);
                    }
                }
            }
            at += 1;
        }
        let expected = format!("a way from die 0 to each of the {dies} dies");
        ensure(reached.len() == dies as usize, "network.links", network.links.text(), expected)?;
    } else {
        ensure(
            network.links.is_empty(),
            "network.links",
            network.links.text(),
            format!("none with topology \"{name}\""),
        )?;
    }
    let (core, net) = (chip.core.clock.0, network.clock.0);
    let expected = format!("a divisor of core.clock_hz, {core}");
    ensure(core.is_multiple_of(net), "network.clock_hz", net, expected)?;
    let room = u64::from(network.data_flits) * u64::from(network.flit_bytes);
    let line = chip.cache.line_bytes;
    let expected = format!("flits of network.flit_bytes, {}, that hold a line of {line} bytes", network.flit_bytes);
    ensure(room >= u64::from(line), "network.data_flits", network.data_flits, expected)?;
    if coherent.home.policy == HomePolicy::NonBlocking {
        let expected = "1 with home.policy \"nonblocking\": forwards must stay in order";
        ensure(network.vcs == 1, "network.vcs", network.vcs, expected)?;
        let ordered = matches!(network.router.routing, RoutingKind::Auto | RoutingKind::Xy | RoutingKind::Yx);
        let expected = "\"auto\", \"xy\" or \"yx\" with home.policy \"nonblocking\": forwards must stay in order";
        ensure(ordered, "network.routing", format!("{:?}", network.router.routing), expected)?;
    }
    let pipeline = network.router.pipeline == baton_noc::Pipeline::Speculative;
    let vc_alloc = network.router.latency.vc_alloc;
    let expected = "1 with network.pipeline \"speculative\"";
    ensure(!pipeline || vc_alloc == 1, "network.latency.vc_alloc", vc_alloc, expected)
}

/// Homes and controllers have their places.
fn places(coherent: &Coherent, chip: &Chip) -> Fits {
    let (network, home, dram) = (&coherent.network, &coherent.home, &coherent.dram);
    let count = chip.core.count;
    let dies = count / chip.core.per_cluster;
    let nodes = count / (chip.core.per_cluster * chip.core.clusters_per_socket);
    let (banks, controllers) = (home.banks, dram.controllers);
    let all = |what: &str| {
        let expected = format!("\"all\" with topology \"{}\": {what}", network.topology.name());
        ensure(dram.placement == Placement::All, "dram.placement", dram.placement.text(), expected)
    };
    match network.topology {
        Topology::Mesh | Topology::Torus | Topology::Ring => {
            ensure(
                divides(banks, count),
                "home.banks",
                banks,
                format!("a divisor of core.count, {count}: at most one a node"),
            )?;
            let grid = network.topology != Topology::Ring;
            let (what, most) = match &dram.placement {
                Placement::Corners if grid => ("1, 2 or 4 with placement \"corners\"".to_owned(), 4),
                Placement::Rows if grid => {
                    let most = if network.height == 1 { network.width } else { 2 * network.width };
                    (format!("1, or an even number up to {most} with placement \"rows\""), most)
                }
                Placement::All => (format!("a divisor of core.count, {count}, with placement \"all\""), count),
                Placement::Nodes(list) => {
                    for (i, node) in list.iter().enumerate() {
                        let fresh = *node < count && !list[..i].contains(node);
                        let expected = format!("different nodes from 0 to {}", count - 1);
                        ensure(fresh, "dram.placement", dram.placement.text(), expected)?;
                    }
                    (format!("{}, the number of nodes in dram.placement", list.len()), list.len() as u32)
                }
                _ => return all("a ring has neither corners nor rows"),
            };
            let fits = controllers <= most
                && match &dram.placement {
                    Placement::Corners => matches!(controllers, 1 | 2 | 4),
                    Placement::Rows => controllers == 1 || controllers.is_multiple_of(2) || network.height == 1,
                    Placement::All => divides(controllers, count),
                    Placement::Nodes(_) => controllers == most,
                };
            ensure(fits, "dram.controllers", controllers, what)?;
        }
        Topology::Crossbar | Topology::Bus => {
            all("controllers have ports of their own")?;
            let ports = u64::from(count) + u64::from(banks) + u64::from(controllers);
            let expected = format!("cores, homes and controllers on at most 64 ports; they are {ports}");
            ensure(ports <= 64, "core.count", count, expected)?;
        }
        Topology::Dies => {
            all("each die has the same number of controllers")?;
            let expected = format!("a multiple of the number of dies, {dies}");
            ensure(divides(dies, banks), "home.banks", banks, expected.clone())?;
            ensure(divides(dies, controllers), "dram.controllers", controllers, expected)?;
            let links =
                |die: u32| network.links.0.iter().filter(|link| link.from == die || link.to == die).count() as u32;
            let units = chip.core.per_cluster + banks / dies + controllers / dies;
            let ports = units + (0..dies).map(links).max().unwrap_or(0);
            let expected =
                format!("cores, homes, controllers and links of a die on at most 64 ports; they are {ports}");
            ensure(ports <= 64, "core.per_cluster", chip.core.per_cluster, expected)?;
        }
    }
    if home.placement == HomePlacement::FirstTouch {
        let expected = format!("a multiple of the NUMA nodes, {nodes}, with home.placement \"first-touch\"");
        ensure(divides(nodes, banks), "home.banks", banks, expected.clone())?;
        ensure(divides(nodes, controllers), "dram.controllers", controllers, expected)?;
    }
    debug_assert!(u64::from(count) <= MOST_CORES, "the key's own bounds");
    Ok(())
}
