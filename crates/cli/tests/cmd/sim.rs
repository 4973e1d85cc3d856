//! `baton sim` and `baton chips` from the outside: results keep their published form, a chip that was shown reads back,
//! and a sweep is the same with any number of workers.

use crate::schema;
use assert_cmd::Command;
use serde_json::Value;

const OCOR: &str = "../../chips/ocor64.toml";
const SMALL: [&str; 6] = ["--chip", OCOR, "--cores", "4", "--set", "core.atomics=near"];

fn baton(args: &[&str], workers: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args).env("NO_COLOR", "1").env("RAYON_NUM_THREADS", workers);
    let output = command.timeout(std::time::Duration::from_secs(300)).output().unwrap();
    assert!(output.status.success(), "baton {args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str], workers: &str) -> Value {
    serde_json::from_str(&baton(args, workers)).unwrap()
}

/// Removes the figures of the host, which differ from run to run.
fn without_host(mut value: Value) -> Value {
    for result in value.as_array_mut().unwrap() {
        for name in ["host_seconds", "cycles_per_second", "guest_operations_per_second"] {
            result.as_object_mut().unwrap().remove(name);
        }
    }
    value
}

#[test]
fn results_keep_their_published_form() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/sim.schema.json")).unwrap();
    for workload in
        ["lock", "barrier", "loop", "pingpong", "ring", "chase", "stream", "false-sharing", "read-mostly", "hot-line"]
    {
        let args = ["sim", "--json", "--workload", workload, "--iterations", "20", "--bytes", "8K"];
        let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
        let result = json(&all, "1");
        let violations = schema::violations(&schema, &result);
        assert!(violations.is_empty(), "{workload}: {violations:?}");
        for thread in result["by_thread"].as_array().unwrap() {
            let stack = thread["cycle_stack"].as_object().unwrap();
            let sum: u64 = stack.values().map(|cycles| cycles.as_u64().unwrap()).sum();
            assert_eq!(sum, result["cycles"].as_u64().unwrap(), "{workload}: {stack:?}");
        }
        let utilisation = result["network_utilisation"].as_f64().unwrap();
        assert!(utilisation > 0.0 && utilisation < 1.0, "{workload}: {utilisation}");
    }
    for (program, size, grain) in [("image-filter", "64", "8"), ("dedup", "2048", "256"), ("kdtree", "64", "8")] {
        let args = ["sim", "--json", "--workload", program, "--size", size, "--grain", grain, "--threads", "4"];
        let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
        let result = json(&all, "1");
        assert_eq!(schema::violations(&schema, &result), Vec::<String>::new(), "{program}");
        assert!(result["acquisitions"].as_u64() > Some(8) && result["shares"]["sections"].as_f64() > Some(0.0));
    }
    let kernels =
        [("ep", "1024", "1"), ("ft", "8", "1"), ("mg", "8", "1"), ("search", "1024", "12"), ("fft", "16", "1")];
    for (kernel, size, rounds) in kernels {
        let args = ["sim", "--json", "--workload", kernel, "--size", size, "--threads", "4"];
        let rounds = ["--iterations", rounds];
        let all: Vec<&str> =
            args.into_iter().chain(rounds.into_iter().filter(|_| kernel != "ep")).chain(SMALL).collect();
        let result = json(&all, "1");
        assert_eq!(schema::violations(&schema, &result), Vec::<String>::new(), "{kernel}");
        assert!(result["acquisitions"].as_u64() >= Some(4) && result["algorithm"] == "mcs", "{kernel}");
    }
    let args = ["sim", "--json", "--profile", "../../profiles/ocor/imag.toml", "--iterations", "5"];
    let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
    let result = json(&all, "1");
    assert_eq!(schema::violations(&schema, &result), Vec::<String>::new());
    assert_eq!((result["algorithm"].as_str(), result["acquisitions"].as_u64()), (Some("spin-park"), Some(20)));
    let fixed = json(&["sim", "--json", "--chip", "../../chips/sample-host.toml", "--iterations", "20"], "1");
    assert_eq!(schema::violations(&schema, &fixed), Vec::<String>::new());
    assert!(fixed["network_utilisation"].is_null() && fixed["by_core"].as_array().unwrap().is_empty());
}

