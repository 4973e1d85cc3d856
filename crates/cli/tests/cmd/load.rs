//! `baton profile` of a server beside its load: processes that talk to it, or that the user names,
//! are told, and their CPU time is not that of other programs.

use crate::common;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A shell that works until it is killed.
fn busy() -> Child {
    Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn profile(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(common::installed().join("bin/baton"));
    command.env("NO_COLOR", "1").env_remove("LD_PRELOAD").current_dir(folder).arg("profile").args(args);
    command
}

#[test]
fn clients_and_named_processes_are_no_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    common::server(folder.path());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (named, stranger) = (busy(), busy());
    let named_pid = named.id().to_string();
    let args = ["-o", "p", "--duration", "1500ms", "--load-pid", &named_pid, "--", "./served", &port.to_string()];
    let baton = profile(folder.path(), &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "the server does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    let asks = Command::new(folder.path().join("asks")).args([&port.to_string(), "3", "busily"]).spawn().unwrap();
    let out = baton.wait_with_output().unwrap();
    let (asks_pid, stranger_pid) = (asks.id(), stranger.id());
    [named, stranger, asks].into_iter().for_each(end);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let note = said.lines().find(|line| line.contains("the load used")).unwrap_or_else(|| panic!("{said}"));
    assert!(note.contains(&format!("asks ({asks_pid})")) && note.contains(&format!("sh ({named_pid})")), "{note}");
    assert!(!note.contains(&stranger_pid.to_string()), "{note}");
    let meta = std::fs::read_to_string(folder.path().join("p/meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
    let load = meta.pointer("/extra/load_cpu_ns").or(meta.get("load_cpu_ns")).and_then(|ns| ns.as_u64());
    assert!(load.is_some_and(|ns| ns > 20_000_000), "{meta}");
}

#[test]
fn a_load_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let child = busy();
    let pid = child.id().to_string();
    end(child);
    let out = profile(folder.path(), &["--load-pid", &pid, "--", "true"]).output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(error.contains(&format!("--load-pid {pid}: there is no such process")), "{error}");
}
