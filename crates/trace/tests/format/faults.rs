//! A recording thread takes its page faults when it gets a new segment, in time that the trace
//! records as a pause. It takes none when it records an event, which may lie between an acquisition
//! and its release.

use baton_trace::What;
use baton_trace::writer::{Options, Session, ThreadWriter};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Number of events in a full segment of the largest size: 256 KiB without the header.
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
    // Fills segments until they have their largest size, and so runs all code once.
    post(4 * FULL);
    let (mut within, mut clean) = (0, 0);
    for _ in 0..40 {
        // Each of the 40 rounds posts the events of an eighth of a segment, so in most rounds no
        // new segment is needed.
        let before = faults();
        post(FULL / 8);
        let here = faults() - before;
        within += here;
        clean += u32::from(here == 0);
    }
    pen.finish();
    // In 40 eighths of a segment, the thread gets five new segments, so at most a few rounds may
    // have page faults. If pages were not touched in advance, nearly every round, which fills 32
    // KiB, would have some.
    assert!(clean >= 30, "{clean} of 40 stretches without a fault, {within} faults");
}
