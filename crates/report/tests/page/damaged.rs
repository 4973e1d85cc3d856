//! Opens directories with no trace, an empty trace and a damaged one. Each gives a clear error, or
//! a report that says what was lost.

use baton_report::{Profile, ProfileError};
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{Lock, Mode, SiteId, What};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Writes a trace of `pairs` acquisitions as a recorded program would; returns its file.
fn record(folder: &Path, pairs: u64) -> PathBuf {
    let session = Session::new();
    let path = CString::new(folder.to_str().expect("text")).expect("no zero");
    session.open(&path, Options::default()).expect("a session");
    let pen = ThreadWriter::new();
    let (lock, mode, site) = (Lock::mutex(0x1000), Mode::Exclusive, SiteId(1));
    for _ in 0..pairs {
        pen.post_ordered(&session, What::Acquire { lock, mode, site });
        pen.post(&session, What::Release { lock, mode, site: SiteId::UNKNOWN });
    }
    pen.finish();
    session.finish();
    let mut entries = std::fs::read_dir(folder).expect("the folder").map(|e| e.expect("an entry").path());
    entries.find(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("events."))).expect("an events file")
}

fn error(folder: &Path) -> String {
    match Profile::open(folder) {
        Ok(_) => panic!("a profile was made of nothing"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_no_trace_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    assert!(error(&missing).contains("missing"), "{}", error(&missing));
    let empty = error(folder.path());
    assert!(empty.contains(folder.path().to_str().expect("text")), "{empty}");
    std::fs::write(folder.path().join("events.1.0"), b"#!/bin/sh\necho no trace\n").expect("a file");
    let other = error(folder.path());
    assert!(other.contains("events.1.0") || other.contains("no events file"), "{other}");
}

#[test]
fn an_empty_trace_says_what_may_be_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), 0);
    let Err(ProfileError::Empty { .. }) = Profile::open(folder.path()) else { panic!("not found to be empty") };
    assert!(error(folder.path()).contains("empty trace"));
}

#[test]
fn a_damaged_trace_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = record(folder.path(), 50_000);
    let whole = Profile::open(folder.path()).expect("a whole trace").report;
    assert_eq!((whole.totals.acquisitions, whole.limits.lost.len()), (50_000, 0));
    // 20,000 bytes in the middle are overwritten, and the last quarter is cut off.
    let mut bytes = std::fs::read(&file).expect("the file");
    let half = bytes.len() / 2;
    for (i, byte) in bytes[half..half + 20_000].iter_mut().enumerate() {
        *byte ^= (i % 251) as u8;
    }
    bytes.truncate(half + half / 2);
    std::fs::write(&file, bytes).expect("the file");
    let damaged = Profile::open(folder.path()).expect("what is left").report;
    assert!(!damaged.limits.lost.is_empty());
    let left = damaged.totals.acquisitions;
    assert!((10_000..50_000).contains(&left), "{left}");
    let page = baton_report::html::page(&Profile::open(folder.path()).expect("what is left"), &[]);
    assert!(page.contains("This trace is not whole"));
    let summary = baton_report::terminal::summary(&damaged, baton_report::terminal::Style::default());
    assert!(summary.contains("lost: "), "{summary}");
}
