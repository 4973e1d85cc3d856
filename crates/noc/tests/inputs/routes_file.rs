//! Routing tables from a file: the same routes give the same bytes, and errors name file, line and
//! key.

use baton_noc::arbiter::RoundRobin;
use baton_noc::experiment::Experiment;
use baton_noc::routing::{RouteFile, RoutingKind};
use baton_noc::topology::TopologyConfig;
use baton_noc::traffic::Flow;
use baton_noc::{Config, Network, NocError};
use std::fmt::Write;

fn mesh(routes: Option<RouteFile>) -> Config {
    Config { topology: TopologyConfig::Mesh { size: [4, 3] }, routes, ..Config::default() }
}

/// Writes XY routing on a mesh of `width` columns as a routing table.
fn xy(width: u32, height: u32) -> String {
    let mut text = String::new();
    for at in 0..width * height {
        for to in (0..width * height).filter(|t| *t != at) {
            let (x, tx) = (at % width, to % width);
            let next = match (tx.cmp(&x), to > at) {
                (std::cmp::Ordering::Greater, _) => at + 1,
                (std::cmp::Ordering::Less, _) => at - 1,
                (_, true) => at + width,
                (_, false) => at - width,
            };
            let _ = writeln!(text, "[[route]]\nat = {at}\nto = [{to}]\nnext = {next}");
        }
    }
    text
}

#[test]
fn xy_written_out_is_xy() {
    let file = RouteFile::from_toml("xy.toml", &xy(4, 3)).unwrap();
    let run = |network: Config| {
        let traffic = vec![Flow { rate: 0.2, packet: 3, ..Flow::default() }];
        Experiment { network, traffic, cycles: 3_000, ..Experiment::default() }.run().unwrap()
    };
    let written = run(mesh(Some(file)));
    assert_eq!(written, run(Config { routing: RoutingKind::Xy, ..mesh(None) }));
    assert_ne!(written, run(Config { routing: RoutingKind::Yx, ..mesh(None) }));
}

fn refused(topology: TopologyConfig, text: &str) -> String {
    let built = RouteFile::from_toml("r.toml", text).and_then(|file| {
        let config = Config { topology, routes: Some(file), vcs: 8, ..Config::default() };
        Network::with_arbiter(&config, RoundRobin).map(drop)
    });
    built.unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_key() {
    let line = TopologyConfig::Mesh { size: [3, 1] };
    let says = |text: &str, what: &str| {
        let error = refused(line.clone(), text);
        assert!(error.starts_with(what), "{error}");
    };
    let route = |rest: &str| format!("rest = 'shortest'\n\n[[route]]\n{rest}");
    says(&route("at = 9\nto = [2]\nnext = 1"), "r.toml:4: `route[0].at` = 9: expected a router from 0 to 2");
    says(&route("at = 0\nto = [7]\nnext = 1"), "r.toml:5: `route[0].to` = 7: expected nodes from 0 to 2");
    says(&route("at = 0\nto = [2]\nnext = 2"), "r.toml:6: `route[0].next` = 2: expected a router that router 0 has");
    says(&route("at = 0\nto = [2]\nport = 5"), "r.toml:6: `route[0].port` = 5: expected an output port of router 0: 0");
    says(&route("at = 0\nto = [2]\nport = 0\nclass = 1"), "r.toml:7: `route[0].class` = 1: expected a class from 0");
    says(&route("at = 0\nto = [2]"), "r.toml:4: `route[0].at` = 0: expected either `next` or `port`");
    says(&route("at = 1\nto = [1]\nnext = 0"), "r.toml:5: `route[0].to` = 1: expected nodes of other routers");
    says(&route("at = 0\nto = [2, 2]\nnext = 1"), "r.toml:5: `route[0].to` = 2: expected a node that route[0]");
    says(&route("at = 0\ntoo = [2]\nnext = 1"), "r.toml:5: unknown field `too`");
    says(&route("at = -1\nto = [2]\nnext = 1"), "r.toml:4: ");
    // Route 0 leads packets for node 2 from router 1 back to router 0, which sends them to router 1
    // again. The error must say that the way circles.
    let circle = route("at = 1\nto = [2]\nnext = 0");
    says(&circle, "r.toml:5: `route[0].to` = 2: expected a way that does not circle; from node 0 to node 2");
    // Router 1 has no route for node 2, so packets from node 0 end there. The error must say so.
    let ends = "[[route]]\nat = 0\nto = [1, 2]\nnext = 1\n[[route]]\nat = 1\nto = [0]\nnext = 0\n\
                [[route]]\nat = 2\nto = [0, 1]\nnext = 1";
    says(ends, "r.toml:3: `route[0].to` = 2: expected a way that ends at its node; from node 0 to node 2");
    says("", "r.toml:1: `route`: no route at router 1 for node 0");
    // The configuration names XY routing although it has a routing table, so the network refuses
    // the key `routing`.
    let config = Config { routing: RoutingKind::Xy, ..mesh(Some(RouteFile::from_toml("r", &xy(4, 3)).unwrap())) };
    assert!(matches!(Network::with_arbiter(&config, RoundRobin), Err(NocError::Value { key, .. }) if key == "routing"));
    // The table stands inside the configuration, so the error names no file.
    let inside = "[network.topology]\nkind = 'mesh'\nsize = [3, 1]\n[network.routes]\nrest = 'shortest'\n\
                  [[network.routes.route]]\nat = 0\nto = [2]\nnext = 2\n";
    let error = Experiment::from_toml("c.toml", inside).unwrap().run().unwrap_err().to_string();
    assert!(error.starts_with("`routes.route[0].next` = 2"), "{error}");
}

#[test]
fn a_table_that_can_deadlock_is_refused_and_classes_mend_it() {
    // Ring of four routers; every route leads packets clockwise.
    let ring = TopologyConfig::Ring { nodes: 4 };
    let mut all = String::new();
    let mut with_dateline = String::from("classes = 2\n");
    for at in 0..4u32 {
        for to in (0..4).filter(|t| *t != at) {
            let route = format!("[[route]]\nat = {at}\nto = [{to}]\nnext = {}\n", (at + 1) % 4);
            all.push_str(&route);
            // Class 1 is used once the path no longer passes from router 3 to 0.
            with_dateline.push_str(&format!("{route}class = {}\n", u32::from(to > at)));
        }
    }
    let error = refused(ring.clone(), &all);
    assert!(error.contains("`table` can deadlock") && error.contains("router 0 -> 1"), "{error}");
    let file = RouteFile::from_toml("ring.toml", &with_dateline).unwrap();
    let config = Config { topology: ring, routes: Some(file), ..Config::default() };
    let traffic = vec![Flow { rate: 0.3, packet: 4, ..Flow::default() }];
    let e = Experiment { network: config, traffic, cycles: 4_000, ..Experiment::default() };
    // The load is far beyond what a ring in one direction carries, but packets must not come to a
    // standstill.
    assert_ne!(e.run().unwrap().outcome, baton_noc::experiment::Outcome::Deadlocked);
}

/// The check for deadlock must be fast on these networks of 32×32 routers; comparing every pair of
/// channels would take minutes.
#[test]
fn large_networks_are_checked_too() {
    let size = [32, 32];
    for routing in [RoutingKind::MinimalAdaptive, RoutingKind::WestFirst, RoutingKind::O1turn, RoutingKind::UpDown] {
        let topology = TopologyConfig::Mesh { size };
        let config = Config { topology, routing, vcs: 2, buffer: 1, ..Config::default() };
        assert_eq!(Network::with_arbiter(&config, RoundRobin).unwrap().nodes(), 1024);
    }
}
