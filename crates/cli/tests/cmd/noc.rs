//! `baton noc` from outside: the figures that programs read, the same bytes for the same seed, traces, deadlocks.

use assert_cmd::Command;
use serde_json::Value;

fn baton(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.arg("noc").args(args).env("NO_COLOR", "1").timeout(std::time::Duration::from_secs(120));
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&baton(args)).unwrap()
}

#[test]
fn json_has_every_figure_and_the_whole_configuration() {
    let v = json(&["--rate", "0.1", "--cycles", "5000", "--json"]);
    for latency in ["packet_latency", "network_latency"] {
        for figure in ["mean", "p50", "p99", "max"] {
            assert!(v[latency][figure].is_number(), "{latency}.{figure}");
        }
    }
    for figure in ["hops", "offered_packets", "accepted_flits", "flit_hops", "cycles", "host_seconds"] {
        assert!(v[figure].is_number(), "{figure}");
    }
    assert_eq!(v["saturated"], false);
    assert!(v["energy"]["total"].as_f64().unwrap() > 0.0);
    assert_eq!(v["energy"]["by_router"].as_array().map(Vec::len), Some(64));
    assert_eq!(v["energy"]["by_link"].as_array().map(Vec::len), Some(224));
    assert_eq!(v["area"]["by_router"].as_array().map(Vec::len), Some(64));
    for source in [&v["energy"]["source"], &v["area"]["source"], &v["technology"]["source"]] {
        assert!(source.as_str().unwrap().starts_with("derived, not measured"), "{source}");
    }
    assert_eq!(v["configuration"]["network"]["vcs"], 6);
    let mean = v["packet_latency"]["mean"].as_f64().unwrap();
    assert!((20.5..21.5).contains(&mean), "{mean}");
}

#[test]
fn saturated_runs_show_no_mean() {
    let v = json(&["--size", "4x4", "--rate", "0.95", "--cycles", "2000", "--json"]);
    assert_eq!((&v["saturated"], &v["packet_latency"]["mean"]), (&Value::Bool(true), &Value::Null));
    let said = baton(&["--size", "4x4", "--rate", "0.95", "--cycles", "2000"]);
    assert!(said.contains("did not settle") && !said.contains("packet latency"), "{said}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let mut v = json(&["--size", "4x4", "--rate", "0.3", "--cycles", "2000", "--seed", seed, "--json"]);
        v["host_seconds"] = Value::Null;
        v.to_string()
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn a_sweep_finds_the_knee_however_many_threads_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("curve.html");
    let sweep = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        let args = ["noc", "sweep", "--size", "4x4", "--traffic", "bitcomp", "--rates", "0.1,0.3", "--cycles", "900"];
        command
            .args(args)
            .args(["--precision", "0.04"])
            .arg("--plot")
            .arg(&page)
            .arg("--json")
            .env("RAYON_NUM_THREADS", threads);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    let one = sweep("1");
    assert_eq!(one, sweep("3"));
    let v: Value = serde_json::from_str(&one).unwrap();
    // Both nodes left of the middle of a row send over one channel: no more than half a packet a node a cycle goes
    // through, and with six virtual channels the router comes near that.
    let knee = v["saturation_load"].as_f64().expect("a saturation load");
    assert!((0.40..0.50).contains(&knee), "{knee}");
    assert_eq!(v["points"].as_array().map(Vec::len), Some(2));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<polyline") && !html.contains("http"), "one file, no network");
}

#[test]
fn replay_and_explain() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.txt");
    std::fs::write(&trace, "baton-noc-trace 1\nnodes 16\n0 0 15 1 0\n3 15 0 5 1 after 0\n").unwrap();
    let v = json(&["replay", "--json", trace.to_str().unwrap()]);
    assert_eq!((&v[0]["result"]["packets"], &v[0]["result"]["dependencies"]), (&2.into(), &1.into()));
    let torus = ["--topology", "torus", "--size", "4x4", "--vcs", "1", "--routing", "table", "--allow-deadlock"];
    let said = baton(&[&["explain"], &torus[..], &["--rate", "0.3", "--packet", "8", "--cycles", "8000"]].concat());
    assert!(said.contains("deadlock: nothing has moved") && said.contains("which packet"), "{said}");
    let way = baton(&["explain", "--rate", "0.05", "--cycles", "500", "--follow", "3"]);
    assert!(way.contains("created at node") && way.contains("tail flit leaves the network"), "{way}");
}

