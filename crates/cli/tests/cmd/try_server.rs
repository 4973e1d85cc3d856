//! `baton try --for` on a server whose answer is certain whatever else the machine does, and on what goes wrong with servers.

use crate::{common, schema};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A folder with the server and its load.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    common::server(folder.path());
    folder
}

/// A port at which nothing listens.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").env("XDG_DATA_HOME", folder).env("TMPDIR", folder);
    command.current_dir(folder).args(["try", "--for", "200ms"]);
    if !args.contains(&"--warmup") {
        command.args(["--warmup", "100ms"]);
    }
    command.args(args);
    command
}

/// Tries the server with a load of three connections.
fn tried(folder: &Path, args: &[&str], how: &str) -> Output {
    let port = port().to_string();
    let load = format!("./asks {port} 3");
    command(folder, args).args(["--load", &load, "--", "./served", &port, how]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes that run a program of this folder.
fn left(folder: &Path) -> Vec<String> {
    let running = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let exe = std::fs::read_link(entry.ok()?.path().join("exe")).ok()?;
        exe.starts_with(folder).then(|| exe.display().to_string())
    });
    running.collect()
}

/// Bad input: exit code 2, a message, and no process.
fn refused(folder: &Path, out: &Output, says: &str) {
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(error.contains(says), "{error}");
    assert_eq!(left(folder), Vec::<String>::new());
}

#[test]
fn the_cure_wins_in_points_per_second() {
    let folder = folder();
    let out = tried(folder.path(), &["--json", "--budget", "10m", "--progress", "recv", "--lock", "spin-park"], "");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&out.stdout).expect("standard output is JSON alone");
    let published = serde_json::from_str(include_str!("../../../../docs/schema/try-server.schema.json")).unwrap();
    assert_eq!(schema::violations(&published, &answer), Vec::<String>::new(), "{answer}");
    assert_eq!((&answer["answer"], &answer["progress"]), (&"use".into(), &"recv".into()), "{answer}");
    assert!(answer["run"].as_str().unwrap().starts_with("baton run --lock spin-park "), "{answer}");
    assert!(answer["more"]["low"].as_f64().unwrap() > 0.5, "{answer}");
    // The server sleeps two milliseconds under its one lock, so it serves at most 500 requests a
    // second, whatever the load; the bound leaves a margin.
    let median = |n: usize| answer["measured"][n]["median_per_second"].as_f64().unwrap();
    assert!(median(0) > 10.0 && median(0) < 520.0 && median(1) > median(0), "{answer}");
    assert_eq!(answer["measured"][0]["per_second"].as_array().unwrap().len(), 8, "{answer}");
    assert_eq!(left(folder.path()), Vec::<String>::new());
}

