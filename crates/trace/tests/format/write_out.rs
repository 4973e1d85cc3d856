//! Tests that full segments, and no others, are written out while a recording is made.

use baton_trace::write_out::WriteOut;
use baton_trace::writer::{Options, Session, ThreadWriter};
use baton_trace::{Lock, Mode, SiteId, What};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// The sizes of a thread's first six segments.
const SIZES: [u64; 6] = [8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
/// A segment's header takes the place of four records.
const HEADER: u64 = 4;

/// Posts as many events as the first `full` segments have room for, and one more.
fn fill(pen: &ThreadWriter, session: &Session, full: usize) {
    let room: u64 = SIZES[..full].iter().map(|bytes| bytes / 16 - HEADER).sum();
    for _ in 0..=room {
        pen.post(session, What::Release { lock: Lock::mutex(0x1000), mode: Mode::Exclusive, site: SiteId(1) });
    }
}

#[test]
fn full_segments_are_written_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut write_out = WriteOut::of(directory.path());
    assert_eq!(write_out.look(), 0, "there is no file yet");
    let session = Session::new();
    session.open(&CString::new(directory.path().as_os_str().as_bytes()).unwrap(), Options::default()).unwrap();
    assert_eq!(write_out.look(), 0, "there is no segment yet");
    let (one, other) = (ThreadWriter::new(), ThreadWriter::new());
    fill(&one, &session, 1);
    fill(&other, &session, 2);
    let full = |segments: usize| SIZES[..segments].iter().sum::<u64>();
    assert_eq!(write_out.look(), full(1) + full(2));
    assert_eq!(write_out.look(), 0);
    // The second segment of `one` lies in front of segments that have been written out.
    one.finish();
    assert_eq!(write_out.look(), SIZES[1]);
    other.finish();
    session.finish();
    assert_eq!(write_out.look(), SIZES[2]);
}