#[test]
fn curves_stand_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (page, first, table) = (dir.path().join("c.html"), dir.path().join("first.json"), dir.path().join("table.csv"));
    let small = ["sweep", "--size", "2x2", "--rates", "0.1,0.3", "--cycles", "300", "--precision", "0.5", "--json"];
    let compared = json(&[&small[..], &["--compare", "arbiter=round-robin,age"]].concat());
    assert_eq!(compared["curves"][1]["name"], "arbiter age");
    assert_eq!(compared["curves"][1]["configuration"]["network"]["arbiter"], "age");
    std::fs::write(&first, compared.to_string()).unwrap();
    std::fs::write(&table, "load,mean\n0.1,9.5\n0.3,10.25\n0.6,saturated\n").unwrap();
    let beside = ["--beside", first.to_str().unwrap(), "--beside", table.to_str().unwrap()];
    baton(&[&small[..], &beside, &["--plot", page.to_str().unwrap()]].concat());
    let html = std::fs::read_to_string(page).unwrap();
    assert_eq!(html.matches("<polyline").count(), 4, "one of its own and three beside it");
    for part in ["first: arbiter age", "<li class=k3>table", "10.250", "did not settle"] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn requests_batches_and_endpoints_from_the_command_line() {
    let two = ["--size", "2x1", "--traffic", "neighbor", "--rate", "1", "--vcs", "4", "--buffer", "16", "--json"];
    let asks = ["--reply", "5", "--outstanding", "1", "--batch", "10", "--endpoint-service", "7"];
    let v = json(&[&two[..], &asks].concat());
    // At no load a packet of L flits past R routers takes 3R + 2 + (L - 1) cycles: 8 there and 12
    // back, with 7 cycles of service and 1 to turn round in between. The next of the ten rounds
    // begins a cycle later.
    assert_eq!(v["round_trip"]["latency"]["mean"], 28.0);
    assert_eq!(v["runtime"], 9 * 29 + 28 + 1);
    assert_eq!(v["configuration"]["network"]["classes"], 2);
    let bounded = json(&[&two[..], &asks, &["--endpoint-places", "1"]].concat());
    assert_eq!(bounded["configuration"]["network"]["response_class"], 1);
    assert_eq!(bounded["runtime"], v["runtime"], "one at a time needs one place");
}

#[test]
fn a_table_of_routes_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let routes = dir.path().join("routes.toml");
    std::fs::write(&routes, "rest = 'shortest'\n[[route]]\nat = 0\nto = [3]\nnext = 2\n").unwrap();
    let args =
        ["--size", "2x2", "--routing", "table", "--cycles", "500", "--routes", routes.to_str().unwrap(), "--json"];
    let v = json(&args);
    assert_eq!(v["configuration"]["network"]["routes"]["route"][0]["next"], 2);
}

#[test]
fn prices_come_from_the_section_of_a_chip_file() {
    let dir = tempfile::tempdir().unwrap();
    let chip = dir.path().join("chip.toml");
    let prices = "[technology]\nsource = 'made up for a test'\nflit_bits = 128\nbuffer_write = 1.0\nbuffer_read = 1.0\n\
                  arbitration = 1.0\ncrossbar = 1.0\nlink = 0.0\nclock_port = 0.0\nleakage_place = 0.0\n\
                  frequency = 1000000000\ntile_mm = 1.0\n\
                  [technology.area]\nbuffer_bit = 1.0\narbiter_gate = 0.0\nwire_pitch = 0.0\n";
    std::fs::write(&chip, prices).unwrap();
    let v = json(&["--cycles", "300", "--technology", chip.to_str().unwrap(), "--json"]);
    assert_eq!(v["energy"]["total"].as_f64(), v["flit_hops"].as_f64().map(|h| 4.0 * h));
    assert_eq!(v["area"]["source"], "made up for a test");
}