/// The server passes each of these points once for each request, in one process or in three: points
/// of all processes are counted.
#[test]
fn points_are_counted_over_all_processes() {
    let folder = folder();
    for (point, how) in
        [("lock:shared_lock", ""), ("send@serve", "fork"), ("recv@served.c:20", ""), ("func:answered", "fork")]
    {
        let args = ["--json", "--budget", "1ms", "--progress", point, "--lock", "spin-park"];
        let out = tried(folder.path(), &args, how);
        assert_eq!(out.status.code(), Some(3), "{point}: {}", text(&out.stderr));
        let answer: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!((&answer["answer"], &answer["progress"]), (&"cannot-tell".into(), &point.into()), "{answer}");
        assert_eq!(left(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_point_that_never_comes_says_what_came() {
    let folder = folder();
    let out = tried(folder.path(), &["--progress", "fsync"], "");
    refused(folder.path(), &out, "the progress point `fsync` never came within 200ms");
    let error = text(&out.stderr);
    assert!(error.contains("the server called ") && error.contains("recv "), "{error}");
    let out = tried(folder.path(), &["--progress", "lock:shared_lock@main"], "");
    refused(folder.path(), &out, "the progress point `lock:shared_lock@main` never came");
    let port = port().to_string();
    let out = command(folder.path(), &["--progress", "recv", "--", "./served", &port]).output().unwrap();
    refused(folder.path(), &out, "is there a load?");
}

/// A lock under which the server stands still has a row that says so.
#[test]
fn a_lock_under_which_nothing_comes_is_told() {
    let folder = folder();
    let args = ["--budget", "1s", "--warmup", "400ms", "--progress", "recv", "--lock", "spin-park"];
    let out = tried(folder.path(), &args, "stands");
    let told = text(&out.stdout);
    let row = told.lines().find(|line| line.starts_with("spin-park")).expect("a row");
    assert!(row.contains("none") && row.contains("no point came: not measured further"), "{told}");
    // A machine that others use may give too few turns within the budget for an answer.
    let answer = if out.status.code() == Some(3) { "cannot tell within " } else { "keep the lock: " };
    assert!(told.starts_with(answer), "{told}");
    assert!(matches!(out.status.code(), Some(0 | 3)), "{}", text(&out.stderr));
}

#[test]
fn names_that_are_not_there_are_refused() {
    let folder = folder();
    for (args, says) in [
        (&["--progress", "recv@nowhere"][..], "`nowhere`: no global, function or line of this name"),
        (&["--progress", "lock:nothing"], "`nothing`: no global"),
        (&["--progress", "recieve"], "is no system call that is counted"),
        (&["--progress", "func:nowhere"], "has no function of this name"),
        (&["--progress", "recv..send"], "is a request"),
        (&["--progress", "recv", "--lock", "tiket"], "unknown lock `tiket`"),
        (&["--progress", "recv", "--ready", "70000"], "is no port"),
    ] {
        refused(folder.path(), &tried(folder.path(), args, ""), says);
    }
    let out = command(folder.path(), &["--", "./served", "1"]).output().unwrap();
    refused(folder.path(), &out, "--progress <POINT>");
    let out = command(folder.path(), &["--progress", "recv"]).output().unwrap();
    refused(folder.path(), &out, "nothing to try");
}

#[test]
fn a_server_or_a_load_that_ends_by_itself_is_told_with_its_last_words() {
    let folder = folder();
    let port = port().to_string();
    let server = |how: &'static str| ["--", "./served", port.as_str(), how].map(str::to_owned);
    let run = |args: &[&str], how| command(folder.path(), args).args(server(how)).output().unwrap();
    let out = run(&["--progress", "recv", "--warmup", "1m"], "ends");
    refused(folder.path(), &out, "under glibc the server ended by itself with exit code 7 after");
    assert!(text(&out.stderr).contains("no work today"), "{}", text(&out.stderr));
    let out = run(&["--progress", "recv", "--load", "echo no client; exit 3"], "");
    refused(folder.path(), &out, "the load ended with exit code 3 after");
    assert!(text(&out.stderr).contains("no client"), "{}", text(&out.stderr));
    let out = run(&["--progress", "recv", "--load", "true"], "");
    refused(folder.path(), &out, "the load ended with exit code 0 after");
    // Another program's server, which the load would reach.
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let theirs = other.local_addr().unwrap().port().to_string();
    let out = command(folder.path(), &["--progress", "recv", "--ready", &theirs, "--", "./served", &theirs]);
    let mut out = out;
    refused(folder.path(), &out.output().unwrap(), "another process listens at port");
    let out = command(folder.path(), &["--progress", "recv", "--", "./served", &theirs]).output().unwrap();
    refused(folder.path(), &out, "Address already in use");
}

/// Ctrl-C in a turn: exit code 130, the server with all its processes and the load have ended, and no file is left.
#[test]
fn an_interruption_ends_server_and_load() {
    let folder = folder();
    let port = port().to_string();
    let load = format!("./asks {port} 2");
    let args = ["--warmup", "10m", "--progress", "recv", "--load", &load, "--", "./served", &port, "fork"];
    let mut command = command(folder.path(), &args);
    command.stderr(Stdio::null()).stdout(Stdio::null());
    // A job in a shell's background is started with SIGINT ignored, and its children inherit that.
    // SAFETY: signal is async-signal-safe.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    // Waits until the server's three processes and the load run.
    while left(folder.path()).len() < 4 {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(10));
    }
    let counts = |id: u32| {
        let files = std::fs::read_dir("/dev/shm")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        files.filter(|name| name.starts_with(&format!("baton-counts.{id}."))).count()
    };
    assert_eq!(counts(child.id()), 1);
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((left(folder.path()), counts(child.id())), (Vec::new(), 0));
}
