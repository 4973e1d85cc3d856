//! Input from outside: errors name file, place and key, and no input causes a panic.

use baton_noc::allocator::AllocatorKind;
use baton_noc::energy::Technology;
use baton_noc::experiment::Experiment;
use baton_noc::routing::RouteFile;
use baton_noc::topology::TopologyConfig;
use baton_noc::trace::{self, Replay, Trace};
use baton_noc::{Config, Network, NocError};
use proptest::prelude::*;

/// A packet: its cycle, id, type, source, destination and dependents.
type Record<'a> = (u64, u32, u8, u8, u8, &'a [u32]);

/// Returns the bytes of a Netrace trace with these packets.
fn netrace(nodes: u8, count: u64, packets: &[Record<'_>]) -> Vec<u8> {
    let mut b = vec![];
    b.extend(0x484a_5455u32.to_le_bytes());
    b.extend(1.0f32.to_le_bytes());
    let mut name = b"made for a test".to_vec();
    name.resize(30, 0);
    b.extend(name);
    b.extend([nodes, 0]);
    b.extend(100u64.to_le_bytes());
    b.extend(count.to_le_bytes());
    b.extend(5u32.to_le_bytes());
    b.extend(1u32.to_le_bytes());
    b.extend([0; 8]);
    b.extend(b"notes");
    b.extend([0; 24]);
    for (cycle, id, kind, src, dst, dependents) in packets {
        b.extend(cycle.to_le_bytes());
        b.extend(id.to_le_bytes());
        b.extend([0; 4]);
        b.extend([*kind, *src, *dst, 0, dependents.len() as u8]);
        dependents.iter().for_each(|d| b.extend(d.to_le_bytes()));
    }
    b
}

fn small() -> Vec<u8> {
    // A read request, its response with a block, which waits for it, and a third packet that waits
    // for both.
    netrace(16, 3, &[(0, 7, 1, 0, 15, &[9, 11]), (4, 9, 2, 15, 0, &[11]), (5, 11, 13, 0, 3, &[])])
}

fn mesh4() -> Network<baton_noc::arbiter::RoundRobin> {
    let config = Config { topology: TopologyConfig::Mesh { size: [4, 4] }, ..Config::default() };
    Network::with_arbiter(&config, baton_noc::arbiter::RoundRobin).unwrap()
}

#[test]
fn dependencies_hold_packets_back_exactly() {
    let trace = trace::read("small.tra", &small()).unwrap();
    assert_eq!((trace.name.as_str(), trace.nodes, trace.dependencies()), ("made for a test", 16, 3));
    let r = Replay::default().run(&trace, &mut mesh4()).unwrap();
    // The request passes 7 routers with 1 flit and arrives at 23. The response is sent at 24 with
    // 72 bytes, which are 5 flits in buffers of 4: 3·7 + 2 cycles for the first flit, and the fifth
    // comes a credit's round trip of 6 cycles behind the first. The last packet is sent when the
    // response has arrived.
    let response = 24 + 3 * 7 + 2 + 6;
    let last = response + 1 + 3 * 4 + 2;
    assert_eq!((r.packets, r.flits, r.cycles), (3, 7, last + 1));
    assert_eq!(r.held_back, f64::from((24 - 4) + (response as u32 + 1 - 5)) / 3.0);
    let free = Replay { dependencies: false, ..Replay::default() }.run(&trace, &mut mesh4()).unwrap();
    assert_eq!((free.packets, free.held_back), (3, 0.0));
}

#[test]
fn our_own_format_says_the_same() {
    let first = trace::read("small.tra", &small()).unwrap();
    let text = trace::write_own(&first, 16);
    let second = trace::read("small.txt", text.as_bytes()).unwrap();
    assert_eq!(trace::write_own(&second, 16), text);
    let run = |t: &Trace| Replay::default().run(t, &mut mesh4()).unwrap();
    let (a, b) = (run(&first), run(&second));
    assert_eq!((a.cycles, a.packet_latency, a.held_back), (b.cycles, b.packet_latency, b.held_back));
}

#[test]
fn what_is_wrong_with_a_trace_is_said() {
    let says = |bytes: &[u8], what: &str| {
        let error = trace::read("t", bytes).unwrap_err().to_string();
        assert!(error.starts_with("t: at ") && error.contains(what), "{error}");
    };
    says(b"", "neither a Netrace trace");
    says(b"BZh9 but then nothing", "bzip2 stream is damaged");
    says(&small()[..40], "cycles: expected 4 bytes");
    says(&small()[..small().len() - 5], "the file ends after");
    says(&netrace(16, 4, &[(0, 7, 1, 0, 15, &[])]), "truncated");
    says(&netrace(16, 1, &[(0, 7, 1, 0, 16, &[])]), "destination 16, but nodes are 0 to 15");
    says(&netrace(16, 1, &[(0, 7, 99, 0, 1, &[])]), "type 99");
    says(&netrace(16, 2, &[(0, 7, 1, 0, 1, &[]), (0, 7, 1, 0, 1, &[])]), "twice");
    says(&netrace(16, 2, &[(9, 7, 1, 0, 1, &[]), (8, 8, 1, 0, 1, &[])]), "comes after cycle 9");
    says(&netrace(16, 2, &[(0, 7, 1, 0, 1, &[]), (0, 8, 1, 0, 1, &[7])]), "comes before it");
    let own = |line: &str| format!("baton-noc-trace 1\nnodes 4\n{line}\n").into_bytes();
    says(&own("0 1 4 1 0"), "line 3: destination 4: expected at most 3");
    says(&own("0 1 2 0 0"), "line 3: flits 0");
    says(&own("0 1 2 1"), "line 3: class is missing");
    says(&own("0 1 2 1 0 after 0"), "no earlier packet");
    says(b"baton-noc-trace 1\n0 1 2 1 0\n", "line 2: `nodes N` must come");
    let big = trace::read("t", &netrace(64, 0, &[])).unwrap();
    assert!(matches!(Replay::default().run(&big, &mut mesh4()), Err(NocError::Value { .. })));
}

#[test]
fn what_is_wrong_with_a_configuration_is_said() {
    let says = |text: &str, what: &str| {
        let error = Experiment::from_toml("c.toml", text).and_then(|e| e.run().map(drop)).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    };
    says("[network]\nvcs = 0", "`vcs` = 0: expected 1 to 64");
    says("[network]\nvcs = 2\nclasses = 3", "at least one for each of the 3 classes");
    says("[network]\n\nvsc = 6", "c.toml:3: unknown field `vsc`");
    says("[network.latency]\nlink = -1", "c.toml:2: `network.latency.link`: invalid value");
    says("[network]\n\nvcs = 'six'", "c.toml:3: `network.vcs`: invalid type");
    says("[[traffic]]\nrate = 0.1\n[[traffic]]\nrate = 'much'", "c.toml:4: `traffic[1].rate`: invalid type");
    says("[network.latency]\nlink = 0", "`latency.link` = 0");
    says("[network.topology]\nkind = 'mesh'\nsize = [0, 4]", "`topology.size` = 0");
    says("[network.topology]\nkind = 'mesh'\nsize = [500, 500]", "MiB");
    says("[[traffic]]\nrate = 1.5", "`rate` = 1.5: expected 0 to 1");
    says("[[traffic]]\nrate = nan", "`rate` = NaN");
    says("[[traffic]]\npattern = 'hotspot'\nhot_nodes = [64]", "nodes from 0 to 63");
    says("cycles = 0", "`cycles` = 0");
    let places = |keys: &str| format!("[[network.places]]\n{keys}");
    says(&places("nodes = [3, 64]\nclass = 0\nplaces = 2"), "`places[0].nodes` = 64: expected nodes from 0 to 63");
    says(&places("nodes = [3]\nclass = 0\nplace = 2"), "unknown field `place`");
    says(&places("nodes = [3]\nclass = 0"), "missing field `places`");
    let clocks = "[[network.clocks]]\nrouters = [3, 64]\nnumerator = 1\ndenominator = 2";
    says(clocks, "`clocks[0].routers` = 64: expected routers from 0 to 63");
    says(&clocks.replace("64", "6").replace("numerator = 1", "numerator = 3"), "a fraction from 1/64 to 1");
    says("[network.topology]\nkind = 'cmesh'\nsize = [1024, 1024]\nconcentration = 60", "MiB");
    let valiant =
        "[network]\nvcs = 2\nrouting = 'valiant'\nmemory_limit_mib = 4096\n[network.topology]\nkind = 'mesh'\nsize";
    says(&format!("{valiant} = [2, 520]"), "1041 routers on the longest path: expected at most 1023");
    let links: Vec<_> =
        (1..1024).map(|at| format!("{{ from = {}, to = {at} }}, {{ from = {at}, to = {} }}", at - 1, at - 1)).collect();
    let chain = format!(
        "[network.topology]\nkind = 'graph'\nrouters = 1024\nnodes = [0, 1023]\nlinks = [{}]",
        links.join(", ")
    );
    says(&chain, "1024 routers on the longest path: expected at most 1023");
    let graph = "[network.topology]\nkind = 'graph'\nrouters = 3\nnodes = [0, 1, 2]\nlinks = [{ from = 0, to = 1 }]";
    says(graph, "not connected: no path from node");
    says(&graph.replace("to = 1", "to = 3"), "`topology.links[0].to` = 3: expected a router from 0 to 2");
    let error = "romd-robin".parse::<baton_noc::arbiter::ArbiterKind>().unwrap_err().to_string();
    assert!(error.contains("did you mean `round-robin`?"), "{error}");
}

/// The keys of the arbiter of ranks stand among the network's own, both when a configuration is
/// read and when it is written.
#[test]
fn a_configuration_is_read_as_it_was_written() {
    let text = "[network]\nallocator = 'islip'\nmarked_first = false\nrandom_ties = false\nendpoint_places = 3";
    let read = Experiment::from_toml("c.toml", text).unwrap().network;
    assert!(read.ranked.outranks_speculation && !read.ranked.ranked_first && !read.ranked.random_ties);
    assert_eq!((read.allocator, read.endpoint_places), (AllocatorKind::Islip, 3));
    let written = toml::to_string(&read).unwrap();
    assert_eq!(Config::from_toml("written.toml", &written).unwrap(), read, "{written}");
    let in_order =
        "allocator = \"islip\"\nmark_outranks_speculation = true\nmarked_first = false\nrandom_ties = false\n";
    assert!(written.contains(in_order), "{written}");
    let unknown = Config::from_toml("c.toml", "marked_last = true").unwrap_err().to_string();
    assert!(unknown.contains("expected one of `topology`") && unknown.contains("`marked_first`"), "{unknown}");
}

#[test]
fn values_of_a_file_are_refused_with_their_line() {
    let says = |text: &str, what: &str| {
        let refused = Experiment::from_toml("c.toml", text).and_then(|e| e.run().map(drop)).unwrap_err();
        let error = refused.in_file("c.toml", text).to_string();
        assert!(error.starts_with(what), "{text}: {error}");
    };
    says("seed = 3\n[network]\nvcs = 0", "c.toml:3: `vcs` = 0: expected 1 to 64");
    says("[network.latency]\ntraversal = 2\nlink = 0", "c.toml:3: `latency.link` = 0");
    says("[[traffic]]\nrate = 0.1\n[[traffic]]\nrate = 1.5", "c.toml:4: `rate` = 1.5: expected 0 to 1");
    let graph =
        "[network.topology]\nkind = 'graph'\nrouters = 3\nnodes = [0, 1, 2]\nlinks = [\n{ from = 0, to = 1 }\n]";
    says(graph, "c.toml:5: the topology is not connected");
    says(&graph.replace("to = 1", "to = 7"), "c.toml:5: `topology.links[0].to` = 7");
    // A value that is not in the file has no line there.
    let error = NocError::Value { key: "vcs".into(), value: "99".into(), expected: "fewer".into() };
    assert_eq!(error.clone().in_file("c.toml", "vcs = 3"), error);
}

/// Generates input for the readers of TOML: their own keys, other keys, values of every kind, and
/// tables in any order.
fn some_toml() -> impl Strategy<Value = String> {
    let key = "(vcs|buffer|classes|routing|size|kind|nodes|links|rate|batch|reply|outstanding|at|to|next|port|class|rest|\
               source|flit_bits|area|tile_mm|clocks|routers|numerator|denominator|seed|cycles|[a-z_]{1,6})";
    let value = "(-?[0-9]{1,20}|[0-9]\\.[0-9]e[0-9]{1,3}|nan|inf|true|'[a-z-]{0,12}'|\\[[0-9, ]{0,9}\\]|\\{ (at|class|from) = [0-9]{1,3} \\}|\
                 \\[\\{ from = [0-9], to = [0-9] \\}\\])";
    let table = "(\\[network\\]|\\[network\\.topology\\]|\\[network\\.routes\\]|\\[\\[network\\.routes\\.route\\]\\]|\\[\\[traffic\\]\\]|\
                 \\[\\[route\\]\\]|\\[technology\\]|\\[technology\\.area\\]|\\PC{0,8})";
    let line =
        prop_oneof![4 => (key, value).prop_map(|(k, v)| format!("{k} = {v}")), 1 => table.prop_map(String::from)];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(baton_needs::property!(300))]

    #[test]
    fn no_trace_panics(mut cut in 0usize..400, edits in proptest::collection::vec((0usize..400, any::<u8>()), 0..6)) {
        let mut bytes = small();
        for (at, value) in edits {
            let len = bytes.len();
            bytes[at % len] = value;
        }
        cut = cut.min(bytes.len());
        if cut > 100 { bytes.truncate(cut) }
        if let Ok(trace) = trace::read("fuzz", &bytes)
            && trace.nodes <= 16
            && trace.packets.iter().all(|p| p.cycle < 1000)
        {
            let _ = Replay::default().run(&trace, &mut mesh4());
        }
    }

    #[test]
    fn no_text_trace_panics(text in "(baton-noc-trace 1\n)?(nodes [0-9]{1,3}\n)?([0-9]{1,3} [0-9] [0-9] [0-9] [0-9]( after [0-9]{1,2})?\n|\\PC{0,20}\n){0,8}") {
        let _ = trace::read("fuzz", text.as_bytes());
    }

    /// Feeds arbitrary bytes, alone and behind the first bytes of each format.
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), which in 0u8..4) {
        let mut all = match which {
            0 => vec![],
            1 => 0x484a_5455u32.to_le_bytes().to_vec(),
            2 => b"BZh91AY&SY".to_vec(),
            _ => b"baton-noc-trace 1\nnodes 4\n".to_vec(),
        };
        all.extend(&bytes);
        if let Ok(trace) = trace::read("fuzz", &all) {
            let _ = trace::write_own(&trace, 16);
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = Experiment::from_toml("fuzz", &text);
        let _ = RouteFile::from_toml("fuzz", &text);
        let _ = Technology::from_toml("fuzz", &text);
    }

    #[test]
    fn no_toml_panics(text in some_toml()) {
        let _ = Technology::from_toml("fuzz", &text);
        let routes = RouteFile::from_toml("fuzz", &text).ok();
        let read = Experiment::from_toml("fuzz", &text).unwrap_or_default();
        let network = Config { routes: routes.or(read.network.routes.clone()), memory_limit_mib: 64, ..read.network };
        let mut e = Experiment { network, cycles: 60, ..read };
        if e.network.topology == TopologyConfig::default() {
            // The network is small, so that many can be tried.
            e.network.topology = TopologyConfig::Mesh { size: [2, 2] };
        }
        // Whatever can be built can be run. What may take very long is only built: large batches,
        // low rates, and latencies other than the default.
        if e.traffic.iter().all(|f| f.batch < 50 && f.rate > 0.01) && e.network.latency == Default::default() {
            let _ = e.run().map_err(|error| error.in_file("fuzz", &text));
        } else {
            let _ = Network::with_arbiter(&e.network, baton_noc::arbiter::RoundRobin);
        }
    }

    #[test]
    fn no_configuration_panics(
        vcs in any::<u8>(), buffer in any::<u16>(), side in 0u32..9, classes in 0u32..10, rate in any::<f64>(),
        key in "[a-z_]{1,12}", kind in "mesh|torus|ring|bus|cmesh|graph|[a-z]{3}",
    ) {
        let text = format!(
            "cycles = 40\n[network]\nvcs = {vcs}\nbuffer = {buffer}\nclasses = {classes}\n{key} = 1\n\
             [network.topology]\nkind = '{kind}'\nsize = [{side}, 2]\n[[traffic]]\nrate = {rate:?}"
        );
        if let Ok(e) = Experiment::from_toml("fuzz", &text) {
            let _ = Network::with_arbiter(&e.network, baton_noc::arbiter::RoundRobin);
        }
        let plain = text.replace(&format!("{key} = 1\n"), "").replace("1e", "0e");
        if let Ok(e) = Experiment::from_toml("fuzz", &plain) {
            let _ = Network::with_arbiter(&e.network, baton_noc::arbiter::RoundRobin);
        }
    }
}
