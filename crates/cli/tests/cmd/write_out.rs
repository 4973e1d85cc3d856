//! `baton profile` has a recording written out while it is made: Baton's own process does so, and no
//! thread of the program.

use crate::common;
use std::process::{Command, Stdio};

#[test]
fn batons_own_process_writes_the_recording_out() {
    let folder = tempfile::tempdir().unwrap();
    common::compiled(folder.path(), "shut_off", include_str!("programs/shut_off.c"), &[]);
    let source = include_str!("programs/tells_write_out.c");
    let library = common::compiled(folder.path(), "tells_write_out", source, &["-shared", "-fPIC"]);
    let told = folder.path().join("told");
    let mut baton = Command::new(common::installed().join("bin/baton"));
    baton.current_dir(folder.path()).args(["profile", "-o", "p", "--", "./shut_off"]);
    baton.env("LD_PRELOAD", library).env("TOLD", &told).stdout(Stdio::null()).stderr(Stdio::null());
    let mut baton = baton.spawn().unwrap();
    let (pid, status) = (baton.id(), baton.wait().unwrap());
    assert_eq!(status.code(), Some(0), "the program was not killed: no thread of it wrote a file out");
    let told = std::fs::read_to_string(&told).expect("something was written out");
    let calls: Vec<(u32, u64)> = told
        .lines()
        .map(|line| {
            let (pid, bytes) = line.split_once(' ').unwrap();
            (pid.parse().unwrap(), bytes.parse().unwrap())
        })
        .collect();
    assert!(calls.iter().all(|(by, _)| *by == pid), "{calls:?}, by {pid}");
    assert!(calls.iter().map(|(_, bytes)| bytes).sum::<u64>() > 1 << 20, "{calls:?}");
}
