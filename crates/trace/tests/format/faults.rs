//! A recording thread takes its page faults when it gets a new segment, which is stamped as a
//! pause, and not at an event later on, which may lie between an acquisition and its release.

use baton_trace::What;
use baton_trace::writer::{Options, Session, ThreadWriter};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Number of events of a full segment: 256 KiB less its header.
const FULL: u64 = ((256 << 10) - 64) / 16;

fn faults() -> i64 {
    // SAFETY: all-zero bytes are a valid rusage, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_minflt + usage.ru_majflt
    }
}

#[test]
fn events_within_a_segment_fault_no_page() {
    let directory = tempfile::tempdir().unwrap();
    let session = Session::new();
    let path = CString::new(directory.path().as_os_str().as_bytes()).unwrap();
    session.open(&path, Options::default()).unwrap();
    let pen = ThreadWriter::new();
    let post = |events: u64| {
        for value in 0..events {
            pen.post(&session, What::Marker { name: 1, value });
        }
    };
    // Segments grow from 8 KiB; this also runs all code once.
    post(4 * FULL);
    let (mut within, mut clean) = (0, 0);
    for _ in 0..40 {
        // A stretch of posted events is an eighth of a segment, so most stretches lie within one.
        let before = faults();
        post(FULL / 8);
        let here = faults() - before;
        within += here;
        clean += u32::from(here == 0);
    }
    pen.finish();
    // Forty eighths of a segment mean five changes of segment. Untouched pages would fault in
    // nearly every stretch of 32 KiB.
    assert!(clean >= 30, "{clean} of 40 stretches without a fault, {within} faults");
}
