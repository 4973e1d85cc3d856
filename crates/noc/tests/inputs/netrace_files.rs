//! Replays the Netrace project's own test traces. They are not part of this tree: the test reads
//! them from `BATON_NETRACE` or from `../shared/reference/netrace` beside the tree, and reports
//! when they are absent.

use baton_noc::arbiter::RoundRobin;
use baton_noc::topology::TopologyConfig;
use baton_noc::trace::{self, Replay};
use baton_noc::{Config, Network};
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/netrace");
    let folder = std::env::var_os("BATON_NETRACE").map_or_else(beside, PathBuf::from);
    if folder.join("shrtex.tra.bz2").is_file() {
        return Some(folder);
    }
    baton_needs::absent("Netrace files; set BATON_NETRACE to their folder", "the_published_traces_come_out_whole");
    None
}

/// The counts are those of the traces' own documentation. Cycles and latency are those of the
/// reference router, which the chapter on the network shows.
#[test]
fn the_published_traces_come_out_whole() {
    let Some(folder) = folder() else { return };
    for (name, packets, dependencies, cycles, latency) in [
        ("lngrex", 81_749, 52_672, 2_325_342, 25.107),
        ("multiregion", 22_968, 13_168, 324_301, 80.348),
        ("example", 175, 136, 6_853, 25.726),
        ("shrtex", 12, 9, 272, 22.667),
    ] {
        let bytes = std::fs::read(folder.join(format!("{name}.tra.bz2"))).unwrap();
        let trace = trace::read(name, &bytes).unwrap();
        assert_eq!((trace.packets.len(), trace.dependencies(), trace.nodes), (packets, dependencies, 64), "{name}");
        let config = Config { topology: TopologyConfig::Mesh { size: [8, 8] }, ..Config::default() };
        let r = Replay::default().run(&trace, &mut Network::with_arbiter(&config, RoundRobin).unwrap()).unwrap();
        assert_eq!((r.packets, r.cycles), (packets as u64, cycles), "{name}");
        assert!((r.packet_latency - latency).abs() < 0.001, "{name}: {}", r.packet_latency);
        // A trace that is cut short is rejected.
        let plain_end = bytes.len() - 8;
        assert!(trace::read(name, &bytes[..plain_end]).is_err(), "{name} cut short");
    }
}