/// The options of an OpenMP team have `dispatch` if it was given.
#[test]
fn a_team_shows_where_its_tasks_wait() {
    let of = |more: &[&str]| {
        let args = ["sim", "--json", "--workload", "epcc-task", "--iterations", "1", "--think", "0"];
        json(&[&args[..], &SMALL, more].concat(), "1")["workload_options"]["dispatch"].clone()
    };
    assert_eq!([of(&["--dispatch", "steal"]), of(&[])], ["steal".into(), Value::Null]);
}

#[test]
fn applications_cpus_and_cores_that_are_off_have_their_figures() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/sim.schema.json")).unwrap();
    let args = ["sim", "--chip", "../../chips/sample-host.toml", "--cores", "4", "--set", "noise.start=0"];
    let more = [
        "--threads",
        "6",
        "--iterations",
        "60",
        "--lock",
        "futex",
        "--think",
        "50000",
        "--off",
        "3",
        "--off",
        "2@900000",
    ];
    let apps = ["--on", "2@1500000", "--app", "barrier,threads=2,iterations=5,runs=3", "--app"];
    let last = ["lock,name=noise,threads=2,lock=ticket,nice=10,runs=background", "--set", "os.time_slice=50000"];
    let all: Vec<&str> = args.into_iter().chain(more).chain(apps).chain(last).collect();
    let text = baton(&all, "1");
    let all: Vec<&str> = all.into_iter().chain(["--json"]).collect();
    let result = json(&all, "1");
    assert_eq!(schema::violations(&schema, &result), Vec::<String>::new());
    let number = |value: &Value| value.as_u64().unwrap();
    let cycles = number(&result["cycles"]);
    let [lock, barrier, noise] = &result["by_app"].as_array().unwrap()[..] else { panic!("{}", result["by_app"]) };
    assert_eq!((number(&lock["forks"]), number(&lock["exits"]), number(&lock["acquisitions"])), (6, 6, 360));
    assert_eq!((number(&barrier["forks"]), number(&barrier["restarts"])), (6, 2));
    assert_eq!(barrier["run_cycles"].as_array().unwrap().len(), 3);
    assert!(noise["name"] == "noise" && number(&noise["forks"]) >= 2 && number(&noise["acquisitions"]) > 0);
    let by_app: u64 = [lock, barrier, noise].map(|app| number(&app["on_cpu_cycles"])).iter().sum();
    let cpus = result["by_cpu"].as_array().unwrap();
    assert_eq!(cpus.iter().map(|cpu| number(&cpu["cycles"]["busy"])).sum::<u64>(), by_app);
    for cpu in cpus {
        assert_eq!(cpu["cycles"].as_object().unwrap().values().map(number).sum::<u64>(), cycles, "{cpu}");
    }
    // CPU 3 is off from the beginning. CPU 2 is off for 600,000 cycles, less the time that threads
    // took to leave it.
    assert_eq!(number(&cpus[3]["cycles"]["off"]), cycles);
    let off = number(&cpus[2]["cycles"]["off"]);
    assert!(cycles > 1_500_000 && (500_000..=600_000).contains(&off), "{off} of {cycles}");
    assert!(cpus.iter().map(|cpu| number(&cpu["migrations"])).sum::<u64>() > 0);
    assert!(text.contains("application") && text.contains("migrations") && text.contains("1 were off"), "{text}");
    assert!(result["by_app"].as_array().unwrap().iter().all(|app| app.get("start_cycles").is_none()));
    // A sweep can show a figure of an application, by its path.
    let swept = ["sim", "--chip", "../../chips/sample-host.toml", "--iterations", "20", "--sweep", "threads=2,4"];
    let table = baton(&swept.into_iter().chain(["--figure", "by_app.0.forks"]).collect::<Vec<_>>(), "1");
    assert!(table.starts_with("by_app.0.forks (threads), by threads\n") && table.contains("4.0000"), "{table}");
}

