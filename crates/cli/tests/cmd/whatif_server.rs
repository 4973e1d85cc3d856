//! `baton whatif` on a recorded server: requests a second and latency, closed and open loop. The server sleeps two
//! milliseconds under its one lock, so that the answer is known whatever else the machine does.

use crate::{common, schema};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A folder with the recording `p` of a server that three clients asked for a second.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = common::lasting();
        common::server(folder);
        record(folder);
        folder
    })
}

fn record(folder: &Path) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = command(folder, &["profile", "-o", "p", "--", "./served", &port.to_string()]);
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "the server does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut load = Command::new(folder.join("asks")).args([&port.to_string(), "3"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let ended = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(ended.success());
    server.wait().unwrap();
    load.kill().unwrap();
    load.wait().unwrap();
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder).current_dir(folder);
    command.args(args);
    command
}

fn whatif(more: &[&str]) -> Output {
    let args = ["whatif", "p", "--lock", "futex", "--seeds", "1"];
    command(folder(), &[&args[..], more].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn requests(more: &[&str]) -> Value {
    let out = whatif(&[more, &["--json"]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let answer: Value = serde_json::from_slice(&out.stdout).expect("standard output is JSON alone");
    let published = serde_json::from_str(include_str!("../../../../docs/schema/whatif.schema.json")).unwrap();
    assert_eq!(schema::violations(&published, &answer), Vec::<String>::new(), "{answer}");
    answer["requests"].clone()
}

#[test]
fn a_closed_loop_gains_what_the_lock_takes() {
    let requests = requests(&["--shrink", "shared_lock=0.1", "--split", "shared_lock=8"]);
    let per_second = |row: usize| requests["rows"][row]["per_second"].as_f64().unwrap();
    assert!((100.0..520.0).contains(&per_second(0)), "at most one request each 2 ms: {requests}");
    let times = requests["rows"][1]["times"].as_f64().unwrap();
    assert!((3.0..10.5).contains(&times), "a tenth of the sleep is left: {requests}");
    assert!(per_second(2) > 1.3 * per_second(0), "three clients use up to three parts: {requests}");
    let p50 = |row: usize| requests["rows"][row]["p50_ns"].as_u64().unwrap();
    // On a busy machine a client that does not run lets the others wait for less.
    assert!(p50(0) > 2_000_000 && p50(1) < p50(0) / 2, "each holds the lock for 2 ms: {requests}");
}

#[test]
fn an_open_loop_keeps_the_rate_or_says_that_it_falls_behind() {
    let requests = requests(&["--shrink", "shared_lock=0.1", "--rate", "1000"]);
    let overloaded = |row: usize| requests["rows"][row]["overloaded"].as_bool().unwrap();
    assert_eq!((&requests["rate"], overloaded(0), overloaded(1)), (&1000.0.into(), true, false), "{requests}");
    let out = text(&whatif(&["--shrink", "shared_lock=0.1", "--rate", "1000"]).stdout);
    assert!(out.contains("open loop: 1000 requests a second come, whatever is answered"), "{out}");
    assert!(out.lines().any(|line| line.starts_with("as it is") && line.contains("falls behind")), "{out}");
}

#[test]
fn a_rate_that_nothing_can_answer_is_refused() {
    let out = whatif(&["--shrink", "shared_lock=0.5", "--rate", "1000000"]);
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(error.contains("--rate 1000000: more than this machine can answer, which is"), "{error}");
    for rate in ["0", "-1", "NaN", "many"] {
        let out = whatif(&[&format!("--rate={rate}")]);
        assert_eq!(out.status.code(), Some(2), "{rate}");
        assert!(text(&out.stderr).contains(&format!("`{rate}` is no rate; expected requests a second")), "{rate}");
    }
}

#[test]
fn a_recording_without_requests_has_no_rate() {
    let folder = folder();
    let out = command(folder, &["profile", "-o", "none", "--", "true"]).output().unwrap();
    assert!(out.status.success(), "{}", text(&out.stderr));
    let out = command(folder, &["whatif", "none", "--rate", "10"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("--rate: the recording has fewer than 100 requests"), "{}", text(&out.stderr));
}
