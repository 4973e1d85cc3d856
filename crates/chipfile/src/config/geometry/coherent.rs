//! Checks which values of a coherent chip must fit together: caches, network, and the nodes of
//! homes and controllers.

use super::misfit::{Fits, at_least_1, divides, ensure};
use crate::config::by_kind::Private;
use crate::config::chip::Chip;
use crate::config::coherent::{
    Atomics, Coherent, DirectoryKind, HomePlacement, HomePolicy, Inclusion, Level, Placement, Replacement, Topology,
};
use crate::config::limits::MOST_CORES;
use baton_noc::routing::RoutingKind;

/// Checks the sizes of caches, rows and entries.
pub(super) fn caches(coherent: &Coherent, line_bytes: u32) -> Fits {
    private(&Private { l1: coherent.l1, l2: coherent.l2 }, line_bytes)?;
    if let Some(shared) = &coherent.shared {
        sets("shared.size_bytes", "shared.ways", &shared.bank, line_bytes)?;
    }
    if coherent.directory.kind == DirectoryKind::Owner {
        let inclusive = coherent.shared.is_some_and(|shared| shared.inclusion == Inclusion::Inclusive);
        let recalls = inclusive || coherent.atomics == Atomics::Far;
        let expected = "\"full\" or \"pointers(n)\" with far atomics or an inclusive shared level: \
                        these recall copies from the cores that an entry names";
        ensure(!recalls, "directory.kind", coherent.directory.kind.text(), expected)?;
    }
    let line = u64::from(line_bytes);
    let dram = &coherent.dram;
    let expected = format!("at least cache.line_bytes, {line}");
    ensure(dram.row_bytes >= line, "dram.row_bytes", dram.row_bytes, expected.clone())?;
    ensure(dram.interleave_bytes >= line, "dram.interleave_bytes", dram.interleave_bytes, expected)?;
    let expected = format!("at least dram.row_hit, {}", dram.row_hit.0);
    ensure(dram.row_miss >= dram.row_hit, "dram.row_miss", dram.row_miss.0, expected)
}

/// Checks the private caches of a core.
pub(super) fn private(caches: &Private, line_bytes: u32) -> Fits {
    at_least_1("l1.latency", caches.l1.latency)?;
    sets("l1.size_bytes", "l1.ways", &caches.l1, line_bytes)?;
    if let Some(l2) = &caches.l2 {
        sets("l2.size_bytes", "l2.ways", l2, line_bytes)?;
        let (l1, l2) = (caches.l1.size_bytes, l2.size_bytes);
        ensure(l2 >= l1, "l2.size_bytes", l2, format!("at least l1.size_bytes, {l1}"))?;
    }
    Ok(())
}

/// Checks that the number of sets of a cache is whole and a power of two: bits of the address
/// choose a set.
fn sets(size: &'static str, ways: &'static str, level: &Level, line_bytes: u32) -> Fits {
    let set = u64::from(level.ways) * u64::from(line_bytes);
    let expected = format!("{ways} times cache.line_bytes, {set} bytes, times a power of two (the number of sets)");
    let whole = level.size_bytes.is_multiple_of(set) && (level.size_bytes / set).is_power_of_two();
    ensure(whole, size, level.size_bytes, expected)?;
    if level.replacement == Replacement::Plru {
        ensure(level.ways.is_power_of_two(), ways, level.ways, "a power of two with replacement \"plru\"")?;
    }
    Ok(())
}

/// Checks the topology, and the lengths of messages in flits.
pub(super) fn network(coherent: &Coherent, chip: &Chip) -> Fits {
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

/// Checks the nodes of homes and controllers.
pub(super) fn places(coherent: &Coherent, chip: &Chip) -> Fits {
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