#[test]
fn the_energy_account_is_the_sum_of_its_lines() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/sim.schema.json")).unwrap();
    let args = ["sim", "--energy", "--chip", "../../chips/opteron6272x4.toml", "--cores", "8", "--iterations", "20"];
    let all: Vec<&str> = args.into_iter().chain(["--json", "--threads", "8"]).collect();
    let result = json(&all, "1");
    assert_eq!(schema::violations(&schema, &result), Vec::<String>::new());
    let energy = &result["energy"];
    let total = energy["total_joules"].as_f64().unwrap();
    let lines: f64 = energy["lines"].as_array().unwrap().iter().map(|line| line["joules"].as_f64().unwrap()).sum();
    let parts = energy["by_component_joules"].as_object().unwrap();
    let by_component: f64 = parts.values().map(|part| part.as_f64().unwrap()).sum();
    for sum in [lines, by_component, energy["without_base_joules"].as_f64().unwrap() + parts["base"].as_f64().unwrap()]
    {
        assert!((sum / total - 1.0).abs() < 1e-9, "{energy}");
    }
    let table = baton(&args, "1");
    assert!(table.contains("without the platform's base") && table.contains("energy.cpu.active"), "{table}");
}

/// Queues in memory and in the chip's queue device move the items, one by one and in bulk; in bulk
/// the device takes less than half of the time.
#[test]
fn items_move_through_every_queue_of_a_chip_with_a_queue_device() {
    let run = |queue: &str, threads: &str, bulk: &str| {
        let args = ["sim", "--json", "--chip", "../../chips/caf16.toml", "--workload", "ring", "--queue", queue];
        let more = ["--threads", threads, "--bulk", bulk, "--think", "0", "--iterations", "200"];
        let result = json(&args.into_iter().chain(more).collect::<Vec<_>>(), "1");
        assert_eq!(result["algorithm"], queue);
        let bulk: u64 = bulk.parse().unwrap();
        assert_eq!(result["workload_options"]["bulk"].as_u64().unwrap_or(1), bulk);
        let counted = |name: &str| result["by_device"][0]["counts"][name].as_u64().unwrap();
        let items = if queue == "qmd" { 200 * threads.parse::<u64>().unwrap() / 2 } else { 0 };
        assert_eq!((counted("enqueued"), counted("dequeued"), counted("refused")), (items, items, 0));
        result["cycles"].as_u64().unwrap()
    };
    for threads in ["2", "8"] {
        for queue in ["ring", "mpmc"] {
            assert!(run(queue, threads, "1") > 0 && run(queue, threads, "8") > 0);
        }
        let (single, bulk) = (run("qmd", threads, "1"), run("qmd", threads, "8"));
        assert!(bulk * 2 < single, "{threads}: {bulk} {single}");
    }
    assert!(run("spsc", "2", "8") > 0 && run("ring-single", "2", "8") > 0);
}

#[test]
fn a_sweep_is_the_same_with_any_number_of_workers() {
    let args = ["sim", "--json", "--iterations", "20", "--sweep", "threads=1,2,4", "--sweep", "lock=tas,mcs"];
    let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
    let one = without_host(json(&all, "1"));
    assert_eq!(one, without_host(json(&all, "4")));
    let results = one.as_array().unwrap();
    let found: Vec<_> =
        results.iter().map(|r| (r["algorithm"].as_str().unwrap(), r["threads"].as_u64().unwrap())).collect();
    assert_eq!(found, [("tas", 1), ("tas", 2), ("tas", 4), ("mcs", 1), ("mcs", 2), ("mcs", 4)]);
}

#[test]
fn a_sweep_and_pairs_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let page = page.to_str().unwrap();
    let args = ["sim", "--workload", "chase", "--iterations", "50", "--sweep", "bytes=4K,64K", "--plot", page];
    let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
    let table = baton(&all, "2");
    assert!(
        table.starts_with("measured.cycles_a_load (cycles per load), by bytes\n") && table.contains("64K"),
        "{table}"
    );
    let drawn = std::fs::read_to_string(page).unwrap();
    assert!(drawn.contains("<polyline") && drawn.contains("measured cycles a load (cycles per load)"), "{drawn}");
    let args = ["sim", "--workload", "pingpong", "--pairs", "--iterations", "4", "--plot", page, "--json"];
    let all: Vec<&str> = args.into_iter().chain(SMALL).collect();
    let pairs = json(&all, "2");
    for a in 0..4 {
        for b in 0..4 {
            let value = &pairs["cycles_a_pass"][a][b];
            assert_eq!(*value, pairs["cycles_a_pass"][b][a]);
            assert!(if a == b { value.is_null() } else { value.as_f64().unwrap() > 10.0 }, "{a} {b}: {value}");
        }
    }
    assert!(std::fs::read_to_string(page).unwrap().matches("<rect").count() == 12);
}

#[test]
fn a_chip_that_was_shown_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let (file, page) = (dir.path().join("again.toml"), dir.path().join("plan.html"));
    for entry in std::fs::read_dir("../../chips").unwrap() {
        let chip = entry.unwrap().path();
        let shown = baton(&["chips", "show", chip.to_str().unwrap(), "--plot", page.to_str().unwrap()], "1");
        std::fs::write(&file, &shown).unwrap();
        assert_eq!(baton(&["chips", "show", file.to_str().unwrap()], "1"), shown, "{}", chip.display());
        assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"), "{}", chip.display());
    }
    let whole = json(&["chips", "show", OCOR, "--json", "--cores", "16"], "1");
    assert_eq!(whole["plan"]["controllers"], serde_json::json!([1, 13]));
    assert_eq!(whole["keys"]["l1.ways"], 4);
    let list = json(&["chips", "list", "--dir", "../../chips", "--json"], "1");
    assert_eq!(list, json(&["list", "chips", "--dir", "../../chips", "--json"], "1"));
}

/// The choice at each point is the best value by the figures of the runs: a sleeping waiter where
/// waits are long, and MWAIT where they are short.
#[test]
fn a_sweep_says_which_value_is_the_best() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("map.svg");
    let page = page.to_str().unwrap();
    let chip = ["--chip", "../../chips/opteron6272x4.toml", "--cores", "2", "--at", "0,1"];
    let args = ["sim", "--workload", "barrier", "--threads", "2", "--iterations", "10", "--spread", "0.9"];
    let sweeps = ["--sweep", "think=1000,1000000", "--sweep", "wait.mwait.c1.exit=50,900000"];
    let best = ["--least", "wait=futex,pause,mwait", "--energy", "--figure", "energy.without_base_joules"];
    let all: Vec<&str> = args.into_iter().chain(chip).chain(sweeps).chain(best).collect();
    let table = baton(&[&all[..], &["--plot", page]].concat(), "2");
    let row = |start: &str| table.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    assert!(row("1000 ").split_whitespace().nth(1) == Some("mwait") && row("1000 ").contains("(pause +"), "{table}");
    assert!(row("1000000").contains("futex ("), "{table}");
    assert_eq!(std::fs::read_to_string(page).unwrap().matches("fill-opacity").count(), 4);
    let runs = json(&[&all[..], &["--json"]].concat(), "2");
    let waits: Vec<_> = runs.as_array().unwrap().iter().map(|run| run["wait"].as_str().unwrap()).collect();
    assert_eq!((waits.len(), waits[0], waits[4], waits[8]), (12, "futex", "pause", "mwait"));
}

#[test]
fn a_choice_that_is_none_is_an_error() {
    let cases = [
        (&["--sweep", "think=1,2", "--least", "wait=pause"][..], "two values or more"),
        (&["--sweep", "think=1,2", "--least", "think=1,2"], "`think` is swept twice"),
        (&["--sweep", "think=1,2", "--most", "wait"], "`--most wait`: expected NAME=VALUE"),
        (&["--sweep", "think=1,2", "--most", "wait=pause,nap"], "nap"),
        (&["--least", "wait=pause,futex"], "--sweep"),
    ];
    for (args, expected) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_baton")).arg("sim").args(SMALL).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{args:?}: {said}");
    }
}

/// The first example of the page on fast and slow cores is a run in which the policy acts: it swaps
/// threads, and both programs gain.
#[test]
fn the_example_of_fast_and_slow_cores_swaps_threads_and_gains() {
    let page = include_str!("../../../../docs/reference/asymmetric.md");
    let command = page.lines().find(|line| line.starts_with("baton sim ")).unwrap();
    let ran = |policy: &str| {
        let words = command.replace("os.scheduler=pa", &format!("os.scheduler={policy}"));
        let args: Vec<&str> = words.split_whitespace().skip(1).chain(["--json", "--no-trace"]).collect();
        json(&args, "1")
    };
    let [pa, default] = ["pa", "amp-default"].map(ran);
    let solo = |of: &Value| of["by_app"][1].clone();
    let amp = &solo(&pa)["amp"];
    assert!(amp["swaps"].as_u64().unwrap() >= 10, "{amp}");
    let (fast, slow) = (amp["fast_cycles"].as_f64().unwrap(), amp["slow_cycles"].as_f64().unwrap());
    assert!(fast > 0.4 * (fast + slow), "{amp}");
    let times = |of: &Value| [&of["cycles"], &solo(of)["run_cycles"][0]].map(|cycles| cycles.as_f64().unwrap());
    for (pa, default) in times(&pa).into_iter().zip(times(&default)) {
        assert!(pa < 0.75 * default, "{pa} {default}");
    }
}

/// Applications begin at a given cycle, or at cycles that the seed draws, on a chip that is based
/// on another chip file.
#[test]
fn applications_come_and_go_on_a_chip_by_name() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/schema/sim.schema.json")).unwrap();
    let args = |seed: &'static str| {
        let chip = ["sim", "--chip", "1fc-12sc", "--set", "os.scheduler=pa", "--iterations", "20", "--no-trace"];
        let jobs = "barrier,threads=3,iterations=4,name=job,copies=4,start=200_000,arrive=300000";
        let late = "lock,threads=2,iterations=5,name=late,start=2000000";
        [&chip[..], &["--app", jobs, "--app", late, "--seed", seed]].concat()
    };
    let result = |seed| json(&[&args(seed)[..], &["--json"]].concat(), "1");
    let [one, again, two] = ["1", "1", "2"].map(result);
    assert_eq!(schema::violations(&schema, &one), Vec::<String>::new());
    assert_eq!(one["chip"]["chip.name"], "1fc-12sc");
    assert_eq!(one["chip"]["os.off"], "1 2 3");
    let starts = |of: &Value| -> Vec<(String, u64)> {
        let app = |app: &Value| (app["name"].as_str().unwrap().to_owned(), app["start_cycles"].as_u64().unwrap_or(0));
        of["by_app"].as_array().unwrap().iter().map(app).collect()
    };
    let names: Vec<String> = starts(&one).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["lock", "job#1", "job#2", "job#3", "job#4", "late"]);
    let at: Vec<u64> = starts(&one).into_iter().map(|(_, at)| at).collect();
    assert!(at[0] == 0 && at[1] > 200_000 && at[1..5].is_sorted() && at[5] == 2_000_000, "{at:?}");
    assert_eq!(one["by_app"], again["by_app"]);
    assert_ne!(starts(&one), starts(&two));
    for app in &one["by_app"].as_array().unwrap()[1..] {
        let end = app["start_cycles"].as_u64().unwrap() + app["run_cycles"][0].as_u64().unwrap();
        assert!(end <= one["cycles"].as_u64().unwrap() && app["exits"] == app["threads"], "{app}");
    }
    let text = baton(&args("1"), "1");
    assert!(text.contains("application  threads  start"), "{text}");
}
